"""Questions about interfaces: callers, options, results, cycles, missing tests, entry points."""

import re
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.file_roles import is_entry
from oraclepack.authoring.import_graph import Use
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    functions_of,
    shows_condition,
)
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

_CONTRACTS = "contracts/interfaces"
_MANY_PARAMETERS = 6
_FEW = 2
_CHECKED = re.compile(r"\|\||\?\?|\bor\b|\b(?:if|elif|unless|while)\b|\bis (?:not )?None\b|\?\.")
"""A line that does something about a missing result."""
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "setter"})
_SEVERAL = 3
_SUBSTANTIAL = 6
_LOADED_IN_ORDER = frozenset({"Python", "JavaScript", "TypeScript", "Ruby"})
"""Languages where modules that import each other can meet one another half loaded."""
_SHAPES = frozenset({"BaseModel", "Struct", "TypedDict", "NamedTuple", "Schema", "Model"})
_DECODERS = frozenset(
    {"decode", "convert", "loads", "load", "parse_obj", "model_validate", "Decoder"}
)


def interface_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source in survey.sources:
        for definition in source.definitions:
            # What several other files call is an interface, whatever its name says.
            if definition.owner < 0:
                yield from _callers(survey, file, source, definition)
        yield from _untested(survey, file, source)
        yield from _entry(file, source)
        yield from _shapes(survey, file, source)
    for file, source, marks, function in functions_of(survey):
        yield from _options(file, function, source.qualified(function), marks)
        yield from _two_results(survey, file, source, function, marks)
    yield from _cycles(survey)
    yield from _subclasses(survey)


def _callers(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource, definition: Definition
) -> Iterator[QuestionCandidate]:
    uses = survey.uses(file.path, definition.name)
    chosen = _different(uses)
    if len({use.path for use in uses}) < _FEW or len(chosen) < _FEW:
        return
    substance = _substance(source, definition)
    if substance < _SEVERAL:
        return
    inner = [
        m.line
        for m in source.marks
        if m.kind in {MarkKind.RAISE, MarkKind.RETURN}
        and definition.line <= m.line <= definition.end_line
    ]
    if definition.kind != "function":
        # What callers of a class share is its state.
        inner = [
            m.line
            for m in source.of(MarkKind.FIELD)
            if (owner := source.owner_of(m)) is not None
            and owner.owner >= 0
            and source.definitions[owner.owner] == definition
        ]
        if not inner:
            return
    raises = any(m.kind is MarkKind.RAISE and m.line in inner for m in source.marks)
    difference = _difference(*chosen, raises=raises)
    if definition.kind != "function":
        users = listed([use.path for use in chosen], 3)
        ask = (
            f"The {definition.kind} {definition.name} of {file.path} is used by {users}. Which"
            " assumption about its state, its errors or the order of calls does one of these"
            f" callers make that the {definition.kind} does not guarantee, and which change inside"
            " it would break one of them without any error at the call?"
        )
    elif difference:
        what = f"{definition.name}({', '.join(definition.parameters[:5])}) of {file.path}"
        ask = f"{what} is called {difference}. " + (
            "Which errors can reach a caller, what has been done by then, and what becomes of each"
            " of them in the two places?"
            if "inside a try" in difference
            else "What does the definition do differently for the two, which of these callers gets"
            " a result or an error that it does not handle, and what does the function really"
            " promise?"
        )
    else:
        return
    yield QuestionCandidate(
        "callers",
        _CONTRACTS,
        definition.name,
        file.path,
        ask,
        "what the definition guarantees, one line per quoted caller on whether it stays within"
        " that, and the caller that would break first",
        "what many callers rely on is the interface, whatever is written down",
        (
            *places(file.path, definition.line, *inner[:1]),
            *(Place(use.path, use.line) for use in chosen),
        ),
        2 + (substance >= _SUBSTANTIAL and definition.kind == "function"),
        65 + 5 * bool(difference) - 10 * (definition.kind != "function"),
        weight=len(uses),
    )


def _substance(source: ParsedSource, definition: Definition) -> int:
    """How much there is to misunderstand: the decisions inside; 0 for plain data."""
    inside = [d for d in source.definitions if definition.line <= d.line <= definition.end_line]
    return sum(d.branches for d in inside)


def _different(uses: list[Use]) -> list[Use]:
    """Two uses, from different files and with different arguments if there are such."""
    chosen: list[Use] = []
    for use in uses:
        if all(use.path != one.path for one in chosen):
            chosen.append(use)
    first = chosen[:1]
    for test in (_keywords, _arguments, _is_tried):
        other = [use for use in chosen[1:] if test(use) != test(chosen[0])]
        if other:
            return [*first, other[0]]
    return [*first, *chosen[1:2]]


