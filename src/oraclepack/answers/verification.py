"""The data of the reply of `verify-outputs`."""

import msgspec

from oraclepack.settings.call_settings import REHEARSAL as REHEARSED


def describe_failure(
    io_error: str | None, missing_sections: tuple[str, ...], reason: str | None = None
) -> str:
    """Why an output fails its contract, as text."""
    if reason == REHEARSED:
        return "a rehearsed answer: no model was asked"
    if not io_error:
        return f"missing sections: {', '.join(missing_sections)}"
    return f"file {io_error}" if io_error.isalpha() else io_error  # `missing`, or a sentence


class FailedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output that does not meet its contract, and why."""

    step_id: str
    path: str
    contract: str
    missing_sections: tuple[str, ...] = ()
    io_error: str | None = None
    reason: str | None = None
    """`unreadable`, `sections`, or `rehearsal` for an answer that oraclepack wrote itself."""

    @property
    def description(self) -> str:
        """The failure as text: the file cannot be read, or sections are missing."""
        return describe_failure(self.io_error, self.missing_sections, self.reason)

    @property
    def line(self) -> str:
        """Step, file and failure, as all commands print them."""
        return f"step {self.step_id}: {self.path}: {self.description}"


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """An output that meets its contract and still looks wrong."""

    step_id: str
    path: str
    code: str
    message: str
    line: int


class AcceptedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a person accepted and that has not changed since."""

    step_id: str
    path: str
    sha256: str
    reason: str
    missing_sections: tuple[str, ...]
    """The sections that it lacks."""
    accepted_at: str

    @property
    def line(self) -> str:
        """Step, file and reason, in the form of `FailedOutput.line`."""
        lacks = f"although it lacks {', '.join(self.missing_sections)}" * bool(
            self.missing_sections
        )
        why = f": {self.reason}" if self.reason else ""
        return f"step {self.step_id}: {self.path}: accepted {lacks or 'as it is'}{why}"


class UnresolvedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A declared output whose path depends on the shell and was recorded by no run."""

    step_id: str
    declared: str


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of steps and outputs."""

    steps: int
    outputs: int
    """Outputs whose path is known: `ok` and `failed` together."""
    ok: int
    failed: int
    """Outputs with a failure; with --strict also those with a doubt."""
    doubtful: int
    unresolved: int
    skipped: int
    """Outputs of steps that the run skipped: they are not required."""
    accepted: int = 0
    """Outputs among `ok` that a person accepted although they fail their contract."""
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
        """A tuple of this report, so that callers can treat it as a `VerifyPacksReport`."""
        return (self,)


class VerifyPacksReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of several packs."""

    packs: tuple[VerifyReport, ...]
    totals: Totals
