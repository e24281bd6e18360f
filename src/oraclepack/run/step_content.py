"""What a step would send: its prompts, its files with their sizes, and its calls word by word.

Read from the text of the pack and from the disk; nothing is started. Where only the running shell
knows a word, it is shown as it is written.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.calls.overrides import effective_argv, redacted_argv
from oraclepack.engines.rehearsal import AttachedText, tokens
from oraclepack.pack.model import Step
from oraclepack.pack.pack_files import read_pack
from oraclepack.pack.questions import short_title
from oraclepack.pack.tool_call import ToolCall
from oraclepack.run.open_run import step_of
from oraclepack.run.request import overrides_of
from oraclepack.settings.registry import Settings
from oraclepack.system import files
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_attachments import (
    FileArgumentKind,
    base_of,
    choose,
    kind_of,
    list_files,
    only_plain,
)
from oraclepack.tools.oracle_question import OracleQuestion, read_question
from oraclepack.tools.tool_names import ORACLE

_LARGEST = 1_000_000
"""Bytes of a file that are read to count its tokens; oracle refuses larger ones."""
_LONGEST_WORD = 2_000_000
"""A command is shown in full: a pack is not longer than this."""


class ContentFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a call attaches."""

    path: str
    bytes: int | None = None
    tokens: int | None = None
    """About how many; null where the file cannot be read."""
    problem: str = ""


class ContentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool in a step."""

    tool: str
    line: int
    prompt: str = ""
    is_prompt_known: bool = True
    """False when the running shell fills in parts of the prompt."""
    words: tuple[str, ...] = ()
    """The words of the call with overrides applied, and secrets removed."""
    is_exact: bool = True
    """False when only the running shell knows some of the words."""
    files: tuple[ContentFile, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The call as one would type it."""
        return shlex.join((self.tool, *self.words))


class StepContent(msgspec.Struct, frozen=True, kw_only=True):
    """A step and everything that its text says it sends."""

    step_id: str
    title: str
    line: int
    code: str
    calls: tuple[ContentCall, ...] = ()


def step_content(path: str | Path, step_id: str, settings: Settings) -> StepContent:
    """The content of one step of a pack, with the overrides of the settings."""
    pack = read_pack(Path(path))
    step = step_of(pack, step_id)
    words = overrides_of(settings, pack).for_step(step.id)
    return StepContent(
        step_id=step.id,
        title=short_title(step),
        line=step.header.span.line,
        code=step.code,
        calls=tuple(_call(call, step, words, settings.root) for call in step.calls),
    )


def check_overrides(path: str | Path, settings: Settings) -> None:
    """Raise UsageError where the tool would refuse a flag, or a step is not there."""
    overrides_of(settings, read_pack(Path(path)))


def _call(call: ToolCall, step: Step, words: Sequence[str], root: str) -> ContentCall:
    table = table_of(call.tool)
    written = tuple(word.display_text for word in call.argv)
    asks = call.tool == ORACLE and call.subcommand is None
    argv = effective_argv(table, written, words) if asks else written
    parsed = parse_argv(table, argv)
    question = read_question(parsed, argv) if asks else OracleQuestion("")
    prompt = call.prompt.text if call.prompt else question.prompt
    return ContentCall(
        tool=call.tool,
        line=call.span.line,
        prompt=prompt,
        is_prompt_known=call.prompt is None or call.prompt.complete,
        words=redacted_argv(parsed, argv, _LONGEST_WORD),
        is_exact=all(word.value is not None and not word.splits for word in call.argv),
        files=_files(question.files, root) if asks else (),
        outputs=tuple(
            output.path.display_text
            for output in step.outputs
            if output.call is not None and step.calls[output.call] is call
        ),
    )


def _files(values: Sequence[str], root: str) -> tuple[ContentFile, ...]:
    kinds = {value: kind_of(root, value) for value in values}
    if only_plain(values) and FileArgumentKind.DIRECTORY not in kinds.values():
        return tuple(_file(root, value) for value in values)
    patterns = [value for value in values if kinds[value] is not FileArgumentKind.FILE]
    listing = list_files(root, values, map(base_of, patterns))
    return tuple(_file(root, path) for path in choose(values, listing).files)


def _file(root: str, path: str) -> ContentFile:
    place = Path(root, path)
    try:
        size = os.stat(place).st_size
        data = files.read_beginning(place, _LARGEST + 1)
    except OSError as trouble:
        return ContentFile(path=path, problem=trouble.strerror or "cannot be read")
    if len(data) > _LARGEST:
        return ContentFile(path=path, bytes=size, problem="larger than oracle takes")
    text = AttachedText(path, data.decode("utf-8", "replace"))
    return ContentFile(path=path, bytes=size, tokens=tokens(OracleQuestion(""), [text]))
