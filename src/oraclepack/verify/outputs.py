"""One output against its contract."""

from oraclepack.core.content import Content
from oraclepack.core.contract import OutputContract
from oraclepack.core.result import OutputFailure
from oraclepack.core.sections import missing_sections

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))


def check_output(
    contract: OutputContract, content: Content, *, require_headings: bool = False
) -> OutputFailure | None:
    """What an output lacks; a missing, unreadable or empty file is another fault than its text."""
    if content.data is None:
        return _failure(contract, io_error=content.trouble or "missing")
    text = content.data.decode("utf-8", "replace")
    if is_blank(text):
        return _failure(contract, io_error="empty")
    missing = missing_sections(text, contract.sections, require_headings=require_headings)
    return _failure(contract, missing=tuple(map(str, missing))) if missing else None


def is_blank(text: str) -> bool:
    """Nothing to see: spaces of any kind, a byte order mark."""
    return not text.translate(_INVISIBLE).strip()


def _failure(
    contract: OutputContract, *, missing: tuple[str, ...] = (), io_error: str | None = None
) -> OutputFailure:
    return OutputFailure(
        path=contract.path, contract=contract.kind, missing_sections=missing, io_error=io_error
    )
