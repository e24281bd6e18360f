"""What a failed call of oracle means: may the same call succeed later, and when.

oracle prints no status codes; its words, and the reason in its session record, are all
there is. The patterns are data (`failures.json`), tried in order: what can never succeed
is before what may, since quota and rate limit come with much the same words. They match
whole words of what the tool says about the failure: `ModuleNotFoundError` is not `ENOTFOUND`,
and neither a file name, a session's name nor a stack frame is a reason.
"""

import functools
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from oraclepack.errors import StepError
from oraclepack.system.files import shipped
from oraclepack.system.printable import readable
from oraclepack.tools.oracle_sessions import SessionRecord

_NODE_FRAME = re.compile(r"^\s+(?:at \S.*|\.\.\. \d+ lines matching cause stack trace \.\.\.)$")
_NODE_ERROR = re.compile(r"^(?:Uncaught )?[\w$.]*(?:Error|Exception)\b")
_NODE_CAUSE = re.compile(r"^\s*\[?cause\]?: (?P<error>\S.*)")
_NODE_VERSION = re.compile(r"^Node\.js v\d+\.\d+\.\d+\s*$")
_LOCATION = re.compile(r"^\S.*:\d+$")
_CARET = re.compile(r"^\s*[\^~]+\s*$")
_PYTHON_START = re.compile(
    r"^(?:\s*\+ (?:Exception Group )?)?Traceback \(most recent call last\):$"
)
_PYTHON_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_GROUP_BAR = re.compile(r"^\s*\| ?")

_EXCERPT_LINES = 3
"""Node shows where it threw in at most so many lines before the caret."""


def crash_line(text: str) -> str | None:
    """The message line of an uncaught exception; None where there is no stack trace."""
    lines = text.splitlines()
    return _python_error(lines) or _node_error(lines)


def without_frames(text: str) -> str:
    """The text without stack frames and the source lines that are beside them."""
    lines = text.splitlines()
    drop = _python_frames(lines) | _node_frames(lines)
    return "\n".join(line for at, line in enumerate(lines) if at not in drop)


def _python_error(lines: list[str]) -> str | None:
    """The error line below the last traceback: the one that ended the program."""
    starts = [at for at, line in enumerate(lines) if _PYTHON_START.match(line)]
    if not starts:
        return None
    for line in lines[starts[-1] + 1 :]:
        bare = _GROUP_BAR.sub("", line)
        if bare.strip() and not bare[0].isspace():
            return bare.strip()
    return None


def _python_frames(lines: list[str]) -> set[int]:
    drop: set[int] = set()
    inside = False
    for at, line in enumerate(lines):
        bare = _GROUP_BAR.sub("", line)
        if _PYTHON_START.match(line) or line.strip() in _PYTHON_LINKS:
            inside = True
            drop.add(at)
        elif inside and (not bare.strip() or bare[0].isspace()):
            drop.add(at)
        else:
            inside = False
    return drop


def _node_error(lines: list[str]) -> str | None:
    """The error line above the first frame, with the innermost cause where one is given."""
    first = next((at for at, line in enumerate(lines) if _NODE_FRAME.match(line)), None)
    if first is None:
        return None
    # Its message may have several lines, so the frame need not stand directly below it.
    above = [line.strip() for line in lines[:first] if _NODE_ERROR.match(line)]
    if not above:
        return None
    causes = [match["error"] for line in lines[first:] if (match := _NODE_CAUSE.match(line))]
    return f"{above[-1]} (cause: {causes[-1].rstrip(' {')})" if causes else above[-1]


def _node_frames(lines: list[str]) -> set[int]:
    drop = {at for at, line in enumerate(lines) if _NODE_FRAME.match(line)}
    if not drop:
        return drop
    drop |= {at for at, line in enumerate(lines) if _NODE_VERSION.match(line)}
    for at, line in enumerate(lines):
        if _CARET.match(line):
            above = range(max(0, at - _EXCERPT_LINES), at)
            start = next((one for one in reversed(above) if _LOCATION.match(lines[one])), None)
            if start is not None:
                drop.update(range(start, at + 1))
    return drop


LONGEST_MESSAGE = 300


class FailureClass(StrEnum):
    """Whether trying again makes sense."""

    TRANSIENT = "transient"
    FINAL = "final"
    UNKNOWN = "unknown"
    """Not recognised: treated as final, since every try may cost money."""
    DUPLICATE = "duplicate"
    """oracle refused, for nothing, because a session with the same prompt is marked running."""


