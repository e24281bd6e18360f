"""What tickets are called, and which tickets they name."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from oraclepack.tickets.ticket import KnownTicket, Mention, Ticket, TicketOptions

_SIGNS = re.compile(r"\*+|\?|\[[!^]?[^]/]+\]|.", re.DOTALL)


def chosen_paths(paths: Iterable[str], options: TicketOptions) -> tuple[str, ...]:
    """The paths that the patterns choose, sorted; all of them, whatever `top_n` says."""
    return tuple(sorted({path for path in paths if is_chosen(path, options)}))


def is_chosen(path: str, options: TicketOptions) -> bool:
    """The glob matches, some include does if there are any, and no exclude does."""
    if not matches(options.glob, path):
        return False
    if options.include and not any(matches(one, path) for one in options.include):
        return False
    return not any(matches(one, path) for one in options.exclude)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern names a path relative to the tickets directory.

    `*`, `?` and `[…]` stay inside one name, `**` is any number of directories. A pattern without a
    slash names files in any directory; one that ends in a slash names everything below.
    """
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = pattern.removeprefix("./")
    if anchored.endswith("/"):
        anchored += "**"
    parts = anchored.split("/")
    if len(parts) == 1 and parts[0] != "**":
        parts = ["**", *parts]
    last = len(parts) - 1
    text = "".join(_part(part, is_last=at == last) for at, part in enumerate(parts))
    return re.compile(text, re.DOTALL)


def _part(part: str, *, is_last: bool) -> str:
    if part == "**":
        return ".*" if is_last else "(?:[^/]+/)*"
    inner = "".join(map(_sign, _SIGNS.findall(part)))
    return inner if is_last else f"{inner}/"


def _sign(sign: str) -> str:
    if set(sign) == {"*"}:
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    if len(sign) > 1:
        inside = sign[1:-1]
        negated = inside[0] in "!^"
        letters = re.escape(inside[negated:]).replace(r"\-", "-")
        return f"[^/{letters}]" if negated else f"[{letters}]"
    return re.escape(sign)


@dataclass(frozen=True, slots=True)
class SameId:
    """Two or more tickets that claim one id: it is ambiguous."""

    id: str
    paths: tuple[str, ...]


def identify(tickets: Sequence[Ticket], tickets_dir: str) -> tuple[KnownTicket, ...] | SameId:
    """Every ticket with its id and the tickets it names, in the order given.

    The id is the one of the front matter, else the file name without extension, else, where that
    is taken, the path below the tickets directory.
    """
    ids = _ids(tickets)
    if isinstance(ids, SameId):
        return ids
    names = _names(tickets, ids)
    return tuple(_known(ticket, ids, names, tickets_dir) for ticket in tickets)


def _ids(tickets: Sequence[Ticket]) -> dict[str, str] | SameId:
    """Path → id."""
    stems = {ticket.path: PurePosixPath(ticket.path).stem for ticket in tickets}
    counts = Counter(ticket.given_id or stems[ticket.path] for ticket in tickets)
    ids = {
        ticket.path: ticket.given_id
        or (stems[ticket.path] if counts[stems[ticket.path]] == 1 else ticket.path)
        for ticket in tickets
    }
    for one, count in sorted(Counter(ids.values()).items()):
        if count > 1:
            return SameId(one, tuple(sorted(path for path, each in ids.items() if each == one)))
    return ids


def _names(tickets: Iterable[Ticket], ids: Mapping[str, str]) -> dict[str, str]:
    """Every word that means one ticket and no other, in lower case, with its id."""
    names: dict[str, set[str]] = {}
    for ticket in tickets:
        one = ids[ticket.path]
        name = PurePosixPath(ticket.path).name
        for word in (one, f"#{one}", ticket.path, name):
            names.setdefault(word.casefold(), set()).add(one)
    return {word: next(iter(owners)) for word, owners in names.items() if len(owners) == 1}


def _known(
    ticket: Ticket, ids: Mapping[str, str], names: Mapping[str, str], tickets_dir: str
) -> KnownTicket:
    own = ids[ticket.path]
    needs: set[str] = set()
    blocks: set[str] = set()
    unknown: list[Mention] = []
    for mention in ticket.mentions:
        resolved = _ticket_named(mention, names)
        if resolved is not None and resolved != own:
            (blocks if mention.blocks else needs).add(resolved)
        elif resolved is None and mention.in_front and mention.name:
            unknown.append(mention)
    path = (PurePosixPath(tickets_dir) / ticket.path).as_posix()
    # What it says it blocks cannot also be what it needs: the plainer word wins.
    return KnownTicket(
        own, ticket, path, tuple(sorted(needs - blocks)), tuple(sorted(blocks)), tuple(unknown)
    )


def _ticket_named(mention: Mention, names: Mapping[str, str]) -> str | None:
    """The ticket that a word means.

    In running text a word counts only if it cannot well be anything else: a file name, or an id
    with a letter and a digit. `login` or `42` are names only behind "Depends on" and its like.
    """
    word = mention.name.removeprefix("./").casefold()
    ticket = names.get(word) or names.get(word.rpartition("/")[2])
    if ticket is None or mention.is_claim:
        return ticket
    letters = any(char.isalpha() for char in word)
    digits = any(char.isdigit() for char in word)
    is_specific = (letters and digits) or word.startswith("#") or word.endswith(".md")
    return ticket if is_specific else None


def waves(tickets: Sequence[KnownTicket]) -> tuple[tuple[str, ...], ...]:
    """The tickets in rounds: those of one round wait for none of it.

    Tickets that wait for each other in a cycle are released one at a time, the first by path, so
    that every ticket has its round.
    """
    waiting = needs_of(tickets)
    order = {ticket.id: at for at, ticket in enumerate(tickets)}
    rounds: list[tuple[str, ...]] = []
    while waiting:
        free = [one for one, needs in waiting.items() if not needs & waiting.keys()]
        chosen = free or [min(waiting, key=lambda one: (len(waiting[one]), order[one]))]
        rounds.append(tuple(sorted(chosen, key=order.__getitem__)))
        for one in chosen:
            del waiting[one]
    return tuple(rounds)


def needs_of(tickets: Iterable[KnownTicket]) -> dict[str, set[str]]:
    """Each ticket's id and the ids it waits for, from both sides' words."""
    known = list(tickets)
    needs = {ticket.id: set(ticket.depends_on) for ticket in known}
    for ticket in known:
        for other in ticket.blocks:
            needs[other].add(ticket.id)
            # "A blocks B" outweighs a mere mention of B in A.
            needs[ticket.id].discard(other)
    return needs


def circles(tickets: Sequence[KnownTicket]) -> tuple[str, ...]:
    """The tickets that are part of a dependency cycle."""
    needs = needs_of(tickets)
    free = True
    while free:
        free = False
        for one in [one for one, others in needs.items() if not others & needs.keys()]:
            del needs[one]
            free = True
    while ends := [one for one in needs if not any(one in needs[other] for other in needs)]:
        for one in ends:
            del needs[one]
    return tuple(sorted(needs))
