"""After a crash: what was paid for is taken over, what lives is waited for, the rest is asked."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from oraclepack.calls.adoption_rules import OnUnknown
from oraclepack.journal.events import Quarantined
from oraclepack.journal.statuses import Move
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.machine import Machine, this_machine
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
    office.put(OUT, ANSWER)

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
    options = {"prompt": prompt, "writeOutputPath": str(office.root / OUT)}
    session(office, "completed", log, options=options)
    if where == "file":
        office.put(OUT, short)

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
    options = {"prompt": prompt, "writeOutputPath": str(office.root / OUT)}
    session(office, "completed", options=options, usage={"outputTokens": 0})
    office.put(OUT, short)

    assert office.call(shim, *ask) == 0
    assert (len(shim.orders), office.out()) == (1, whole)


@pytest.mark.parametrize("where", ["quarantine", "log"])
def test_the_answer_is_looked_for_everywhere(tmp_path: Path, where: str) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering())
    session(office, "completed", f"x\n\nAnswer:\nfrom the log\n\n{COST}" if where == "log" else "")
    if where == "quarantine":
        office.put("out/_failed/x.md", b"set aside\n")
        move = Move(source=OUT, target="out/_failed/x.md")
        office.journal.append(Quarantined(step="01", attempt=1, moves=(move,)))

    assert office.call(shim) == 0
    assert shim.orders == []
    assert office.out() == (b"from the log\n" if where == "log" else b"set aside\n")


def test_its_process_still_lives(tmp_path: Path) -> None:
    with living() as (process, end):
        crash(tmp_path, process)
        office = later(tmp_path)
        session(office, "running")

        def finish() -> None:
            office.put(OUT, ANSWER)
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
    earlier = replace(this_machine(), boot="an earlier one", namespace="")
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
            office.put(OUT, ANSWER)
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
    crash(tmp_path, None)
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
    office.put(OUT, ANSWER)

    office.call(shim, "-p", "something else", "--write-output", "out/y.md")

    assert len(shim.orders) == 1
    assert office.invocations[0].is_open


def crash_of_another_run(tmp_path: Path, process: ProcessIdentity | None = DEAD) -> None:
    """Only what is written down beside the cache tells of it."""
    crash(tmp_path, process)
    (tmp_path / "project/.oraclepack/runs/r/journal.jsonl").unlink()


def left_notes(office: Office) -> list[Path]:
    return list(office.cache.directory.glob("*.asking"))


def test_a_call_of_another_run_is_taken_over(tmp_path: Path) -> None:
    crash_of_another_run(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))
    session(office, "completed")
    office.put(OUT, ANSWER)

    assert len(left_notes(office)) == 1
    assert office.call(shim) == 0
    assert shim.orders == []
    assert office.out() == ANSWER
    assert [one.outcome and one.outcome.adopted for one in office.invocations] == [True]
    assert left_notes(office) == []


def test_what_cannot_be_decided_stays_written_down(tmp_path: Path) -> None:
    crash_of_another_run(tmp_path, None)
    office, shim = later(tmp_path), ScriptedShim(answering())
    session(office, "running")

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


ABOUT = ("-p", "why?", "-f", "f.txt", "--write-output", OUT)


def cut_off(tmp_path: Path, about: bytes) -> None:
    """A call about a file dies; its tool was never heard of again."""
    office = Office(tmp_path)
    office.put("f.txt", about)
    with pytest.raises(KilledError):
        office.call(DyingShim(DEAD), *ABOUT)
    office.journal.close()


@pytest.mark.parametrize("ends", [True, False], ids=["which ended", "which was cut off, too"])
def test_an_answer_about_other_files_is_not_taken_for_ours(tmp_path: Path, *, ends: bool) -> None:
    cut_off(tmp_path, b"one")
    office = later(tmp_path)
    office.put("f.txt", b"two")
    log = f"\nAnswer:\nabout two\n\n{COST}"
    session(office, "completed", log, startedAt="2026-03-02T10:30:00.000Z")
    if ends:
        assert office.call(ScriptedShim(answering(b"about two\n")), *ABOUT) == 0
        assert office.last.session == "s"
    else:
        with pytest.raises(KilledError):
            office.call(DyingShim(DEAD), *ABOUT)
        office.put(OUT, b"about two\n")
    office.put("f.txt", b"one")
    shim = ScriptedShim(answering(b"about one\n", said=""))

    assert office.call(shim, *ABOUT) == 0
    assert (len(shim.orders), office.out()) == (1, b"about one\n")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(f"\nAnswer:\n{ANSWER.decode()}\n{COST}", ANSWER, id="its log has the answer"),
        pytest.param("", b"asked again\n", id="it is nowhere"),
    ],
)
def test_an_older_file_at_the_path_is_not_its_answer(
    tmp_path: Path, log: str, expected: bytes
) -> None:
    crash(tmp_path)
    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))
    session(office, "completed", log)
    office.put(OUT, b"an older answer\n")
    os.utime(office.root / OUT, (0, 0))

    assert office.call(shim) == 0
    assert office.out() == expected
