"""Findings with a fix, applied to the text of a pack. What no fix names stays byte for byte."""

import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import pairwise

from oraclepack.lint.finding import Edit, Finding, Fix

BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")

LINE_ENDS = Fix("write LF line ends and no byte order mark", ())
"""It has no edits: lines and columns exclude line ends, so the whole text is changed."""

_Change = tuple[int, int, str]
"""From, to (offsets into the file as it is) and the new text."""


def apply_fixes(text: str, findings: Iterable[Finding]) -> str:
    """The text with every fix that fits.

    A fix is applied whole or not at all: where two want to change the same place, the first one
    wins, and the caller may lint the result and ask again.
    """
    fixes = dict.fromkeys(finding.fix for finding in findings if finding.fix is not None)
    changed = _edited(text, [fix for fix in fixes if fix.edits])
    if LINE_ENDS not in fixes:
        return changed
    return _LINE_END.sub("\n", changed.removeprefix(BOM))


def _edited(text: str, fixes: list[Fix]) -> str:
    starts, ends = _lines(text)
    accepted: list[_Change] = []
    for fix in fixes:
        changes = sorted({_change(edit, starts, ends) for edit in fix.edits})
        if all(_fits(change, accepted) for change in changes) and _are_apart(changes):
            for change in changes:
                if not _holds(accepted, change):
                    insort(accepted, change)
    pieces: list[str] = []
    end = 0
    for start, stop, replacement in accepted:
        pieces += [text[end:start], replacement]
        end = stop
    return "".join([*pieces, text[end:]])


def _lines(text: str) -> tuple[list[int], list[int]]:
    """Where each line begins and ends in the text, without its line end, as the parser counts."""
    starts, ends = [len(BOM) if text.startswith(BOM) else 0], []
    for match in _LINE_END.finditer(text):
        ends.append(match.start())
        starts.append(match.end())
    return starts, [*ends, len(text)]


def _change(edit: Edit, starts: list[int], ends: list[int]) -> _Change:
    def offset(line: int, column: int) -> int:
        index = min(max(line, 1), len(starts)) - 1
        return min(starts[index] + column - 1, ends[index])

    start = offset(edit.line, edit.column)
    return start, max(start, offset(edit.end_line, edit.end_column)), edit.replacement


def _holds(accepted: list[_Change], change: _Change) -> bool:
    index = bisect_left(accepted, change)
    return accepted[index : index + 1] == [change]


def _fits(change: _Change, accepted: list[_Change]) -> bool:
    """The change was accepted before, or touches none that was."""
    if _holds(accepted, change):
        return True
    index = bisect_left(accepted, change)
    return _are_apart([*accepted[max(index - 1, 0) : index], change, *accepted[index : index + 1]])


def _are_apart(changes: list[_Change]) -> bool:
    """No two of these sorted changes overlap or begin at the same place."""
    return all(one[1] <= two[0] and one[0] < two[0] for one, two in pairwise(changes))
