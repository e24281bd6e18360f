"""Questions about what goes wrong: waits, errors, half-done changes, concurrent work."""

import re
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.question_candidate import QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    depth_of,
    functions_of,
    leads_to,
    marks_by_owner,
)
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

_FAILURE = "failure modes"
_FEW = 2
_SEVERAL = 3
_REPLACING = frozenset(
    {"remove", "unlink", "rename", "replace", "rmtree", "move", "truncate", "Rename", "Remove"}
    | {"RemoveAll", "renameSync", "unlinkSync", "rmSync", "remove_file", "delete", "rm_rf", "mv"}
)
"""Changes after which what was there is gone."""
_RENAMING = frozenset({"rename", "replace", "Rename", "renameSync", "move", "mv"})
_REMOVING = frozenset({"remove", "unlink", "Remove", "RemoveAll", "unlinkSync", "rmSync", "rmtree"})
_ARGUMENT = re.compile(r"\w\(\s*([^,()]+)")
_SHORT = 15
"""Lines of a function whose steps are taken in at a glance."""
_ASSIGNED = re.compile(r"\s*(\w+)(?:\s*:[^=]+)?\s*:?=")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ASSIGNED_IN_C = re.compile(r"(?<![\w.>])(\w+)\s*=(?!=)")
_CLOSE = re.compile(r"\.close\(\);?\s*$")
_LONGEST_STATEMENT = 40
_PROBE = 8
"""Lines of a function that only tries something and says whether it worked."""
_NO = re.compile(r"\s*return (?:False|false)\b")
_PREDICATE = re.compile(
    r"^_*(?:is|has|can|should|supports?|contains|exists|valid|validates?|check|matches)(?:_|(?=[A-Z])|$)"
    r"|able$|\?$"
)
"""Names of functions that ask something."""
_RESOURCES = frozenset(
    {"open", "socket.socket", "subprocess.Popen", "os.open", "tempfile.mkstemp", "sqlite3.connect"}
    | {"tempfile.NamedTemporaryFile", "os.pipe", "ThreadPoolExecutor", "tempfile.mkdtemp"}
    | {"concurrent.futures.ThreadPoolExecutor", "socket.create_connection", "os.Open", "net.Dial"}
    | {"malloc", "calloc", "strdup", "strndup", "fopen", "opendir", "mmap", "PyMem_Malloc"}
)
_CLOSERS = frozenset(
    {"close", "Close", "shutdown", "terminate", "cleanup", "wait", "communicate"}
    | {"free", "fclose", "closedir", "munmap", "PyMem_Free"}
)
_HARMLESS = frozenset(
    {"suppress", "closing", "len", "print", "str", "append", "getpid", "getattr", "hasattr"}
    | {"isinstance"}
    | {"memset", "memcpy", "strlen", "perror", "fprintf", "abort", "exit", "assert"}
    | {"PyErr_NoMemory", "PyErr_SetString", "Py_DECREF", "Py_XDECREF", "Py_INCREF"}
)
"""Calls that do not fail, so that nothing is left open because of them."""
_CLOSING = {"Python": " outside of a with", "Go": " without a defer that ends it"}


def failure_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source, marks, function in functions_of(survey):
        called = [mark for mark in marks if mark.kind is MarkKind.CALL]
        name = source.qualified(function)
        yield from _unlimited_wait(file, function, name, called)
        yield from _half_done(file, function, name, called)
        yield from _check_then_act(file, function, name, called)
        yield from _retries(file, function, name, marks)
        yield from _unclosed(file, function, name, called)
        yield from _ordered_steps(survey, file, function, name, marks)
    for file, source in survey.sources:
        yield from _handlers(survey, file, source)


