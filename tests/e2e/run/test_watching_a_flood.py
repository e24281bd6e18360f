"""A watcher of a step that prints a gigabyte stays small."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.calls.office import step, until
from tests.e2e.run.project import Zygote, a_project

MOST_KB = 60_000
PROGRAM = """
import resource, sys
from oraclepack import api
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seen = most = 0
for update in api.runs(sys.argv[1]).watch("latest"):
    if update.progress is not None:
        seen, most = seen + 1, max(most, update.progress.bytes)
print(seen, most, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.heavy
def test_a_watcher_of_a_gigabyte_stays_small(tmp_path: Path, zygote: Zygote) -> None:
    flood = "yes 'a line of a log that goes on and on' | head -c 1000000000; sleep 1"
    project = a_project(tmp_path, zygote, step(1, flood))
    runner = project.start("run", "pack.md", "--quiet")
    until(lambda: bool(project.run_dirs) and (project.run_dir / "journal.jsonl").exists())
    watcher = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, str(project.root)],
        env=project.environment,
        capture_output=True,
        check=True,
        text=True,
    )

    assert runner.wait().code == 0
    seen, most, _, peak = map(int, watcher.stdout.split())
    assert peak < MOST_KB, watcher.stdout
    assert (most, seen > 2) == (1_000_000_000, True)
