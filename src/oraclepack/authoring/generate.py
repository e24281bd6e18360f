"""The use case behind `generate`: survey the repository, select, write, check, put in place."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oraclepack.authoring.access_questions import access_questions
from oraclepack.authoring.central_questions import central_questions
from oraclepack.authoring.compatibility_questions import compatibility_questions
from oraclepack.authoring.concurrency_questions import concurrency_questions
from oraclepack.authoring.document_questions import document_questions
from oraclepack.authoring.duplicate_code import duplicate_questions
from oraclepack.authoring.failure_questions import failure_questions
from oraclepack.authoring.file_roles import FileRole, is_attachable, worth_reading
from oraclepack.authoring.generate_report import (
    SHORT_SHA,
    PackMaterial,
    UnwrittenPack,
    display_path,
    group_manifest,
    notices_of,
    report_of,
)
from oraclepack.authoring.generate_request import (
    STEPS,
    GenerateRequest,
    day_of,
    extra_files_of,
    pack_path,
    refuse_contradictions,
    refuse_shell_syntax,
    style_of,
)
from oraclepack.authoring.generation import (
    GenerateReport,
)
from oraclepack.authoring.git_repository import (
    ChangedLines,
    GitRepository,
    StoredText,
    changes_since,
    lines_of_commits,
    read_git_repository,
)
from oraclepack.authoring.history_questions import (
    change_questions,
    history_questions,
    often_fixed,
)
from oraclepack.authoring.interface_questions import interface_questions
from oraclepack.authoring.pack_writing import (
    number_questions,
    write_pack,
)
from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.question_scope import (
    code_groups,
    exclusion,
    focus_guess,
    focus_test,
)
from oraclepack.authoring.question_selection import (
    MOST_FILES,
    QuestionLimits,
    select_questions,
)
from oraclepack.authoring.read_repository import survey_repository
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.state_questions import state_questions
from oraclepack.authoring.surface_questions import surface_questions
from oraclepack.authoring.ticket_questions import (
    TicketText,
    related_groups,
    ticket_group,
    ticket_questions,
)
from oraclepack.errors import AlreadyExistsError, UsageError
from oraclepack.lint.bash_syntax import check_syntax
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import path_facts
from oraclepack.lint.facts import Facts
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.environment import environment
from oraclepack.tickets.read_tickets import find_tickets_dir, list_files, read_ticket

__all__ = ["GenerateRequest", "GenerateResult", "candidates_of", "generate"]

_STEP_COUNT = "OP110"
_FEWEST_IN_GROUP = 3
"""Questions below which a group of code is not worth a pack of its own."""


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of `generate`, with warnings for the user."""

    data: GenerateReport
    warnings: tuple[str, ...] = ()


def generate(request: GenerateRequest) -> GenerateResult:
    """Write packs about the repository. The same commit and request give the same bytes."""
    refuse_shell_syntax(request)
    refuse_contradictions(request)
    transaction = Transaction(request.root, "generate", undo=request.rollback_on_failure)
    material = _material(request)
    extra = extra_files_of(request, material.repository)
    day = day_of(request, material.repository)
    packs = [pack for pack in _packs(request, material, day, extra) if pack.questions]
    for pack in packs:
        _refuse_invalid(pack, request.root)
    return _put_in_place(request, transaction, material, day, packs)


def _material(request: GenerateRequest) -> PackMaterial:
    repository = read_git_repository(request.root, environment(), worth_reading)
    changed = _changed(request)
    survey = survey_repository(
        repository,
        limit=LARGEST,
        is_secret=looks_secret,
        exclude=exclusion(request.exclude),
        changed=changed,
        is_asked_for=focus_guess(request.focus),
        progress=request.progress,
    )
    if request.from_tickets is not None:
        return _ticket_material(request, repository, survey)
    blamed = [] if changed is not None else often_fixed(survey)
    oldest = repository.commits[-1].sha if repository.commits else ""
    line_commits = {
        path: lines_of_commits(request.root, environment(), path, oldest) for path in blamed
    }
    candidates = tuple(candidates_of(survey, line_commits))
    return PackMaterial(repository, survey, candidates)


def candidates_of(
    survey: RepositorySurvey, line_commits: Mapping[str, list[str]]
) -> Iterator[QuestionCandidate]:
    """Every question that a repository gives evidence for.

    `line_commits` says for each line of some files which commit changed it last.
    """
    yield from failure_questions(survey)
    yield from concurrency_questions(survey)
    yield from state_questions(survey)
    yield from duplicate_questions(survey)
    yield from interface_questions(survey)
    yield from surface_questions(survey)
    yield from access_questions(survey)
    yield from compatibility_questions(survey)
    yield from history_questions(survey, line_commits)
    yield from central_questions(survey)
    if survey.is_limited:
        yield from change_questions(survey)
    if not survey.subjects:
        yield from document_questions(survey)


def _changed(request: GenerateRequest) -> dict[str, ChangedLines] | None:
    return changes_since(request.root, environment(), request.since) if request.since else None


