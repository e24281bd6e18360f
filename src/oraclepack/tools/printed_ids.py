"""The names under which a call of oracle can be found again, as oracle prints them."""

import re

import msgspec

HEAD_BYTES = 64_000
"""They are printed within the first second; an answer that is longer is not searched."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SESSION = re.compile(r"^Session: (\S+)[ \t]*$", re.MULTILINE)
_RESPONSE = re.compile(
    r"^API scheduled background response (resp_\w+) \(status=", re.MULTILINE | re.ASCII
)
_ANSWER = "\nAnswer:\n"


class PrintedIds(msgspec.Struct, frozen=True):
    """What oracle has printed about itself so far."""

    session: str | None = None
    """The name of its session record."""
    response: str | None = None
    """The provider's id of a response that it computes in the background."""
    is_over: bool = False
    """The answer has begun: nothing after it counts."""


def printed_ids(text: str) -> PrintedIds:
    """The ids in the whole lines of what oracle has printed before its answer."""
    plain = _COLOUR.sub("", text)
    head, mark, _ = plain.partition(_ANSWER)
    lines = head if mark else head.rpartition("\n")[0]
    sessions, responses = _SESSION.findall(lines), _RESPONSE.findall(lines)
    return PrintedIds(
        session=sessions[0] if sessions else None,
        response=responses[-1] if responses else None,
        is_over=bool(mark),
    )
