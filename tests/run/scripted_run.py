"""A run without bash, for tests that kill it: it does to the disk what a runner does."""

import os
from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.locks import Holder, RunLock, acquire
from oraclepack.view.manifests import write_manifests
from tests import events as e
from tests.clocks import SteppingClock

RUN_ID = "2026-03-01__aaaaaaa__55555555"
STEPS = ("01", "02", "03")


def run(root: Path) -> None:
    """Begin or continue the run of three steps; each writes a file, the second replaces one."""
    directory = RunDir(root, RUN_ID)
    directory.create()
    lock = acquire(directory.path, Holder(pid=os.getpid()))
    assert isinstance(lock, RunLock)
    directory.sweep()
    files.sweep(root / "out")
    with lock, JournalFile(directory.journal, SteppingClock()) as journal:
        if journal.state.created is None:
            journal.append(e.created(*STEPS))
        journal.append(e.session())
        for step in STEPS:
            if journal.state.step(step).status is not Status.OK:
                _run_step(directory, journal, step)
        journal.append(j.RunFinished(ok=True))
        journal.append(j.SessionFinished(exit_code=0))
        write_manifests(directory, None, journal.state, legacy=True)


def _run_step(directory: RunDir, journal: JournalFile, step: str) -> None:
    attempt = journal.state.step(step).attempts + 1
    declared = directory.root / "out" / f"{step}.md"
    if attempt == 1:
        backup = back_up(directory.path, step, attempt, f"out/{step}.md", declared)
        if backup is not None:
            journal.append(backup)
    journal.append(e.started(step, attempt))
    answer = f"answer {step}\n".encode()
    files.write_atomic(declared, answer)
    files.write_atomic(directory.outputs / f"{step}-answer.md", answer, mode=0o600)
    journal.append(
        j.OutputRecorded(
            step=step,
            attempt=attempt,
            path=f"outputs/{step}-answer.md",
            declared_path=f"out/{step}.md",
            sha256=sha256_bytes(answer),
            bytes=len(answer),
        )
    )
    journal.append(e.finished(step, attempt=attempt))
    write_manifests(directory, None, journal.state, legacy=True, durable=False)
