"""What a `run` command was asked for, beyond which steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from oraclepack.answers.verify_pack import Manner
from oraclepack.journal.run_state import Ask
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.shell.attempt import Grace

if TYPE_CHECKING:
    from oraclepack.calls.context import CallOptions


class RunOptions(msgspec.Struct, frozen=True):
    """How steps are run and judged. Durations are seconds."""

    max_parallel: int = 1
    keep_going: bool = False
    strict: bool = False
    """A step that changes files it does not own has failed."""
    allow_dirty_rerun: bool = False
    """Run a step over what its failed attempt left in the work tree."""
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
    makes_out_dir: bool = False
    """The pack uses it, so that it must be there before the first step."""
    ci: bool = False
    """The policy decides about the exit code."""
    engine: str | None = None
    answered: frozenset[str] = frozenset()
    """Tools that oraclepack answers for itself, so that they need not be installed."""
    needs_files: bool = False
    """Begin nothing while a call would surely miss a file that it attaches."""
    calls: Callable[[], CallOptions] | None = None
    """How calls are made, worked out when there is something to run; None is the usual way."""
    refresh: bool = False
    """Ask again, whatever was answered before."""
    oracle_bin: str = ""
    """The oracle to call, where the user named one."""
    ask: Ask | None = None
    """Asks the person at the terminal; None where there is none."""
    grace: Grace = msgspec.field(default_factory=Grace)


def manner_of(options: RunOptions) -> Manner:
    """How strictly outputs are judged."""
    return Manner(
        options.chunks,
        options.contracts,
        options.require_headings,
        options.strict,
        rehearsal=bool(options.answered),
    )
