"""The replies of `generate`, `new` and `upgrade`: the shapes of their data."""

import msgspec

from oraclepack.run.transaction import TransactionReport


class GeneratedStep(msgspec.Struct, frozen=True):
    """A step of a generated pack at a glance."""

    step_id: str
    question_id: str
    category: str
    reference: str
    roi: float
    attachments: tuple[str, ...]
    outputs: tuple[str, ...]
    question: str = ""
    evidence: tuple[str, ...] = ()
    """The quoted lines, as `path:line  code`."""
    score: str = ""
    """Where impact, confidence and effort come from."""


class DroppedQuestion(msgspec.Struct, frozen=True):
    """A question of a model that failed a check."""

    question: str
    reason: str


class GenerateReport(TransactionReport, frozen=True, kw_only=True):
    """What `generate` wrote, and from what."""

    path: str
    """The pack, relative to the project root where it lies inside; empty with `--stdout`."""
    commit: str | None
    date: str | None
    out_dir: str
    unchanged: bool = False
    """The file was already there with the same bytes."""
    steps: tuple[GeneratedStep, ...] = ()
    dropped: tuple[DroppedQuestion, ...] = ()
    """With `--ask`: what the model wrote and the rules refused."""
    text: str | None = None
    """With `--stdout`: the pack itself; nothing was written."""


class NewPack(msgspec.Struct, frozen=True):
    """The pack that `new` wrote."""

    path: str
    template: str


class UpgradeProof(msgspec.Struct, frozen=True):
    """That two packs execute the same: their bash without comments and blank lines, compared."""

    equal: bool
    commands_before: int
    commands_after: int
    sha256_before: str
    sha256_after: str
    moved: dict[str, str] = {}
    """Steps that are elsewhere now: their new number → their old one."""


class UpgradeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `upgrade` proposes."""

    path: str
    upgradable: bool
    changed: bool
    """False: the pack is strict already."""
    written: bool = False
    diff: str = ""
    notes: tuple[str, ...] = ()
    """Every value that was filled in, and from where."""
    reasons: tuple[str, ...] = ()
    """Why it cannot be made strict without changing what it executes."""
    proof: UpgradeProof | None = None
