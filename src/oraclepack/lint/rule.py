"""What a rule is: the fault it looks for, its severity, and its documentation."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import msgspec

from oraclepack.lint.finding import Facts, Fix, Severity
from oraclepack.lint.prompt_texts import Prompts
from oraclepack.lint.quoted_evidence import StepEvidence, evidence_of
from oraclepack.lint.wrapped_calls import Stretch, stretches
from oraclepack.pack.model import Pack
from oraclepack.pack.questions import question_groups
from oraclepack.pack.script import Span
from oraclepack.pack.tool_call import ToolCall


class Subject(msgspec.Struct, frozen=True, dict=True):
    """What a rule looks at: the pack, and the external facts about it.

    What several rules ask of the pack is worked out once.
    """

    pack: Pack
    facts: Facts

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file."""
        return self.pack.text.split("\n")

    @cached_property
    def questions(self) -> tuple[tuple[tuple[ToolCall, ...], ...], ...]:
        """The questions of each step, and the calls of each question."""
        return tuple(map(question_groups, self.pack.steps))

    @cached_property
    def evidence(self) -> tuple[StepEvidence, ...]:
        """What the question of each step quotes."""
        return tuple(evidence_of(self.pack))

    @cached_property
    def prompts(self) -> Prompts:
        """The texts that become prompts."""
        return Prompts(self.pack, self.lines)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The prelude and the steps, as wrapping is judged."""
        return tuple(stretches(self.pack, self.lines))


def text_between(lines: Sequence[str], span: Span) -> str:
    """What is at a stretch of the file that these lines are."""
    stretch = list(lines[span.line - 1 : span.end_line])
    if len(stretch) == span.end_line - span.line + 1:
        stretch[-1] = stretch[-1][: span.end_column - 1]
    return "\n".join(stretch)[span.column - 1 :]


class Problem(msgspec.Struct, frozen=True):
    """A fault at a place; its rule gives it an id and a severity."""

    span: Span
    message: str
    hint: str = ""
    fix: Fix | None = None
    step: str | None = None
    """The step it belongs to, where the line alone does not show it."""


Check = Callable[[Subject], Iterator[Problem]]


class Rule(msgspec.Struct, frozen=True):
    """One fault a pack may have. Ids are never reused; the name describes the fault.

    The docstring of the check is the rule's documentation: a sentence that says what is demanded,
    a "Why:" and a "Fix:" paragraph, and a "Bad::" and a "Good::" example.
    """

    id: str
    name: str
    severity: Severity
    strict: Severity
    """What it weighs under `--strict`."""
    check: Check
    only_strict: bool = False
    """It has nothing to say without `--strict`."""

    @property
    def is_binding(self) -> bool:
        """Nothing runs while it finds something, so that no comment can allow it.

        The one way around an error is `--no-validate`, which the run records.
        """
        return self.severity is Severity.ERROR


def rule(
    rule_id: str, severity: Severity, strict: Severity | None = None, *, only_strict: bool = False
) -> Callable[[Check], Rule]:
    """Makes a rule of a check, named after its function; `strict` is as `severity` if left out."""

    def of(check: Check) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(rule_id, name, severity, strict or severity, check, only_strict)

    return of
