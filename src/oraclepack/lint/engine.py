"""Rules × pack → findings, sorted, weighed, and without those the author allows."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from oraclepack.core.finding import Finding, in_order
from oraclepack.lint.rule import Problem, Rule, Subject
from oraclepack.lint.rules.prompts import ABOUT_PROMPTS
from oraclepack.lint.suppress import allowances, by_word, complaints, split


def lint(
    subject: Subject,
    rules: Sequence[Rule],
    *,
    strict: bool = False,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> tuple[Finding, ...]:
    """What the rules have to say about a pack.

    `select` and `ignore` take ids, names and the beginnings of ids ("OP4"); nothing selected
    means everything, and `ignore` has the last word.
    """
    asked = tuple(
        rule
        for rule in rules
        if _is_asked(rule, select, ignore) and (strict or not rule.only_strict)
    )
    found = dict.fromkeys(
        finding
        for rule in asked
        for finding in _findings(rule, subject, strict=strict)
        if rule.id in ABOUT_PROMPTS or not subject.prompts.is_foreign(finding.span)
    )
    allowed = allowances(subject.pack)
    if not allowed:
        return in_order(found)
    known = by_word(rules)
    stay, used = split(found, allowed, known)
    ids = frozenset(rule.id for rule in asked)
    for name, problem in complaints(allowed, used, known, ids):
        rule = known.get(name)
        if rule is not None and rule.id in ids:
            stay.append(_finding(rule, problem, subject, strict=strict))
    return in_order(dict.fromkeys(stay))


def unknown_words(words: Iterable[str], rules: Sequence[Rule]) -> tuple[str, ...]:
    """The words of a `select` or `ignore` that mean no rule at all."""
    return tuple(word for word in words if not any(_means(word, rule) for rule in rules))


def _is_asked(rule: Rule, select: Sequence[str], ignore: Sequence[str]) -> bool:
    if any(_means(word, rule) for word in ignore):
        return False
    return not select or any(_means(word, rule) for word in select)


def _means(word: str, rule: Rule) -> bool:
    word = word.strip()
    return bool(word) and (rule.id.startswith(word.upper()) or rule.name == word.lower())


def _findings(rule: Rule, subject: Subject, *, strict: bool) -> Iterator[Finding]:
    for problem in rule.check(subject):
        yield _finding(rule, problem, subject, strict=strict)


def _finding(rule: Rule, problem: Problem, subject: Subject, *, strict: bool) -> Finding:
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=rule.strict if strict else rule.severity,
        span=problem.span,
        message=problem.message,
        hint=problem.hint,
        step=problem.step or _step_at(subject, problem.span.line),
        fix=problem.fix,
    )


def _step_at(subject: Subject, line: int) -> str | None:
    """The step that holds a line, found by halving: a broken pack may have thousands of both."""
    steps = subject.pack.steps
    index = bisect_right(steps, line, key=lambda step: step.span.line) - 1
    return steps[index].id if index >= 0 and steps[index].span.holds_line(line) else None
