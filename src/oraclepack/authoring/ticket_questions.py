"""Questions about tickets: whether they can be met, what they touch, where they disagree."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import RepositorySurvey, plain_word

_CRITERION = re.compile(r"^\s*[-*+]\s+(?:\[[ xX]\]\s+)?\S")
_OPEN_TASK = re.compile(r"^\s*[-*+]\s+\[ \]\s+\S")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_ACCEPTANCE = re.compile(
    r"acceptance|criteria|requirements?|expected|done when|definition of done", re.IGNORECASE
)
_SYMBOL = re.compile(r"`([\w.]{3,60})(?:\(\))?`|\b([a-z]+_[a-z_]{2,40}|[A-Z]\w+[a-z][A-Z]\w+)\b")
_PATH = re.compile(
    r"[\w.-]+(?:/[\w.-]+)+\.\w{1,5}|\b[\w-]+\.(?:py|js|ts|tsx|go|rs|java|rb|c|h|cpp|sh|sql)\b"
)
_FEW = 2
_SENTENCE = 5
"""Words."""
_MANY_WORDS = 4
_SEVERAL = 3
_CATEGORIES = (
    ("permissions", ("secret", "permission", "auth", "token", "access", "security", "path safety")),
    ("migrations", ("migrat", "backward", "compatib", "schema", "deprecat", "version")),
    ("observability", ("log", "report", "metric", "trace", "monitor", "manifest")),
    ("background jobs", ("parallel", "concurren", "queue", "schedule", "worker", "background")),
    ("caching/state", ("cache", "state", "resume", "idempot")),
    ("failure modes", ("fail", "error", "retry", "timeout", "crash", "rollback", "recover")),
    ("feature flags", ("flag", "setting", "config", "environment variable", "option")),
    ("UX flows", ("user", "message", "cli", "screen", "prompt", "interactive", "help")),
    ("contracts/interfaces", ("api", "interface", "contract", "format", "endpoint", "output")),
)


@dataclass(frozen=True, slots=True)
class TicketText:
    """A ticket as the questions see it."""

    path: str
    title: str
    lines: tuple[str, ...]


def category_of(text: str) -> str:
    """The category whose words a ticket uses most; `invariants` where none stands out."""
    lower = text.lower()
    counts = [(sum(lower.count(word) for word in words), name) for name, words in _CATEGORIES]
    best = max(counts, key=lambda pair: pair[0])
    return best[1] if best[0] else "invariants"


def ticket_questions(
    survey: RepositorySurvey, tickets: Sequence[TicketText]
) -> Iterator[QuestionCandidate]:
    """Every question that a set of tickets gives evidence for."""
    symbols = _symbols(survey)
    for ticket in tickets:
        yield from _criteria(ticket)
        yield from _no_criteria(ticket)
        yield from _in_code(ticket, symbols)
        yield from _open_tasks(ticket)
    yield from _same_subject(tickets)


def _title(ticket: TicketText) -> str:
    return plain_word(ticket.title) or ticket.path


def _acceptance_lines(ticket: TicketText) -> list[int]:
    lines, inside = [], False
    for number, line in enumerate(ticket.lines, 1):
        heading = _HEADING.match(line)
        label = line.strip().rstrip(":")
        if heading or (line.strip().endswith(":") and len(label.split()) <= _MANY_WORDS):
            inside = _ACCEPTANCE.search(heading[1] if heading else label) is not None
        elif inside and _CRITERION.match(line):
            lines.append(number)
    return lines


def _criteria(ticket: TicketText) -> Iterator[QuestionCandidate]:
    lines = _acceptance_lines(ticket)
    for part, start in enumerate(range(0, len(lines), 5)):
        chunk = lines[start : start + 5]
        if len(chunk) < _FEW or part > 1:
            continue
        yield QuestionCandidate(
            "acceptance",
            category_of("\n".join(ticket.lines)),
            f"{_title(ticket)}-{part + 1}",
            ticket.path,
            f"Take the demands quoted below from the ticket {_title(ticket)}. For each: by which"
            " test or command would a reviewer see that it is met, which of them contradict each"
            " other or what the ticket says elsewhere, and which case did the author forget?",
            "one check per demand, the contradictions with both lines, and the forgotten case as"
            " a new demand",
            "a demand that cannot be checked is never finished",
            places(ticket.path, *chunk),
            3,
            80,
        )


def _no_criteria(ticket: TicketText) -> Iterator[QuestionCandidate]:
    if _acceptance_lines(ticket):
        return
    prose = [
        n
        for n, line in enumerate(ticket.lines, 1)
        if len(line.split()) > _SENTENCE and not _HEADING.match(line)
    ]
    if len(prose) < _FEW:
        return
    yield QuestionCandidate(
        "no-criteria",
        category_of("\n".join(ticket.lines)),
        _title(ticket),
        ticket.path,
        f"The ticket {_title(ticket)} has no list of acceptance criteria. From the quoted lines:"
        " what must be observably different when it is done, what must stay as it is, and what is"
        " the smallest first step that could be merged alone?",
        "three to six checkable criteria, what is out of scope, and the first step",
        "work without an end is judged by whoever is most tired",
        places(ticket.path, *prose[:4]),
        3,
        75,
    )


def _open_tasks(ticket: TicketText) -> Iterator[QuestionCandidate]:
    accepted = {*_acceptance_lines(ticket)}
    tasks = [
        n for n, line in enumerate(ticket.lines, 1) if _OPEN_TASK.match(line) and n not in accepted
    ]
    if len(tasks) < _FEW:
        return
    yield QuestionCandidate(
        "task-order",
        "failure modes",
        f"{_title(ticket)}-tasks",
        ticket.path,
        f"The ticket {_title(ticket)} lists the open tasks quoted below. Which of them cannot be"
        " done before another, which leaves the product broken if the work stops after it, and"
        " what is the order in which each step can be merged alone?",
        "the dependencies, the dangerous stopping point, and the order with one sentence each",
        "work is interrupted more often than it is finished",
        places(ticket.path, *tasks[:5]),
        2,
        75,
    )


def _symbols(survey: RepositorySurvey) -> dict[str, Place]:
    """Names that only one definition has, and file names that only one file has."""
    places: dict[str, list[Place]] = {}
    for file, source in survey.sources:
        for definition in source.definitions:
            places.setdefault(definition.name, []).append(Place(file.path, definition.line))
    return {name: where[0] for name, where in places.items() if len(where) == 1}


def _in_code(ticket: TicketText, symbols: Mapping[str, Place]) -> Iterator[QuestionCandidate]:
    mentions: dict[Place, tuple[int, str]] = {}
    for number, line in enumerate(ticket.lines, 1):
        for match in _SYMBOL.finditer(line):
            name = (match[1] or match[2]).rpartition(".")[2]
            if name in symbols:
                mentions.setdefault(symbols[name], (number, name))
    chosen = list(mentions.items())[:2]
    if not chosen:
        return
    names = [name for _, (_, name) in chosen]
    yield QuestionCandidate(
        "ticket-in-code",
        "contracts/interfaces",
        f"{_title(ticket)}-{names[0]}",
        ticket.path,
        f"The ticket {_title(ticket)} speaks of {listed(names)}, which the code defines at the"
        " quoted lines. What exactly must change there, who calls it and would notice, and is what"
        " the ticket assumes about the code still true?",
        "the change by function, the callers that are affected, and each wrong assumption with its"
        " line",
        "a ticket describes the code of the day it was written",
        (
            *places(ticket.path, *(number for _, (number, _) in chosen)),
            *(place for place, _ in chosen),
        ),
        3,
        80,
    )


def _same_subject(tickets: Sequence[TicketText]) -> Iterator[QuestionCandidate]:
    """Pairs of tickets that name the same file or symbol."""
    named: dict[str, list[tuple[TicketText, int]]] = {}
    for ticket in tickets:
        own: dict[str, int] = {}
        for number, text in enumerate(ticket.lines, 1):
            words = [m[0] for m in _PATH.finditer(text)]
            words += [m[1] or m[2] for m in _SYMBOL.finditer(text)]
            for word in words:
                own.setdefault(word, number)
        for word, number in own.items():
            named.setdefault(word, []).append((ticket, number))
    pairs: set[tuple[str, str]] = set()
    for word, where in sorted(named.items(), key=lambda item: (len(item[1]), item[0])):
        if not _FEW <= len(where) <= _SEVERAL:
            continue
        (one, line), (other, line2) = where[:2]
        if (one.path, other.path) in pairs:
            continue
        pairs.add((one.path, other.path))
        yield QuestionCandidate(
            "shared-subject",
            "invariants",
            f"{plain_word(word)}-{_title(one)}",
            one.path,
            f"The tickets {_title(one)} and {_title(other)} both concern {plain_word(word)}. Do"
            " they ask for the same thing, for things that exclude each other, or for things that"
            " must happen in one order, and which of the two should be changed or closed?",
            "the relation of the two with the lines that show it, and the order or the merged"
            " wording",
            "two tickets about one thing are done twice or undone once",
            (Place(one.path, line), Place(other.path, line2)),
            3,
            75,
        )


def ticket_group(path: str) -> str:
    """The group of a ticket by its folder below the tickets directory."""
    folder, slash, _ = path.partition("/")
    return folder if slash else "misc"


def related_groups(tickets: Sequence[TicketText]) -> dict[str, list[TicketText]]:
    """Tickets in groups that name the same files or symbols; the rest is `misc`."""
    words = {
        t.path: {m[0] for line in t.lines for m in _PATH.finditer(line)}
        | {m[1] for line in t.lines for m in _SYMBOL.finditer(line) if m[1]}
        for t in tickets
    }
    times = Counter(word for own in words.values() for word in own)
    common = {word for word, count in times.items() if count > max(_SEVERAL, len(words) // 3)}
    home = {t.path: t.path for t in tickets}

    def root(path: str) -> str:
        while home[path] != path:
            path = home[path]
        return path

    ordered = sorted(words)
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if (words[one] & words[other]) - common:
                first, second = sorted((root(one), root(other)))
                home[second] = first
    by_path = {t.path: t for t in tickets}
    groups: dict[str, list[TicketText]] = {}
    for path in ordered:
        groups.setdefault(root(path), []).append(by_path[path])
    by_word: dict[str, list[TicketText]] = {}
    for members in groups.values():
        name = _title(members[0]) if len(members) > 1 else "misc"
        by_word.setdefault(name, []).extend(members)
    return by_word
