"""Questions about invariants and state: partial updates, shared values, caches, enumerations."""

import re
from collections.abc import Iterator
from itertools import pairwise

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    depth_of,
    functions_of,
    leads_to,
    marks_by_owner,
    shows_condition,
)
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

_STATE = "caching/state"
_INVARIANTS = "invariants"
_CACHES = frozenset(
    {"cache", "lru_cache", "functools.cache", "functools.lru_cache", "cached", "memoize"}
    | {"cached_property", "functools.cached_property", "alru_cache"}
)
_LIMIT = re.compile(r"(?:^|_)(?:MAX|MIN|LIMIT|MOST|LARGEST|LONGEST|WIDEST|TIMEOUT|DEEPEST)(?:_|$)")
_NUMBER = re.compile(r"[\d_.]+(?:\s*(?:\*\*?|<<|\+|-)\s*[\d_.]+)*")
_PAIRS = (
    *(("encode", "decode"), ("dump", "load"), ("dumps", "loads"), ("serialize", "deserialize")),
    *(("to_", "from_"), ("write_", "read_"), ("format_", "parse_"), ("pack_", "unpack_")),
    *(("escape", "unescape"), ("quote", "unquote"), ("save", "load"), ("marshal", "unmarshal")),
)
_TRIVIAL_CALLS = frozenset(
    {"len", "str", "int", "list", "dict", "set", "tuple", "isinstance", "super", "bool", "repr"}
    | {"min", "max", "sorted", "range", "enumerate", "zip", "getattr", "hasattr", "id", "float"}
    | {"append", "add", "pop", "get", "items", "keys", "values", "clear", "copy", "update"}
)
_COMPARED = re.compile(r"(?<![-=<>])[<>](?![<>])|\b(?:min|max|take|limit)\(")
"""A line where a number is enforced, not merely used as a size."""
_GO_RECEIVER = re.compile(r"func \((\w+) ")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_WITHOUT_EXCEPTIONS = frozenset({"Go", "Rust", "C"})
_SEVERAL_BRANCHES = 5
"""Branches from which on the order of decisions can be worth a question."""
_COMPLEX = 7
_EQUAL = re.compile(
    r"\b(?:if|elif|elsif)\s*\(?\s*(?:[\w.@]+|\w*strn?cmp\([^()]*\))\s*={2,3}\s*"
    r"(?:[\d\"'`A-Z][^&|]*?|[\w.:]+)(?: and .*| && .*)?\)?\s*[:{]?\s*$"
)
"""A condition that holds for one value only: such conditions exclude each other."""
_IS_OF_TYPE = re.compile(
    r"\b(?:if|elif)\s*\(?\s*(?:isinstance\(\w+, *"
    r"(?:dict|list|tuple|set|frozenset|str|bytes|float|complex)\)"
    r"|typeof +\w+ *={2,3} *[\"']\w+[\"'])\)?\s*[:{]?\s*$"
)
"""A condition that holds for one plain type only, which excludes the others likewise."""
_BOUND = re.compile(r"\((?:[^()]*[ ,=(])?\d+\)|maxlen|maxsize")
_OTHERWISE = re.compile(r"^\s*(?:case _\b|default\s*:|_ =>|else\b)|\bassert_never\(")
_FEW = 2
_SEVERAL = 3


def state_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source, marks, function in functions_of(survey):
        name = source.qualified(function)
        yield from _partial_update(survey, file, function, name, marks)
        yield from _decision_order(file, function, name, marks)
        yield from _work_in_loop(file, function, name, marks)
    for file, source in survey.sources:
        yield from _module_state(file, source)
        yield from _cached(survey, file, source)
        yield from _limits(file, source)
        yield from _round_trips(file, source)
    yield from _enumerations(survey)


