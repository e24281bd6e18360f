"""A run killed at any operation on the disk, then continued, ends as one that was not."""

import json
import signal
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from oraclepack.journal.events import StepFinished
from oraclepack.journal.journal_file import load
from oraclepack.journal.run_dir import RunDir
from oraclepack.system.trust_key import make_key
from tests.faults import killed_at, watched
from tests.run.scripted_run import RUN_ID, STEPS, run

TEARS = (0, 1, 50)
"""How much of a write the disk takes before the kill; the moments take turns."""
STRIDE = 4
"""Every fourth operation: the steps are alike, so each kind of moment is still met."""


def a_project(parent: Path, name: str) -> Path:
    root = parent / name
    (root / "out").mkdir(parents=True)
    (root / "out" / "02.md").write_bytes(b"older\n")
    return root


def what_remains(root: Path) -> dict[str, Any]:
    """Everything on the disk that must not depend on having been killed."""
    directory = RunDir(root, RUN_ID)
    steps = json.loads((directory.path / "steps.json").read_bytes())["steps"]
    names = (
        "step_id",
        "status",
        "output_path",
        "output_hash",
        "outputs",
        "exit_code",
        "last_error",
    )
    return {
        "steps": [{name: step[name] for name in names} for step in steps],
        "status": json.loads((directory.path / "run.json").read_bytes())["status"],
        "files": {
            path.relative_to(root).as_posix(): path.read_bytes()
            for folder in (root / "out", directory.outputs, directory.path / "blobs")
            for path in sorted(folder.iterdir())
        },
        "beside": sorted(path.name for path in root.iterdir()),
    }


def test_a_run_killed_anywhere_ends_the_same(tmp_path: Path) -> None:
    make_key()
    undisturbed = a_project(tmp_path, "undisturbed")
    with watched() as operations:
        run(undisturbed)
    expected = what_remains(undisturbed)

    moments = list(enumerate(operations, start=1))[::STRIDE]
    for number, operation in moments:
        root = a_project(tmp_path, f"killed-{number}")
        torn = TEARS[number // STRIDE % len(TEARS)]
        assert killed_at(number, partial(run, root), torn=torn) == -signal.SIGKILL
        for path in root.rglob("*.json"):
            json.loads(path.read_bytes())
        run(root)

        assert what_remains(root) == expected, (number, operation)
        events = load(RunDir(root, RUN_ID).journal).events
        finished = [event.step for event in events if isinstance(event, StepFinished)]
        assert finished == list(STEPS), (number, operation)
    print(Counter(operation for _, operation in moments))  # where it was killed, for `pytest -s`
