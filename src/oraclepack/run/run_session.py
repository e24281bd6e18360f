"""What the parts of one `run` command share."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from oraclepack.answers.verify_pack import VerifyOptions
from oraclepack.journal.run_state import Ask
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.shell.attempt import Grace

if TYPE_CHECKING:
    from oraclepack.calls.context import CallOptions


from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.model import Pack
from oraclepack.run.recorder import Recorder
from oraclepack.settings.value_kinds import MaxParallel
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import Clock

if TYPE_CHECKING:  # a command with nothing to run does without them
    from oraclepack.calls.call_budget import CommandLedger
    from oraclepack.calls.handler import CallHandler
    from oraclepack.calls.publication import Publication
    from oraclepack.calls.server import Gateway
    from oraclepack.run.notify import Notifier
    from oraclepack.run.run_control import RunControl
    from oraclepack.run.tree_status import TreeStatus


class RunOptions(msgspec.Struct, frozen=True):
    """How steps are run and judged. Durations are seconds."""

    max_parallel: MaxParallel = 1
    keep_going: bool = False
    strict: bool = False
    """A step that changes files it does not own has failed."""
    allow_dirty_rerun: bool = False
    """Run a step over what its failed attempt left in the work tree."""
    allow_unseen_calls: bool = False
    """A step may make calls that do not reach oraclepack."""
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
    """The pack names or uses it, so that it must be there before the first step."""
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
    store: str = ""
    """The database that calls share with other machines; empty: the files of this one."""
    store_lease: float = 60.0
    """Seconds."""
    oracle_bin: str = ""
    """The oracle to call, where the user named one."""
    confirm_above: Decimal | None = None
    """Ask before a command that is likely to cost more US dollars."""
    ask: Ask | None = None
    """Asks the person at the terminal; None where there is none."""
    grace: Grace = msgspec.field(default_factory=Grace)
    detached: bool = False
    """It has no terminal: questions to a person wait for `runs answer`."""
    notify: Callable[[RunDir], Notifier] | None = None
    """Makes the notifier of the run; None without notifications."""
    wait_for: str | None = None
    """The run that must have ended before this one begins its steps."""
    ledger: CommandLedger | None = None
    """What the command has spent, where it runs several packs."""


def manner_of(options: RunOptions) -> VerifyOptions:
    """How strictly outputs are judged."""
    return VerifyOptions(
        options.chunks,
        options.contracts,
        options.require_headings,
        options.strict,
        rehearsal=bool(options.answered),
    )


class RunSession(msgspec.Struct):
    """One command at work on one run."""

    root: Path
    pack: Pack
    run: RunDir
    record: Recorder
    stop: Stop
    clock: Clock
    options: RunOptions
    private: Path
    """A directory only we can read, gone at the end: bodies, the prelude's snapshot."""
    environment: Mapping[str, str]
    failed: Path
    """The quarantine."""
    began: int
    """By the steady clock, in nanoseconds."""
    tree_status: TreeStatus
    attempts_before: frozenset[str] = frozenset()
    """Those that had left files when this command began to run steps."""
    snapshot: Path | None = None
    """The state after the prelude, once it has run."""
    published: dict[str, dict[str, Publication | None]] = msgspec.field(default_factory=dict)
    """What was published at the outputs of each step when it began, by path."""
    calls: CallHandler | None = None
    user_environment: Mapping[str, str] | None = None
    """What a rehearsal's steps would inherit in a real run; None where they do."""
    dotenv: Callable[[str], dict[str, str]] = lambda _: {}
    """What the `.env` of the project says for a directory of its copy, which has none."""
    gateway: Gateway | None = None
    """The call server between the steps and the tools, while steps run."""
    control: RunControl | None = None
    """Requests of other processes to the command, while steps run."""

    def token(self, step: str, attempt: int) -> str:
        """The mark of an attempt's processes, unique on this machine."""
        return f"{step}-{attempt}-{self.private.name}"
