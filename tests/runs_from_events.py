"""Run directories of the past, laid out from events."""

from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import Pack
from tests.events import a_step, created, session, write_journal

RUN_ID = "2026-03-01__abc1234__55555555"


def a_run(root: Path, *events: j.Event, run_id: str = RUN_ID) -> RunDir:
    """A run whose journal holds these events."""
    run = RunDir(root, run_id)
    run.create()
    write_journal(run.path, *events)
    return run


def an_ended_run(root: Path, run_id: str = RUN_ID, **about: object) -> RunDir:
    """01 ok, 02 failed, 03 never begun; one command of ten seconds."""
    return a_run(
        root,
        created("01", "02", "03", pack_id=run_id, **about),
        session(),
        *a_step("01"),
        *a_step("02", Status.FAILED),
        j.SessionFinished(exit_code=3),
        run_id=run_id,
    )


def a_run_of(root: Path, pack: Pack, *steps: tuple[str, Status]) -> RunDir:
    """A run outside of git that fits the content of a pack."""
    run_id = f"2026-03-01__nogit__{pack.pack_hash[:8]}"
    about = created(
        *(step.id for step in pack.steps),
        pack_id=run_id,
        pack_path=Path(pack.path).name,
        pack_hash=pack.pack_hash,
        git_sha=None,
    )
    ended = [event for step, status in steps for event in a_step(step, status)]
    return a_run(root, about, session(), *ended, j.SessionFinished(exit_code=0), run_id=run_id)
