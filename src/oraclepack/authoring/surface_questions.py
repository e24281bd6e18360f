"""Questions about what users and operators meet: commands, routes, messages, logs, notes."""

import re
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.access_questions import routes_of
from oraclepack.authoring.question_candidate import QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.source_facts import Mark, MarkKind, ParsedSource

_ROUTE_CALLS = frozenset({"get", "post", "put", "patch", "delete", "HandleFunc", "Handle", "use"})
_OPTION = re.compile(r"(?:^|\.)(?:option|argument)$")
_STATUS = frozenset({"abort", "HTTPException", "http.Error", "res.status", "jsonify", "render"})
_CODE = re.compile(r"\w")
_IDLE_NOTE = re.compile(
    r"\b(?:type (?:hints?|annotations?|ignore|checks?)|typing|casts?|mypy|pyright|lint\w*|noqa"
    r"|refactor\w*|renam\w*|clean(?:\s?up|er)?|nicer|simplif\w*|dedup\w*|unused|docs?|document\w*"
    r"|docstrings?|tests?|comments?|explore|deprecat\w*|python ?2|move (?:this|to|into)"
    r"|(?:drop|removed?) (?:this|when|after|once|in|with))\b",
    re.IGNORECASE,
)
"""Notes about how the code looks, not about what it does."""
_FEW = 2
_SEVERAL = 3
_MOST_QUOTED = 4


def surface_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source in survey.sources:
        yield from _commands(file, source)
        yield from _messages(file, source)
        yield from _statuses(file, source)
        yield from _logs(file, source)
        yield from _notes(file, source)


