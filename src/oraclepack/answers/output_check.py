"""One output against its contract."""

from oraclepack.journal.statuses import OutputFailure
from oraclepack.pack.answer_sections import is_rehearsed, missing_sections
from oraclepack.pack.contract import OutputContract
from oraclepack.system.files import Content
from oraclepack.system.text_limits import ANSWER, LARGEST_OUTPUT

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))


def check_output(
    contract: OutputContract,
    content: Content,
    *,
    require_headings: bool = False,
    rehearsal: bool = False,
) -> OutputFailure | None:
    """What an output lacks; a missing, unreadable or empty file is reported as `unreadable`.

    A rehearsed answer never passes, unless `rehearsal` says that a rehearsal is checked.
    """
    if content.data is None:
        return _failure(contract, "unreadable", io_error=content.trouble or "missing")
    if len(content.data) > LARGEST_OUTPUT:
        size = f"too large for an output: more than {LARGEST_OUTPUT} bytes"
        return _failure(contract, "unreadable", io_error=size)
    text = content.data.decode("utf-8", "replace")
    if is_blank(text):
        return _failure(contract, "unreadable", io_error="empty")
    too_much = ANSWER.excess(text) if contract.sections else None
    if too_much is not None:
        return _failure(contract, "unreadable", io_error=f"too large for an answer: {too_much}")
    missing = missing_sections(text, contract.sections, require_headings=require_headings)
    lacking = tuple(map(str, missing))
    if not rehearsal and is_rehearsed(text):
        return _failure(contract, "rehearsal", missing=lacking)
    return _failure(contract, "sections", missing=lacking) if lacking else None


def is_blank(text: str) -> bool:
    """Whether a text has nothing but spaces of any kind and a byte order mark."""
    return not text.translate(_INVISIBLE).strip()


def _failure(
    contract: OutputContract,
    reason: str,
    *,
    missing: tuple[str, ...] = (),
    io_error: str | None = None,
) -> OutputFailure:
    return OutputFailure(
        path=contract.path,
        contract=contract.kind,
        missing_sections=missing,
        io_error=io_error,
        reason=reason,
    )