def _ticket_material(
    request: GenerateRequest, repository: GitRepository, survey: RepositorySurvey
) -> PackMaterial:
    """The survey with the tickets among its files, and the questions about them."""
    folder = find_tickets_dir(request.root, request.from_tickets or "", "--from-tickets")
    tickets: dict[str, TicketText] = {}
    surveyed = dict(survey.files)
    for name in list_files(request.root, folder):
        path = posixpath.normpath(f"{folder}/{name}")
        if not name.endswith((".md", ".txt")) or not is_attachable(path):
            continue
        text = read_ticket(request.root, folder, name).text
        title = next((line.lstrip("# ") for line in text.split("\n") if line.strip()), name)
        tickets[name] = TicketText(path, title, tuple(text.split("\n")))
        surveyed[path] = SurveyedFile(
            path, FileRole.DOC, None, len(text.encode()), StoredText(text)
        )
    if not tickets:
        raise UsageError(
            f"--from-tickets: {folder} holds no Markdown file",
            hint="one file per ticket, ending in .md",
        )
    both = RepositorySurvey(
        **{name: getattr(survey, name) for name in survey.__dataclass_fields__ if name != "files"},
        files=surveyed,
    )
    grouped: dict[str, list[TicketText]] = {}
    if request.group == "auto":
        grouped = related_groups(list(tickets.values()))
    elif request.group == "subdir":
        for name, ticket in tickets.items():
            grouped.setdefault(ticket_group(name), []).append(ticket)
    else:
        grouped[""] = list(tickets.values())
    return PackMaterial(repository, both, (), grouped)


def _packs(
    request: GenerateRequest, material: PackMaterial, day: str | None, extra: tuple[str, ...]
) -> list[UnwrittenPack]:
    if material.tickets:
        groups: dict[str, Iterable[QuestionCandidate]] = {
            name: list(ticket_questions(material.survey, tickets))
            for name, tickets in material.tickets.items()
        }
    elif request.group:
        groups = code_groups(request.group, material.survey, material.candidates)
    else:
        groups = {"": material.candidates}
    tracked = {file.path for file in material.repository.files} | {*material.survey.files}
    focus = focus_test(request.focus, material.survey, tracked)
    wish = QuestionLimits(
        count=request.count,
        profile=request.profile,
        focus=focus,
        is_focused=bool(request.focus),
        max_files=MOST_FILES - len(extra),
    )
    packs = []
    for name, candidates in sorted(groups.items()):
        questions = number_questions(select_questions(material.survey, candidates, wish))
        if request.group and len(questions) < _FEWEST_IN_GROUP and not material.tickets:
            continue
        target = pack_path(request, day, name)
        style = style_of(request, target, extra, name)
        commit = material.repository.sha[:SHORT_SHA] if material.repository.sha else None
        text = write_pack(material.survey, questions, style, commit)
        packs.append(UnwrittenPack(name, target, style, questions, text))
    return packs


def _refuse_invalid(pack: UnwrittenPack, root: Path) -> None:
    """A pack that would not pass is never written: an option must have made it invalid."""
    parsed = parse_pack(pack.text, pack.target.as_posix())
    facts = Facts(syntax=check_syntax(parsed), paths=path_facts(parsed, root))
    # Strict but for the number of steps: what is valid for twenty is for fewer.
    passed_over = set() if len(pack.questions) == STEPS else {_STEP_COUNT}
    findings = lint(Subject(parsed, facts), RULES, strict=True)
    errors = [
        finding
        for finding in findings
        if finding.severity is Severity.ERROR and finding.rule not in passed_over
    ]
    if errors:
        first = errors[0]
        raise UsageError(
            f"with these options the pack would not be valid: {first.message} ({first.rule})",
            hint=first.hint or "leave out --out-dir, --oracle-cmd or --oracle-flags",
            detail="\n".join(f"{f.rule}: {f.message}" for f in errors[:20]),
        )


def _put_in_place(
    request: GenerateRequest,
    transaction: Transaction,
    material: PackMaterial,
    day: str | None,
    packs: list[UnwrittenPack],
) -> GenerateResult:
    notices = notices_of(request, material, packs)
    if request.to_stdout or not packs:
        text = packs[0].text if packs else ""
        printed = text if request.to_stdout else None
        data = report_of(request, material, day, packs, TransactionReport(), frozenset(), None)
        return GenerateResult(_with(data, text=printed, path=""), notices)
    contents = {pack.target: pack.text.encode() for pack in packs}
    manifest = group_manifest(request, material, packs, day)
    if manifest is not None:
        contents[manifest[0]] = manifest[1]
    same = frozenset(p for p, b in contents.items() if _is_there(p, b, force=request.force))
    pieces = [
        FileWrite("write" if len(contents) == 1 else path.name, path, content)
        for path, content in contents.items()
        if path not in same
    ]
    written = transaction.carry_out(pieces)
    place = display_path(manifest[0], request.root) if manifest else None
    return GenerateResult(report_of(request, material, day, packs, written, same, place), notices)


def _is_there(target: Path, content: bytes, *, force: bool) -> bool:
    """The same file is there already; another one is only replaced by force."""
    before = files.read(target)
    if before is not None and before != content and not force:
        raise AlreadyExistsError(
            f"{target} exists and is different", hint="pass --force, or another --out"
        )
    return before == content


def _with(data: GenerateReport, **parts: object) -> GenerateReport:
    return msgspec.structs.replace(data, **parts)
