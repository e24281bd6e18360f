"""Questions about access: unguarded routes, checks, dangerous calls, secrets."""

import re
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

_ACCESS = re.compile(
    r"(?:login|auth|permissions?|roles?|admin|scopes?|jwt|token)_required$|^authenticated$"
    r"|^(?!is_?token$)(?:requires?|check|ensure|verify|authori[sz]e|has|is)_?(?:\w*_)?"
    r"(?:auth|authenticated|permissions?|roles?|admin|token|login|access|owner)$",
    re.IGNORECASE,
)
"""`isToken` belongs to a parser."""
_SECRET_PARAMETER = re.compile(
    r"(?:\w+_)?(?:secret|password|passwd|credentials?|api_?key|private_?key)"
    r"|(?:access|auth|api|refresh|bearer|session|id)_?token",
    re.IGNORECASE,
)
_FEW = 2


def access_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source in survey.sources:
        yield from _access(file, source)
        yield from _dangers(survey, file, source)
        yield from _secrets(file, source)


def _access(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    routes = routes_of(source)
    guarded = [d for d in routes if any(_ACCESS.search(calls.method(n)) for n, _ in d.decorators)]
    open_ = [d for d in routes if d not in guarded]
    if guarded and open_:
        lines = [line for n, line in guarded[0].decorators if _ACCESS.search(calls.method(n))]
        yield QuestionCandidate(
            "unguarded-route",
            "permissions",
            open_[0].name,
            file.path,
            f"In {file.path} {listed([f'{d.name}()' for d in guarded])} carry an access check,"
            f" {listed([f'{d.name}()' for d in open_])} do not. Which of the"
            " unguarded ones can read or"
            " change what the guarded ones protect, and is the check meant to happen elsewhere?",
            "each unguarded handler with what it exposes, and the check it needs or the line that"
            " already guards it",
            "one forgotten check opens what all the others close",
            places(file.path, *lines[:1], guarded[0].line, *(d.line for d in open_[:3])),
            4,
            80,
        )
        return
    checks = [
        m
        for m in source.of(MarkKind.CALL)
        if _ACCESS.search(calls.method(m.name)) and not _only_shows(source.owner_of(m))
    ]
    owners = {m.owner for m in checks if m.owner >= 0}
    if len(checks) < _FEW or not owners:
        return
    names = [source.qualified(source.definitions[o]) for o in sorted(owners)]
    yield QuestionCandidate(
        "access-check",
        "permissions",
        calls.method(checks[0].name),
        file.path,
        f"{file.path} decides about access by {calls.listed_names(checks)} in"
        f" {listed([f'{n}()' for n in names])}. Which path reaches the same effect without passing"
        " one of these lines, and what do they answer for a missing, expired or foreign identity?",
        "every way to the protected effect with its check, and the answer for each bad identity",
        "one forgotten check opens what all the others close",
        places(
            file.path,
            *(m.line for m in checks[:3]),
            *(source.definitions[o].line for o in sorted(owners)[:2]),
        ),
        4,
        65,
    )


def _only_shows(function: Definition | None) -> bool:
    """Whether a function makes text for people and decides nothing."""
    return function is not None and function.name in {"__repr__", "__str__", "toString", "inspect"}


def _shell_line(file: SurveyedFile, call: Mark, owner: Definition) -> list[int]:
    """The line that gives a call to the shell, where that is another one."""
    numbers = range(call.line, owner.end_line + 1) if "kw:shell=True" in call.flags else ()
    return [n for n in numbers if re.search(r"\bshell\s*=\s*True\b", file.lines[n - 1])][:1]


def _dangers(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    for mark in source.of(MarkKind.CALL):
        danger = calls.danger_of(mark, file.language)
        owner = source.owner_of(mark)
        if danger is None or owner is None or file.language == "Shell":
            continue
        name = source.qualified(owner)
        uses = survey.uses(file.path, owner.name)
        evidence = (
            *places(file.path, owner.line, mark.line, *_shell_line(file, mark, owner)),
            *(Place(use.path, use.line) for use in uses[:2]),
        )
        yield QuestionCandidate(
            "dangerous-call",
            "permissions",
            name,
            file.path,
            f"{name}() calls {calls.label(mark.name)}(), which {danger}. Where does what"
            " it is given come from,"
            " which part of it can somebody outside choose, and what is the worst they can make"
            " this line do?",
            "the way of the data from its source to the line, who controls each part, and the"
            " replacement or check that removes the danger",
            "one such line with input from outside is enough",
            evidence,
            4,
            75 if uses else 65,
        )


def _secrets(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    reads = [m for m in source.of(MarkKind.ENV) if SECRET.search(m.name)]
    owners = source.owners_of(reads)
    given = [
        (d, secret, line)
        for d in source.definitions
        if d.is_callable
        and not any(calls.method(name) == "overload" for name, _ in d.decorators)
        and (secret := next(filter(_SECRET_PARAMETER.fullmatch, d.parameters), None))
        and (line := _line_of(file, source, d, secret))
    ]
    if not reads and len(given) < _FEW:
        return
    if reads:
        lines = [m.line for m in reads[:3]] + [o.line for o in owners[:2]]
    else:
        given = given[:2]
        lines = [
            number
            for d, secret, line in given
            for number in (d.line, line, *_uses_after(file, source, d, secret, line))
        ]
    evidence = places(file.path, *lines)
    if len(evidence) < _FEW:
        return
    if reads:
        verb = f"reads {calls.listed_names(reads)} from the environment"
    else:
        takers = listed([f"{source.qualified(d)}()" for d, _, _ in given])
        verb = f"takes a secret ({listed([secret for _, secret, _ in given])}) in {takers}"
    yield QuestionCandidate(
        "secret-path",
        "permissions",
        (reads[0].name if reads else given[0][0].name).lower(),
        file.path,
        f"{file.path} {verb}. Through which variables, objects and calls does the value travel,"
        " and on which of them could it reach a log, an error message, a file, a child process"
        " or another host?",
        "the way of the value line by line, the first place where it could leak, and the change"
        " that closes it",
        "a leaked secret cannot be called back",
        evidence,
        3,
        70 if reads else 60,
    )


def _line_of(
    file: SurveyedFile, source: ParsedSource, function: Definition, parameter: str
) -> int | None:
    """The first line of code in a function that names a parameter."""
    word = re.compile(rf"\b{re.escape(parameter)}\b")
    for number in range(function.line, min(function.end_line, len(file.lines)) + 1):
        if number not in source.prose and word.search(file.lines[number - 1]):
            return number
    return None


def _uses_after(
    file: SurveyedFile, source: ParsedSource, function: Definition, word: str, declared: int
) -> list[int]:
    """The first line of code after its declaration that does something with a parameter."""
    pattern = re.compile(rf"\b{re.escape(word)}\b(?!\s*:)")
    code = {m.line for m in source.marks if m.kind is not MarkKind.NOTE}
    return [
        number
        for number in range(declared + 1, function.end_line + 1)
        if number in code and number not in source.prose and pattern.search(file.lines[number - 1])
    ][:1]


_ROUTE = re.compile(r"(?:^|\.)(?:route|get|post|put|patch|delete|api_route|websocket|action)$")


SECRET = re.compile(
    r"(?:_|^)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY)(?:$|_)", re.IGNORECASE
)


def routes_of(source: ParsedSource) -> list[Definition]:
    """Functions that a decorator makes reachable from outside."""
    return [
        d
        for d in source.definitions
        if any(_ROUTE.search(name) and "." in name for name, _ in d.decorators)
    ]