def _difference(one: Use, other: Use, *, raises: bool) -> str:
    """How two calls differ: in their keywords, their arguments, or in who catches errors."""
    for here, there in ((one, other), (other, one)):
        extra = sorted(_keywords(here) - _keywords(there))
        if extra:
            return f"with {listed(extra, 2)} in {here.path} and without in {there.path}"
    few, many = sorted((one, other), key=_arguments)
    if _arguments(few) != _arguments(many):
        noun = "argument" if _arguments(many) == 1 else "arguments"
        return (
            f"with {_arguments(many)} positional {noun} in {many.path} and with"
            f" {_arguments(few)} in {few.path}"
        )
    if raises and _is_tried(one) != _is_tried(other):
        inside, outside = (one, other) if _is_tried(one) else (other, one)
        return f"inside a try in {inside.path} and outside of one in {outside.path}"
    return ""


def _keywords(use: Use) -> frozenset[str]:
    words = (f.removeprefix("kw:").partition("=")[0] for f in use.flags if f.startswith("kw:"))
    return frozenset(word for word in words if word != "**")


def _arguments(use: Use) -> int:
    return next((int(f.removeprefix("args:")) for f in use.flags if f.startswith("args:")), 0)


def _is_tried(use: Use) -> bool:
    return "try" in use.flags


