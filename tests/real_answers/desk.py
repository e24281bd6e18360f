"""Calls answered as a run answers them, here or in a process of its own that may be killed."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oraclepack.adapters.cache import PLACE, AnswerCache
from oraclepack.adapters.clock import SystemClock
from oraclepack.adapters.journal import JournalFile
from oraclepack.adapters.limits import Limits
from oraclepack.app.calls.answer import Calls
from oraclepack.app.calls.options import CallOptions
from oraclepack.app.calls.world import CallWorld
from oraclepack.core import journal as j
from oraclepack.core.invocation import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.core.result import Process
from oraclepack.intercept.retry import RetryPolicy
from tests.callers import Stage, stage
from tests.packs import a_pack

QUICK = RetryPolicy(base=0.01)


class Desk:
    """Everything a call needs, around a stage; all calls count as those of one attempt."""

    def __init__(self, here: Stage, **options: Any) -> None:
        self.stage = here
        self.root = here.bench.root
        run_dir = self.root / ".oraclepack/runs/r"
        run_dir.mkdir(parents=True, exist_ok=True)
        clock = SystemClock()
        self.journal = JournalFile(run_dir / "journal.jsonl", clock)
        self.calls = Calls(
            CallWorld(
                root=self.root,
                run_dir=run_dir,
                run_id="r",
                pack=a_pack("# 01) step\ntrue\n"),
                journal=self.journal,
                cache=AnswerCache(self.root / PLACE),
                limits=Limits(self.root / "limits", clock),
                clock=clock,
                chance=lambda: 0.5,
                options=CallOptions(**({"retry": QUICK} | options)),
            )
        )
        self._numbers = iter(range(len(self.journal.state.step("01").invocations) + 1, 999))
        self._lock = threading.Lock()
        self._steps = os.getpid() * 100
        here.act = self.answer

    def answer(self, call: LiveCall, shim: Shim) -> int:
        with self._lock:
            number = next(self._numbers)
        placed = LiveCall(call.tool, call.argv, call.cwd, call.env, "01", 1, number)
        return self.calls.answer(placed, shim)

    def run(self, *commands: str) -> tuple[int | None, str]:
        # No log is written twice, also where an earlier desk was killed.
        self._steps += 1
        logs = [str(self.root / f"{self._steps}.{name}.log") for name in ("out", "err")]
        body = "\n".join(commands)
        outcome, said = self.stage.run(body, stdout_log=logs[0], stderr_log=logs[1])
        return outcome.exit_code, said

    @property
    def outcomes(self) -> list[j.InvocationOutcome]:
        made = self.journal.state.step("01").invocations
        return [one.outcome for one in sorted(made, key=lambda one: one.call) if one.outcome]


@contextmanager
def sitting(root: Path, env: Mapping[str, str], **options: Any) -> Iterator[Desk]:
    with stage(root, env=env) as made:
        desk = Desk(made, **options)
        yield desk
        desk.journal.close()


@contextmanager
def killed_at_work(root: Path, env: Mapping[str, str], step: str) -> Iterator[Callable[[], int]]:
    """A desk in a process of its own; the function kills it, and tells who its tool was."""
    argv = [sys.executable, "-m", __name__, str(root), step, json.dumps(dict(env))]
    own = os.environ | {"TMPDIR": str(root)}
    place = Path(__file__).parents[2]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=own, cwd=place) as process:
        assert process.stdout is not None
        tool = int(process.stdout.readline())

        def kill() -> int:
            process.kill()
            process.wait()
            return tool

        yield kill


class _Telling:
    """A shim that tells which process its tool is."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self.show, self.tell = shim.show, shim.tell
        self.read_stdin, self.pause = shim.read_stdin, shim.pause

    def run(self, order: ToolRun, on_started: Callable[[Process], None]) -> ToolEnd:
        def told(process: Process) -> None:
            on_started(process)
            sys.stdout.write(f"{process.pid}\n")
            sys.stdout.flush()

        return self._shim.run(order, told)


def _main(root: Path, step: str, env: Mapping[str, str]) -> None:
    with sitting(root, env) as desk:
        desk.stage.act = lambda call, shim: desk.answer(call, _Telling(shim))
        desk.run(step)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
