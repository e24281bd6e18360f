"""The docstring of a rule as documentation: `explain` and docs/rules.md are made from it."""

import inspect
import re
from enum import StrEnum
from textwrap import fill

import msgspec

from oraclepack.errors import NotFoundError, did_you_mean
from oraclepack.lint.engine import by_word
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Rule
from oraclepack.lint.rule_registry import RULES
from oraclepack.system.paging import Paged


class ExampleKind(StrEnum):
    """What the examples of a rule are."""

    BASH = "bash"
    """The inside of the bash block."""
    FILE = "file"
    """A whole Markdown file."""


class RuleDoc(msgspec.Struct, frozen=True):
    """What a rule demands, why, how to fix a pack that fails it, and an example of each."""

    rule: str
    name: str
    severity: Severity
    strict_severity: Severity
    can_be_allowed: bool
    """An `allow` comment may accept its findings."""
    summary: str
    why: str
    fix: str
    example_kind: ExampleKind
    bad: str
    good: str
    only_strict: bool = False
    """It has nothing to say without `--strict`."""

    @property
    def weight(self) -> str:
        """How severe it is, without and with `--strict`."""
        if self.only_strict:
            return f"{self.strict_severity} with --strict, silent without"
        if self.severity is self.strict_severity:
            return self.severity
        return f"{self.severity}, with --strict {self.strict_severity}"

    @property
    def text(self) -> str:
        """The documentation for a terminal."""
        paragraphs = (("", self.summary), ("Why:  ", self.why), ("Fix: ", self.fix))
        summary, why, fix = (
            fill(label + text, 96, subsequent_indent=" " * len(label), break_on_hyphens=False)
            for label, text in paragraphs
        )
        end = "Cannot be allowed by a comment: nothing runs while it is there."
        if self.can_be_allowed:
            end = f"To accept it in a step: # oraclepack: allow {self.rule} <reason>"
        return (
            f"{self.rule} {self.name}: {self.weight}\n\n{summary}\n\n{why}\n{fix}\n\n"
            f"Bad:\n{_indented(self.bad)}\n\nGood:\n{_indented(self.good)}\n\n{end}\n"
        )


class RuleExplanation(Paged, frozen=True):
    """The rule that was asked for, or all of them."""

    rules: tuple[RuleDoc, ...]


_PART = re.compile(r"^(?P<name>Why|Fix|Bad file|Good file|Bad|Good)(?P<mark>::?)[ ]?", re.MULTILINE)


def doc_of(rule: Rule) -> RuleDoc:
    """The documentation of a rule, taken from the docstring of its check."""
    text = inspect.cleandoc(rule.check.__doc__ or "")
    marks = list(_PART.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = {
        mark["name"]: _part(mark, text[mark.end() : end])
        for mark, end in zip(marks, ends, strict=False)
    }
    kind = ExampleKind.FILE if "Bad file" in parts else ExampleKind.BASH
    suffix = " file" if kind is ExampleKind.FILE else ""
    return RuleDoc(
        rule=rule.id,
        name=rule.name,
        severity=rule.severity,
        strict_severity=rule.strict,
        only_strict=rule.only_strict,
        can_be_allowed=not rule.is_binding,
        summary=_flowing(text[: marks[0].start()] if marks else text),
        why=parts.get("Why", ""),
        fix=parts.get("Fix", ""),
        example_kind=kind,
        bad=parts.get(f"Bad{suffix}", ""),
        good=parts.get(f"Good{suffix}", ""),
    )


def _part(mark: re.Match[str], text: str) -> str:
    if mark["mark"] == ":":
        return _flowing(text)
    # A blank at the end of a line has a sign in docstrings, as source files may not have one.
    return inspect.cleandoc(text).rstrip().replace("␠", " ") + "\n"


def _flowing(text: str) -> str:
    return " ".join(text.split())


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def explain_rules(word: str | None = None) -> RuleExplanation:
    """The documentation of a rule, by id or name, or of all rules."""
    if word is None:
        return RuleExplanation(tuple(map(doc_of, RULES)))
    rule = by_word(RULES).get(word.strip().lower())
    if rule is None:
        hint = did_you_mean(word, [name for each in RULES for name in (each.id, each.name)])
        hint = hint or "`oraclepack explain` lists the rules"
        raise NotFoundError(f"there is no rule {word!r}", hint=hint)
    return RuleExplanation((doc_of(rule),))