def _commands(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    for definition in source.definitions:
        options = [line for name, line in definition.decorators if _OPTION.search(name)]
        if (
            not definition.is_callable
            or len(options) < _SEVERAL
            or len(definition.parameters) < _FEW
        ):
            continue
        others = ", among others" if len(options) > _MOST_QUOTED else ""
        yield QuestionCandidate(
            "command-options",
            "UX flows",
            definition.name,
            file.path,
            f"The command {definition.name} declares the options and arguments quoted"
            f" below{others}. Which two of them contradict each other without a complaint, which"
            " default surprises somebody who runs it in CI, and what does it print for the three"
            " likeliest mistakes?",
            "the contradictory pairs with today's behaviour, the surprising default, and the"
            " better message for each mistake",
            "people meet the options before they meet the manual",
            places(file.path, *options[:_MOST_QUOTED], definition.line),
            2,
            70,
        )
    added = [m for m in source.of(MarkKind.CALL) if calls.method(m.name) == "add_argument"]
    if len(added) >= _SEVERAL:
        owner = source.owner_of(added[0])
        yield QuestionCandidate(
            "command-options",
            "UX flows",
            owner.name if owner else "arguments",
            file.path,
            f"{file.path} declares its command line by add_argument(). Which two options contradict"
            " each other without a complaint, which default surprises somebody who runs it in CI,"
            " and what is printed for the three likeliest mistakes?",
            "the contradictory pairs with today's behaviour, the surprising default, and the"
            " better message for each mistake",
            "people meet the options before they meet the manual",
            places(file.path, *(m.line for m in added[:5])),
            2,
            70,
        )


def _messages(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    raised = [m for m in source.of(MarkKind.RAISE) if len(m.detail.split()) >= _SEVERAL]
    by_owner: dict[int, list[Mark]] = {}
    for mark in raised:
        by_owner.setdefault(mark.owner, []).append(mark)
    best = max(by_owner.items(), key=lambda item: (len(item[1]), -item[0]), default=None)
    if best is None or len(best[1]) < _SEVERAL or best[0] < 0:
        return
    function = source.definitions[best[0]]
    name = source.qualified(function)
    raised_names = calls.listed_names(best[1])
    how = "returning errors" if file.language == "Go" else f"raising {raised_names}"
    yield QuestionCandidate(
        "error-messages",
        "UX flows",
        name,
        file.path,
        f"{name}() refuses input by {how} with the messages quoted below. For each: does"
        " the person who caused it learn which input was wrong and what to do instead, can a"
        " program tell the cases apart without reading the text, and which wrong input is not"
        " refused at all?",
        "each message with the input that causes it and a better wording where one is needed, and"
        " the input that slips through",
        "the message is the only help that is there at the moment of the mistake",
        places(file.path, function.line, *((*m.lines, m.line)[0] for m in best[1][:5])),
        1 + function.is_public,
        75 if function.is_public else 60,
    )


def _statuses(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    routes = routes_of(source)
    answers = [
        m for m in source.marks if m.name in _STATUS and m.kind in {MarkKind.CALL, MarkKind.RAISE}
    ]
    registered = [
        m
        for m in source.of(MarkKind.CALL)
        if calls.method(m.name) in _ROUTE_CALLS and m.detail.startswith("/")
    ]
    lines = [d.decorators[0][1] for d in routes[:3]] + [m.line for m in registered[:3]]
    if len(lines) < _FEW:
        return
    names = [d.name for d in routes[:3]] or [m.detail for m in registered[:3]]
    yield QuestionCandidate(
        "routes",
        "contracts/interfaces",
        names[0].strip("/").replace("/", "-") or "root",
        file.path,
        f"{file.path} answers requests in {listed(names)}. What does each answer for a missing, a"
        " malformed and an unknown identifier and for a body of the wrong shape, which of these"
        " leaves the caller without a usable status or message, and which request changes"
        " something before it is refused?",
        "a table of route, bad input, status and body, with the lines, and the answers to change",
        "callers program against the answers that they get, wrong ones included",
        places(file.path, *lines, *(m.line for m in answers[:2]))[:6],
        3,
        75,
    )


def _logs(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    logged = [m for m in source.of(MarkKind.CALL) if calls.is_log(m)]
    handled = [m for m in source.of(MarkKind.HANDLER) if m.detail == "logs"]
    owners = source.owners_of(logged)
    lines = [*(m.line for m in handled[:2]), *(m.line for m in logged[:3])]
    evidence = places(file.path, *lines, *(o.line for o in owners[:1]))
    if len(logged) < _SEVERAL or len(evidence) < _SEVERAL:
        return
    yield QuestionCandidate(
        "log-lines",
        "observability",
        source.qualified(owners[0]) if owners else "log",
        file.path,
        f"{file.path} writes the quoted lines to the log. When something goes wrong there, can one"
        " failing request, user or file be followed through them, which failure is logged at a"
        " level that nobody reads, and what do they write that should not be written down?",
        "the failure that cannot be reconstructed, the field to add, the level to change, and any"
        " private data",
        "the log is read at three in the morning by somebody who did not write it",
        evidence,
        2,
        65,
    )


def _notes(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    notes = [
        m
        for m in source.of(MarkKind.NOTE)
        if len(m.detail.split()) > _SEVERAL and not _IDLE_NOTE.search(m.detail)
    ]
    for note in notes[:2]:
        following = next(
            (
                number
                for number, line in enumerate(file.lines[note.line :], note.line + 1)
                if number not in source.prose and _CODE.search(line)
            ),
            0,
        )
        owner = source.around(note.line)
        owner = owner if owner is not None and owner.is_callable else None
        if not following:
            continue
        yield QuestionCandidate(
            "open-note",
            "failure modes",
            owner.name if owner else "note",
            file.path,
            f"A comment in {source.qualified(owner) + '()' if owner else file.path} says that"
            " something is unfinished (quoted below). What goes wrong today because of it, for"
            " whom, and is it cheaper to finish it, to refuse the case, or to delete the note?",
            "the input that shows the gap, its effect, and one of the three decisions with its"
            " cost",
            "a note in the code is a promise that nobody has taken on",
            places(file.path, note.line, following),
            1,
            70,
            is_about_notes=True,
        )
