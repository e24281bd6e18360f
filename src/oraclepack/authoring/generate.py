"""The use case behind `generate`: read the repository, choose, compose, check, write."""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from oraclepack.authoring.choose import MOST_FILES, choose
from oraclepack.authoring.compose import (
    ORACLE_FLAGS,
    StepDraft,
    Style,
    compose,
    ordered,
    outputs_of,
)
from oraclepack.authoring.file_kinds import is_speakable, worth_reading
from oraclepack.authoring.generation import GeneratedStep, GenerateReport
from oraclepack.authoring.repository import RepositorySnapshot, read_repository
from oraclepack.authoring.survey import survey
from oraclepack.errors import UsageError
from oraclepack.lint.bash_syntax import check_syntax
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import path_facts
from oraclepack.lint.facts import Facts
from oraclepack.lint.finding import Severity
from oraclepack.lint.registry import RULES
from oraclepack.lint.rule import Subject
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.pack.output_names import slug
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.environment import environment

_OPERATORS = re.compile(r"[;&|<>`\n\r()]|\$")
_SHORT_SHA = 12
_PACK_NAME = "oracle-pack"


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """What the user asked for; empty means the default."""

    root: Path
    out: str = ""
    out_dir: str = ""
    force: bool = False
    rollback_on_failure: bool = False
    day: str = ""
    focus: tuple[str, ...] = ()
    extra_files: tuple[str, ...] = ()
    oracle_cmd: str = "oracle"
    oracle_flags: str = ORACLE_FLAGS
    model: str = ""
    engine: str = ""
    constraints: str = ""
    non_goals: str = ""
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """What became of it, with what the user should hear besides."""

    data: GenerateReport
    warnings: tuple[str, ...] = ()


def generate(wish: GenerateRequest) -> GenerateResult:
    """Write a strict pack about the repository. The same commit and wish give the same bytes."""
    _refuse_shell(wish)
    transaction = Transaction(wish.root, "generate", undo=wish.rollback_on_failure)
    repository = read_repository(wish.root, environment(), worth_reading)
    extra = _extra_files(wish, repository)
    focus = _focus(wish, repository)
    found = survey(repository, limit=LARGEST, is_secret=looks_secret)
    asked = ordered(found, choose(found, focus=focus, room=MOST_FILES - len(extra)))
    day = _day(wish, repository)
    target = _target(wish, day)
    style = _style(wish, target, extra)
    commit = repository.sha[:_SHORT_SHA] if repository.sha else None
    text = compose(found, asked, style, commit)
    _refuse_invalid(text, target, wish.root)
    content = text.encode()
    unchanged = _is_there(target, content, force=wish.force)
    carried = transaction.carry_out([] if unchanged else [FileWrite("write", target, content)])
    return GenerateResult(
        _told(wish.root, target, repository, day, asked, style, carried, unchanged=unchanged),
        _warnings(repository),
    )


def _refuse_shell(wish: GenerateRequest) -> None:
    """The call is put into bash as it is: it must be words, not a program."""
    for flag, text in (("--oracle-cmd", wish.oracle_cmd), ("--oracle-flags", wish.oracle_flags)):
        try:
            words = shlex.split(text)
        except ValueError as reason:
            raise UsageError(f"{flag}: {reason}") from None
        if _OPERATORS.search(text) or (flag == "--oracle-cmd" and not words):
            raise UsageError(
                f"{flag}: {text!r} is not a plain list of words",
                hint='give words only, such as "npx -y @steipete/oracle"',
            )


def _extra_files(wish: GenerateRequest, repository: RepositorySnapshot) -> tuple[str, ...]:
    paths = tuple(dict.fromkeys(_plain(path) for path in wish.extra_files))
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


def _focus(wish: GenerateRequest, repository: RepositorySnapshot) -> tuple[str, ...]:
    places = tuple(_plain(path) for path in wish.focus)
    for place in places:
        tracked = (f.path for f in repository.files)
        if place and not any(path == place or path.startswith(f"{place}/") for path in tracked):
            raise UsageError(
                f"--focus: nothing tracked lies at {place}",
                hint="paths are relative to the project root",
            )
    return () if "" in places else places


