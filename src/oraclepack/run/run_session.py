"""What the parts of one `run` command share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.model import Pack
from oraclepack.run.recorder import Recorder
from oraclepack.run.request import RunRequest
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import Clock

if TYPE_CHECKING:  # a command with nothing to run does without them
    from oraclepack.calls.handler import CallHandler
    from oraclepack.calls.publication import Publication
    from oraclepack.calls.server import Gateway
    from oraclepack.run.run_control import RunControl
    from oraclepack.run.tree_status import TreeStatus


class RunSession(msgspec.Struct):
    """One command at work on one run."""

    root: Path
    pack: Pack
    run: RunDir
    record: Recorder
    stop: Stop
    clock: Clock
    request: RunRequest
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

    @property
    def settings(self) -> Settings:
        return self.request.settings

    def token(self, step: str, attempt: int) -> str:
        """The mark of an attempt's processes, unique on this machine."""
        return f"{step}-{attempt}-{self.private.name}"
