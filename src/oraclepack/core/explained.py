"""What `explain` tells about rules: the shape of its data."""

from enum import StrEnum

import msgspec

from oraclepack.core.finding import Severity


class ExampleKind(StrEnum):
    """What the examples of a rule are."""

    BASH = "bash"
    """The inside of the bash block."""
    FILE = "file"
    """A whole Markdown file."""


class RuleDoc(msgspec.Struct, frozen=True):
    """What a rule demands, why, how to mend a pack that fails it, and an example of each."""

    rule: str
    name: str
    severity: Severity
    strict_severity: Severity
    can_be_allowed: bool
    """An `allow` comment may accept its findings."""
    summary: str
    why: str
    mend: str
    example_kind: ExampleKind
    bad: str
    good: str
    only_strict: bool = False
    """It has nothing to say without `--strict`."""


class Explained(msgspec.Struct, frozen=True):
    """The rule that was asked for, or all of them."""

    rules: tuple[RuleDoc, ...]
