"""Applies rules to a pack: findings, sorted, with severities, without those the author allows."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Finding, in_order
from oraclepack.lint.rule import Problem, Rule, Subject
from oraclepack.lint.rules.comment_rules import Allowance, allowances
from oraclepack.lint.rules.prompt_rules import ABOUT_PROMPTS
from oraclepack.pack.script import Span

CHANGING = frozenset(f"OP{number}" for number in (203, 205, 209, 402, 403, 405, 406, 407, 503, 507))
"""Rules that ask the machine, not only the text: on another machine their answer may differ, so
that allowing them is never called useless."""


def by_word(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """Every rule by its id and by its name, in lower case."""
    return {word.lower(): rule for rule in rules for word in (rule.id, rule.name)}


_Use = tuple[str, Span | None]
"""A rule, and the lines for which it is allowed; None means the whole pack."""


def _rules_of(allowance: Allowance, known: Mapping[str, Rule]) -> Iterator[Rule]:
    for word in allowance.targets:
        rule = known.get(word.lower())
        if rule is not None:
            yield rule


def _complaints(
    allowed: Iterable[Allowance],
    used: Collection[_Use],
    known: Mapping[str, Rule],
    selected: Collection[str],
) -> Iterator[tuple[str, Problem]]:
    """What is wrong with the allow comments themselves: the name of a rule, and the problem.

    Allowances of rules that were not selected are not judged.
    """
    judged = set(selected) - CHANGING
    for allowance in allowed:
        if not allowance.targets:
            problem = Problem(allowance.span, "allow names no rule", "write: allow OP402 <reason>")
            yield "unknown-allow", problem
        for word in allowance.targets:
            if word.lower() not in known:
                hint = did_you_mean(word, known) or "`oraclepack explain` lists the rules"
                yield "unknown-allow", Problem(allowance.span, f"there is no rule {word}", hint)
        for rule in _rules_of(allowance, known):
            if rule.is_binding:
                message = f"{rule.id} {rule.name} cannot be allowed: the pack would not run"
                yield "useless-allow", Problem(allowance.span, message, "fix it instead")
            elif rule.id in judged and (rule.id, allowance.lines) not in used:
                where = f"in step {allowance.step}" if allowance.step else "here"
                message = f"nothing {where} for {rule.id} {rule.name} to find"
                yield "useless-allow", Problem(allowance.span, message, "remove the comment")


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
    selected = {
        rule.id: rule
        for rule in rules
        if not any(_means(word, rule) for word in ignore)
        if not select or any(_means(word, rule) for word in select)
        if strict or not rule.only_strict
    }
    findings = dict.fromkeys(
        _finding(rule, problem, subject, strict=strict)
        for rule in selected.values()
        for problem in rule.check(subject)
        if rule.id in ABOUT_PROMPTS or not subject.prompts.is_foreign(problem.span)
    )
    allowed = allowances(subject.pack)
    if not allowed:
        return in_order(findings)
    known = by_word(rules)
    # Once for each rule and its lines: a broken pack may say the same thousands of times.
    by_rule: dict[str, dict[_Use, Allowance]] = {}
    for allowance in allowed:
        for rule in _rules_of(allowance, known):
            if not rule.is_binding:
                by_rule.setdefault(rule.id, {})[rule.id, allowance.lines] = allowance
    used: set[_Use] = set()
    stay: list[Finding] = []
    for finding in findings:
        uses = by_rule.get(finding.rule, {}).items()
        if takers := [use for use, allowance in uses if allowance.covers(finding)]:
            used.update(takers)
        else:
            stay.append(finding)
    for name, problem in _complaints(allowed, used, known, selected):
        if (judge := known.get(name)) is not None and judge.id in selected:
            stay.append(_finding(judge, problem, subject, strict=strict))
    return in_order(dict.fromkeys(stay))


def unknown_words(words: Iterable[str], rules: Sequence[Rule]) -> tuple[str, ...]:
    """The words of a `select` or `ignore` that mean no rule at all."""
    return tuple(word for word in words if not any(_means(word, rule) for rule in rules))


def _means(word: str, rule: Rule) -> bool:
    word = word.strip()
    return bool(word) and (rule.id.startswith(word.upper()) or rule.name == word.lower())


def _finding(rule: Rule, problem: Problem, subject: Subject, *, strict: bool) -> Finding:
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=rule.strict if strict else rule.severity,
        step_id=problem.step or _step_at(subject, problem.span.line),
        line=problem.span.line,
        column=problem.span.column,
        end_line=problem.span.end_line,
        end_column=problem.span.end_column,
        message=problem.message,
        hint=problem.hint,
        fix=problem.fix,
    )


def _step_at(subject: Subject, line: int) -> str | None:
    """The step that holds a line, by binary search: a broken pack may have thousands of both."""
    steps = subject.pack.steps
    index = bisect_right(steps, line, key=lambda step: step.span.line) - 1
    return steps[index].id if index >= 0 and steps[index].span.holds_line(line) else None
