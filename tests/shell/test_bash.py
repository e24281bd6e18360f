"""One attempt in a real bash: what the body sees, how it ends, where its output goes."""

import os
import resource
import shlex
import threading
from pathlib import Path

import pytest

from oraclepack.errors import MachineError
from oraclepack.shell import orphans, processes
from oraclepack.shell.attempt import AttemptCallbacks, AttemptEnd, ProcessIdentity, StopLevel
from oraclepack.shell.launch import LONGEST_ARGUMENT
from tests.bashes import QUICK, Bench, alive


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


STUBBORN = "trap '' INT TERM; echo ready; while :; do sleep 0.1 </dev/null; done"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("echo hi", "hi\n", id="no line end"),
        pytest.param('echo "$0 $#"', "bash 0\n", id="its name and no arguments"),
        pytest.param("\n\necho $LINENO", "3\n", id="its own line numbers"),
        pytest.param("echo ${BASH_SOURCE[0]-none}", "none\n", id="no source file"),
        pytest.param("shopt login_shell", "login_shell    \ton\n", id="a login shell"),
        pytest.param("exit 7", "exit 7\n", id="exit"),
        pytest.param("false", "exit 1\n", id="the last status counts"),
        pytest.param("set -e; false; echo no", "exit 1\n", id="errexit"),
        pytest.param("no-such-program 2>/dev/null", "exit 127\n", id="a missing program"),
        pytest.param("kill -TERM $$", "exit 143\n", id="ended by a signal"),
        pytest.param("kill -KILL $$", "exit 137\n", id="killed"),
        pytest.param("trap 'echo bye' EXIT; exit 2", "bye\nexit 2\n", id="an EXIT trap"),
        pytest.param("trap 'echo E' ERR; [[ -f no ]] && :", "exit 1\n", id="no false ERR trap"),
        pytest.param('read -r x; echo "$? [$x]"', "1 []\n", id="reading ends at once"),
        pytest.param("cat", "", id="cat ends at once"),
        pytest.param("cat 2>/dev/null </dev/tty || echo no tty", "no tty\n", id="no terminal"),
        pytest.param("alias a='echo x'\na 2>/dev/null", "exit 127\n", id="aliases as in scripts"),
        pytest.param("pwd", None, id="the directory"),
        pytest.param("return 3\necho after", None, id="return at the top"),
        pytest.param("echo $-", None, id="flags"),
        pytest.param("echo a\nif (", None, id="a syntax error, with its line"),
        pytest.param('echo "$BASH_EXECUTION_STRING"', None, id="its own text"),
    ],
)
def test_a_body_runs_as_under_bash_lc(bench: Bench, body: str, expected: str | None) -> None:
    if expected is None:
        expected = bench.out(f"cd {bench.root}; bash -lc {shlex.quote(body)}")

    assert bench.out(body, first_on_path="/first") == expected
    assert bench.out(body) == expected


@pytest.mark.parametrize("size", [LONGEST_ARGUMENT - 100, LONGEST_ARGUMENT + 1, 2_000_000])
def test_a_body_may_be_long(bench: Bench, size: int) -> None:
    body = f"trap 'echo ERR' ERR\n: '{'x' * size}'\necho $0 $# $LINENO\n[[ -f no ]] && echo no"

    assert bench.out(body) == "bash 0 3\nexit 1\n"


def test_logs_are_private_and_never_overwritten(bench: Bench) -> None:
    attempt = bench.attempt("echo out; echo err >&2; echo more >/dev/stdout")

    first, second = bench.run(attempt), bench.run(attempt)

    assert first.ok
    assert second.reason is AttemptEnd.SPAWN_FAILED
    assert "File exists" in second.message
    assert Path(attempt.stderr_log).read_text() == "err\n"
    assert Path(attempt.stdout_log).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        pytest.param({"cwd": "/no/such/place"}, "/no/such/place", id="no directory"),
        pytest.param({"env": {"PATH": "/nowhere"}}, "bash", id="no bash"),
        pytest.param({"restore": "/no/snapshot"}, "/no/snapshot", id="no snapshot"),
        pytest.param({"stdout_log": "/no/log"}, "/no/log", id="no place for the log"),
    ],
)
def test_what_cannot_start_says_why(bench: Bench, parts: dict[str, object], named: str) -> None:
    outcome = bench.run(bench.attempt("true", **parts))

    assert (outcome.reason, outcome.exit_code, outcome.ok) == (AttemptEnd.SPAWN_FAILED, None, False)
    assert named in outcome.message


@pytest.mark.parametrize("extra", ["", "#" + "x" * LONGEST_ARGUMENT])
def test_a_step_gets_no_descriptors_of_ours(bench: Bench, extra: str) -> None:
    said = bench.out(f"ls /proc/$$/fd | sort -n | xargs\n{extra}", first_on_path="/first")

    assert [number for number in said.split() if 100 < int(number) < 255] == []


@pytest.mark.parametrize("before", ["", "not-there:", "/not/there:"])
def test_bash_is_the_one_on_the_path_of_the_step(bench: Bench, tmp_path: Path, before: str) -> None:
    other = tmp_path / "bin" / "bash"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another $1\n")
    other.chmod(0o755)
    path = f"{before}{other.parent}:{os.environ['PATH']}"
    attempt = bench.attempt("true", env={**os.environ, "PATH": path})

    assert bench.run(attempt).ok
    assert Path(attempt.stdout_log).read_text() == "another -lc\n"


