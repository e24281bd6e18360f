"""OP112 to OP115: comments addressed to oraclepack, above all those that allow findings."""

import re
from collections.abc import Iterator

import msgspec

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Finding, Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import ALLOW, DIRECTIVES, POLICY, Directive, Pack, Step
from oraclepack.pack.script import Span
from oraclepack.pack.tree_policy import TreePolicy

_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_NEXT_ID = re.compile(r"OP\d+\b", re.IGNORECASE)


class Allowance(msgspec.Struct, frozen=True):
    """One allow comment: which rules, why, and for which part of the pack."""

    targets: tuple[str, ...]
    reason: str
    span: Span
    step: str | None = None
    """The step it is in; None before the first step: it applies to the whole pack."""
    lines: Span | None = None
    """The lines of that step."""

    def covers(self, finding: Finding) -> bool:
        if self.lines is None:
            return True
        return self.lines.holds_line(finding.line) or finding.step_id == self.step


def allowances(pack: Pack) -> tuple[Allowance, ...]:
    """The allow comments of a pack, in the order of the text."""
    parts = [(None, pack.directives), *((step, step.directives) for step in pack.steps)]
    return tuple(_read(each, step) for step, given in parts for each in given if each.name == ALLOW)


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
    where = (step.id, step.span) if step is not None else (None, None)
    return Allowance(tuple(targets), reason, directive.span, *where)


@rule("OP112", Severity.WARNING)
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


@rule("OP113", Severity.WARNING)
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


@rule("OP114", Severity.WARNING)
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


@rule("OP115", Severity.WARNING)
def unheard_directive(subject: Subject) -> Iterator[Problem]:
    """A comment `# oraclepack: …` says something that is understood.

    Why: a mistyped word is a comment like any other: nothing happens, and the author believes
    otherwise.
    Fix: begin with `allow`, `contract=`, `outputs=` or `policy=`, in lower case. Only `allow` is
    allowed before the first step, where it applies to the whole pack.

    Bad::
        # 01) one question
        # oraclepack: alow OP404 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md

    Good::
        # 01) one question
        # oraclepack: allow OP404 the keys in it are made up
        oracle -p "Why?" -f tests/credentials.json --write-output a.md
    """
    for directive in subject.pack.directives:
        yield from _unknown(directive)
        if directive.name in DIRECTIVES and directive.name != ALLOW:
            message = f"{directive.name} has no effect before the first step"
            yield Problem(directive.span, message, "move it into the step it applies to")
    for step in subject.pack.steps:
        for directive in step.directives:
            yield from _unknown(directive)
            if directive.name == POLICY and directive.value not in set(TreePolicy):
                known = [policy.value for policy in TreePolicy]
                hint = did_you_mean(directive.value, known) or f"one of: {', '.join(known)}"
                yield Problem(directive.span, f"unknown policy: {directive.value}", hint)


def _unknown(directive: Directive) -> Iterator[Problem]:
    if directive.name not in DIRECTIVES:
        hint = did_you_mean(directive.name, DIRECTIVES) or f"one of: {', '.join(DIRECTIVES)}"
        yield Problem(directive.span, f"unknown directive: {directive.name}", hint)
