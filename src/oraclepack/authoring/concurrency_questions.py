"""Questions about concurrency: tasks, locks, blocking calls, handlers at the end."""

import re
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.question_candidate import QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    functions_of,
)
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

_WORD = re.compile(r"\w+")
_HOLDER = re.compile(r"\s*(?:self|this)\.(\w+)\s*(?::[^=]+)?=")
"""The field that a task is assigned to."""
_JOBS = "background jobs"
_FEW = 2
_WAITING = frozenset({"join", "cancel", "shutdown", "wait", "Wait"})
_EXIT_HANDLERS = frozenset(
    {"atexit.register", "signal.signal", "process.on", "addShutdownHook", "trap", "Signal.trap"}
    | {"at_exit"}
)
_NO_HANDLER = re.compile(r"\bSIG_(?:IGN|DFL)\b")


_BLOCKING = frozenset({"time.sleep", "input"}) | calls.PROCESSES | calls.REQUESTS


def concurrency_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source, marks, function in functions_of(survey):
        called = [mark for mark in marks if mark.kind is MarkKind.CALL]
        yield from _blocking(file, function, source.qualified(function), called)
    for file, source in survey.sources:
        yield from _tasks(survey, file, source)
        yield from _exit_handlers(file, source)
        yield from _locks(file, source)


def _blocking(
    file: SurveyedFile, function: Definition, name: str, called: list[Mark]
) -> Iterator[QuestionCandidate]:
    blocking = [
        c for c in called if function.is_async and c.name in _BLOCKING and "await" not in c.flags
    ]
    if file.language != "Python" or not blocking:
        return
    yield QuestionCandidate(
        "blocking-in-async",
        _JOBS,
        name,
        file.path,
        f"{name}() is asynchronous and calls {calls.listed_names(blocking)}, which blocks."
        " Which other tasks of the same event loop stand still meanwhile, for how long at worst,"
        " and what would notice it?",
        "the tasks that share the loop, the longest block, and the call to use instead",
        "one blocking call stops everything that shares its loop",
        places(file.path, function.line, *(b.line for b in blocking[:4])),
        3,
        85,
    )


