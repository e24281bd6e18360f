"""The places in the code that are worth a question; the words are in `questions.toml`."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.authoring.question_candidate import (
    Place,
    QuestionCandidate,
    candidate,
    listed,
    places,
)
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

CENTRAL_FILES = 4
"""How many of the most central files are asked about by their densest function."""
_MANY_DECISIONS = 8
_LONG = 25
"""Lines below which a function is read at a glance."""
_MANY_PARAMETERS = 6
_NEAR = 12
"""Lines between a check and what relies on it."""
_FEW = 2
_SEVERAL = 3
_OPENED = ("do", "{", "(", "=>", "|")
"""How a line ends below which the handler itself stands."""
_FIRST_NAME = re.compile(r"[A-Za-z_$][\w$.]*(?:->[\w$]+)*")
_DISPATCH = 0.45
"""The share of conditions about one name from which on a function only looks it up."""
_WHOLE = frozenset(
    {"all", "bytes", "data", "chunk", "exactly", "until", "lock", "loop", "buffer", "buf"}
)
"""What is read and written as it comes: such a pair transfers, and converts nothing."""
_NO_HANDLER = re.compile(r"\bSIG_(?:IGN|DFL)\b|removeListener|SIGPIPE|SIGWINCH")
_NO_EXIT = re.compile(r"process\.on\(\s*[\"'](?!exit|SIG|beforeExit|uncaught|unhandled)")
_SETUP = re.compile(
    r"main|init|constructor|initialize|setup|new|parse_?args|.*(?:_|\b)(?:old|legacy|deprecated)(?:_.*)?",
    re.IGNORECASE,
)
"""Functions that read options or fill fields, and those to be removed: no rule is behind them."""
_FORWARDS_ERROR = re.compile(r"\b(?:err|error|rc|ret|e)\b\s*(?:[!=]==?|<|\)|$)|\bErr\(|\bis_err\(")
"""A condition that hands an error on, and says nothing about values."""
_PAIRS = (
    *(("encode", "decode"), ("dumps", "loads"), ("dump", "load"), ("serialize", "deserialize")),
    *(("to_", "from_"), ("write_", "read_"), ("format_", "parse_"), ("pack_", "unpack_")),
    *(("escape", "unescape"), ("quote", "unquote"), ("marshal", "unmarshal")),
    *(("compress", "decompress"), ("stringify", "parse")),
)


class _Calls(msgspec.Struct, frozen=True):
    """Calls that mean something wherever they stand: the tables of `calls.toml`."""

    exit_handlers: frozenset[str]
    waiting_processes: frozenset[str]
    requests: dict[str, frozenset[str]]


@cache
def _calls() -> _Calls:
    return msgspec.toml.decode((Path(__file__).parent / "calls.toml").read_bytes(), type=_Calls)


def unlimited_wait(language: str, call: Mark) -> str:
    """What a call waits for, as far as its own arguments say without a limit; empty for nothing."""
    if {"kw:timeout", "kw:signal", "kw:**"} & call.flags:
        return ""
    if call.name in _calls().requests.get(language, ()):
        return "for another machine"
    return "for a program" if call.name in _calls().waiting_processes else ""


def code_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question that the code gives evidence for."""
    for file, source in survey.sources:
        for function, marks in source.functions:
            yield from _options(file, function, source.qualified(function), marks)
        yield from _round_trips(file, source)
        yield from _exit_handlers(file, source)
    for path in survey.central[:CENTRAL_FILES]:
        yield from _densest(survey.files[path])


