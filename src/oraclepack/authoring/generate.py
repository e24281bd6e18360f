"""The use case behind `generate`: read the project, select, write, check, put in place."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import msgspec

from oraclepack.authoring.file_roles import is_attachable
from oraclepack.authoring.generation import DroppedQuestion, GeneratedStep, GenerateReport
from oraclepack.authoring.git_repository import GitRepository
from oraclepack.authoring.model_questions import checked_questions, question_to_model
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
from oraclepack.authoring.project import Project, read_project
from oraclepack.authoring.question_candidate import on_one_line
from oraclepack.authoring.question_scope import focus_test, is_below, plain_path
from oraclepack.authoring.question_selection import (
    MOST_FILES,
    MOST_QUESTIONS,
    QuestionLimits,
    SelectedQuestion,
    select_questions,
)
from oraclepack.authoring.repository_survey import plain_word
from oraclepack.authoring.survey import brief, survey_of
from oraclepack.errors import AlreadyExistsError, InputError, UsageError
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import path_facts, quote_facts
from oraclepack.lint.finding import Facts, Finding, Severity
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.lint.script_checks import check_syntax
from oraclepack.pack.output_names import slug
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.ask_model import AskedModel, ModelAsker
from oraclepack.run.run_report import RunOutcome
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.digests import sha256_text
from oraclepack.system.printable import quantity

_OPERATORS = re.compile(r"[;&|<>`\n\r()]|\$")
_PACK_NAME = "oracle-pack"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """The options of one command; an empty value means the default."""

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
    count: int = 0
    """At most so many questions; 0: ten, or twenty where a model writes them."""
    extra_files: tuple[str, ...] = ()
    oracle_cmd: str = "oracle"
    oracle_flags: str = ORACLE_FLAGS
    model: str = ""
    engine: str = ""
    constraints: str = ""
    non_goals: str = ""
    chunked: bool = False
    progress: Progress = lambda _done, _all: None
    asker: ModelAsker | None = None
    """Lets a model write the questions."""
    may_send: Callable[[str], bool] = lambda _question: True
    """Asks the user whether files may be sent to that model."""


def refuse_shell_syntax(request: GenerateRequest) -> None:
    """Refuse operators and expansions: these options are written into the bash block unquoted."""
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


def extra_files_of(request: GenerateRequest, repository: GitRepository) -> tuple[str, ...]:
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
            reason = "is not a tracked file of this repository"
        elif looks_secret(path):
            reason = "looks like a secret, and attached files are sent to the provider"
        elif sizes[path] > LARGEST:
            reason = f"has {sizes[path]:,} bytes, oracle accepts at most {LARGEST:,}"
        elif not is_attachable(path):
            reason = "has a name that oracle or bash would read as a pattern, a list or an option"
        if reason is not None:
            raise UsageError(f"--extra-file: {path} {reason}", hint="choose another file")
    return paths


def day_of(request: GenerateRequest, repository: GitRepository) -> str | None:
    if not request.day:
        return repository.date
    try:
        return date.fromisoformat(request.day).isoformat()
    except ValueError:
        message = f"--date: {request.day!r} is not a date"
        raise UsageError(message, hint="write YYYY-MM-DD") from None


def style_of(request: GenerateRequest, target: Path, extra: tuple[str, ...]) -> PackStyle:
    return PackStyle(
        out_dir=request.out_dir.rstrip("/") or _answers_directory(target, request.root),
        oracle_cmd=" ".join(request.oracle_cmd.split()),
        oracle_flags=" ".join(request.oracle_flags.split()),
        model=request.model,
        engine=request.engine,
        extra_files=extra,
        constraints=request.constraints,
        non_goals=request.non_goals,
        is_chunked=request.chunked,
        since=plain_word(request.since),
    )


def _answers_directory(target: Path, root: Path) -> str:
    """The directory of a pack's answers: beside the pack, and named after it.

    So two packs never share one, and the name shows that it holds answers.
    """
    rest = slug(target.stem.removeprefix(_PACK_NAME))
    name = f"oracle-answers-{rest}" if rest else "oracle-answers"
    inside = target.parent.relative_to(root).as_posix() if target.is_relative_to(root) else "docs"
    return name if inside == "." else f"{inside}/{name}"


def pack_path(request: GenerateRequest, day: str | None) -> Path:
    """Where the pack is written."""
    if request.out:
        return Path(request.out).absolute()
    name = f"{_PACK_NAME}-{day}" if day else _PACK_NAME
    return request.root / "docs" / f"{name}.md"


__all__ = ["GenerateRequest", "GenerateResult", "generate"]

STRICT_COUNT = 20
_STEP_COUNT = "OP110"
_NOTHING_TO_ASK = "nothing to ask"
"""What the forecast says where the reply is there already."""


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of `generate`, with warnings for the user."""

    data: GenerateReport
    warnings: tuple[str, ...] = ()
    failed: RunOutcome | None = None
    """With `--ask`: the run without a reply. The same command goes on, and asks nothing twice."""


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
        count=request.count or (MOST_QUESTIONS if request.asker is None else STRICT_COUNT),
        focus=focus_test(request.focus, project.survey, _tracked(project)),
        is_focused=bool(request.focus),
        max_files=MOST_FILES - len(extra),
    )
    day = day_of(request, project.repository)
    target = pack_path(request, day)
    style = style_of(request, target, extra)
    asked: AskedModel | None = None
    dropped: list[DroppedQuestion] = []
    notices = project.notices()
    if request.asker is None:
        selected = select_questions(project.survey, project.candidates(), limits)
    else:
        asked = _ask(request, request.asker, project, limits)
        reply = asked.replies[0]
        if reply is None:
            report = GenerateReport(
                path="", commit=project.repository.sha, date=day, out_dir=style.out_dir
            )
            return GenerateResult(report, asked.warnings, asked.failed or asked.outcomes[-1])
        selected, dropped = checked_questions(project.survey, reply, limits)
        style = replace(
            style, command="generate --ask", delimiter=f"PROMPT_{sha256_text(reply)[:24]}"
        )
    questions, text = _valid_pack(project, selected, style, target, request, dropped)
    if not questions:
        raise _nothing_to_ask(request, project, dropped)
    if len(questions) < limits.count:
        notices.append(said_count(len(questions), asked=asked is not None))
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
        dropped=tuple(dropped),
        text=text if request.to_stdout else None,
        **msgspec.structs.asdict(written),
    )
    warnings = (*notices, *(asked.warnings if asked is not None else ()))
    return GenerateResult(report, warnings)


