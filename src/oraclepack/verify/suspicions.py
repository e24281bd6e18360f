"""Signs that an answer is not what it seems: cut off, a placeholder, an echo of the question."""

import msgspec

from oraclepack.system.text_limits import ANSWER
from oraclepack.verify.against_prompt import echo, other_script
from oraclepack.verify.endings import cut_off, unclosed_fence
from oraclepack.verify.outline import parts_of
from oraclepack.verify.stand_ins import stand_ins
from oraclepack.verify.suspicion import Suspicion

INCOMPLETE = frozenset({"cut_off", "unclosed_fence", "placeholder"})
"""Signs of an answer that is not whole: it is asked for again, like an empty one."""
_PROSE = (".md", ".markdown", ".txt")


def suspicions(
    text: str, prompt: str | None = None, path: str = "answer.md"
) -> tuple[Suspicion, ...]:
    """Everything about an answer that a careful reader would doubt.

    Only prose is read like prose: of JSON nothing is known but whether it is whole, and of other
    files nothing at all.
    """
    name = path.lower()
    if name.endswith(".json"):
        return _broken_json(text)
    if "." in name.rpartition("/")[2] and not name.endswith(_PROSE):
        return ()
    if ANSWER.excess(text) is not None:
        return ()
    repeated = tuple(echo(text, prompt or ""))
    if repeated:
        return repeated
    lines = text.rstrip().split("\n")
    parts = parts_of(lines)
    found = [*unclosed_fence(lines), *stand_ins(parts)]
    if not found:
        found.extend(cut_off(lines))
    if prompt is not None:
        found.extend(other_script(parts, prompt))
    return tuple(sorted(found, key=lambda sign: (sign.line, sign.code)))


def _broken_json(text: str) -> tuple[Suspicion, ...]:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as trouble:
        return (Suspicion("cut_off", f"it is no whole JSON: {trouble}", 1),)
    return ()