def _untested(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    if file.path not in survey.untested:
        return
    public = [d for d in source.definitions if d.is_public and d.is_callable]
    public.sort(key=lambda d: (-d.branches, d.line))
    chosen = public[:3]
    decisions = [
        m.line
        for m in source.marks
        if m.kind in {MarkKind.RAISE, MarkKind.BRANCH}
        and chosen
        and chosen[0].line <= m.line <= chosen[0].end_line
    ]
    if not chosen or not decisions:
        return
    names = [f"{source.qualified(d)}()" for d in chosen]
    yield QuestionCandidate(
        "untested",
        _CONTRACTS,
        chosen[0].name,
        file.path,
        f"No test of the commit imports {file.path}, not even through another file, or mentions a"
        " public name of it. Of what"
        f" {listed(names)} {'promise' if len(names) > 1 else 'promises'}, which behaviour"
        " would harm users most if it broke unnoticed,"
        " and which three tests, by input and expected result, would notice it?",
        "the three tests with input and expected result, in the order of the harm that they would"
        " prevent",
        "code without a test is changed by hope",
        places(file.path, *(d.line for d in chosen), *decisions[:2]),
        2,
        75,
    )


def _subclasses(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Classes of which several others override the same method."""
    classes: dict[str, list[tuple[SurveyedFile, ParsedSource, int]]] = {}
    for file, source in survey.sources:
        for index, definition in enumerate(source.definitions):
            if definition.kind == "class" and definition.owner < 0:
                classes.setdefault(definition.name, []).append((file, source, index))
    heirs: dict[str, list[tuple[SurveyedFile, ParsedSource, int]]] = {}
    for subclasses in classes.values():
        for file, source, index in subclasses:
            for base in source.definitions[index].bases:
                heirs.setdefault(calls.method(base), []).append((file, source, index))
    for name, subclasses in sorted(classes.items()):
        if len(subclasses) == 1 and len(heirs.get(name, ())) >= _FEW:
            yield from _overridden(subclasses[0], heirs[name])


def _overridden(
    base: tuple[SurveyedFile, ParsedSource, int],
    heirs: list[tuple[SurveyedFile, ParsedSource, int]],
) -> Iterator[QuestionCandidate]:
    file, source, index = base
    best: tuple[Definition, list[tuple[SurveyedFile, str, Definition]]] | None = None
    for method in source.definitions:
        if method.owner != index or not method.is_callable or method.name.startswith("__"):
            continue
        if any(calls.method(name) in _PROPERTIES for name, _ in method.decorators):
            continue  # an attribute to its callers: no call, no order, no super
        own = [
            (heir_file, heir.definitions[at].name, d)
            for heir_file, heir, at in heirs
            for d in heir.definitions
            if d.owner == at and d.name == method.name
        ]
        # Methods of a line or two have no way to break a contract.
        own = [one for one in own if one[2].branches and one[2].length > _SEVERAL]
        if len(own) >= _FEW and (best is None or _decisions(own) > _decisions(best[1])):
            best = (method, own)
    if best is None:
        return
    method, own = best
    if _decisions(own) < _SUBSTANTIAL:
        return
    own.sort(key=lambda one: (-one[2].branches, one[0].path, one[2].line))
    chosen = [*own[:1], *([o for o in own[1:] if o[0] is not own[0][0]] or own[1:])[:1]]
    name = f"{source.definitions[index].name}.{method.name}"
    yield QuestionCandidate(
        "override-contract",
        _CONTRACTS,
        name,
        file.path,
        f"{listed([who for _, who, _ in chosen])} override {name}(). What may a caller of the base"
        " rely on (errors, None, order of calls, calling super), which of the overriding methods"
        " does not keep it, and how would the author of the next subclass learn the rule?",
        "the contract in three lines, the override that breaks it with the call that notices, and"
        " where to state or check it",
        "callers know the base, users meet the subclass",
        (
            *places(file.path, method.line),
            *(Place(heir.path, d.line) for heir, _, d in chosen),
        ),
        3,
        75,
        weight=_decisions(own),
    )


def _decisions(own: list[tuple[SurveyedFile, str, Definition]]) -> int:
    return sum(method.branches for _, _, method in own)


def _entry(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    if not is_entry(file.path):
        return
    functions = [d for d in source.definitions if d.is_callable and d.owner < 0]
    main = next((d for d in functions if d.name in {"main", "run", "cli", "serve"}), None)
    if main is None:
        return
    calls = [
        m
        for m in source.marks
        if m.kind is MarkKind.CALL and main.line <= m.line <= main.end_line and "." in m.name
    ]
    endings = [m for m in source.of(MarkKind.HANDLER, MarkKind.RAISE) if main.line <= m.line]
    lines = [main.line, *(m.line for m in calls[:2]), *(m.line for m in endings[:2])]
    evidence = places(file.path, *lines)
    if len(evidence) <= _FEW:
        return
    name = source.qualified(main)
    yield QuestionCandidate(
        "entry-point",
        "UX flows",
        name,
        file.path,
        f"{name}() in {file.path} is where a run begins. Follow it for a wrong configuration, a"
        " missing dependency and an interruption by the user: what is printed, which exit code or"
        " status comes out, and what has been started by then that nobody stops?",
        "for each of the three: the lines passed, what the user sees, and what is left behind",
        "the first minute with a program decides whether there is a second one",
        evidence,
        2,
        65,
    )


def _shapes(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    for index, definition in enumerate(source.definitions):
        bases = {calls.method(base) for base in definition.bases}
        if not bases & _SHAPES:
            continue
        fields = [m for m in source.of(MarkKind.FIELD_SHAPE) if m.owner == index]
        required = [m for m in fields if "default" not in m.flags]
        optional = [m for m in fields if "default" in m.flags]
        if not required or not optional or len(fields) <= _SEVERAL:
            continue
        decoded = _decoding_line(survey, file, definition.name)
        if decoded is None:
            continue
        yield QuestionCandidate(
            "stored-shape",
            "migrations",
            definition.name,
            file.path,
            f"{definition.name} is read from stored or received data; among others it demands"
            f" {calls.listed_names(required[:2])} and fills in"
            f" {calls.listed_names(optional[:2])}"
            " when absent. Which data written by the previous release, or by a newer one, does the"
            " present code refuse or misread, and what does the user see then?",
            "for each quoted field: what older and newer data hold, the outcome, and the rule for"
            " adding the next field",
            "stored data outlives the code that wrote it",
            (
                *places(
                    file.path,
                    definition.line,
                    *(m.line for m in required[:2]),
                    *(m.line for m in optional[:2]),
                ),
                decoded,
            ),
            3,
            70,
            weight=len(fields),
        )


def _decoding_line(survey: RepositorySurvey, file: SurveyedFile, name: str) -> Place | None:
    """The call that turns data into this class."""
    for path in (file.path, *survey.importers(file.path)):
        source = survey.files[path].source
        for mark in source.marks if source else ():
            decodes = mark.kind is MarkKind.CALL and calls.method(mark.name) in _DECODERS
            if decodes and f"type:{name}" in mark.flags:
                return Place(path, mark.line)
    return None


def _options(
    file: SurveyedFile, function: Definition, name: str, marks: list[Mark]
) -> Iterator[QuestionCandidate]:
    if len(function.parameters) < _MANY_PARAMETERS or not function.is_public:
        return
    shown = [m for m in marks if shows_condition(file, m)]
    # What holds many values, such as settings, is no option itself.
    shown = [m for m in shown if not _reads_inside(file.lines[m.line - 1], m.detail.split())]
    tests = _adding_words(shown)[:4]
    tested = sorted({word for m in tests for word in m.detail.split()})
    if len(tested) < _SEVERAL or len(tests) < _FEW:
        return
    yield QuestionCandidate(
        "option-combinations",
        _CONTRACTS,
        name,
        file.path,
        f"{name}() takes {len(function.parameters)} parameters and decides by"
        f" {listed(tested, 5)}. Which combination of these is accepted although one value is"
        " ignored or contradicts another, and should it be refused, documented or made impossible"
        " by another signature?",
        "a table of the contradictory combinations with today's behaviour, and the signature or"
        " check that removes them",
        "an option that is accepted and ignored costs its user hours",
        places(file.path, function.line, *(m.line for m in tests)),
        2 + bool(function.switches),
        70,
    )


def _reads_inside(line: str, names: list[str]) -> bool:
    """Whether a condition only looks up something in its parameters."""
    return all(re.search(rf"\b{re.escape(name)}\[\w+\.", line) for name in names)


def _adding_words(tests: list[Mark]) -> list[Mark]:
    """The conditions that read a parameter which none before them reads."""
    known: set[str] = set()
    additions = []
    for test in tests:
        words = {*test.detail.split()}
        if words - known:
            additions.append(test)
        known |= words
    return additions


def _two_results(
    survey: RepositorySurvey,
    file: SurveyedFile,
    source: ParsedSource,
    function: Definition,
    marks: list[Mark],
) -> Iterator[QuestionCandidate]:
    if (
        function.has_return_type
        or function.owner >= 0
        or file.language
        not in {
            *("Python", "JavaScript", "Ruby"),
        }
    ):
        return
    returns = [m for m in marks if m.kind is MarkKind.RETURN]
    nothing = [m for m in returns if "none" in m.flags]
    something = [m for m in returns if "value" in m.flags]
    uses = [
        use
        for use in survey.uses(file.path, function.name)
        if not survey.line(use.path, use.line).startswith((function.name, "await "))
        and not _CHECKED.search(survey.line(use.path, use.line))
    ]
    if not nothing or not something or not uses:
        return
    name = source.qualified(function)
    yield QuestionCandidate(
        "two-results",
        _CONTRACTS,
        name,
        file.path,
        f"{name}() returns a value on one path and nothing on another. Which of the quoted callers"
        " uses the result without checking for nothing, on which input does that fail, and should"
        " the function raise instead?",
        "one line per caller: checked or not, with the failing input, and the contract to settle"
        " on",
        "a missing check shows up far from the line that returned nothing",
        (
            *places(file.path, function.line, nothing[0].line, something[0].line),
            *(Place(use.path, use.line) for use in uses[:2]),
        ),
        3,
        75,
    )


def _calls_into(survey: RepositorySurvey, path: str, target: str) -> bool:
    source = survey.files[target].source
    return source is not None and any(
        use.path == path for d in source.definitions for use in survey.uses(target, d.name)
    )


def _cycles(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    graph = survey.graph
    for path in sorted(survey.ranks):
        for target in graph.imports.get(path, ()):
            if target <= path or target not in survey.ranks:
                continue
            if survey.files[path].language not in _LOADED_IN_ORDER:
                continue
            if path not in graph.imports.get(target, ()):
                continue
            if survey.files[path].language == "TypeScript" and not (
                _calls_into(survey, path, target) and _calls_into(survey, target, path)
            ):
                continue  # types cross, which the compiler removes
            lines = (graph.import_line(path, target), graph.import_line(target, path))
            if not all(lines):
                continue
            local = [
                one.line
                for side, other in ((path, target), (target, path))
                for one, imported in graph.imports_inside_functions(side)
                if imported == other
            ]
            held = " One of the imports stands inside a function." if local else ""
            yield QuestionCandidate(
                "import-cycle",
                _CONTRACTS,
                f"{path.rpartition('/')[2]}-{target.rpartition('/')[2]}",
                path,
                f"{path} and {target} import each other.{held} Which names cross in each direction,"
                " which of the two should not know the other, and what is the smallest move that"
                " ends the cycle without changing the public interface?",
                "the names that cross, the direction to cut, and the new home of each name",
                "modules that need each other can only be changed and tested together",
                (Place(path, lines[0]), Place(target, lines[1])),
                2,
                75,
            )
