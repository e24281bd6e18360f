"""Directives in comments that are not understood."""

from collections.abc import Iterator

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Rule, Subject
from oraclepack.pack.model import ALLOW, DIRECTIVES, POLICY, Directive
from oraclepack.pack.tree_policy import TreePolicy


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


RULES = (Rule("OP115", "unheard-directive", Severity.WARNING, Severity.WARNING, unheard_directive),)
