"""What the parts of one `run` command share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.app.run.options import RunOptions
from oraclepack.app.run.recorder import Recorder
from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.model import Pack
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import Clock

if TYPE_CHECKING:  # a command with nothing to run does without them
    from oraclepack.app.run.calling import LateCalls
    from oraclepack.calls.server import Gateway


class Session(msgspec.Struct):
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
    attempts_before: frozenset[str] = frozenset()
    """Those that had left files when this command began to run steps."""
    snapshot: Path | None = None
    """What the prelude left, once it has run."""
    calls: LateCalls | None = None
    gateway: Gateway | None = None
    """What stands between the steps and the tools, while steps run."""

    def token(self, step: str, attempt: int) -> str:
        """The mark of an attempt's processes, unique on this machine."""
        return f"{step}-{attempt}-{self.private.name}"
