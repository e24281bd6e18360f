"""Lists of many runs and many answers come from the index, and say what the files say."""

from pathlib import Path

from bench.growth import copy_runs, store_answers

from oraclepack.calls.file_store import project_cache
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.cache_queries import list_cache
from oraclepack.store.sqlite import existing_store
from oraclepack.system import locks
from oraclepack.system.clock import SystemClock
from oraclepack.view.past_runs import list_runs, summaries
from tests import events as e

RUN_ID = "2026-03-01__aaaaaaa__55555555"


def forty_runs(root: Path) -> RunDir:
    run = RunDir(root, RUN_ID)
    run.create()
    with JournalFile(run.journal, SystemClock()) as journal:
        for event in (e.created("01"), *e.a_step("01"), j.RunFinished(ok=True)):
            journal.append(event)
    copy_runs(root, 39)
    return RunDir(root, f"{RUN_ID}__7")


def test_runs_are_listed_from_the_index_as_they_are_now(tmp_path: Path) -> None:
    run = forty_runs(tmp_path)
    first = list_runs(tmp_path).runs
    assert {one.status for one in first} == {"ok"}
    store = existing_store()
    assert store is not None
    assert store.rows("select count(*) from file_index") == [(40,)]
    assert list_runs(tmp_path).runs == first

    held = locks.acquire(run.path, locks.this_process("run", SystemClock()))
    assert isinstance(held, locks.RunLock)
    with held:
        running = [one for one in list_runs(tmp_path).runs if one.holder]
        assert [one.run_id for one in running] == [run.run_id]
    assert list_runs(tmp_path).runs == first

    with JournalFile(run.journal, SystemClock()) as journal:
        journal.append(j.HeadRecorded(sha="c" * 40, dirty=False))
    (moved,) = (one for one in summaries(tmp_path, e.PACK_HASH) if "c" * 40 in one.heads)
    assert moved.run_id == run.run_id

    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([lines[0], *lines[2:]]))
    (damaged,) = (one for one in list_runs(tmp_path).runs if one.damage)
    assert (damaged.run_id, damaged.status) == (run.run_id, "damaged")


def test_answers_are_listed_from_the_index_as_they_are_now(tmp_path: Path) -> None:
    store_answers(tmp_path, 40)
    first = list_cache(tmp_path)
    assert [one.state for one in first.entries] == ["good"] * 40
    assert list_cache(tmp_path) == first

    cache = project_cache(tmp_path)
    edited, removed, torn = (one.key for one in first.entries[:3])
    (cache.directory / f"{edited}.md").write_text("something else")
    cache.remove(removed)
    (cache.directory / f"{torn}.md").unlink()
    states = {one.key: one.state for one in list_cache(tmp_path).entries}
    assert len(states) == 39
    assert (states[edited], states[torn]) == ("changed", "torn")
