"""Calls written over several lines, and where the wrapping breaks."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from oraclepack.lint.finding import Edit, Fix
from oraclepack.pack.model import Pack
from oraclepack.pack.script import Comment, Script, SimpleCommand, Span
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.argv import LostValue, lost_values, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import ORACLE, SPELLINGS


def losses(call: ToolCall) -> tuple[LostValue, ...]:
    """What gets lost in a call, as places in its list of words."""
    table, parsed = table_of(ORACLE), call.parsed
    if any(word.value is None and word.beginning for word in call.argv):
        # Known in part: a call is read with that part, its losses without it.
        loose = [index for index, word in enumerate(call.argv) if word.splits]
        parsed = parse_argv(table, [word.value for word in call.argv], loose)
    return lost_values(table, parsed)


_FLAG = re.compile(r"--?[A-Za-z]")
_NO_CONTINUATION = re.compile(r"[ \t]*\\[ \t]+(?=$|#)")
_BLANK = re.compile(r"[ \t]*(?:\\[ \t]+)?$")

Place = tuple[int, int]
"""Line and column."""


class Stretch(msgspec.Struct, frozen=True, dict=True):
    """The prelude or a step, with the lines of the file: what wrapping is judged by."""

    script: Script
    calls: tuple[ToolCall, ...]
    span: Span
    """Without the header of the step."""
    lines: list[str]
    """All lines of the file."""

    @cached_property
    def ends(self) -> tuple[Place, ...]:
        """Where each command of the script ends."""
        return tuple(map(end_of, self.script.commands))

    @cached_property
    def orphans(self) -> tuple[SimpleCommand, ...]:
        """Commands whose name is a flag, where the tree could read the text."""
        return tuple(
            part
            for command in self.script.commands
            for part in self._parts(command)
            if part.words
            and part.words[0].source.startswith("-")
            and part.span.line not in self.misread_lines
        )

    def _parts(self, command: SimpleCommand) -> Iterator[SimpleCommand]:
        """What bash makes of a command: the tree reads on past a blank line, bash does not."""
        start = 0
        for index, (one, two) in enumerate(pairwise(command.words), start=1):
            if two.span.line - one.span.end_line > 1 and self._is_blank(two.span.line - 1):
                yield self._part(command, start, index)
                start = index
        yield self._part(command, start, len(command.words))

    def _part(self, command: SimpleCommand, start: int, end: int) -> SimpleCommand:
        if end - start == len(command.words):
            return command
        words = command.words[start:end]
        first, last = words[0].span, words[-1].span
        span = Span(first.line, first.column, last.end_line, last.end_column)
        is_last = end == len(command.words)
        return replace(
            command,
            words=words,
            span=span,
            redirects=command.redirects if is_last else (),
            heredocs=command.heredocs if is_last else (),
        )

    def _is_blank(self, line: int) -> bool:
        # In a block quote a blank line still begins with its mark.
        return not self.lines[line - 1].strip(" \t>")

    @cached_property
    def misread_lines(self) -> frozenset[int]:
        lines: set[int] = set()
        last = 0
        for span in sorted(self.script.misread):
            lines.update(range(max(span.line, last + 1), span.end_line + 1))
            last = max(last, span.end_line)
        return frozenset(lines)

    @cached_property
    def call_ends(self) -> dict[int, Place]:
        """By line: where each call of a tool ends, together with the flags that can be joined."""
        inside_text = {call.span for call in self.calls if _has_own_text(call)}
        known = {call.span for call in self.calls} - inside_text
        ends = {
            end[0]: end
            for command, end in zip(self.script.commands, self.ends, strict=True)
            if not command.heredocs and (command.span in known or command.name in SPELLINGS)
        }
        for orphan in self.orphans:
            if not orphan.heredocs and self._joined(orphan, ends) is not None:
                ends[end_of(orphan)[0]] = end_of(orphan)
        return ends

    @cached_property
    def own_comments(self) -> dict[int, Comment]:
        return {each.span.line: each for each in self.script.comments if not each.trailing}

    @cached_property
    def trailing_comments(self) -> dict[int, Comment]:
        return {each.span.line: each for each in self.script.comments if each.trailing}

    def rest(self, place: Place) -> str:
        """What is on a line from a place on."""
        line, column = place
        return self.lines[line - 1][column - 1 :] if line <= len(self.lines) else ""

    def join(self, orphan: SimpleCommand) -> Fix | None:
        """Continue the line before, if a call ends there and nothing else is on it."""
        return self._joined(orphan, self.call_ends)

    def _joined(self, orphan: SimpleCommand, ends: Mapping[int, Place]) -> Fix | None:
        before = orphan.span.line - 1
        if self._is_blank(before):
            return self._closed_up(orphan)
        end = ends.get(before)
        starts_line = not self.lines[before][: orphan.words[0].span.column - 1].strip(" \t>")
        if end is None or not starts_line or not _FLAG.match(orphan.words[0].source):
            return None
        rest = self.rest(end)
        if _BLANK.match(rest) is None:
            return None
        span = Span(before, end[1], before, end[1] + len(rest))
        return Fix(f"add a backslash at the end of line {before}", (Edit.of(span, " \\"),))

    def _continues(self, line: int) -> bool:
        """The line ends in a backslash that is neither escaped nor part of a comment."""
        text = self.lines[line - 1]
        backslashes = len(text) - len(text.rstrip("\\"))
        has_comment = line in self.own_comments or line in self.trailing_comments
        return backslashes % 2 == 1 and not has_comment

    def _closed_up(self, orphan: SimpleCommand) -> Fix | None:
        """Take out blank lines after a backslash: there the author meant to go on."""
        first = orphan.span.line - 1
        while first > self.span.line and self._is_blank(first - 1):
            first -= 1
        is_continued = first > self.span.line and self._continues(first - 1)
        if not is_continued or not _FLAG.match(orphan.words[0].source):
            return None
        return Fix(
            "remove the blank line before it", (Edit.of(Span(first, 1, orphan.span.line, 1), ""),)
        )

    def comment_before(self, orphan: SimpleCommand) -> Comment | None:
        """The comment that cut an orphaned flag off from its call."""
        line, own = orphan.span.line - 1, None
        while line in self.own_comments:
            own = self.own_comments[line]
            line -= 1
        if line not in self.call_ends:
            return None
        return self.trailing_comments.get(line) or (own if self._continues(line) else None)

    def false_continuations(self) -> Iterator[tuple[Place, Comment | None]]:
        """Backslashes that continue nothing: blanks follow them, and perhaps a comment."""
        for line, column in self.ends:
            rest = self.rest((line, column))
            match = _NO_CONTINUATION.match(rest) if "\\" in rest else None
            if match is not None:
                backslash = column + match[0].index("\\")
                yield (line, backslash), self.trailing_comments.get(line)


def stretches(pack: Pack, lines: list[str]) -> Iterator[Stretch]:
    """The prelude and the steps of a pack, whose lines these are."""
    if pack.prelude is not None:
        yield Stretch(pack.prelude.script, (), pack.prelude.span, lines)
    for step in pack.steps:
        body = replace(step.span, line=step.span.line + 1)
        yield Stretch(step.script, step.calls, body, lines)


def end_of(command: SimpleCommand) -> Place:
    """Where a command ends, redirections included."""
    if not command.redirects:
        return command.span.end_line, command.span.end_column
    spans = [command.span, *(redirect.span for redirect in command.redirects)]
    return max((span.end_line, span.end_column) for span in spans)


def _has_own_text(call: ToolCall) -> bool:
    """The call is inside a string given to a shell: words added outside do not reach it."""
    return any(wrapper.endswith("-c") or wrapper == "eval" for wrapper in call.wrappers)
