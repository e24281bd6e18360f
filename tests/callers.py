"""A stage for calls: scripted tools on PATH, a gateway, and steps that call."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.server import Answer, Gateway
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.shell.attempt import AttemptCallbacks, AttemptOutcome, ProcessIdentity
from oraclepack.system.environment import private_directory
from tests.bashes import QUICK, Bench
from tests.scripted import Scripted, scripted_tool


def ignore_process(_process: ProcessIdentity) -> None:
    """For whom the start of a tool is no news."""


def call_through(call: LiveCall, shim: Shim, **more: Any) -> ToolEnd:
    """Call the real tool as it was called."""
    order = ToolRun(call.tool, call.argv, call.cwd, call.env, **more)
    return shim.run(order, ignore_process)


@dataclass
class Stage:
    """A gateway that calls the real tool, unless it is given something else to do."""

    bench: Bench
    oracle: Scripted
    gateway: Gateway
    calls: list[LiveCall] = field(default_factory=list)
    ends: list[ToolEnd] = field(default_factory=list)
    act: Callable[[LiveCall, Shim], int] | None = None
    awaiting: threading.Event = field(default_factory=threading.Event)
    """A shell has ended, and what it asked is waited for."""
    began: threading.Event = field(default_factory=threading.Event)
    stop_waits: threading.Event = field(default_factory=threading.Event)
    """A step is to stop, and waits for its calls."""

    def run(self, body: str, **parts: Any) -> tuple[AttemptOutcome, str]:
        """Run a step; its outcome, and everything it said."""
        attempt = self.bench.attempt(body, **({"first_on_path": str(self.shim_dir)} | parts))
        self.gateway.attempts.expect(attempt)

        def is_answered(seconds: float) -> bool:
            self.awaiting.set()
            return self.gateway.attempts.await_answers(attempt, seconds)

        watch = AttemptCallbacks(
            is_answered=is_answered,
            asking=lambda: self.gateway.attempts.asking(attempt),
            on_ending=lambda: self.gateway.attempts.end_calls(attempt),
            on_stop_waits=self.stop_waits.set,
        )
        outcome = self.bench.run(attempt, watch)
        self.gateway.attempts.forget(attempt)
        logs = (Path(attempt.stdout_log), Path(attempt.stderr_log))
        return outcome, "".join(log.read_text(errors="replace") for log in logs)

    @property
    def shim_dir(self) -> Path:
        return self.gateway.shims.path


@contextmanager
def stage(root: Path, **parts: Any) -> Iterator[Stage]:
    """Everything for one test; `parts` go to the gateway, `env` into oraclepack's environment."""
    bench = Bench(root)
    oracle = scripted_tool(root / "bin")
    more = parts.pop("env", {})
    own = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}", "HOME": str(root), **more}
    made: list[Stage] = []

    def answer(call: LiveCall, shim: Shim) -> int:
        here = made[0]
        here.calls.append(call)
        here.began.set()
        if here.act:
            return here.act(call, shim)
        here.ends.append(call_through(call, shim))
        return here.ends[-1].exit_code

    with (
        bench.stop,
        private_directory() as folder,
        Gateway(_typed(answer), bench.stop, folder, own, grace=QUICK, **parts) as gateway,
    ):
        env = gateway.shims.environment(own | {"HOME": str(bench.home), "LANG": "C.UTF-8"})
        made.append(Stage(Bench(root, bench.stop, env), oracle, gateway))
        yield made[0]


def _typed(answer: Answer) -> Answer:
    return answer
