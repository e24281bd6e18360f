"""Asking the person at the terminal for a yes."""

from oraclepack.errors import UsageError
from oraclepack.system.printable import visible
from oraclepack.system.terminal import ask, can_ask


def agree(about: str, question: str, *, is_agreed: bool) -> None:
    """Ask the person at the terminal, unless the answer was given; raises where it is not yes."""
    if is_agreed:
        return
    if not can_ask():
        raise UsageError(
            "there is no terminal to ask whether it is yours",
            hint="--yes takes it over without asking",
            detail=about,
        )
    if not ask(f"{visible(about)}{question}", lambda _: True):
        raise UsageError("nothing was taken over")
