"""The use case behind `generate`: survey the repository, select, write, check, put in place."""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec

from oraclepack.authoring.access_questions import access_questions
from oraclepack.authoring.compatibility_questions import compatibility_questions
from oraclepack.authoring.concurrency_questions import concurrency_questions
from oraclepack.authoring.document_questions import document_questions
from oraclepack.authoring.duplicate_code import duplicate_questions
from oraclepack.authoring.failure_questions import failure_questions
from oraclepack.authoring.file_roles import FileRole, is_speakable, worth_reading
from oraclepack.authoring.generation import (
    GeneratedPack,
    GeneratedStep,
    GenerateReport,
    PackGroup,
    PackListing,
)
from oraclepack.authoring.git_repository import (
    ChangedLines,
    GitRepository,
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
    ORACLE_FLAGS,
    PackQuestion,
    PackStyle,
    attached_files,
    number_questions,
    output_paths,
    quote_line,
    write_pack,
)
from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.question_scope import (
    code_groups,
    exclusion,
    focus_guess,
    focus_test,
    plain_path,
)
from oraclepack.authoring.question_selection import (
    MOST_FILES,
    PROFILES,
    QuestionLimits,
    select_questions,
)
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    survey_repository,
)
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
from oraclepack.pack.output_names import slug
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.environment import environment
from oraclepack.tickets.read_tickets import find_tickets_dir, list_files, read_ticket

