"""Applies rules to a pack: findings, sorted, with severities, without those the author allows."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Finding, Severity, in_order
from oraclepack.lint.rule import Problem, Rule, Subject
from oraclepack.lint.rules.prompt_rules import ABOUT_PROMPTS
from oraclepack.pack.model import ALLOW, Directive, Pack, Step
from oraclepack.pack.script import Span

_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_NEXT_ID = re.compile(r"OP\d+\b", re.IGNORECASE)

Use = tuple[str, Span | None]
"""A rule and the lines for which it is allowed; None means the whole pack."""

CHANGING = frozenset(f"OP{number}" for number in (203, 205, 209, 402, 403, 405, 406, 407, 503, 507))
"""Rules that ask the machine, not only the text: on another machine their answer may differ, so
that allowing them is never called useless."""


class Allowance(msgspec.Struct, frozen=True):
    """One allow comment: which rules, why, and for which part of the pack."""

    targets: tuple[str, ...]
    reason: str
    span: Span
    step: str | None = None
    """The step it is in; None before the first step: it applies to the whole pack."""
    lines: Span | None = None
    """The lines of that step."""

    def use(self, rule: Rule) -> Use:
        return rule.id, self.lines

    def covers(self, finding: Finding) -> bool:
        if self.lines is None:
            return True
        return self.lines.holds_line(finding.span.line) or finding.step == self.step


def is_binding(rule: Rule) -> bool:
    """Nothing runs while it finds something, so that no comment can allow it.

    The one way around an error is `--no-validate`, which the run records.
    """
    return rule.severity is Severity.ERROR


def allowances(pack: Pack) -> tuple[Allowance, ...]:
    """The allow comments of a pack, in the order of the text."""
    read = [_read(directive, None) for directive in pack.directives if directive.name == ALLOW]
    for step in pack.steps:
        read += [_read(each, step) for each in step.directives if each.name == ALLOW]
    return tuple(read)


def _read(directive: Directive, step: Step | None) -> Allowance:
    """`OP402, broad-glob OP403: the reason` in its parts."""
    targets: list[str] = []
    rest = directive.value
    match = _TARGET.match(rest)
    while match is not None:
        targets.append(match[0])
        rest = rest[match.end() :].lstrip()
        listed = rest.startswith(",")
        rest = rest.removeprefix(",").lstrip()
        match = (_TARGET if listed else _NEXT_ID).match(rest)
    reason = rest.strip(" \t:—–-")
    if step is None:
        return Allowance(tuple(targets), reason, directive.span)
    return Allowance(tuple(targets), reason, directive.span, step.id, step.span)


def by_word(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """Every rule by its id and by its name, in lower case."""
    return {word.lower(): rule for rule in rules for word in (rule.id, rule.name)}


def split(
    findings: Iterable[Finding], allowed: tuple[Allowance, ...], known: Mapping[str, Rule]
) -> tuple[list[Finding], frozenset[Use]]:
    """The findings that stay, and which allowances were of use."""
    by_rule: dict[str, dict[Use, Allowance]] = {}
    for allowance in allowed:
        for rule in _rules_of(allowance, known):
            if not is_binding(rule):
                by_rule.setdefault(rule.id, {}).setdefault(allowance.use(rule), allowance)
    stay: list[Finding] = []
    used: set[Use] = set()
    for finding in findings:
        takers = [
            use
            for use, allowance in by_rule.get(finding.rule, {}).items()
            if allowance.covers(finding)
        ]
        used.update(takers)
        if not takers:
            stay.append(finding)
    return stay, frozenset(used)


def _rules_of(allowance: Allowance, known: Mapping[str, Rule]) -> Iterator[Rule]:
    for word in allowance.targets:
        rule = known.get(word.lower())
        if rule is not None:
            yield rule


def complaints(
    allowed: tuple[Allowance, ...],
    used: frozenset[Use],
    known: Mapping[str, Rule],
    selected: frozenset[str],
) -> Iterator[tuple[str, Problem]]:
    """What is wrong with the allow comments themselves: the name of a rule, and the problem.

    Allowances of rules that were not selected are not judged.
    """
    for allowance in allowed:
        if not allowance.targets:
            problem = Problem(allowance.span, "allow names no rule", "write: allow OP402 <reason>")
            yield "unknown-allow", problem
        for word in allowance.targets:
            if word.lower() not in known:
                hint = did_you_mean(word, known) or "`oraclepack explain` lists the rules"
                yield "unknown-allow", Problem(allowance.span, f"there is no rule {word}", hint)
        for rule in _rules_of(allowance, known):
            if is_binding(rule):
                message = f"{rule.id} {rule.name} cannot be allowed: the pack would not run"
                yield "useless-allow", Problem(allowance.span, message, "fix it instead")
            elif rule.id in selected - CHANGING and allowance.use(rule) not in used:
                where = f"in step {allowance.step}" if allowance.step else "here"
                message = f"nothing {where} for {rule.id} {rule.name} to find"
                yield "useless-allow", Problem(allowance.span, message, "remove the comment")


def unknown_allow(_subject: Subject) -> Iterator[Problem]:
    """An allow comment names rules that exist.

    Why: a mistyped id allows nothing, and the author believes otherwise.
    Fix: write the id or the name of a rule; `oraclepack explain` lists them.

    Bad::
        # 01) one question
        # oraclepack: allow OP999 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md

    Good::
        # 01) one question
        # oraclepack: allow OP404 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md
    """
    # The engine reports it: it knows all the rules.
    return iter(())


def useless_allow(_subject: Subject) -> Iterator[Problem]:
    """An allow comment takes away at least one finding.

    Why: a comment left behind hides the next, real fault of the same kind.
    Fix: remove it. What is an error without `--strict` cannot be allowed at all.

    Bad::
        # 01) one question
        # oraclepack: allow OP404 the keys in it are made up
        oracle -p "Why?" -f src/api.py --write-output a.md

    Good::
        # 01) one question
        # oraclepack: allow OP404 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md
    """
    # The engine reports it: it has seen what the other rules found.
    return iter(())


def reasonless_allow(subject: Subject) -> Iterator[Problem]:
    """An allow comment says why.

    Why: the next reader must be able to judge whether the reason still holds.
    Fix: write the reason after the rule.

    Bad::
        # 01) one question
        # oraclepack: allow OP404
        oracle -p "Why?" -f tests/credentials.json --write-output a.md

    Good::
        # 01) one question
        # oraclepack: allow OP404 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md
    """
    for allowance in allowances(subject.pack):
        if allowance.targets and not allowance.reason:
            message = f"allow {', '.join(allowance.targets)} gives no reason"
            yield Problem(allowance.span, message, "write the reason after the rule")


RULES = (
    Rule("OP112", "unknown-allow", Severity.WARNING, Severity.WARNING, unknown_allow),
    Rule("OP113", "useless-allow", Severity.WARNING, Severity.WARNING, useless_allow),
    Rule("OP114", "reasonless-allow", Severity.WARNING, Severity.WARNING, reasonless_allow),
)


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
    means everything, and `ignore` takes precedence.
    """
    selected = tuple(
        rule
        for rule in rules
        if _is_selected(rule, select, ignore) and (strict or not rule.only_strict)
    )
    findings = dict.fromkeys(
        finding
        for rule in selected
        for finding in _findings(rule, subject, strict=strict)
        if rule.id in ABOUT_PROMPTS or not subject.prompts.is_foreign(finding.span)
    )
    allowed = allowances(subject.pack)
    if not allowed:
        return in_order(findings)
    known = by_word(rules)
    stay, used = split(findings, allowed, known)
    ids = frozenset(rule.id for rule in selected)
    for name, problem in complaints(allowed, used, known, ids):
        rule = known.get(name)
        if rule is not None and rule.id in ids:
            stay.append(_finding(rule, problem, subject, strict=strict))
    return in_order(dict.fromkeys(stay))


def unknown_words(words: Iterable[str], rules: Sequence[Rule]) -> tuple[str, ...]:
    """The words of a `select` or `ignore` that mean no rule at all."""
    return tuple(word for word in words if not any(_means(word, rule) for rule in rules))


def _is_selected(rule: Rule, select: Sequence[str], ignore: Sequence[str]) -> bool:
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
    """The step that holds a line, by binary search: a broken pack may have thousands of both."""
    steps = subject.pack.steps
    index = bisect_right(steps, line, key=lambda step: step.span.line) - 1
    return steps[index].id if index >= 0 and steps[index].span.holds_line(line) else None
