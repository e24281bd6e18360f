"""After a crash: what was paid for is taken over, what lives is waited for, the rest is asked."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from oraclepack.calls.context import OnUnknown
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.machine import Machine, this_machine
from oraclepack.system.user_secrets import make_secret, secret_file
from tests.calls.crashed import (
    DEAD,
    DyingShim,
    EndingShim,
    KilledError,
    crash,
    later,
    living,
    session,
)
from tests.calls.office import ANSWER, COST, OUT, Office, ScriptedShim, answering
from tests.packs import ANSWER_FORMAT


def test_answered_while_we_were_dead(tmp_path: Path) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))
    session(office, "completed")
    office.tool_writes(ANSWER)

    assert office.call(shim) == 0
    assert shim.orders == []
    assert office.out() == ANSWER
    assert (office.last.adopted, office.last.session) == (True, "s")
    assert office.last.usage is not None
    assert all(not made.is_open for made in office.invocations)
    assert office.call(shim) == 0  # and from now on it is in the cache
    assert shim.orders == []


@pytest.mark.parametrize("where", ["file", "log"])
def test_a_whole_answer_that_misses_its_contract_is_not_asked_for_again(
    tmp_path: Path, where: str
) -> None:
    prompt = f"why?\n\n{ANSWER_FORMAT}"
    ask = ("-p", prompt, "-m", "gpt-5.2", "--write-output", OUT)
    short = b"## Direct answer\nyes\n## Next experiment\nTry it.\n## Missing evidence\nNone.\n"
    crashing = Office(tmp_path)
    with pytest.raises(KilledError):
        crashing.call(DyingShim(DEAD), *ask)
    crashing.journal.close()
    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))
    log = f"x\n\nAnswer:\n{short.decode()}\n{COST}" if where == "log" else ""
    options = {"prompt": prompt, "writeOutputPath": str(office.private)}
    session(office, "completed", log, options=options)
    if where == "file":
        office.tool_writes(short)

    for _ in range(2):
        assert office.call(shim, *ask) == 1
        assert shim.orders == []
        assert office.out() == short
        assert office.last.error is not None
        assert office.last.error.code == "CONTRACT"
        assert all(not made.is_open for made in office.invocations)


def test_a_session_without_tokens_was_cut_off_and_is_asked_again(tmp_path: Path) -> None:
    prompt = f"why?\n\n{ANSWER_FORMAT}"
    ask = ("-p", prompt, "-m", "gpt-5.2", "--write-output", OUT)
    short = b"## Direct answer\nyes\n## Next experiment\nTry it.\n## Missing evidence\nNone.\n"
    crashing = Office(tmp_path)
    with pytest.raises(KilledError):
        crashing.call(DyingShim(DEAD), *ask)
    crashing.journal.close()
    office = later(tmp_path)
    whole = short + b"## Risks/unknowns\nFew.\n"
    shim = ScriptedShim(answering(whole))
    options = {"prompt": prompt, "writeOutputPath": str(office.private)}
    session(office, "completed", options=options, usage={"outputTokens": 0})
    office.tool_writes(short)

    assert office.call(shim, *ask) == 0
    assert (len(shim.orders), office.out()) == (1, whole)


@pytest.mark.parametrize("printed", [True, False], ids=["printed by us", "in its own log"])
def test_an_answer_without_a_file_is_in_the_log(tmp_path: Path, *, printed: bool) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering())
    log = f"Session: s\n\nAnswer:\nfrom the log\n\n{COST}"
    session(office, "completed", "" if printed else log)
    if printed:
        (office.folder / "stdout").write_text(log)

    assert office.call(shim) == 0
    assert shim.orders == []
    assert office.out() == b"from the log\n"


@pytest.mark.parametrize(
    ("moved", "records"),
    [
        pytest.param(True, True, id="the project was renamed"),
        pytest.param(False, False, id="the records of the tool are gone"),
        pytest.param(True, False, id="both"),
    ],
)
def test_a_call_is_known_by_its_own_folder(tmp_path: Path, *, moved: bool, records: bool) -> None:
    crash(tmp_path)
    office = later(tmp_path)
    session(office, "completed")
    (office.folder / "stdout").write_text(
        f"Session: s\n\nAnswer:\nyes\n\n{COST}Saved assistant output to {office.private}\n"
    )
    office.tool_writes(ANSWER)
    office.journal.close()
    if moved:
        (tmp_path / "project").rename(tmp_path / "renamed")
        (tmp_path / "other").mkdir()
        (tmp_path / "renamed").rename(tmp_path / "other/project")
        (tmp_path / "oracle-home").rename(tmp_path / "other/oracle-home")
    office = later(tmp_path / "other" if moved else tmp_path, on_unknown=OnUnknown.FAIL)
    if not records:
        shutil.rmtree(office.oracle_home / "sessions")
    shim = ScriptedShim(answering(b"asked again\n"))

    assert office.call(shim) == 0
    assert (shim.orders, office.out()) == ([], ANSWER)


def test_a_session_whose_record_is_gone_is_unknown(tmp_path: Path) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path, on_unknown=OnUnknown.FAIL), ScriptedShim(answering())
    (office.folder / "stdout").write_text("Session: s\n")

    assert office.call(shim) == 1
    assert shim.orders == []
    assert office.last.error is not None
    assert office.last.error.code == "UNDECIDED"


def test_its_process_still_lives(tmp_path: Path) -> None:
    with living() as (process, end):
        crash(tmp_path, process)
        office = later(tmp_path)
        session(office, "running")

        def finish() -> None:
            office.tool_writes(ANSWER)
            session(office, "completed")
            end()

        shim = EndingShim(finish)

        assert office.call(shim) == 0
    assert shim.orders == []
    assert office.last.adopted
    assert "waiting for it" in shim.stderr
    assert shim.pauses == [0.02, 0.04]  # it is noticed soon after it has ended


@pytest.mark.parametrize("worker", [False, True], ids=["the tool", "its worker"])
def test_what_never_ends_is_not_waited_for_for_ever(tmp_path: Path, *, worker: bool) -> None:
    with living("oracle-worker") as (process, _):
        crash(tmp_path, DEAD if worker else process)
        office = later(tmp_path, call_timeout=30.0, on_unknown=OnUnknown.FAIL)
        lifecycle = {"detached": True, "workerPid": process.pid} if worker else {}
        session(office, "running", lifecycle=lifecycle)
        shim = ScriptedShim(answering())

        assert office.call(shim) != 0
    assert shim.orders == []
    assert "--on-unknown retry" in shim.stderr


@pytest.mark.parametrize("status", [None, "running"], ids=["no session", "session running"])
def test_a_call_of_another_machine_is_not_made_again(tmp_path: Path, status: str | None) -> None:
    """Its number means nothing here: the process may still be at work over there."""
    crash(tmp_path, replace(DEAD, machine=Machine("another", "boot")))
    office = later(tmp_path, on_unknown=OnUnknown.FAIL)
    if status:
        session(office, status)
    shim = ScriptedShim(answering())

    assert office.call(shim) != 0
    assert shim.orders == []
    assert office.last.error is not None
    assert office.last.error.code == "UNDECIDED"


def test_a_call_from_before_a_restart_of_the_machine_is_over(tmp_path: Path) -> None:
    known = make_secret(secret_file("machines/earlier", "an id"), "an id").decode()[:16]
    earlier = replace(this_machine(), boot="earlier", namespace="", id=known)
    is_container = bool(this_machine().namespace)
    crash(tmp_path, replace(DEAD, machine=earlier))
    office, shim = later(tmp_path, on_unknown=OnUnknown.FAIL), ScriptedShim(answering())

    assert (office.call(shim) == 0) is not is_container


def test_it_died_but_is_still_marked_running(tmp_path: Path) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering())
    session(office, "running")

    assert office.call(shim) == 0
    assert "--force" in shim.orders[0].argv
    assert office.invocations[0].outcome is not None
    assert office.invocations[0].outcome.error is not None
    assert office.invocations[0].outcome.error.code == "CRASHED"


def test_a_worker_still_lives(tmp_path: Path) -> None:
    with living("oracle-worker") as (process, end):
        crash(tmp_path)
        office = later(tmp_path)
        worker = {"detached": True, "workerPid": process.pid}
        session(office, "running", lifecycle=worker)

        def finish() -> None:
            office.tool_writes(ANSWER)
            session(office, "completed", lifecycle=worker)
            end()

        shim = EndingShim(finish)

        assert office.call(shim) == 0
    assert shim.orders == []
    assert office.last.adopted


@pytest.mark.parametrize(
    ("status", "more"),
    [
        pytest.param(None, {}, id="no record: nothing was asked"),
        pytest.param("error", {"errorMessage": "Overloaded"}, id="it failed"),
        pytest.param("completed", {"usage": {"outputTokens": 0}}, id="its answer was cut off"),
    ],
)
def test_what_gave_no_answer_is_asked(
    tmp_path: Path, status: str | None, more: dict[str, Any]
) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering())
    if status is not None:
        session(office, status, **more)

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
    assert "--force" not in shim.orders[0].argv


@pytest.mark.parametrize(
    ("options", "answer", "asked", "exit_code"),
    [
        pytest.param({}, None, 0, 1, id="no terminal: the step fails"),
        pytest.param({"on_unknown": OnUnknown.RETRY}, None, 1, 0, id="retry"),
        pytest.param({"on_unknown": OnUnknown.ASK}, None, 0, 1, id="no terminal to ask at"),
        pytest.param({"on_unknown": OnUnknown.ASK}, True, 1, 0, id="the person says yes"),
        pytest.param({"on_unknown": OnUnknown.ASK}, False, 0, 1, id="the person says no"),
    ],
)
def test_an_outcome_that_cannot_be_known(
    tmp_path: Path, options: dict[str, Any], answer: bool | None, asked: int, exit_code: int
) -> None:
    crash(tmp_path, replace(DEAD, machine=Machine("another", "boot")))
    office, shim = later(tmp_path, **options), ScriptedShim(answering())
    if answer is not None:
        context = msgspec.structs.replace(office.context, ask=lambda *_: bool(answer))
        office.calls = type(office.calls)(context)
    session(office, "running")

    assert office.call(shim) == exit_code
    assert len(shim.orders) == asked
    if exit_code:
        assert office.last.error is not None
        assert office.last.error.code == "UNDECIDED"
        assert office.invocations[0].is_open


def test_stopped_while_it_waits_for_an_earlier_call(tmp_path: Path) -> None:
    with living() as (process, _):
        crash(tmp_path, process)
        office, shim = later(tmp_path), ScriptedShim(answering(), patience=1)
        session(office, "running")

        assert office.call(shim) == 130
    assert shim.orders == []
    assert office.invocations[0].is_open
    assert [(one.reason, one.pid) for one in office.waits] == [
        (f"earlier call still running, pid {process.pid}", process.pid)
    ]


def test_another_question_is_none_of_its_business(tmp_path: Path) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering())
    session(office, "completed")
    office.tool_writes(ANSWER)

    office.call(shim, "-p", "something else", "--write-output", "out/y.md")

    assert len(shim.orders) == 1
    assert office.invocations[0].is_open


def crash_of_another_run(tmp_path: Path, process: ProcessIdentity | None = DEAD) -> Office:
    """Only what is written down beside the cache tells the next run of it."""
    office = crash(tmp_path, process)
    (tmp_path / "project/.oraclepack/runs/r/journal.jsonl").unlink()
    return office


def left_notes(office: Office) -> list[object]:
    return list(SqliteDatabase(office.state).rows("select key from claim"))


def test_a_call_of_another_run_is_taken_over(tmp_path: Path) -> None:
    crashed = crash_of_another_run(tmp_path)
    session(crashed, "completed")
    crashed.tool_writes(ANSWER)
    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))

    assert len(left_notes(office)) == 1
    assert office.call(shim) == 0
    assert shim.orders == []
    assert office.out() == ANSWER
    assert [one.outcome and one.outcome.adopted for one in office.invocations] == [True]
    assert left_notes(office) == []


def test_what_cannot_be_decided_stays_written_down(tmp_path: Path) -> None:
    crashed = crash_of_another_run(tmp_path, replace(DEAD, machine=Machine("another", "boot")))
    session(crashed, "running")
    office, shim = later(tmp_path), ScriptedShim(answering())

    assert office.call(shim) == 1
    assert (shim.orders, len(left_notes(office))) == ([], 1)
    assert later(tmp_path, on_unknown=OnUnknown.RETRY).call(shim) == 0
    assert left_notes(office) == []


def test_who_gives_up_waiting_leaves_it_to_the_next(tmp_path: Path) -> None:
    with living() as (process, _end):
        crash_of_another_run(tmp_path, process)
        office, shim = later(tmp_path), ScriptedShim(answering(), patience=0)

        assert office.call(shim) == 130
        assert (shim.orders, len(left_notes(office))) == ([], 1)


def test_a_call_without_a_process_was_not_made(tmp_path: Path) -> None:
    crash(tmp_path, process=None)
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.number = 9

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
    assert shim.pauses == []
