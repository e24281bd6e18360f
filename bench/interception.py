"""What standing between a step and its tools costs. Prints a table; run it on a quiet machine.

    python bench/interception.py [ROUNDS]

With the real oracle on PATH its own start is measured too; without, 550 ms are assumed.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote

from oraclepack.adapters.bash import run_attempt
from oraclepack.adapters.clock import SystemClock
from oraclepack.adapters.gateway import Gateway
from oraclepack.adapters.stop import Stop
from oraclepack.adapters.surroundings import private_directory
from oraclepack.core.attempt import Attempt, Watch
from oraclepack.core.invocation import LiveCall, Shim, ToolRun

ORACLE_STARTS_IN = 0.55
CALLS = 20


class Step:
    """Makes calls from a step, as a pack does."""

    def __init__(self, gateway: Gateway, stop: Stop, folder: Path, env: Mapping[str, str]) -> None:
        self._gateway, self._stop, self._folder, self._env = gateway, stop, folder, env
        self._number = 0

    def seconds_per_call(self, command: str) -> float:
        self._number += 1
        log = str(self._folder / str(self._number))
        code = f"set -e; for ((i = 0; i < {CALLS}; i++)); do {command}; done"
        attempt = Attempt(
            step="01",
            number=self._number,
            code=code,
            cwd=str(self._folder),
            env=self._gateway.shims.environment(self._env),
            stdout_log=f"{log}.out",
            stderr_log=f"{log}.err",
            token=f"bench-{self._number}",
            first_on_path=str(self._gateway.shims.path),
        )
        self._gateway.expect(attempt)
        outcome = run_attempt(attempt, self._stop, Watch(), SystemClock())
        assert outcome.ok, outcome
        return outcome.duration / CALLS


def medians(rounds: int, measures: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """All measures in turn, round by round, so that a busy moment spoils none of them alone."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}


def answer(call: LiveCall, shim: Shim) -> int:
    if "served" in call.argv:
        shim.show("an answer\n")
        return 0
    return shim.run(ToolRun(call.tool, call.argv, call.cwd, call.env), lambda _: None).exit_code


def measure(rounds: int, folder: Path) -> dict[str, float]:
    tool = folder / "oracle"
    tool.write_text("#!/bin/sh\necho an answer\n")
    tool.chmod(0o755)
    own = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    with (
        Stop() as stop,
        private_directory() as place,
        Gateway(answer, stop, place, own) as gateway,
    ):
        step = Step(gateway, stop, folder, own)
        measures = {
            "direct": lambda: step.seconds_per_call(str(tool)),
            "intercepted": lambda: step.seconds_per_call("oracle"),
            "served": lambda: step.seconds_per_call("oracle served"),
        }
        if real := shutil.which("oracle"):
            measures["oracle"] = lambda: step.seconds_per_call(f"{quote(real)} --version")
        return medians(rounds, measures)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        took = measure(rounds, Path(folder))
    oracle = took.get("oracle", ORACLE_STARTS_IN)
    more = (took["intercepted"] - took["direct"]) * 1000
    print(f"{'what':34} {'measured':>12} {'goal':>10}")
    print(f"{'one intercepted call, more':34} {more:9.1f} ms {'≤ 60 ms':>10}")
    print(
        f"{'one call answered without the tool':34} {took['served'] / oracle:12.3f} {'≤ 0.15':>10}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