def _plain(path: str) -> str:
    """A path as git spells it; the project root itself is empty."""
    plain = posixpath.normpath(path)
    return "" if plain == "." else plain


def _day(wish: GenerateRequest, repository: RepositorySnapshot) -> str | None:
    if not wish.day:
        return repository.date
    try:
        return date.fromisoformat(wish.day).isoformat()
    except ValueError:
        raise UsageError(f"--date: {wish.day!r} is no day", hint="write YYYY-MM-DD") from None


def _style(wish: GenerateRequest, target: Path, extra: tuple[str, ...]) -> Style:
    return Style(
        out_dir=wish.out_dir.rstrip("/") or _answers_of(target, wish.root),
        oracle_cmd=" ".join(wish.oracle_cmd.split()),
        oracle_flags=" ".join(wish.oracle_flags.split()),
        model=wish.model,
        engine=wish.engine,
        extra_files=extra,
        constraints=wish.constraints,
        non_goals=wish.non_goals,
        chunked=wish.chunked,
    )


def _answers_of(target: Path, root: Path) -> str:
    """Where the answers of a pack go: beside it, in a folder named after it.

    Two packs never share one, and every such folder is known as one of answers.
    """
    rest = slug(target.stem.removeprefix(_PACK_NAME))
    name = f"oracle-answers-{rest}" if rest else "oracle-answers"
    inside = target.parent.relative_to(root).as_posix() if target.is_relative_to(root) else "docs"
    return name if inside == "." else f"{inside}/{name}"


def _dated(name: str, day: str | None) -> str:
    return f"{name}-{day}" if day else name


def _target(wish: GenerateRequest, day: str | None) -> Path:
    if wish.out:
        return Path(wish.out).absolute()
    return wish.root / "docs" / f"{_dated(_PACK_NAME, day)}.md"


def _refuse_invalid(text: str, target: Path, root: Path) -> None:
    """A pack that would not pass is never written: some option must have spoilt it."""
    pack = parse_pack(text, target.as_posix())
    facts = Facts(syntax=check_syntax(pack), paths=path_facts(pack, root))
    findings = lint(Subject(pack, facts), RULES, strict=True)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        first = errors[0]
        raise UsageError(
            f"with these options the pack would not be valid: {first.message} ({first.rule})",
            hint=first.hint or "leave out --out-dir, --oracle-cmd or --oracle-flags",
            detail="\n".join(f"{f.rule}: {f.message}" for f in errors[:20]),
        )


def _is_there(target: Path, content: bytes, *, force: bool) -> bool:
    """The same file stands there already; another one is only replaced by force."""
    before = files.read(target)
    if before is not None and before != content and not force:
        raise UsageError(f"{target} exists and is different", hint="pass --force, or another --out")
    return before == content


def _told(  # noqa: PLR0913 - the parts of one answer
    root: Path,
    target: Path,
    repository: RepositorySnapshot,
    day: str | None,
    asked: Sequence[StepDraft],
    style: Style,
    carried: TransactionReport,
    *,
    unchanged: bool,
) -> GenerateReport:
    steps = tuple(
        GeneratedStep(
            step_id=one.step_id,
            question_id=one.key,
            category=one.choice.question.category,
            reference=one.reference,
            roi=one.score.roi / 100,
            attachments=tuple(dict.fromkeys((*one.choice.attached, *style.extra_files))),
            outputs=outputs_of(one, style),
        )
        for one in asked
    )
    inside = target.is_relative_to(root)
    return GenerateReport(
        path=target.relative_to(root).as_posix() if inside else target.as_posix(),
        commit=repository.sha,
        date=day,
        out_dir=style.out_dir,
        unchanged=unchanged,
        steps=steps,
        **{name: getattr(carried, name) for name in carried.__struct_fields__},
    )


def _warnings(repository: RepositorySnapshot) -> tuple[str, ...]:
    warnings: list[str] = []
    if repository.dirty and repository.sha:
        short = repository.sha[:_SHORT_SHA]
        warnings.append(f"the work tree differs from the commit; the pack describes {short}")
    if repository.shallow:
        warnings.append(
            "this clone is shallow and a full one may give another pack; "
            "`git fetch --unshallow` brings the history"
        )
    return tuple(warnings)
