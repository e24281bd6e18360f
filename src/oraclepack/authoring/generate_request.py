"""The options of `generate`: their values, their checks, and what follows from them."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from oraclepack.authoring.file_roles import is_attachable
from oraclepack.authoring.git_repository import GitRepository
from oraclepack.authoring.pack_writing import ORACLE_FLAGS, PackStyle
from oraclepack.authoring.question_scope import plain_path
from oraclepack.authoring.question_selection import MOST_FILES
from oraclepack.authoring.repository_survey import plain_word
from oraclepack.errors import UsageError
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.pack.output_names import slug
from oraclepack.run.ask_model import ModelAsker

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
