"""A bench for attempts: a directory, bodies by the line, a clean environment."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oraclepack.shell.attempt import Attempt, AttemptCallbacks, AttemptOutcome, Grace
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.prelude_snapshot import run_prelude
from oraclepack.shell.processes import all_processes, has_token
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import SystemClock

QUICK = Grace(interrupt=0.2, terminate=0.2, linger=0.05, orphan=0.2, finish=0.5)
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Bench:
    """Where attempts are built and run."""

    root: Path
    stop: Stop = field(default_factory=Stop)
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    def attempt(self, body: str | bytes, **parts: Any) -> Attempt:
        number = next(_numbers)
        self.home.mkdir(exist_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **self.extra}
        made: dict[str, Any] = {
            "step": "01",
            "number": number,
            "code": body if isinstance(body, str) else body.decode("utf-8", "surrogateescape"),
            "cwd": str(self.root),
            "env": env,
            "stdout_log": str(self.root / f"{number}.stdout.log"),
            "stderr_log": str(self.root / f"{number}.stderr.log"),
            "token": f"token-{os.getpid()}-{number}",
            "grace": QUICK,
        }
        return Attempt(**(made | parts))

    def run(self, attempt: Attempt, watch: AttemptCallbacks | None = None) -> AttemptOutcome:
        return run_attempt(attempt, self.stop, watch or AttemptCallbacks(), SystemClock())

    def out(self, body: str | bytes, **parts: Any) -> str:
        """What a body prints, errors and exit code behind it."""
        attempt = self.attempt(body, **parts)
        outcome = self.run(attempt)
        said = Path(attempt.stdout_log).read_text() + Path(attempt.stderr_log).read_text()
        return said if outcome.exit_code == 0 else f"{said}exit {outcome.exit_code}\n"

    def prelude(self, body: str | bytes, **parts: Any) -> tuple[AttemptOutcome, Path]:
        """Run a prelude; its outcome, and the snapshot."""
        snapshot = self.root / f"{next(_numbers)}.snapshot"
        made = {"step": "prelude", "capture": str(snapshot)}
        attempt = self.attempt(body, **(made | parts))
        return run_prelude(attempt, self.stop, AttemptCallbacks(), SystemClock()), snapshot

    def after(self, prelude: str | bytes, body: str | bytes, **parts: Any) -> str:
        """What a step prints when that prelude ran before it."""
        outcome, snapshot = self.prelude(prelude, **parts)
        assert outcome.ok, outcome
        return self.out(body, restore=str(snapshot), **parts)


def alive(token: str) -> list[str]:
    """The commands of the living processes that carry a token."""
    found = (one for one in all_processes() if not one.is_dead and has_token(one.pid, token))
    return [one.command for one in found]
