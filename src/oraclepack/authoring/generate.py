"""The use case behind `generate`: read the project, select, write, check, put in place."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from oraclepack.authoring.generate_request import (
    GenerateRequest,
    day_of,
    extra_files_of,
    pack_path,
    refuse_shell_syntax,
    style_of,
)
from oraclepack.authoring.generation import GeneratedStep, GenerateReport
from oraclepack.authoring.pack_writing import (
    PackQuestion,
    PackStyle,
    attached_files,
    number_questions,
    output_paths,
    quote_line,
    write_pack,
)
from oraclepack.authoring.project import Project, read_project
from oraclepack.authoring.question_scope import focus_test
from oraclepack.authoring.question_selection import MOST_FILES, QuestionLimits, select_questions
from oraclepack.errors import AlreadyExistsError, InputError, UsageError
from oraclepack.lint.bash_syntax import check_syntax
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import path_facts, quote_facts
from oraclepack.lint.facts import Facts
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files

__all__ = ["GenerateRequest", "GenerateResult", "generate"]

STRICT_COUNT = 20
_STEP_COUNT = "OP110"


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of `generate`, with warnings for the user."""

    data: GenerateReport
    warnings: tuple[str, ...] = ()


def generate(request: GenerateRequest) -> GenerateResult:
    """Write a pack about the repository. The same commit and request give the same bytes."""
    refuse_shell_syntax(request)
    transaction = Transaction(request.root, "generate", undo=request.rollback_on_failure)
    project = read_project(
        request.root,
        since=request.since,
        exclude=request.exclude,
        focus=request.focus,
        progress=request.progress,
    )
    extra = extra_files_of(request, project.repository)
    limits = QuestionLimits(
        count=request.count,
        focus=focus_test(request.focus, project.survey, _tracked(project)),
        is_focused=bool(request.focus),
        max_files=MOST_FILES - len(extra),
    )
    selected = select_questions(project.survey, project.candidates(), limits)
    questions = number_questions(selected)
    if not questions:
        raise _nothing_to_ask(request, project)
    day = day_of(request, project.repository)
    target = pack_path(request, day)
    style = style_of(request, target, extra)
    text = write_pack(project.survey, questions, style, project.commit)
    _refuse_invalid(text, target, len(questions), request.root)
    notices = project.notices()
    if len(questions) < request.count:
        notices.append(said_count(len(questions)))
    unchanged = False
    written = TransactionReport()
    if not request.to_stdout:
        unchanged = _is_there(target, text.encode(), force=request.force)
        pieces = [] if unchanged else [FileWrite("write", target, text.encode())]
        written = transaction.carry_out(pieces)
    inside = target.is_relative_to(request.root)
    path = target.relative_to(request.root).as_posix() if inside else target.as_posix()
    report = GenerateReport(
        path="" if request.to_stdout else path,
        commit=project.repository.sha,
        date=day,
        out_dir=style.out_dir,
        unchanged=unchanged,
        steps=tuple(_step(project, one, style) for one in questions),
        text=text if request.to_stdout else None,
        **msgspec.structs.asdict(written),
    )
    return GenerateResult(report, tuple(notices))


def said_count(count: int) -> str:
    """What a pack without a model is, and how to get a whole one."""
    noun = "question" if count == 1 else "questions"
    return (
        f"{count} {noun} with evidence; for twenty, let an agent write them"
        " (`oraclepack skills show`)"
    )


def _tracked(project: Project) -> set[str]:
    return {file.path for file in project.repository.files}


def _nothing_to_ask(request: GenerateRequest, project: Project) -> InputError:
    notices = project.notices()
    if project.survey.changes is not None and not project.survey.changes.files:
        message = f"no file that exists was edited since the fork point from {request.since}"
    else:
        message = "nothing here gives evidence for a question"
    return InputError(
        f"{message}; no pack was written",
        hint="let an agent write one (`oraclepack skills show`, `oraclepack survey`), or begin with"
        " `oraclepack new PACK`",
        detail="\n".join(notices),
    )


def _step(project: Project, one: PackQuestion, style: PackStyle) -> GeneratedStep:
    return GeneratedStep(
        step_id=one.step_id,
        question_id=one.key,
        category=one.candidate.text.category,
        reference=one.candidate.reference,
        roi=one.selected.score.roi / 100,
        attachments=attached_files(one, style),
        outputs=output_paths(one, style),
        question=one.candidate.question,
        evidence=tuple(
            f"{place.path}:{place.line}  {quote_line(project.survey.line(*place))}"
            for place in one.candidate.evidence
        ),
        score=one.selected.score.reasons,
    )


def _refuse_invalid(text: str, target: Path, count: int, root: Path) -> None:
    """A pack that would not pass is never written: an option must have made it invalid."""
    parsed = parse_pack(text, target.as_posix())
    facts = Facts(
        syntax=check_syntax(parsed),
        paths=path_facts(parsed, root),
        quotes=quote_facts(parsed, root),
    )
    # Strict but for the number of steps: what is valid for twenty is for fewer.
    passed_over = set() if count == STRICT_COUNT else {_STEP_COUNT}
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


def _is_there(target: Path, content: bytes, *, force: bool) -> bool:
    """The same file is there already; another one is only replaced by force."""
    before = files.read(target)
    if before is not None and before != content and not force:
        raise AlreadyExistsError(
            f"{target} exists and is different", hint="pass --force, or another --out"
        )
    return before == content
