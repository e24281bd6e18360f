"""What the program does when one of its own actions fails: a short message, details in a file."""

from __future__ import annotations

from collections.abc import Callable

from oraclepack.errors import OraclePackError
from oraclepack.system.printable import one_line

LogFault = Callable[[BaseException], str]
"""Writes the details of a fault to a file; returns its name, or nothing where that failed."""


def is_expected(error: BaseException) -> bool:
    """Whether an error says itself what to do: no fault of the program."""
    return isinstance(error, OraclePackError | OSError)


def fault_message(error: BaseException, log_fault: LogFault) -> str:
    """What happened, and what to do."""
    if isinstance(error, OraclePackError):
        hint = f"\n{error.hint}" if error.hint else ""
        return f"{one_line(error.message)}{hint}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{one_line(where)}{error.strerror or one_line(str(error))}"
    log = log_fault(error)
    details = f"Details for a report: {log}\n" if log else ""
    return (
        f"This did not work: {type(error).__name__}: {one_line(str(error))}\n{details}"
        "Escape leaves this screen, q the program. Runs go on."
    )
