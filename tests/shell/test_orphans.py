"""Whatever a step leaves behind is found and ended, and nothing else is."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.shell import orphans, processes
from oraclepack.shell.attempt import AttemptCallbacks, ProcessIdentity
from oraclepack.shell.orphans import end_leftovers, find_leftovers
from oraclepack.shell.processes import children_of_ours, process_info, start_time
from tests.bashes import QUICK, Bench, alive

DEAF = "bash -c 'trap \"\" INT TERM; while :; do sleep 0.1; done' & sleep 0.2"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        pytest.param("true", [], id="nothing"),
        pytest.param("sleep 30 &", [("sleep", "TERM")], id="a background job"),
        pytest.param("(sleep 30 &)", [("sleep", "TERM")], id="a grandchild"),
        pytest.param("setsid sleep 30 &", [("sleep", "TERM")], id="in a session of its own"),
        pytest.param("set -m; sleep 30 &", [("sleep", "INT")], id="in a group of its own"),
        pytest.param("nohup sleep 30 >/dev/null 2>&1 &", [("sleep", "TERM")], id="with nohup"),
        pytest.param("env -i sleep 30 &", [("sleep", "TERM")], id="without environment"),
        pytest.param(
            "setsid bash -c 'env -i sleep 30; :' & sleep 0.2",
            [("bash", "TERM"), ("sleep", "TERM")],
            id="without environment, below one that escaped",
        ),
        pytest.param("sleep 0.01 &", [], id="one that ends by itself"),
        pytest.param("echo hi > >(sleep 0.02; cat >copy)", [], id="a tee that needs a moment"),
    ],
)
def test_leftovers_are_ended(bench: Bench, body: str, ended: list[tuple[str, str]]) -> None:
    # What ends by itself may take long on a busy machine; what does not is not waited for.
    grace = QUICK if ended else replace(QUICK, linger=20.0)
    attempt = bench.attempt(body, grace=grace)

    outcome = bench.run(attempt)

    assert outcome.ok
    assert sorted((one.command, one.ended_by) for one in outcome.orphans) == ended
    assert alive(attempt.token) == []


def test_leftovers_of_a_step_in_another_thread_are_ended(bench: Bench) -> None:
    attempt = bench.attempt("setsid sleep 30 &", grace=QUICK)

    with ThreadPoolExecutor(1) as other:
        outcome = other.submit(bench.run, attempt).result()

    assert [one.command for one in outcome.orphans] == ["sleep"]
    assert alive(attempt.token) == []


def test_one_that_ignores_everything_is_killed(bench: Bench) -> None:
    attempt = bench.attempt(DEAF)

    outcome = bench.run(attempt)

    assert ("bash", "KILL") in {(one.command, one.ended_by) for one in outcome.orphans}
    assert alive(attempt.token) == []


def test_no_dead_children_pile_up(bench: Bench) -> None:
    before = children_of_ours()

    for _ in range(3):
        bench.run(bench.attempt("(sleep 30 &) ; (true &) ; sleep 0.05"))

    assert children_of_ours() == before


def test_a_spared_worker_lives_on(bench: Bench) -> None:
    attempt = bench.attempt("setsid sleep 30 & echo $!")
    log = Path(attempt.stdout_log)
    watch = AttemptCallbacks(spared=lambda: frozenset({int(log.read_text())}))

    outcome = bench.run(attempt, watch)

    assert outcome.orphans == ()
    assert alive(attempt.token) == ["sleep"]
    end_leftovers(ProcessIdentity(pid=0, token=attempt.token))
    assert alive(attempt.token) == []


def test_attempts_side_by_side_keep_their_orphans_apart(bench: Bench) -> None:
    bodies = ["setsid sleep 30 & sleep 0.3", "sleep 0.1; setsid sleep 31 & sleep 31 &", "sleep 0.6"]
    attempts = [bench.attempt(body) for body in (*bodies, "sleep 0.5; exit 9")]

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(bench.run, attempts))

    assert [len(outcome.orphans) for outcome in outcomes] == [1, 2, 0, 0]
    assert [outcome.exit_code for outcome in outcomes] == [0, 0, 0, 9]


def test_children_of_other_parts_of_the_program_are_left_alone(bench: Bench) -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as ours:
        bench.run(bench.attempt("sleep 30 &"))

        assert ours.poll() is None
        ours.terminate()


RUNNER = """
import sys
from pathlib import Path
from oraclepack.shell.attempt import AttemptCallbacks
from tests.bashes import Bench