STEPS = 20
_STEP_COUNT = "OP110"
_OPERATORS = re.compile(r"[;&|<>`\n\r()]|\$")
_SHORT_SHA = 12
_PACK_NAME = "oracle-pack"
_FEWEST_IN_GROUP = 3
"""Questions below which a group of code is not worth a pack of its own."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """What the user asked for; empty means the default."""

    root: Path
    out: str = ""
    out_dir: str = ""
    force: bool = False
    rollback_on_failure: bool = False
    to_stdout: bool = False
    day: str = ""
    focus: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    since: str = ""
    profile: str = ""
    count: int = STEPS
    group: str = ""
    from_tickets: str | None = None
    """A directory of tickets; the empty one means the usual places; None: about the code."""
    extra_files: tuple[str, ...] = ()
    oracle_cmd: str = "oracle"
    oracle_flags: str = ORACLE_FLAGS
    model: str = ""
    engine: str = ""
    constraints: str = ""
    non_goals: str = ""
    chunked: bool = False
    progress: Progress = lambda _done, _all: None


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """What became of it, with what the user should hear besides."""

    data: GenerateReport
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pack:
    """A pack before it is put in place."""

    group: str
    target: Path
    style: PackStyle
    questions: tuple[PackQuestion, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Material:
    """What the packs are made from."""

    repository: GitRepository
    survey: RepositorySurvey
    candidates: tuple[QuestionCandidate, ...]
    tickets: Mapping[str, list[TicketText]] = field(default_factory=dict)


def generate(request: GenerateRequest) -> GenerateResult:
    """Write packs about the repository. The same commit and request give the same bytes."""
    _refuse_shell(request)
    _refuse_contradictions(request)
    transaction = Transaction(request.root, "generate", undo=request.rollback_on_failure)
    material = _material(request)
    extra = _extra_files(request, material.repository)
    day = _day(request, material.repository)
    packs = [pack for pack in _packs(request, material, day, extra) if pack.questions]
    for pack in packs:
        _refuse_invalid(pack, request.root)
    return _put_in_place(request, transaction, material, day, packs)


def _material(request: GenerateRequest) -> _Material:
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
    return _Material(repository, survey, candidates)


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
    if survey.is_limited:
        yield from change_questions(survey)
    if not survey.subjects:
        yield from document_questions(survey)


def _changed(request: GenerateRequest) -> dict[str, ChangedLines] | None:
    return changes_since(request.root, environment(), request.since) if request.since else None


def _ticket_material(
    request: GenerateRequest, repository: GitRepository, survey: RepositorySurvey
) -> _Material:
    """The survey with the tickets among its files, and the questions about them."""
    folder = find_tickets_dir(request.root, request.from_tickets or "", "--from-tickets")
    tickets: dict[str, TicketText] = {}
    surveyed = dict(survey.files)
    for name in list_files(request.root, folder):
        path = posixpath.normpath(f"{folder}/{name}")
        if not name.endswith((".md", ".txt")) or not is_speakable(path):
            continue
        text = read_ticket(request.root, folder, name).text
        title = next((line.lstrip("# ") for line in text.split("\n") if line.strip()), name)
        tickets[name] = TicketText(path, title, tuple(text.split("\n")))
        surveyed[path] = SurveyedFile(path, FileRole.DOC, None, len(text.encode()), text)
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
    return _Material(repository, both, (), grouped)


def _packs(
    request: GenerateRequest, material: _Material, day: str | None, extra: tuple[str, ...]
) -> list[_Pack]:
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
        room=MOST_FILES - len(extra),
    )
    packs = []
    for name, candidates in sorted(groups.items()):
        questions = number_questions(select_questions(material.survey, candidates, wish))
        if request.group and len(questions) < _FEWEST_IN_GROUP and not material.tickets:
            continue
        target = _target(request, day, name)
        style = _style(request, target, extra, name)
        commit = material.repository.sha[:_SHORT_SHA] if material.repository.sha else None
        text = write_pack(material.survey, questions, style, commit)
        packs.append(_Pack(name, target, style, questions, text))
    return packs


def _refuse_shell(request: GenerateRequest) -> None:
    """The call is put into bash as it is: it must be words, not a program."""
    given = (("--oracle-cmd", request.oracle_cmd), ("--oracle-flags", request.oracle_flags))
    for flag, text in given:
        try:
            words = shlex.split(text)
        except ValueError as reason:
            raise UsageError(f"{flag}: {reason}") from None
        if _OPERATORS.search(text) or (flag == "--oracle-cmd" and not words):
            raise UsageError(
                f"{flag}: {text!r} is not a plain list of words",
                hint='give words only, such as "npx -y @steipete/oracle"',
            )


def _refuse_contradictions(request: GenerateRequest) -> None:
    if request.profile and request.profile not in PROFILES:
        raise UsageError(f"--profile: {request.profile!r} is none of {', '.join(PROFILES)}")
    if request.from_tickets is not None and request.since:
        raise UsageError("--since asks about changed code, --from-tickets about tickets: give one")
    if request.group and request.to_stdout:
        raise UsageError("--group makes several packs; --stdout prints one: give one of them")
    if request.group and request.out.endswith(".md"):
        raise UsageError(
            "--group makes several packs: --out must name a directory",
            hint="for example --out docs",
        )


def _extra_files(request: GenerateRequest, repository: GitRepository) -> tuple[str, ...]:
    paths = tuple(dict.fromkeys(plain_path(path) for path in request.extra_files))
    if len(paths) > MOST_FILES - 1:
        raise UsageError(
            f"--extra-file: {len(paths)} files; a question takes {MOST_FILES} with its reference",
            hint="give at most two, or put what they say into --constraints",
        )
    sizes = {file.path: file.size for file in repository.files}
    for path in paths:
        reason = None
        if path not in sizes:
            reason = "is no tracked file of this repository"
        elif looks_secret(path):
            reason = "looks like a secret and would be sent away"
        elif sizes[path] > LARGEST:
            reason = f"has {sizes[path]:,} bytes, oracle takes {LARGEST:,}"
        elif not is_speakable(path):
            reason = "has a name that oracle would take for a pattern or a list"
        if reason is not None:
            raise UsageError(f"--extra-file: {path} {reason}", hint="choose another file")
    return paths


def _day(request: GenerateRequest, repository: GitRepository) -> str | None:
    if not request.day:
        return repository.date
    try:
        return date.fromisoformat(request.day).isoformat()
    except ValueError:
        raise UsageError(f"--date: {request.day!r} is no day", hint="write YYYY-MM-DD") from None


def _style(request: GenerateRequest, target: Path, extra: tuple[str, ...], group: str) -> PackStyle:
    out_dir = request.out_dir.rstrip("/")
    if out_dir and group:
        out_dir = f"{out_dir}/{slug(group)}"
    return PackStyle(
        out_dir=out_dir or _answers_of(target, request.root),
        oracle_cmd=" ".join(request.oracle_cmd.split()),
        oracle_flags=" ".join(request.oracle_flags.split()),
        model=request.model,
        engine=request.engine,
        extra_files=extra,
        constraints=request.constraints,
        non_goals=request.non_goals,
        is_chunked=request.chunked,
        title=group,
    )


def _answers_of(target: Path, root: Path) -> str:
    """Where the answers of a pack go: beside it, in a folder named after it.

    Two packs never share one, and every such folder is known as one of answers.
    """
    rest = slug(target.stem.removeprefix(_PACK_NAME))
    name = f"oracle-answers-{rest}" if rest else "oracle-answers"
    inside = target.parent.relative_to(root).as_posix() if target.is_relative_to(root) else "docs"
    return name if inside == "." else f"{inside}/{name}"


def _target(request: GenerateRequest, day: str | None, group: str) -> Path:
    if request.out and not request.group:
        return Path(request.out).absolute()
    folder = Path(request.out).absolute() if request.out else request.root / "docs"
    parts = [_PACK_NAME, *([day] if day else []), *([slug(group)] if group else [])]
    return folder / f"{'-'.join(parts)}.md"


def _refuse_invalid(pack: _Pack, root: Path) -> None:
    """A pack that would not pass is never written: some option must have spoilt it."""
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
    material: _Material,
    day: str | None,
    packs: list[_Pack],
) -> GenerateResult:
    notices = _notices(request, material, packs)
    if request.to_stdout or not packs:
        text = packs[0].text if packs else ""
        printed = text if request.to_stdout else None
        data = _data(request, material, day, packs, TransactionReport(), frozenset(), None)
        return GenerateResult(_with(data, text=printed, path=""), notices)
    contents = {pack.target: pack.text.encode() for pack in packs}
    manifest = _manifest(request, material, packs, day)
    if manifest is not None:
        contents[manifest[0]] = manifest[1]
    same = frozenset(p for p, b in contents.items() if _is_there(p, b, force=request.force))
    pieces = [
        FileWrite("write" if len(contents) == 1 else path.name, path, content)
        for path, content in contents.items()
        if path not in same
    ]
    written = transaction.carry_out(pieces)
    place = _display_path(manifest[0], request.root) if manifest else None
    return GenerateResult(_data(request, material, day, packs, written, same, place), notices)


def _is_there(target: Path, content: bytes, *, force: bool) -> bool:
    """The same file stands there already; another one is only replaced by force."""
    before = files.read(target)
    if before is not None and before != content and not force:
        raise AlreadyExistsError(
            f"{target} exists and is different", hint="pass --force, or another --out"
        )
    return before == content


def _manifest(
    request: GenerateRequest, material: _Material, packs: list[_Pack], day: str | None
) -> tuple[Path, bytes] | None:
    if not request.group:
        return None
    listings = tuple(
        PackListing(
            group=pack.group,
            path=_display_path(pack.target, request.root),
            out_dir=pack.style.out_dir,
            questions=len(pack.questions),
            references=tuple(sorted({q.candidate.reference for q in pack.questions})),
        )
        for pack in packs
    )
    group = PackGroup(material.repository.sha, request.group, listings)
    name = "-".join(["oracle-packs", *([day] if day else [])])
    content = msgspec.json.format(msgspec.json.encode(group), indent=2) + b"\n"
    return packs[0].target.parent / f"{name}.json", content


def _display_path(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _steps(material: _Material, pack: _Pack) -> tuple[GeneratedStep, ...]:
    return tuple(
        GeneratedStep(
            step_id=one.step_id,
            question_id=one.key,
            category=one.candidate.category,
            reference=one.candidate.reference,
            roi=one.selected.score.roi / 100,
            attachments=attached_files(one, pack.style),
            outputs=output_paths(one, pack.style),
            question=one.candidate.question,
            evidence=tuple(
                f"{place.path}:{place.line}  {quote_line(material.survey.line(*place))}"
                for place in one.candidate.evidence
            ),
            score=one.selected.score.reasons,
        )
        for one in pack.questions
    )


def _data(
    request: GenerateRequest,
    material: _Material,
    day: str | None,
    packs: list[_Pack],
    written: TransactionReport,
    same: frozenset[Path],
    manifest: str | None,
) -> GenerateReport:
    first = packs[0] if packs else None
    grouped = tuple(
        GeneratedPack(
            group=pack.group,
            path=_display_path(pack.target, request.root),
            out_dir=pack.style.out_dir,
            unchanged=pack.target in same,
            steps=_steps(material, pack),
        )
        for pack in packs
        if request.group
    )
    return GenerateReport(
        path=_display_path(first.target, request.root) if first else "",
        commit=material.repository.sha,
        date=day,
        out_dir=first.style.out_dir if first else "",
        unchanged=bool(packs) and all(pack.target in same for pack in packs),
        steps=_steps(material, first) if first else (),
        packs=grouped,
        manifest=manifest,
        **{name: getattr(written, name) for name in written.__struct_fields__},
    )


def _with(data: GenerateReport, **parts: object) -> GenerateReport:
    return msgspec.structs.replace(data, **parts)


def _notices(request: GenerateRequest, material: _Material, packs: list[_Pack]) -> tuple[str, ...]:
    repository, survey = material.repository, material.survey
    notices: list[str] = []
    if repository.is_dirty and repository.sha:
        short = repository.sha[:_SHORT_SHA]
        notices.append(f"the work tree differs from the commit; the pack describes {short}")
    if repository.is_shallow:
        notices.append(
            "this clone is shallow and a full one may give another pack; "
            "`git fetch --unshallow` brings the history"
        )
    if survey.unread:
        languages = ", ".join(f"{count} {name}" for name, count in survey.unread.items())
        notices.append(
            f"not read for want of a grammar: {languages} files; "
            '`pip install "oraclepack[languages]"` brings those there are'
        )
    if survey.left_out and not survey.subjects:
        places = ", ".join(f"{count} in {name}" for name, count in survey.left_out.items())
        notices.append(
            f"not read, as built or copied from elsewhere: source files, {places};"
            " questions need the sources that they were made of"
        )
    if survey.unparsed:
        notices.append(
            f"{survey.unparsed} source files were not parsed, as the repository is very large;"
            " those that are imported or changed most were; `--focus` and `--exclude` choose others"
        )
    if not packs:
        notices.append("nothing here gives evidence for a question; no pack was written")
    elif not request.group and len(packs[0].questions) < request.count:
        count_found = len(packs[0].questions)
        notices.append(
            f"the evidence carries {count_found} of {request.count} questions; no others were made"
            " up, and `validate --strict` wants twenty"
        )
    return tuple(notices)
