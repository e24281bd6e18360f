"""The docstring of a rule as documentation: `explain` and `docs/rules.md` are made from it."""

import inspect
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from textwrap import fill

import msgspec

from oraclepack.errors import NotFoundError, did_you_mean
from oraclepack.lint.engine import by_word, is_binding
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
    def text(self) -> str:
        """The documentation for a terminal."""
        return doc_text(self)


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
        can_be_allowed=not is_binding(rule),
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


def doc_text(doc: RuleDoc) -> str:
    """The documentation of one rule for a terminal."""
    return "\n".join(
        [
            f"{doc.rule} {doc.name}: {_weight(doc)}",
            "",
            _wrapped("", doc.summary),
            "",
            _wrapped("Why:  ", doc.why),
            _wrapped("Fix: ", doc.fix),
            "",
            "Bad:",
            _indented(doc.bad),
            "",
            "Good:",
            _indented(doc.good),
            "",
            _allowing(doc),
            "",
        ]
    )


def _weight(doc: RuleDoc) -> str:
    if doc.only_strict:
        return f"{doc.strict_severity} with --strict, silent without"
    if doc.severity is doc.strict_severity:
        return doc.severity
    return f"{doc.severity}, with --strict {doc.strict_severity}"


def _wrapped(label: str, text: str) -> str:
    return fill(label + text, 96, subsequent_indent=" " * len(label), break_on_hyphens=False)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def _allowing(doc: RuleDoc) -> str:
    if not doc.can_be_allowed:
        return "Cannot be allowed by a comment: nothing runs while it is there."
    return f"To accept it in a step: # oraclepack: allow {doc.rule} <reason>"


_INTRODUCTION = """\
# Rules

What `oraclepack validate` looks for. `oraclepack explain OP201` prints the same text. This page is
made from the program itself by `make docs`; do not edit.

A finding is an *error* (exit code 2), a *warning* or *advice*. `--strict` makes errors of some
warnings. To accept a finding, write `# oraclepack: allow OP402 <reason>` as a comment into the
step, or before the first step for the whole pack; several rules are separated by commas, and names
do as well as ids. What is an error without `--strict` cannot be accepted that way. The settings
`select` and `ignore` of `[lint]` choose rules for a whole project, by id, name or the beginning of
an id (`OP4`). In the examples `␍` stands for a carriage return.
"""

FAMILIES = {
    "OP1": "Structure",
    "OP2": "Bash",
    "OP3": "Questions",
    "OP4": "Attachments",
    "OP5": "Outputs",
    "OP6": "Tools",
    "OP7": "Cost",
}


def rules_page(rules: Sequence[Rule]) -> str:
    """`docs/rules.md`: every rule, by family."""
    docs = [doc_of(rule) for rule in sorted(rules, key=lambda rule: rule.id)]
    parts = [_INTRODUCTION, _table(docs)]
    for prefix, title in FAMILIES.items():
        family = [doc for doc in docs if doc.rule.startswith(prefix)]
        parts += [f"## {title}\n", *map(_section, family)] if family else []
    return "\n".join(parts)


def _table(docs: Iterable[RuleDoc]) -> str:
    head = "| rule | name | default | strict | requires |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {doc.rule} | [{doc.name}](#{doc.rule.lower()}-{doc.name}) | {_default(doc)} |"
        f" {doc.strict_severity} | {_cell(doc.summary)} |\n"
        for doc in docs
    )


def _default(doc: RuleDoc) -> str:
    return "silent" if doc.only_strict else doc.severity


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _section(doc: RuleDoc) -> str:
    label = "markdown" if doc.example_kind is ExampleKind.FILE else "bash"
    return (
        f"### {doc.rule} {doc.name}\n\n{doc.summary}\n\n*{_weight(doc)}*. {doc.why}\n\n"
        f"**Fix:** {doc.fix}\n\nBad:\n\n````{label}\n{doc.bad}````\n\n"
        f"Good:\n\n````{label}\n{doc.good}````\n\n{_allowing(doc)}\n"
    )


class RuleText(msgspec.Struct, frozen=True):
    """The fields of a rule in SARIF."""

    id: str
    name: str
    severity: Severity
    summary: str
    help: str


def rules_named(word: str | None) -> tuple[RuleDoc, ...]:
    """The rule with an id or name; without one, every rule."""
    if word is None:
        return tuple(doc_of(rule) for rule in RULES)
    known = by_word(RULES)
    rule = known.get(word.strip().lower())
    if rule is None:
        hint = did_you_mean(word, [name for each in RULES for name in (each.id, each.name)])
        hint = hint or "`oraclepack explain` lists the rules"
        raise NotFoundError(f"there is no rule {word!r}", hint=hint)
    return (doc_of(rule),)


def rule_texts() -> tuple[RuleText, ...]:
    """The fields of every rule in SARIF."""
    return tuple(
        RuleText(doc.rule, doc.name, doc.severity, doc.summary, doc_text(doc))
        for doc in rules_named(None)
    )
