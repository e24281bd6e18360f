"""A runner of one step in a process of its own, to be killed while a call is under way."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.engines.engine import ToolRun
from oraclepack.shell.attempt import AttemptCallbacks, ProcessIdentity
from tests.callers import stage


@dataclass(frozen=True)
class Runner:
    """The process, the step's shell, and the tool the step has called."""

    process: subprocess.Popen[str]
    shell: int
    tool: int


def start_runner(root: Path, step: str, env: Mapping[str, str], *, dies: bool = False) -> Runner:
    """Start one; returns when the step has called its first tool.

    With `dies` it is killed as soon as it has recorded the tool's process.
    """
    last = "dies" if dies else "lives"
    argv = [sys.executable, "-m", "tests.killable", str(root), step, json.dumps(dict(env)), last]
    here = Path(__file__).parents[1]
    # A killed runner leaves its stand-ins behind: among the test's own files, then.
    own = os.environ | {"TMPDIR": str(root)}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=own, cwd=here)
    assert process.stdout
    return Runner(process, int(process.stdout.readline()), int(process.stdout.readline()))


def await_end(pid: int) -> None:
    """Wait for a process that may be anyone's child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(30_000), f"process {pid} does not end"
    os.close(descriptor)


def _main(root: Path, step: str, env: Mapping[str, str], *, dies: bool) -> None:
    def tell(pid: int) -> None:
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()

    def tell_tool(process: ProcessIdentity) -> None:
        tell(process.pid)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(call: LiveCall, shim: Shim) -> int:
        order = ToolRun(call.tool, call.argv, call.cwd, call.env)
        return shim.run(order, tell_tool).exit_code

    with stage(root, env=env) as here:
        here.act = act
        attempt = here.bench.attempt(step, first_on_path=str(here.shim_dir))
        here.gateway.attempts.expect(attempt)
        here.bench.run(attempt, AttemptCallbacks(on_started=lambda started: tell(started.pid)))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), dies=sys.argv[4] == "dies")
