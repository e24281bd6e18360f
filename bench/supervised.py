"""Login shells under our supervision and nothing else: no journal, no files of a run.

`python -m bench.supervised STEPS`, in a directory that may be littered.
"""

import os
import sys
from pathlib import Path

from oraclepack.shell.attempt import Attempt, AttemptCallbacks, Grace
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import SystemClock


def main() -> None:
    here = Path.cwd()
    for number in range(1, int(sys.argv[1]) + 1):
        attempt = Attempt(
            step="01",
            number=number,
            code="true",
            cwd=str(here),
            env=dict(os.environ),
            stdout_log=str(here / f"{os.getpid()}.{number}.stdout.log"),
            stderr_log=str(here / f"{os.getpid()}.{number}.stderr.log"),
            token=f"bench-{os.getpid()}-{number}",
            grace=Grace(),
        )
        outcome = run_attempt(attempt, Stop(), AttemptCallbacks(), SystemClock())
        assert outcome.ok, outcome


if __name__ == "__main__":
    main()