def test_only_the_given_environment_is_inherited(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "yes")

    assert bench.out("echo ${INHERITED-no}") == "no\n"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param("sleep 30", 130, "ended by INT", id="obeys INT"),
        pytest.param("trap '' INT; sleep 30; :", 143, "ended by TERM", id="obeys TERM only"),
        pytest.param(STUBBORN, 137, "ended by KILL", id="ignores both"),
        pytest.param("trap 'exit 5' INT; sleep 30", 5, "ended by INT", id="tidies up first"),
        pytest.param("kill -STOP $$; :", 130, "ended by TERM", id="is asleep"),
    ],
)
def test_a_step_that_takes_too_long_is_stopped(
    bench: Bench, body: str, code: int, message: str
) -> None:
    attempt = bench.attempt(body, step_timeout=0.3)

    outcome = bench.run(attempt)

    assert (outcome.reason, outcome.exit_code) == (AttemptEnd.TIMEOUT, code)
    assert outcome.message == message
    assert not outcome.ok
    assert alive(attempt.token) == []


def test_a_step_that_prints_without_end_is_stopped(bench: Bench) -> None:
    outcome = bench.run(bench.attempt("yes", log_limit=1 << 20))

    assert outcome.reason is AttemptEnd.FLOODED


@pytest.mark.parametrize(
    ("level", "body", "code"),
    [
        pytest.param(StopLevel.POLITE, "sleep 30 & sleep 31", 130, id="politely"),
        pytest.param(StopLevel.AT_ONCE, STUBBORN, 137, id="at once"),
    ],
)
def test_someone_else_stops_it(bench: Bench, level: StopLevel, body: str, code: int) -> None:
    attempt = bench.attempt(body)
    watch = AttemptCallbacks(
        on_started=lambda _: threading.Timer(0.1, bench.stop.ask, (level,)).start()
    )

    outcome = bench.run(attempt, watch)

    assert (outcome.reason, outcome.exit_code) == (AttemptEnd.STOPPED, code)
    assert alive(attempt.token) == []


def test_nothing_new_starts_after_a_request_to_stop(bench: Bench) -> None:
    bench.stop.ask(StopLevel.POLITE)
    attempt = bench.attempt("true")

    outcome = bench.run(attempt)

    assert (outcome.reason, outcome.exit_code) == (AttemptEnd.STOPPED, None)
    assert not Path(attempt.stdout_log).exists()


def test_a_second_request_cuts_the_patience_short(bench: Bench) -> None:
    patient = type(QUICK)(interrupt=600, terminate=600, linger=600, orphan=600)
    attempt = bench.attempt(STUBBORN, grace=patient)

    def twice(_: ProcessIdentity) -> None:
        threading.Timer(0.1, bench.stop.ask, (StopLevel.POLITE,)).start()
        threading.Timer(0.3, bench.stop.ask, (StopLevel.AT_ONCE,)).start()

    assert bench.run(attempt, AttemptCallbacks(on_started=twice)).exit_code == 137


def test_it_says_who_runs(bench: Bench) -> None:
    heard: list[ProcessIdentity] = []
    attempt = bench.attempt("echo $$; ps -o pgid= -o sid= -p $$ 2>/dev/null || echo; true")

    bench.run(attempt, AttemptCallbacks(on_started=heard.append))

    assert str(heard[0].pid) == Path(attempt.stdout_log).read_text().split()[0]
    assert heard[0].pgid == heard[0].pid
    assert heard[0].token == attempt.token
    assert heard[0].start_time


def test_an_error_of_ours_leaves_no_shell_behind(bench: Bench) -> None:
    attempt = bench.attempt("sleep 30")

    def disk_full(_: ProcessIdentity) -> None:
        raise MachineError("the journal cannot be written")

    with pytest.raises(MachineError):
        bench.run(attempt, AttemptCallbacks(on_started=disk_full))

    assert alive(attempt.token) == []


def test_silence_is_reported_once_and_stops_nothing(bench: Bench) -> None:
    reports: list[float] = []
    attempt = bench.attempt("sleep 0.7; echo done", idle_timeout=0.2)

    outcome = bench.run(attempt, AttemptCallbacks(on_idle=reports.append))

    assert outcome.ok
    assert len(reports) == 1


def test_much_output_does_not_grow_our_memory(bench: Bench) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attempt = bench.attempt("head -c 200000000 /dev/zero")

    assert bench.run(attempt).ok

    assert Path(attempt.stdout_log).stat().st_size == 200_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    Path(attempt.stdout_log).unlink()


def test_a_system_without_process_descriptors_works_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    attempt = bench.attempt("sleep 30 & sleep 31", step_timeout=0.2)

    assert bench.out("echo hi; exit 4") == "hi\nexit 4\n"
    assert bench.run(attempt).exit_code == 130
    assert alive(attempt.token) == []


def test_a_system_without_proc_ends_the_group(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr(processes, "has_proc", lambda: False)
    orphans.become_subreaper.cache_clear()
    attempt = bench.attempt("sleep 30 & exit 3")

    outcome = bench.run(attempt)

    orphans.become_subreaper.cache_clear()
    assert outcome.exit_code == 3
    assert [orphan.ended_by for orphan in outcome.orphans] == ["TERM"]
    assert alive(attempt.token) == []