def _partial_update(
    survey: RepositorySurvey, file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    is_constructor = function.kind == "function" and function.name[:1].isupper()
    if file.language in _WITHOUT_EXCEPTIONS:
        return
    if is_constructor or function.name in {
        *("__init__", "__new__", "constructor", "initialize", "__post_init__", "__enter__", "init"),
    }:
        return
    fields = [m for m in marks if m.kind is MarkKind.FIELD and "handler" not in m.flags]
    ends = [m.line for m in marks if m.kind in {MarkKind.RETURN, MarkKind.RAISE}]
    for first, second in pairwise(fields):
        if first.name == second.name:
            continue
        between = [
            m
            for m in marks
            if m.kind is MarkKind.CALL
            and first.line < m.line <= second.line
            and calls.method(m.name) not in _TRIVIAL_CALLS
            # Ruby sets a field by calling the method of its name.
            and calls.method(m.name) not in {first.name, second.name}
            and _may_fail(survey, file, function, m)
            and leads_to(file.lines, ends, first.line, m.line)
            and leads_to(file.lines, ends, m.line, second.line)
        ]
        if between:
            yield QuestionCandidate(
                "partial-update",
                _INVARIANTS,
                name,
                file.path,
                f"{name}() sets {first.name}, then calls {calls.label(between[0].name)}(), then"
                f" sets {second.name}. If that call raises, or something else reads the object in"
                f" between, which methods meet an object where {first.name} is new and"
                f" {second.name} is old, and what do they do with it?",
                "the relation between the two fields, each reader that relies on it, and whether"
                " the order of the lines can be changed",
                "an object that is half updated fails later and elsewhere",
                places(file.path, function.line, first.line, between[0].line, second.line),
                2 + any(calls.is_slow(m) or calls.is_file_change(m) for m in between),
                65,
            )
            return


def _may_fail(
    survey: RepositorySurvey, file: SurveyedFile, function: Definition, call: Mark
) -> bool:
    """Whether a call reaches outside, runs other code of the object, or code of the caller."""
    target = survey.target_of(file.path, call.line, call.name)
    if calls.is_slow(call) or calls.is_file_change(call) or call.name == "open":
        return True
    if target is not None and survey.has_effect(*target):
        return True
    return call.name in function.parameters or call.name.startswith(("self.", "this."))


def _decision_order(
    file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    if function.branches < _SEVERAL_BRANCHES:
        return
    receiver = _GO_RECEIVER.match(file.lines[function.line - 1])
    owner = receiver[1] if receiver else "self|this"
    conditions = []
    for mark in marks:
        # Only branches that end the function make the order of conditions matter.
        if mark.kind is not MarkKind.BRANCH or "closure" in mark.flags or "ends" not in mark.flags:
            continue
        words = mark.detail.split() if shows_condition(file, mark) else []
        words += _fields_read(file.lines[mark.line - 1], owner)
        line = file.lines[mark.line - 1]
        if words and not _EQUAL.search(line) and not _IS_OF_TYPE.search(line):
            conditions.append((mark, words))
    ends = [m for m in marks if m.kind in {MarkKind.RAISE, MarkKind.RETURN}]
    # Conditions inside one another, or in different blocks, are no alternatives.
    blocks: list[list[tuple[Mark, list[str]]]] = []
    for one in conditions:
        same = [b for b in blocks if _is_one_block(file.lines, b[0][0].line, one[0].line)]
        if not same:
            same = [[]]
            blocks += same
        same[0].append(one)
    conditions = max(blocks, key=len, default=[])
    if len(conditions) < _SEVERAL or not ends:
        return
    used = sorted({word for _, words in conditions[:4] for word in words})
    deciding = listed(used) if len(used) > 1 else f"what {used[0]} holds"
    yield QuestionCandidate(
        "decision-order",
        _INVARIANTS,
        name,
        file.path,
        f"{name}() decides by {deciding} in the order quoted below. Which inputs satisfy more"
        " than one of these conditions, so that only the order decides, and for which of them is"
        " the outcome not the one a caller would expect?",
        "a table of the overlapping inputs with today's outcome and the expected one, and the"
        " case that no condition covers",
        "rules that depend on their order break when somebody inserts one",
        places(file.path, function.line, *(c.line for c, _ in conditions[:4]), ends[-1].line),
        1 + (function.branches >= _COMPLEX) + (function.branches >= 2 * _COMPLEX),
        65,
        weight=function.branches,
    )


def _is_one_block(lines: list[str], first: int, last: int) -> bool:
    """Whether two lines stand in the same block, judged by the indentation."""
    depth = depth_of(lines[first - 1])
    between = (line for line in lines[first : last - 1] if line.strip() and line[0] != "#")
    return depth_of(lines[last - 1]) == depth and all(depth_of(line) >= depth for line in between)


def _fields_read(line: str, owner: str) -> list[str]:
    """The fields of its own object that a condition reads on this line; calls are no fields."""
    # Go writes a statement before the condition.
    condition = _QUOTED.sub('""', line).rpartition(";")[2]
    return re.findall(rf"\b(?:{owner})\.(\w+)(?![\w.(])", condition) + re.findall(
        r"(?<![\w@])@(\w+)", condition
    )


def _work_in_loop(
    file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    slow = [m for m in marks if m.kind is MarkKind.CALL and "loop" in m.flags and calls.is_slow(m)]
    loops = [m for m in marks if m.kind is MarkKind.LOOP]
    if not slow or not loops:
        return
    around = [loop for loop in loops if loop.line < slow[0].line] or loops
    yield QuestionCandidate(
        "work-in-loop",
        _STATE,
        name,
        file.path,
        f"{name}() calls {calls.listed_names(slow)} once per pass of a loop. How many passes"
        " does the largest realistic input cause, which of these calls ask for the same thing"
        " again, and what would one call for all of them, or a remembered result, have to respect?",
        "the number of calls as a function of the input, the repeated ones, and the condition"
        " under which a remembered result would be wrong",
        "work that grows with the input is fast on every developer's machine",
        places(file.path, function.line, around[-1].line, *(m.line for m in slow[:3])),
        2,
        75,
    )


def _module_state(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    values = {m.name: m for m in source.of(MarkKind.MODULE_VALUE)}
    changes: dict[str, list[Mark]] = {}
    for mark in source.of(MarkKind.MUTATION):
        changes.setdefault(mark.name, []).append(mark)
    for name, marks in sorted(changes.items()):
        if name not in values:
            continue
        owners = [source.owner_of(m) for m in marks[:4]]
        names = [source.qualified(source.outermost(o)) for o in owners if o is not None]
        # A number in the expression that makes it is a bound.
        grows = "mutable" in values[name].flags and not _BOUND.search(
            file.lines[values[name].line - 1]
        )
        fixed = re.compile(rf"\b{re.escape(name)}\[[\"'][^\"']*[\"']\]\s*[-+|]?=")
        if all(fixed.search(file.lines[m.line - 1]) for m in marks):
            grows = False  # keys that stand in the code are a fixed number
        last = (
            "does it grow without a bound" if grows else "what does a reader see before it is set"
        )
        yield QuestionCandidate(
            "module-state",
            _STATE,
            name,
            file.path,
            f"{name} in {file.path} belongs to the whole process and is changed by"
            f" {listed([f'{n}()' for n in dict.fromkeys(names)])}. Who empties or replaces it, what"
            " does a second caller in the same process (another thread, another test, another"
            f" tenant) inherit from the first, and {last}?",
            "the life of an entry from creation to removal, the callers that share it, and the"
            " growth over a long run",
            "state of the process outlives the request that made it",
            places(file.path, values[name].line, *(m.line for m in marks[:4])),
            # A single value that one function sets is private to it.
            3 if grows else 1 + (len({m.owner for m in marks}) > 1),
            75,
        )


def _cached(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    marks = marks_by_owner(source, {MarkKind.CALL, MarkKind.ENV})
    for index, function in enumerate(source.definitions):
        caching = [line for name, line in function.decorators if name in _CACHES]
        if not function.is_callable or not caching:
            continue
        inside = marks.get(index, [])
        fixed = {m.name for m in source.of(MarkKind.MODULE_VALUE) if m.name.isupper()}
        outside = [
            m
            for m in inside
            if m.kind is MarkKind.ENV
            # A file whose name is a constant of the module is hardly ever replaced under it.
            or (calls.root_of(m.name) not in fixed and _reads_outside(m))
        ]
        if not outside:
            continue
        uses = survey.uses(file.path, function.name)
        evidence = [
            *places(file.path, caching[0], function.line, *(m.line for m in outside[:2])),
            *(Place(use.path, use.line) for use in uses[:2]),
        ]
        name = source.qualified(function)
        reads = [_what_is_read(m) for m in outside[:2]]
        yield QuestionCandidate(
            "cached-result",
            _STATE,
            name,
            file.path,
            f"The result of {name}() is kept for the life of the process or object. It depends on"
            f" {listed(reads)}, which can change. Which"
            " input of the result is not among its arguments, which caller would be served an"
            " outdated result, and what do the kept arguments and results hold in memory?",
            "every input of the result, the first caller that sees an outdated one, and how the"
            " cache is emptied in tests and long runs",
            "a cache without a rule for forgetting is a defect that waits",
            tuple(evidence),
            3,
            75,
        )


def _reads_outside(call: Mark) -> bool:
    if calls.is_slow(call) or call.name == "open":
        return True
    return calls.method(call.name) in {"read_text", "read_bytes", "stat", "getcwd", "cwd"}


def _what_is_read(mark: Mark) -> str:
    if mark.kind is MarkKind.ENV:
        return f"the environment variable {mark.name}"
    return f"what {calls.label(mark.name)}() finds"


def _limits(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    for value in source.of(MarkKind.MODULE_VALUE):
        if not _LIMIT.search(value.name) or not _NUMBER.fullmatch(value.detail or "-"):
            continue
        used = _uses_of_word(file, value.name, value.line, source)
        if len(used) < _FEW or not any(_COMPARED.search(file.lines[n - 1]) for n in used):
            continue
        names = [source.qualified(d) for line in used if (d := source.around(line)) is not None]
        yield QuestionCandidate(
            "limit",
            _INVARIANTS,
            value.name,
            file.path,
            f"{value.name} ({value.detail}) is enforced in"
            f" {listed([f'{n}()' for n in names]) or file.path}. Which path reaches the limited"
            " work without passing one of these lines, what exactly happens at the limit and one"
            " beyond it, and is the caller told which input was too much?",
            "every way to the limited work with the line that checks it, the behaviour at the"
            " boundary, and the way around it if there is one",
            "a limit that one path forgets is no limit",
            places(file.path, value.line, *used[:4]),
            # Within one function, all ways are seen together.
            1 + (len({*names}) != 1),
            70,
        )


def _uses_of_word(
    file: SurveyedFile, word: str, definition: int, source: ParsedSource
) -> list[int]:
    """Lines of code inside functions that hold a word; those in comments and texts are left out."""
    if file.text.count(word) <= _FEW:
        return []
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)")
    code = {mark.line for mark in source.marks if mark.kind is not MarkKind.NOTE}
    uses = []
    for number, line in enumerate(file.lines, 1):
        if number != definition and number in code:
            match = pattern.search(line)
            if match is not None and not re.search(r"[\"'#]|//", line[: match.start()]):
                uses.append(number)
    return [n for n in uses if source.around(n) is not None]


def _round_trips(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    names = {(d.owner, d.name.lstrip("_").lower()): d for d in source.definitions if d.is_callable}
    for (owner, name), there in sorted(names.items()):
        for forward, backward in _PAIRS:
            if not name.startswith(forward):
                continue
            back = names.get((owner, backward + name[len(forward) :]))
            if back is None or back is there or _is_abstract(source, there):
                continue
            inner = [
                m.line
                for d in (there, back)
                for m in source.marks
                if m.kind in {MarkKind.RAISE, MarkKind.BRANCH} and d.line <= m.line <= d.end_line
            ]
            if not inner:
                continue  # nothing is decided: a library does the work
            one, other = source.qualified(there), source.qualified(back)
            yield QuestionCandidate(
                "round-trip",
                _INVARIANTS,
                one,
                file.path,
                f"{one}() and {other}() are meant to undo each other. Which value that {one}()"
                f" accepts does {other}() reject or change (empty, very long, non-ASCII, from an"
                " earlier release), and which text does the reader accept that the writer never"
                " writes?",
                "the values that do not survive, by kind, and the property test that would have"
                " found them",
                "what is written once must still be readable after the next release",
                places(file.path, there.line, back.line, *inner[:3]),
                3,
                75,
            )
            break


def _is_abstract(source: ParsedSource, function: Definition) -> bool:
    return any(
        m.kind is MarkKind.RAISE and m.name == "NotImplementedError"
        for m in source.marks
        if function.line <= m.line <= function.end_line
    )


def _dispatching(file: SurveyedFile, function: Definition, marks: list[Mark]) -> list[Mark]:
    """The members that a function names in order to tell all cases apart.

    Not where it says what happens to the others, or looks them up in a table that may lack them.
    """
    members = [m for m in marks if m.kind is MarkKind.MEMBER]
    lines = file.lines[function.line - 1 : function.end_line] if members else []
    if any(_OTHERWISE.search(line) for line in lines):
        return []
    looks_up = any(m.kind is MarkKind.CALL and calls.method(m.name) == "get" for m in marks)
    return [m for m in members if not (looks_up and "key" in m.flags)]


def _enumerations(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    enums = {
        d.name: (file, d)
        for file in survey.subjects
        if file.source is not None
        for d in file.source.definitions
        if d.kind == "enum" and len(d.members) > _FEW
    }
    for file, source, marks, function in functions_of(survey):
        used: dict[str, dict[str, int]] = {}
        for mark in _dispatching(file, function, marks):
            name, _, member = mark.name.partition(".")
            used.setdefault(name, {}).setdefault(member, mark.line)
        for name, members in sorted(used.items()):
            if name not in enums:
                continue
            home, enum = enums[name]
            known = dict(enum.members)
            missing = [m for m in known if m not in members]
            handled = {m: line for m, line in members.items() if m in known}
            named = sorted(handled, key=lambda m: handled[m])[:3]
            lines = {*handled.values()}
            if len(lines) < _FEW or not missing or len(missing) >= len(handled):
                continue
            where = source.qualified(function)
            yield QuestionCandidate(
                "unhandled-member",
                _INVARIANTS,
                f"{where}.{name}",
                file.path,
                f"{where}() names {listed([f'{name}.{m}' for m in named])} but not"
                f" {listed([f'{name}.{m}' for m in missing], 2)}. What does it do when it meets"
                f" {'one of those' if len(missing) > 1 else 'that one'}, is that intended, and what"
                " would tell the author of the next member that this place must be changed?",
                "the outcome for each member that is not named, whether it is right, and the check"
                " that would catch the next one",
                "a new member reaches every place that was never told about it",
                (
                    *places(file.path, function.line, *(handled[m] for m in named)),
                    *(Place(home.path, known[m]) for m in missing[:2]),
                ),
                3,
                75,
            )
