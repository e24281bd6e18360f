"""`WORK:` lines: the part of an answer that says in a fixed form what there is to do.

WORK: <title> | files: <paths> | done when: <check> | effort: S|M|L | evidence: <path:line>
WORK: none
"""

import re
from enum import StrEnum

import msgspec

from oraclepack.system.patterns import late_pattern

_LINE = late_pattern(r"[\s>*_`-]*(?:\d{1,2}[.)]\s*)?[*_`]*WORK[*_`]*\s*:[*_`]*\s*(?P<rest>\S.*)")
_FIELD = late_pattern(
    r"\s*(?P<name>files?|done when|effort|evidence)\s*:\s*(?P<value>.*?)\s*", re.IGNORECASE
)
_LONGEST_MARKS = 40
"""Characters before the title: marks of a list, of bold, of code."""
_ASKED = late_pattern(r"^[\s>*-]*WORK:\s*<", re.MULTILINE)
_COMMA = late_pattern(r"\s*[,;]\s*")


class Effort(StrEnum):
    """The size of a piece of work."""

    S = "S"
    M = "M"
    L = "L"


class WorkLine(msgspec.Struct, frozen=True):
    """One line of work, its texts as they are in the answer."""

    line: int
    title: str
    source: str
    """All that is after `WORK:`."""
    files: tuple[str, ...] = ()
    done_when: str = ""
    effort: Effort | None = None
    evidence: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    """What is wrong with the line."""

    @property
    def is_none(self) -> bool:
        return self.title.strip(" .").lower() == "none"

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut off: it has its form up to one of the last two fields."""
        return not self.faults and (self.is_none or bool(self.effort or self.evidence))


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt shows the form of these lines."""
    return _ASKED().search(prompt) is not None


def parse_work_line(line: str, number: int) -> WorkLine | None:
    """A line that states work, or None for any other line."""
    match = _LINE().fullmatch(line.rstrip()) if "WORK" in line[:_LONGEST_MARKS] else None
    if match is None:
        return None
    source = match["rest"].strip().rstrip("*_`").rstrip()
    title, *fields = source.split(" | ") if " | " in source else source.split("|")
    values: dict[str, str] = {}
    faults: list[str] = []
    for field in fields:
        parsed = _FIELD().fullmatch(field)
        if parsed is None:
            faults.append(f"no known field: {field.strip()!r}")
            continue
        values[parsed["name"].lower().removesuffix("s")] = parsed["value"]
    effort = values.get("effort", "").strip().upper()
    if effort and effort not in set(Effort):
        faults.append(f"effort is S, M or L, not {effort!r}")
    return WorkLine(
        number,
        title.strip(),
        source,
        files=_names(values.get("file", "")),
        done_when=values.get("done when", ""),
        effort=Effort(effort) if effort in set(Effort) else None,
        evidence=_names(values.get("evidence", "")),
        faults=tuple(faults),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip("`") for name in _COMMA().split(text.strip()) if name.strip("`"))