def _unlimited_wait(
    file: SurveyedFile, function: Definition, name: str, called: list[Mark]
) -> Iterator[QuestionCandidate]:
    waits = [
        call
        for call in called
        if (calls.is_request(call) and not calls.has_keyword(call, "timeout", "signal"))
        or (call.name in calls.WAITING_PROCESSES and not calls.has_keyword(call, "timeout"))
    ]
    if file.language in {"JavaScript", "TypeScript"}:
        # Options in a variable may hold the limit.
        waits = [w for w in waits if "args:1" in w.flags or any(f[:3] == "kw:" for f in w.flags)]
    if file.language == "Python":
        waits = [w for w in waits if "." in w.name or w.name == "urlopen"]
    if file.language not in {"Python", "JavaScript", "TypeScript"} or not waits:
        return
    first = waits[0]
    network = calls.is_request(first)
    other = (
        "the other side accepts the connection and never answers"
        if network
        else ("the program it starts never ends, or waits for input")
    )
    yield QuestionCandidate(
        "no-timeout",
        _FAILURE,
        name,
        file.path,
        f"{name}() calls {calls.listed_names(waits)} without a timeout. What does its caller"
        f" experience when {other}: what is held meanwhile (locks, connections, threads, a user's"
        " request), and which limit would be right here?",
        "the longest possible wait with the lines that prove it, what is held during it, and the"
        " limit to set with the behaviour when it is reached",
        "a wait without a limit turns someone else's outage into our own",
        places(file.path, function.line, *(w.line for w in waits[:4])),
        4 if network else 3,
        85,
    )


def _half_done(
    file: SurveyedFile, function: Definition, name: str, called: list[Mark]
) -> Iterator[QuestionCandidate]:
    changes = [c for c in called if calls.is_file_change(c) and "handler" not in c.flags][:5]
    lines = sorted({call.line for call in changes})
    kinds = {call.name for call in changes}
    if len(lines) < _FEW or len(kinds) < _FEW or file.language == "Shell":
        return
    places_changed = [_ARGUMENT.search(file.lines[call.line - 1]) for call in changes]
    is_one_path = len({match[1] for match in places_changed if match}) == 1
    if is_one_path and len(changes) == _FEW and calls.method(changes[-1].name) in _REMOVING:
        return  # one path is made and removed: a trial, or something temporary
    if _is_written_aside(changes):
        return
    yield QuestionCandidate(
        "half-done-files",
        _FAILURE,
        name,
        file.path,
        f"{name}() changes the file system in several steps ({calls.listed_names(changes)})."
        " If the process is killed, or a step fails, between two of them, what is left on disk,"
        " what does the next run make of it, and which order or rename would make it safe?",
        "the state after an interruption between each pair of steps, the code that meets that"
        " state next, and the smallest reordering that leaves either the old or the new state",
        "half-written state is found by the next run, on somebody else's machine",
        places(file.path, function.line, *lines[:5]),
        2 + any(calls.method(call.name) in _REPLACING for call in changes),
        75,
    )


def _is_written_aside(changes: list[Mark]) -> bool:
    """Whether a new file is written and then renamed into place, which is the safe order."""
    acting = [calls.method(c.name) for c in changes if not calls.is_preparation(c)]
    return len(acting) == _FEW and acting[0] not in _REPLACING and acting[1] in _RENAMING


def _check_then_act(
    file: SurveyedFile, function: Definition, name: str, called: list[Mark]
) -> Iterator[QuestionCandidate]:
    checks = [call for call in called if calls.is_existence_check(call)]
    acts = [
        call
        for call in called
        if calls.is_file_change(call) or call.name in {"open", "os.open", "read_text"}
    ]
    pairs = [(c, a) for c in checks for a in acts if c.line < a.line <= c.line + 12]
    if not pairs:
        return
    check, act = pairs[0]
    yield QuestionCandidate(
        "check-then-act",
        _FAILURE,
        name,
        file.path,
        f"{name}() first asks {calls.label(check.name)}() and then calls {calls.label(act.name)}()."
        " What happens when"
        " another process or thread creates, removes or replaces the path between the two, and"
        " can a link placed there make the second call act on another file?",
        "the interleaving that does harm (or why none can), who could cause it, and the call that"
        " checks and acts at once",
        "what was checked is no longer what is acted upon",
        places(file.path, function.line, check.line, act.line),
        3,
        70,
    )