def tell(started):
    Path(sys.argv[1], "started").write_text(
        " ".join(map(str, (started.pid, started.start_time, started.token))))

bench = Bench(Path(sys.argv[1]))
attempt = bench.attempt("setsid sleep 30 & env -i sleep 31 & sleep 32")
bench.run(attempt, AttemptCallbacks(on_started=tell))
"""


def killed_runner(root: Path) -> ProcessIdentity:
    """A step at work whose runner was killed, as the journal of that runner knows it."""
    with subprocess.Popen([sys.executable, "-c", RUNNER, str(root)]) as runner:
        note = root / "started"
        while not (note.exists() and len(note.read_text().split()) == 3):
            time.sleep(0.01)
        pid, start, token = note.read_text().split()
        started = ProcessIdentity(pid=int(pid), pgid=int(pid), start_time=start, token=token)
        at_work = ["bash", "sleep", "sleep", "sleep"]
        while sorted(process.command for process in find_leftovers(started)) != at_work:
            time.sleep(0.01)  # `env` and `setsid` have not become what they start yet
        runner.kill()
    return started


def test_the_next_run_ends_the_step_of_a_killed_one(tmp_path: Path) -> None:
    started = killed_runner(tmp_path)

    ended = end_leftovers(started)

    assert sorted(one.command for one in ended) == ["bash", "sleep", "sleep", "sleep"]
    assert find_leftovers(started) == ()


def test_a_process_that_only_has_the_same_number_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as other:
        mistaken = ProcessIdentity(pid=other.pid, start_time="12345", token="of-another-boot")

        assert end_leftovers(mistaken) == ()
        assert other.poll() is None
        other.kill()


def test_without_proc_a_number_alone_ends_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "has_proc", lambda: False)
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as other:
        assert end_leftovers(ProcessIdentity(pid=other.pid, token="token")) == ()
        assert end_leftovers(ProcessIdentity(pid=0, token="")) == ()
        assert other.poll() is None
        other.kill()


def test_a_process_is_known_by_number_and_start() -> None:
    me = process_info(os.getpid())

    assert me is not None
    assert me.start_time == start_time(os.getpid())
    assert process_info(2**22 + 1) is None
    assert start_time(2**22 + 1) == ""


@pytest.mark.parametrize("trouble", [AttributeError, OSError])
def test_leftovers_are_found_where_there_is_no_subreaper(
    bench: Bench, trouble: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise trouble

    monkeypatch.setattr("ctypes.CDLL", refuse)
    orphans.become_subreaper.cache_clear()
    outcome = bench.run(bench.attempt("sleep 30 &"))
    orphans.become_subreaper.cache_clear()

    assert [(one.command, one.ended_by) for one in outcome.orphans] == [("sleep", "TERM")]


@pytest.mark.skipif(children_of_ours() is None, reason="the kernel does not list children")
def test_a_child_that_is_being_started_is_no_leftover() -> None:
    ended = ProcessIdentity(pid=0, token="of a step that has ended")
    of_other_tests = children_of_ours() or ()
    for pid in of_other_tests:
        orphans.await_child(pid)
    with ThreadPoolExecutor(1) as other:
        with orphans.starting():
            child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            look = other.submit(orphans.may_have_orphans, ended)
            orphans.await_child(child.pid)
        found = look.result()
    child.communicate()
    for pid in (child.pid, *of_other_tests):
        orphans.forget_child(pid)

    assert not found