def _tasks(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    tasks = source.of(MarkKind.TASK)
    for task in tasks[:3]:
        owner = source.owner_of(task)
        name = source.qualified(owner) if owner else file.path
        target = calls.method(task.name)
        run = next((d for d in source.definitions if d.name == target and d.is_callable), None)
        joins = [m.line for m in source.of(MarkKind.CALL) if _ends_task(file, task, owner, m)]
        reaches_out = run is None or survey.has_effect(file.path, source.qualified(run))
        is_joined = owner is not None and any(
            owner.line <= line <= owner.end_line for line in joins
        )
        lines = [task.line, owner.line if owner else 0, run.line if run else 0, *joins[:2]]
        evidence = places(file.path, *lines)
        is_wrapper = owner is not None and owner.name == calls.method(task.detail)
        if len(evidence) < _FEW or is_wrapper:
            continue
        yield QuestionCandidate(
            "background-task",
            _JOBS,
            name,
            file.path,
            f"{name}{'()' if owner else ''} starts {_what_runs(task)} by"
            f" {calls.label(task.detail)}."
            " Who waits for its end, where does an error inside it come out, and what is left"
            " half done when the program is asked to stop while it runs?",
            "the path of an exception from the task to a person, what happens at shutdown, and"
            " whether two of them can run at once",
            "work that nobody waits for fails without anybody noticing",
            evidence,
            # Where it is waited for a few lines below, or reaches nothing, less can go wrong.
            1 if is_joined else 2 + reaches_out,
            60 if is_joined else 75,
        )


def _ends_task(file: SurveyedFile, task: Mark, owner: Definition | None, call: Mark) -> bool:
    """Whether a call may wait for a task or end it: by the field that holds it, or beside it."""
    is_timer = call.name in {"clearInterval", "clearTimeout"}
    if not is_timer and (calls.method(call.name) not in _WAITING or "args:0" not in call.flags):
        return False
    holder = _HOLDER.match(file.lines[task.line - 1])
    names = {*_WORD.findall(file.lines[call.line - 1])}
    is_inside = owner is not None and owner.line <= call.line <= owner.end_line
    return is_inside or (holder is not None and holder[1] in names)


def _what_runs(task: Mark) -> str:
    return f"{task.name}()" if task.name not in {task.detail, "func"} else "a function"


def _exit_handlers(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    handlers = [
        m
        for m in source.of(MarkKind.CALL)
        if m.name in _EXIT_HANDLERS and not _NO_HANDLER.search(file.lines[m.line - 1])
    ]
    owners = [source.owner_of(m) for m in handlers]
    words = {w for m in handlers[:4] for w in _WORD.findall(file.lines[m.line - 1])}
    installed = [d.line for d in source.definitions if d.is_callable and d.name in words]
    lines = [m.line for m in handlers[:3]] + [o.line for o in owners[:1] if o is not None]
    evidence = places(file.path, *lines, *installed[:2])
    if not handlers or len(evidence) < _FEW:
        return
    yield QuestionCandidate(
        "exit-handlers",
        _JOBS,
        calls.method(handlers[0].name),
        file.path,
        f"{file.path} installs handlers by {calls.listed_names(handlers)}. Which state can the"
        " program be in when each of them runs, what do they call that is not safe at that"
        " moment, and what happens on a second signal during the first one's handling?",
        "the worst moment for each handler, what it may not do there, and what a second signal"
        " does",
        "clean-up code runs when everything else is already failing",
        evidence,
        3,
        75,
    )


def _locks(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    fields: dict[tuple[int, str], list[Mark]] = {}
    for mark in source.of(MarkKind.FIELD, MarkKind.MUTATION):
        owner = source.owner_of(mark)
        if owner is not None and owner.name not in {"__init__", "constructor", "initialize"}:
            klass = owner.owner if mark.kind is MarkKind.FIELD else -1
            fields.setdefault((klass, mark.name), []).append(mark)
    under_lock = _called_under_lock(source)
    pairs: dict[tuple[int, int, int], list[tuple[str, Mark, Mark]]] = {}
    for (klass, field), marks in sorted(fields.items()):
        locked = [m for m in marks if "locked" in m.flags]
        free = [
            m
            for m in marks
            if "locked" not in m.flags and source.definitions[m.owner].name not in under_lock
        ]
        if locked and free:
            key = (klass, locked[0].owner, free[0].owner)
            pairs.setdefault(key, []).append((field, locked[0], free[0]))
    for (klass, one, other), orders in pairs.items():
        if one != other:
            yield _uneven(file, source, klass, (one, other), orders[:2])


def _called_under_lock(source: ParsedSource) -> set[str]:
    """The names of what is called while a lock is held, directly or by such functions."""
    # Go names its object as it likes.
    own = re.compile(r"(?:\w+\.)?\w+$" if source.language == "Go" else r"(?:(?:self|this)\.)?\w+$")
    called = [m for m in source.of(MarkKind.CALL) if own.match(m.name)]
    names: set[str] = set()
    more = {calls.method(m.name) for m in called if "locked" in m.flags}
    while not more <= names:
        names |= more
        inside = (m for m in called if (o := source.owner_of(m)) is not None and o.name in names)
        more = {calls.method(m.name) for m in inside}
    return names


def _uneven(
    file: SurveyedFile,
    source: ParsedSource,
    klass: int,
    owners: tuple[int, int],
    orders: list[tuple[str, Mark, Mark]],
) -> QuestionCandidate:
    place = source.definitions[klass].name if klass >= 0 else file.path
    names = [source.definitions[owner].name for owner in owners]
    fields = [field for field, _, _ in orders]
    verb = "are" if len(fields) > 1 else "is"
    return QuestionCandidate(
        "uneven-locking",
        _JOBS,
        f"{place}.{fields[0]}" if klass >= 0 else fields[0],
        file.path,
        f"In {place}, {listed(fields)} {verb} changed under a lock in {names[0]}() and without one"
        f" in {names[1]}(). Can the two run at the same time, what would a reader see in between,"
        " and is the missing lock intended?",
        "whether both can run at once with the call paths, the torn state, and the fix or the"
        " reason why none is needed",
        "a lock protects nothing that is also changed without it",
        places(file.path, *(mark.line for _, here, there in orders for mark in (here, there))),
        4,
        80,
    )
