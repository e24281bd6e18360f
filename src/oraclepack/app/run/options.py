"""What a `run` command was asked for, beyond which steps."""

import msgspec

from oraclepack.core.attempt import Grace
from oraclepack.core.contract import ChunkMode, ContractMode


class RunOptions(msgspec.Struct, frozen=True):
    """How steps are run and judged. Durations are seconds."""

    max_parallel: int = 1
    keep_going: bool = False
    step_timeout: float | None = None
    idle_timeout: float | None = None
    login_once: bool = False
    verify: bool = True
    require_headings: bool = False
    chunks: ChunkMode = ChunkMode.AUTO
    contracts: ContractMode = ContractMode.AUTO
    rollback_on_failure: bool = False
    out_dir: str = ""
    """Handed to the pack as the variable `out_dir`; empty leaves the pack alone."""
    ci: bool = False
    """The policy decides about the exit code."""
    engine: str | None = None
    oracle_version: str | None = None
    answered: frozenset[str] = frozenset()
    """Tools that oraclepack answers for itself, so that they need not be installed."""
    grace: Grace = msgspec.field(default_factory=Grace)