def _retries(
    file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    sleeps = [
        m for m in marks if m.kind is MarkKind.CALL and m.name in calls.SLEEPS and "loop" in m.flags
    ]
    handlers = [m for m in marks if m.kind is MarkKind.HANDLER and "loop" in m.flags]
    loops = [m for m in marks if m.kind is MarkKind.LOOP]
    found = [
        (loop, handler, sleep)
        for handler in handlers
        for sleep in sleeps
        if (loop := _loop_around(file, loops, handler)) is not None
        and loop is _loop_around(file, loops, sleep)
    ]
    if not found:
        return
    loop, handler, sleep = found[0]
    yield QuestionCandidate(
        "retry-loop",
        _FAILURE,
        name,
        file.path,
        f"{name}() tries again after catching {handler.name}, with a pause by"
        f" {calls.label(sleep.name)}(). Which of the errors it catches can never succeed"
        " on a second try,"
        " which first try may have taken effect before its error was reported, and what bounds"
        " the number of tries and the total time?",
        "each caught error marked as worth repeating or not, the case of an action done twice,"
        " and the bound with its line",
        "a retry that repeats a finished action does it twice",
        places(file.path, function.line, loop.line, handler.line, sleep.line),
        3,
        80,
    )


def _loop_around(file: SurveyedFile, loops: list[Mark], mark: Mark) -> Mark | None:
    """The innermost loop that holds a mark, judged by the indentation."""
    depth = depth_of(file.lines[mark.line - 1])
    for loop in reversed(loops):
        if loop.line < mark.line and depth_of(file.lines[loop.line - 1]) < depth:
            return loop
    return None


def _unclosed(
    file: SurveyedFile, function: Definition, name: str, called: list[Mark]
) -> Iterator[QuestionCandidate]:
    opened = [c for c in called if c.name in _RESOURCES and "with" not in c.flags]
    opened = [
        c for c in opened if not file.lines[c.line - 1].lstrip().startswith(("return", "with"))
    ]
    closed = [c for c in called if calls.method(c.name) in _CLOSERS]
    end = _statement_end(file.lines, opened[0].line) if opened else 0
    after = [c for c in called if opened and c.line > end and c not in closed]
    after = [c for c in after if calls.method(c.name) not in _HARMLESS and not calls.is_log(c)]
    after = [c for c in after if not _serves_only(file, function, opened[0], c)]
    if opened and file.language in {"C", "C++"} and _is_handed_on(file, function, opened[0]):
        return
    is_safe = any(
        c.flags & {"finally", "handler"} or file.lines[c.line - 1].lstrip().startswith("defer ")
        for c in closed
    )
    if not opened or not after or is_safe or file.language == "JavaScript":
        return
    ends = f" and {calls.label(closed[0].name)}()" if closed else ""
    yield QuestionCandidate(
        "resource-lifetime",
        _FAILURE,
        name,
        file.path,
        f"{name}() takes a resource by {calls.label(opened[0].name)}()"
        f"{_CLOSING.get(file.language or '', '')}, and then calls"
        f" {calls.label(after[0].name)}(){ends}. On which path is it never given back, who owns it"
        " after an error, and what runs out first when that path is taken a thousand times?",
        "every path from taking to giving back, the one that leaks, and the construct that closes"
        " it",
        "a leak on the error path shows itself during an outage",
        places(
            file.path, function.line, opened[0].line, after[0].line, *(c.line for c in closed[:1])
        ),
        3,
        65,
    )


def _statement_end(lines: list[str], line: int) -> int:
    """The line where the brackets that a line opens are closed; its arguments end there."""
    depth = 0
    for number in range(line, min(line + _LONGEST_STATEMENT, len(lines)) + 1):
        text = _QUOTED.sub("", lines[number - 1])
        depth += sum(text.count(sign) for sign in "([{") - sum(text.count(sign) for sign in ")]}")
        if depth <= 0:
            return number
    return line


def _is_handed_on(file: SurveyedFile, function: Definition, opened: Mark) -> bool:
    """Whether the function returns a resource or stores it in a structure or a global variable."""
    name = _ASSIGNED_IN_C.search(file.lines[opened.line - 1])
    if name is None:
        return True
    lines = file.lines[function.line - 1 : function.end_line]
    word = re.escape(name[1])
    handed = re.compile(
        rf"\breturn\b[^;]*\b{word}\b|(?:->|\.)\w+(?:\[[^\]]*\])?\s*=\s*(?:\([^()]*\)\s*)?{word}\s*;"
        rf"|\*\w+\s*=\s*{word}\s*;"
    )
    declared = re.compile(
        rf"^\s*(?:const\s+)?(?:struct\s+)?\w+[\s*]+(?:\w+\s*,\s*\**)*{word}\s*[;=,\[]"
    )
    return any(map(handed.search, lines)) or not any(map(declared.search, lines))


def _serves_only(file: SurveyedFile, function: Definition, opened: Mark, call: Mark) -> bool:
    """Whether a call works on a resource that the function hands to its caller."""
    name = _ASSIGNED.match(file.lines[opened.line - 1])
    if name is None:
        return False
    word = re.compile(rf"\b{name[1]}\b")
    last = file.lines[function.end_line - 1].strip()
    is_handed_on = last.startswith("return") and word.search(last) is not None
    return is_handed_on and word.search(file.lines[call.line - 1]) is not None


def _ordered_steps(
    survey: RepositorySurvey,
    file: SurveyedFile,
    function: Definition,
    name: str,
    marks: list[Mark],
) -> Iterator[QuestionCandidate]:
    """A function that puts several other modules to work, one after another."""
    steps: dict[str, Mark] = {}
    for call in marks:
        if call.kind is not MarkKind.CALL:
            continue
        target = survey.target_of(file.path, call.line, call.name)
        if target is not None and survey.has_effect(*target):
            steps.setdefault(call.name, call)
    ends = [m.line for m in marks if m.kind in {MarkKind.RETURN, MarkKind.RAISE}]
    first: list[Mark] = []
    for call in sorted(steps.values(), key=lambda call: call.line):
        if not first or (
            call.line > first[-1].line and leads_to(file.lines, ends, first[-1].line, call.line)
        ):
            first.append(call)
    lines = [call.line for call in first]
    targets = [
        survey.target_of(file.path, call.line, call.name)
        for call in first[:5]
        if not calls.is_preparation(call)
    ]
    changing = sum(survey.makes_changes(*target) for target in targets if target is not None)
    is_short = function.length < _SHORT and changing < _SEVERAL
    if len(lines) < _SEVERAL or changing < _FEW or is_short:
        return
    yield QuestionCandidate(
        "ordered-steps",
        _FAILURE,
        name,
        file.path,
        f"{name}() calls {listed([f'{calls.label(c.name)}()' for c in first], 5)} in this order."
        " If the process"
        " is killed, or one of them fails, after an earlier one has taken effect, what is left"
        " behind, who puts it right, and does calling the function again repeat something that"
        " must happen once?",
        "a table of the moment of failure, what is left, and what the next call does; the step"
        " that may not be repeated; the order that would be safer",
        "an interrupted sequence is the state that nobody tested",
        places(file.path, function.line, *lines[:5]),
        3,
        75,
    )


def _handlers(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    by_owner = marks_by_owner(source, {MarkKind.HANDLER})
    for owner, handlers in by_owner.items():
        function = source.definitions[owner] if owner >= 0 else None
        if function is None:
            continue
        name = source.qualified(function)
        is_probe = _code_length(source, function) <= _PROBE
        broad = [
            h
            for h in handlers
            if "broad" in h.flags
            and h.detail not in {"raises", "uses"}
            and not (h.detail == "returns" and (is_probe or _answers_no(file, function, h)))
        ]
        silent = [
            h
            for h in handlers
            if h.detail in {"silent", "returns"}
            and h not in broad
            and not _is_ordinary(h)
            and not (h.detail == "returns" and (is_probe or "broad" in h.flags))
            and not _answers_no(file, function, h)
            and not _only_closes(file, h)
        ]
        if broad:
            yield _broad(file, function, name, broad)
        if silent:
            changing = [h for h in silent if _guards_change(survey, file, source, h)]
            yield _silent(file, function, name, changing or silent, is_change_lost=bool(changing))


def _guards_change(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource, handler: Mark
) -> bool:
    """Whether what is tried changes something outside: its failure is more than an answer."""
    for call in source.marks:
        if call.kind is MarkKind.CALL and handler.lines[1] <= call.line < handler.line:
            target = survey.target_of(file.path, call.line, call.name)
            if calls.is_preparation(call):
                continue
            if calls.is_file_change(call) or calls.is_request(call):
                return True
            if target is not None and survey.makes_changes(*target):
                return True
    return False


def _answers_no(file: SurveyedFile, function: Definition, handler: Mark) -> bool:
    """Whether the error is the answer: a function that asks something says no."""
    if not _NO.match(file.lines[handler.lines[0] - 1]):
        return False
    head = " ".join(file.lines[function.line - 1 : function.line + 6])
    return _PREDICATE.search(function.name) is not None or "-> bool:" in head


def _only_closes(file: SurveyedFile, handler: Mark) -> bool:
    """Whether only a close() is tried, after which nothing is left to be done."""
    tried = handler.lines[1]
    return handler.line - tried == 1 and _CLOSE.search(file.lines[tried - 1]) is not None


def _code_length(source: ParsedSource, function: Definition) -> int:
    return sum(n not in source.prose for n in range(function.line, function.end_line + 1))


def _is_ordinary(handler: Mark) -> bool:
    """Errors that are an expected answer rather than a failure."""
    return {*handler.name.split(", ")} <= {
        *("KeyError", "StopIteration", "AttributeError", "ImportError", "ModuleNotFoundError"),
        *("IndexError", "queue.Empty", "TypeError", "FileNotFoundError", "NotADirectoryError"),
        *("KeyboardInterrupt", "GeneratorExit", "BrokenPipeError"),
        *("FileExistsError", "ProcessLookupError", "StopAsyncIteration", "LookupError"),
        *("NumberFormatException", "MalformedURLException", "URISyntaxException"),
        *("IllegalCharsetNameException", "ClassNotFoundException", "NoSuchElementException"),
        *(
            "ValueError",
            "UnicodeDecodeError",
            "UnicodeEncodeError",
            "UnicodeError",
            "OverflowError",
        ),
    }


def _broad(
    file: SurveyedFile, function: Definition, name: str, handlers: list[Mark]
) -> QuestionCandidate:
    lines = [line for h in handlers[:2] for line in (h.lines[1], h.line, h.lines[0])]
    return QuestionCandidate(
        "broad-handler",
        _FAILURE,
        name,
        file.path,
        f"{name}() catches {handlers[0].name} and does not raise it again. Which programming"
        " errors or broken states does this handler turn into an ordinary result, what has already"
        " been changed when it is reached, and what would the narrowest handler be that keeps the"
        " intended behaviour?",
        "each failure that can reach the handler, which of them were meant, and the narrower"
        " list of exceptions",
        "a handler that catches too much turns a defect into a wrong result",
        places(file.path, function.line, *lines),
        # JavaScript cannot name what it catches: there it says less.
        2 + (function.length > _PROBE and file.language == "Python"),
        70,
    )


def _silent(
    file: SurveyedFile,
    function: Definition,
    name: str,
    handlers: list[Mark],
    *,
    is_change_lost: bool,
) -> QuestionCandidate:
    lines = [line for h in handlers[:2] for line in (h.lines[1], h.line, h.lines[0])]
    return QuestionCandidate(
        "silent-error",
        "observability",
        name,
        file.path,
        f"{name}() drops {calls.listed_names(handlers)} without a record. In which situation"
        " would an operator or user need to know that this happened, what do they see instead, and"
        " where should it be reported?",
        "the situations that reach the handler, what is visible from outside in each, and the"
        " one line to add, or why silence is right",
        "a failure that leaves no trace is searched for in the wrong place",
        places(file.path, function.line, *lines),
        1 + 2 * is_change_lost,
        65 if is_change_lost else 55,
    )