def _options(
    file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    """A public function with many parameters, several of which it decides by."""
    if len(function.parameters) < _MANY_PARAMETERS or not function.is_public:
        return
    tests: list[Mark] = []
    known: set[str] = set()
    for mark in marks:
        words = {*mark.detail.split()} if mark.kind is MarkKind.BRANCH else set()
        # The quoted line must show what is claimed of it.
        if words - known and words <= {*re.findall(r"[\w$]+", file.lines[mark.line - 1])}:
            tests.append(mark)
            known |= words
    shown = tests[:4]
    tested = [n for n in function.parameters if any(n in m.detail.split() for m in shown)]
    options = [name for name in tested if name in function.options]
    if len(tested) < _SEVERAL or len(shown) < _FEW or len(options) < _FEW:
        return
    yield candidate(
        "option-combinations",
        name,
        places(file.path, function.line, *(m.line for m in shown)),
        weight=len(known) + 2 * len(options),
        name=name,
        count=len(function.parameters),
        tested=listed(tested, 6),
    )


def _round_trips(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    keys = [(d.owner, d.name.lstrip("_").lower()) for d in source.definitions]
    # Of a name that several classes elsewhere have, it is open which two belong together.
    names = {
        key: definition
        for key, definition in zip(keys, source.definitions, strict=True)
        if definition.is_callable and keys.count(key) == 1
    }
    for (owner, name), there in sorted(names.items()):
        for forward, backward in _PAIRS:
            if not name.startswith(forward) or name[len(forward) :] in _WHOLE:
                continue
            back = names.get((owner, backward + name[len(forward) :]))
            if back is None or back is there:
                continue
            inner = [
                mark
                for function in (there, back)
                for mark in source.marks
                if mark.kind in {MarkKind.RAISE, MarkKind.BRANCH}
                and function.line <= mark.line <= function.end_line
                and not _FORWARDS_ERROR.search(file.lines[mark.line - 1])
            ]
            halves = [
                [m.line for m in inner if m.line <= d.end_line and m.line >= d.line]
                for d in (there, back)
            ]
            # Where little is decided a library does the work, or a subclass.
            is_own = all(halves) and min(there.branches, back.branches) >= _FEW
            if is_own and all(m.name != "NotImplementedError" for m in inner):
                one, other = source.qualified(there), source.qualified(back)
                lines = [there.line, back.line, *halves[0][:2], *halves[1][:2]]
                yield candidate(
                    "round-trip",
                    one,
                    places(file.path, *lines),
                    weight=there.branches + back.branches,
                    one=one,
                    other=other,
                )
            break


def _exit_handlers(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    handlers = [
        mark
        for mark in source.of(MarkKind.CALL)
        if mark.name in _calls().exit_handlers
        and not _NO_HANDLER.search(file.lines[mark.line - 1])
        and not _NO_EXIT.search(file.lines[mark.line - 1])
    ]
    near: set[int] = set()
    for mark in handlers[:4]:
        owner = source.owner_of(mark)
        first = max(mark.line - _NEAR, owner.line if owner is not None else 0)
        near |= {*range(first + 1, mark.line + 1)}
    code = " ".join(file.lines[number - 1] for number in near - source.prose)
    words = {*re.findall(r"\w+", code)}
    around_it = {source.owner_of(mark) for mark in handlers}
    installed = [
        d.line
        for d in source.definitions
        if d.is_callable and d.name in words and d not in around_it and d.length >= _SEVERAL
    ]
    is_inline = any(file.lines[m.line - 1].rstrip().endswith(_OPENED) for m in handlers)
    around = [o.line for m in handlers[:1] if (o := source.owner_of(m)) is not None]
    evidence = places(file.path, *(m.line for m in handlers[:3]), *around, *installed[:2])
    if len(evidence) >= _FEW and (installed or is_inline):
        names = listed([mark.name.removeprefix("().") for mark in handlers])
        subject = handlers[0].name.rpartition(".")[2]
        yield candidate(
            "exit-handlers", subject, evidence, weight=len(handlers), path=file.path, calls=names
        )


def _densest(file: SurveyedFile) -> Iterator[QuestionCandidate]:
    """The function of a central file with the most decisions."""
    source = file.source
    dense = [
        (function, marks)
        for function, marks in (source.functions if source is not None else ())
        if function.branches >= _MANY_DECISIONS
        and function.length >= _LONG
        and source is not None
        and not _is_setup(source, function)
    ]
    if source is None or not dense:
        return
    most, marks = max(dense, key=lambda one: (one[0].branches, -one[0].line))
    lines = sorted({m.line for m in marks if m.kind is MarkKind.BRANCH})
    about = Counter(_subject_of(file.lines[line - 1]) for line in lines)
    if max(about.values(), default=0) > max(_DISPATCH * len(lines), _SEVERAL):
        return
    # Some conditions from all over the function.
    quoted = lines[:: max(len(lines) // 4, 1)][:4]
    name = source.qualified(most)
    if len(quoted) >= _SEVERAL:
        yield candidate(
            "dense-function",
            name,
            (Place(file.path, most.line), *places(file.path, *quoted)),
            weight=most.branches,
            name=name,
            count=most.branches,
            path=file.path,
        )


def _is_setup(source: ParsedSource, function: Definition) -> bool:
    """A constructor carries the name of its class in some languages, a capital in others."""
    outer = source.definitions[function.owner] if function.owner >= 0 else None
    is_constructor = outer is not None and outer.name == function.name
    if source.language in {"JavaScript", "TypeScript"}:
        is_constructor = function.name[:1].isupper()
    return is_constructor or _SETUP.fullmatch(function.name.strip("_")) is not None


def _subject_of(condition: str) -> str:
    """The first name in a condition: what it decides about, or the function that it calls."""
    names = _FIRST_NAME.findall(condition)
    words = {"if", "else", "elif", "elsif", "unless", "not", "case", "when", "is", "isinstance"}
    return next((name for name in names if name not in words), "")