def said_count(count: int, *, asked: bool = False) -> str:
    """How many questions there are, and how to get a whole pack."""
    if asked:
        return f"{quantity(count, 'question')} of the model passed the checks"
    return (
        f"{quantity(count, 'question')} with evidence; for twenty, let an agent write them"
        " (`oraclepack skills show`), or a model (--ask)"
    )


def _ask(
    request: GenerateRequest, asker: ModelAsker, project: Project, limits: QuestionLimits
) -> AskedModel:
    """Let the model write the questions, once the user agreed that central files are sent."""
    paths = [
        path
        for path in request.focus
        if any(is_below(one, plain_path(path)) for one in _tracked(project))
    ]
    report = survey_of(project, request.root, since=request.since, focus=paths)
    stated = {"Constraints": request.constraints, "Leave out": request.non_goals}
    stated["Stay in"] = ", ".join(request.focus)
    lines = "".join(f"{name}: {on_one_line(text)}\n" for name, text in stated.items() if text)
    question = question_to_model(
        project.survey, brief(report), limits, f"{lines}\n" if lines else ""
    )
    price = "; ".join(asker.price([question]))
    if price != _NOTHING_TO_ASK:
        listed = "".join(f"  {path}\n" for path in question.files)
        sent = quantity(len(question.files), "file")
        if not request.may_send(f"{listed}{price}; send a survey and these {sent} to the model?"):
            raise UsageError(
                "nothing was sent", hint="pass --yes to send the files without a question"
            )
    return asker.ask([question])


def _valid_pack(
    project: Project,
    selected: Sequence[SelectedQuestion],
    style: PackStyle,
    target: Path,
    request: GenerateRequest,
    dropped: list[DroppedQuestion],
) -> tuple[tuple[PackQuestion, ...], str]:
    """The pack, which `validate --strict` accepts but for the number of its steps.

    What a rule refuses of a model's questions is dropped; of our own, an option made it invalid.
    """
    while True:
        questions = number_questions(selected)
        text = write_pack(project.survey, questions, style, project.commit)
        errors = _errors(text, target, len(questions), request.root) if questions else []
        refused = {str(error.step_id): error for error in errors if error.step_id is not None}
        if not errors:
            return questions, text
        if request.asker is None or not refused:
            raise _invalid(errors)
        dropped += [
            DroppedQuestion(one.candidate.question[:160], f"{error.rule}: {error.message}")
            for one in questions
            if (error := refused.get(one.step_id)) is not None
        ]
        selected = [one.selected for one in questions if one.step_id not in refused]


def _tracked(project: Project) -> set[str]:
    return {file.path for file in project.repository.files}


def _nothing_to_ask(
    request: GenerateRequest, project: Project, dropped: Sequence[DroppedQuestion]
) -> InputError:
    notices = [*project.notices(), *(f"{one.reason}: {one.question}" for one in dropped[:20])]
    if project.survey.changes is not None and not project.survey.changes.files:
        message = f"no file that exists was edited since the fork point from {request.since}"
    else:
        message = "nothing here gives evidence for a question"
        if request.asker is not None:
            message = "no question of the model passed the checks"
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


def _errors(text: str, target: Path, count: int, root: Path) -> list[Finding]:
    parsed = parse_pack(text, target.as_posix())
    facts = Facts(
        syntax=check_syntax(parsed),
        paths=path_facts(parsed, root),
        quotes=quote_facts(parsed, root),
    )
    # Strict but for the number of steps: what is valid for twenty is for fewer.
    passed_over = set() if count == STRICT_COUNT else {_STEP_COUNT}
    return [
        finding
        for finding in lint(Subject(parsed, facts), RULES, strict=True)
        if finding.severity is Severity.ERROR and finding.rule not in passed_over
    ]


def _invalid(errors: Sequence[Finding]) -> UsageError:
    first = errors[0]
    return UsageError(
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
