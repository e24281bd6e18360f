"""The reply of `verify-outputs`: the shape of its data."""

import msgspec

from oraclepack.settings.call_settings import REHEARSAL as REHEARSED


def lack_of(
    io_error: str | None, missing_sections: tuple[str, ...], reason: str | None = None
) -> str:
    """What an output lacks, in words."""
    if reason == REHEARSED:
        return "a rehearsed answer: no model was asked"
    return f"file {io_error}" if io_error else f"missing sections: {', '.join(missing_sections)}"


class FailedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output that does not meet its contract, and in what."""

    step_id: str
    path: str
    contract: str
    missing_sections: tuple[str, ...] = ()
    io_error: str | None = None
    reason: str | None = None
    """`unreadable`, `sections`, or `rehearsal`: oraclepack wrote it, no model did."""

    @property
    def lack(self) -> str:
        """What is wrong, in words: a file that cannot be read, or the sections it misses."""
        return lack_of(self.io_error, self.missing_sections, self.reason)

    @property
    def line(self) -> str:
        """Step, file and what is missing: the form of all commands."""
        return f"step {self.step_id}: {self.path}: {self.lack}"


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """An output that meets its contract and still looks wrong."""

    step_id: str
    path: str
    code: str
    message: str
    line: int


class AcceptedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a person took as it is, and that still is that file."""

    step_id: str
    path: str
    sha256: str
    reason: str
    missing_sections: tuple[str, ...]
    """What it lacks."""
    accepted_at: str

    @property
    def line(self) -> str:
        """As the other lines about outputs."""
        lacks = f"although it lacks {', '.join(self.missing_sections)}" * bool(
            self.missing_sections
        )
        why = f": {self.reason}" if self.reason else ""
        return f"step {self.step_id}: {self.path}: accepted {lacks or 'as it is'}{why}"


class UnresolvedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A declared output whose path only the running shell knew, and no run recorded."""

    step_id: str
    declared: str


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """How many of what."""

    steps: int
    outputs: int
    """Those whose path is known: `ok` and `failed` together."""
    ok: int
    failed: int
    """Outputs with a failure; with --strict also those with a doubt."""
    doubtful: int
    unresolved: int
    skipped: int
    """Outputs of steps that the run skipped: they are not required."""
    accepted: int = 0
    """Those among `ok` that a person took as they are."""
    rehearsed: int = 0
    """Outputs that a rehearsal wrote; they count as failed except in a rehearsal itself."""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of one pack."""

    path: str
    run_id: str | None
    failures: tuple[FailedOutput, ...]
    doubts: tuple[Doubt, ...]
    unresolved: tuple[UnresolvedOutput, ...]
    totals: Totals
    ok: bool
    warnings: tuple[str, ...] = ()
    accepted: tuple[AcceptedOutput, ...] = ()

    @property
    def packs(self) -> "tuple[VerifyReport, ...]":
        """As `VerifiedPacks` has them."""
        return (self,)


class VerifyPacksReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of several packs."""

    packs: tuple[VerifyReport, ...]
    totals: Totals