class Failure(msgspec.Struct, frozen=True):
    """Why a call failed."""

    code: str
    kind: FailureClass
    message: str
    wait: float | None = None
    """Seconds the provider asks us to wait."""

    @property
    def is_transient(self) -> bool:
        return self.kind is FailureClass.TRANSIENT

    def error(self) -> StepError:
        return StepError(
            code=self.code,
            message=self.message,
            transient=self.is_transient,
            retry_after=msgspec.UNSET if self.wait is None or not self.is_transient else self.wait,
        )


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table: all of its patterns that are given must be found."""

    code: str
    kind: Literal["transient", "final", "duplicate"] = msgspec.field(name="class")
    text: str = ""
    reason: str = ""
    category: str = ""


@functools.cache
def patterns() -> tuple[tuple[Pattern, re.Pattern[str]], ...]:
    """The table, each row with its pattern over the tool's words."""
    content = shipped("oraclepack.tools", "failures.json")
    rows = msgspec.json.decode(content, type=tuple[Pattern, ...])
    flags = re.IGNORECASE | re.MULTILINE
    return tuple((row, re.compile(_whole_words(row.text), flags)) for row in rows)


def _whole_words(text: str) -> str:
    # A hyphen or slash beside it makes a word part of a name: `docs/rate-limit.md`.
    return rf"(?<![\w/-])(?:{text})(?![\w/-])(?!\.\w)" if text else ""


def classify(out: str, err: str, record: SessionRecord | None = None) -> Failure:
    """The failure in what a tool said on stdout and stderr, and in its session record."""
    words = _words(out, err, record)
    reason = record.reason if record else "".join(_REASON.findall(out)[-1:])
    category = record.category if record else ""
    message = _message(out, err, record)
    for row, text in patterns():
        if (
            text.search(words)
            and re.fullmatch(row.reason or ".*", reason)
            and re.fullmatch(row.category or ".*", category)
        ):
            return Failure(row.code, FailureClass(row.kind), message, wait_hint(words))
    return Failure("UNKNOWN", FailureClass.UNKNOWN, message)


_HINT = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|[smh]))+)", re.IGNORECASE
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(ms|[smh])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def wait_hint(text: str) -> float | None:
    """`Please try again in 20s`, `350ms`, `1m3s` → seconds."""
    match = _HINT.search(text)
    if match is None:
        return None
    return sum(float(n) * _SECONDS[unit] for n, unit in _AMOUNT.findall(match[1]))


_ERROR = re.compile(r"^ERROR: ", re.MULTILINE)
_REASON = re.compile(r"^Transport: (\S+)", re.MULTILINE)
_ABOUT_THE_CALL = re.compile(
    r"^(?:🧿|Session:|Mode:|Models:|Detach:|Reattach:|Calling |Provider:|Tip:|Transport:"
    r"|Skipping default-ignored path:|Ignoring duplicate --file inputs:|oracle session ).*$\n?",
    re.MULTILINE,
)
"""Lines that repeat words of the question: a session is named by the first five of its prompt."""


def _words(out: str, err: str, record: SessionRecord | None) -> str:
    """Where to look for the reason.

    After the last `ERROR: `, or before the answer: an answer may mention rate limits itself.
    """
    starts = [match.start() for match in _ERROR.finditer(out)]
    message = out[starts[-1] :] if starts else _before_answer(out)
    message = _ABOUT_THE_CALL.sub("", message)
    recorded = f"ERROR: {record.error_message}" if record and record.error_message else ""
    parts = (without_frames(message), without_frames(err), recorded)
    return "\n".join(part for part in parts if part)


def _message(out: str, err: str, record: SessionRecord | None) -> str:
    if record is not None and record.error_message:
        return _short(record.error_message)
    _, *errors = _ERROR.split(out)
    after_error = errors[-1].partition("\n")[0].strip() if errors else ""
    message = after_error or last_words(err) or crash_line(_before_answer(out)) or _last_line(out)
    return _short(message or "the tool gave no reason")


def last_words(text: str) -> str:
    """The line of a tool's output that says why it failed; empty when there is none.

    For a crash that is its error line, not frames or source lines.
    """
    return _short(crash_line(text) or _last_line(without_frames(text)))


def _before_answer(out: str) -> str:
    return out.partition("\nAnswer:\n")[0]


def _last_line(text: str) -> str:
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    error_lines = [line for line in lines if line.startswith(("error:", "✖", "ERROR:"))]
    return (error_lines or lines or [""])[-1]


def _short(text: str) -> str:
    line = readable(" ".join(text.split()))
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"
