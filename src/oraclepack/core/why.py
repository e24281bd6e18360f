"""What `why` tells: the reason behind one step, down to the parts of its questions."""

from oraclepack.calls.cache import CallExplained
from oraclepack.core.run_report import StepTold


class WhyTold(StepTold, frozen=True, kw_only=True):
    """One step: what would be done with it, what was, and what became of its calls."""

    run_id: str
    run_reason: str
    """Why this run and no other."""
    command_hash: str
    """Of its commands and the prelude, as they are now."""
    recorded_hash: str | None
    """The same when it last ran."""
    calls: tuple[CallExplained, ...]
    """The calls of oracle in its last attempt."""
