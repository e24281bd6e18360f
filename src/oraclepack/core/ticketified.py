"""What `ticketify` and `tickets` tell: the shapes of their data."""

import msgspec

from oraclepack.run.transaction import Carried


class Ticketified(Carried, frozen=True, kw_only=True):
    """What became of a set of tickets."""

    tickets_dir: str
    matched: int
    """How many files the patterns choose; `selected` of them were taken."""
    selected: int
    actions: int
    done: int
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    """Files that already held the same bytes."""
    set_aside: tuple[str, ...] = ()
    """Where `--regenerate` and `--force` moved files to."""
    pack: str
    """The ticket action pack."""
    without_actions: tuple[str, ...] = ()
    """The chosen tickets that ask for nothing, by path."""


class TicketsTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a sub-command of `tickets` answers."""

    text: str
    """The word, the prompt or the sentence that it prints."""
    written: str | None = None
    """The file it wrote."""
    ok: bool = True
