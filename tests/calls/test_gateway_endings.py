"""How calls end: by signals, limits, faults and the closing of the gateway."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.engines.engine import ToolRun
from oraclepack.errors import MachineError
from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity, StopLevel
from oraclepack.shell.processes import process_info
from tests.callers import Stage, call_through, ignore_process, stage
from tests.scripted import scripted_tool


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("signal", "code"),
    [
        pytest.param("INT", 130, id="an interrupt, which oracle turns into an exit"),
        pytest.param("TERM", 143, id="TERM, of which it dies"),
        pytest.param("HUP", 129, id="HUP"),
    ],
)
def test_a_signal_to_the_shim_reaches_the_tool(signal: str, code: int, here: Stage) -> None:
    _, said = here.run(_signalled(signal))

    assert f"code {code}" in said
    assert here.ends[0].stopped


def _signalled(signal: str) -> str:
    """A step that signals its own call as soon as the tool has said something."""
    return f"""\
{sys.executable} - <<'END'
import signal, subprocess
shim = subprocess.Popen(["oracle", "-p", "[[fault=hang]]"], stdout=subprocess.PIPE, text=True)
while "hanging" not in shim.stdout.readline():
    pass
shim.send_signal(signal.SIG{signal})
shim.stdout.read()
print("code", shim.wait())
END
"""


def test_the_tool_ends_with_a_shim_that_is_killed(here: Stage) -> None:
    here.run(_signalled("KILL"))

    assert here.ends[0].stopped
    assert process_info(here.oracle.calls[0]["pid"]) is None


@pytest.mark.parametrize("fault", ["hang", "deaf"])
def test_a_call_that_takes_too_long_is_stopped(fault: str, here: Stage) -> None:
    def limited(call: LiveCall, shim: Shim) -> int:
        end = call_through(call, shim, timeout=0.2)
        assert end.timed_out
        assert not end.stopped
        return end.exit_code

    here.act = limited
    outcome, _ = here.run(f"oracle -p '[[fault={fault}]]'")

    assert outcome.exit_code == {"hang": 130, "deaf": 137}[fault]


def test_stopping_the_run_stops_its_calls(here: Stage) -> None:
    def stop() -> None:
        here.began.wait()
        here.bench.stop.ask(StopLevel.POLITE)

    threading.Thread(target=stop).start()
    outcome, _ = here.run("oracle -p '[[fault=hang]]'; oracle -p again")

    assert not outcome.ok
    assert "again" not in here.oracle.prompts
    assert all(process_info(call["pid"]) is None for call in here.oracle.calls)


def test_a_pause_ends_with_the_callers_patience(here: Stage) -> None:
    paused: list[bool] = []

    def wait(call: LiveCall, shim: Shim) -> int:
        paused.append(shim.pause(0.01))
        paused.append(shim.pause(60))
        paused.append(call_through(call, shim).stopped)
        return 130

    here.act = wait
    here.run("timeout 0.3 oracle -p q")

    assert paused == [True, False, True]
    assert here.oracle.calls == []


def test_what_the_tool_leaves_running_is_ended(tmp_path: Path) -> None:
    tool = scripted_tool(tmp_path / "bin").program
    with stage(tmp_path) as here:
        tool.write_text("#!/bin/sh\nsleep 300 & echo $! > left\n")
        here.run("oracle")

    assert process_info(int((tmp_path / "left").read_text())) is None


def test_the_tool_is_named_as_soon_as_it_runs(here: Stage) -> None:
    seen: list[ProcessIdentity] = []

    def note(call: LiveCall, shim: Shim) -> int:
        return shim.run(ToolRun(call.tool, call.argv, call.cwd, call.env), seen.append).exit_code

    here.act = note
    here.run("oracle -p q")

    assert [process.pid for process in seen] == [here.oracle.calls[0]["pid"]]
    assert seen[0].start_time


def test_what_the_tool_prints_is_known_while_it_runs(tmp_path: Path) -> None:
    """The tool waits until its first line was read, so it was read before its end."""
    tool = scripted_tool(tmp_path / "bin").program
    heads: list[str] = []

    def read(head: str) -> bool:
        heads.append(head)
        (tmp_path / "read").touch()
        return "second" not in head

    def start(call: LiveCall, shim: Shim) -> int:
        order = ToolRun(call.tool, call.argv, call.cwd, call.env, on_output=read)
        return shim.run(order, ignore_process).exit_code

    with stage(tmp_path) as here:
        here.act = start
        tool.write_text(
            f"#!/bin/sh\necho first\nuntil [ -e '{tmp_path}/read' ]; do sleep 0.01; done\n"
            "echo second\nsleep 0.3\necho third\n"
        )
        here.run("oracle")

    assert heads[0] == "first\n"
    assert heads[-1] == "first\nsecond\n"


@pytest.mark.parametrize(
    ("change", "code", "trouble"),
    [
        pytest.param({"cwd": "/nowhere"}, 126, "directory is gone: /nowhere", id="no directory"),
        pytest.param({"argv": ("x" * 200_000,)}, 126, "cannot start", id="too long an argument"),
    ],
)
def test_a_tool_that_cannot_start_is_a_value(
    change: dict[str, object], code: int, trouble: str, here: Stage
) -> None:
    def start(call: LiveCall, shim: Shim) -> int:
        parts = {"tool": call.tool, "argv": (), "cwd": call.cwd, "env": call.env} | change
        end = shim.run(ToolRun(**parts), ignore_process)  # type: ignore[arg-type]
        shim.write_stderr(end.trouble)
        return end.exit_code

    here.act = start
    outcome, said = here.run("oracle")

    assert outcome.exit_code == code
    assert trouble in said


def test_a_missing_tool_is_a_value(here: Stage) -> None:
    here.oracle.program.unlink()

    assert here.run("oracle -p q")[0].exit_code == 127
    assert here.ends[0].trouble == "oracle is not on PATH"


def test_a_missing_npx_is_reported_as_by_a_shell(tmp_path: Path) -> None:
    npx = scripted_tool(tmp_path / "bin", "npx").program
    (npx.parent / "bash").symlink_to("/bin/bash")
    with stage(tmp_path, env={"PATH": str(npx.parent)}) as here:
        npx.unlink()
        outcome, said = here.run("npx cowsay", login=False)

    assert (outcome.exit_code, said) == (127, "npx: command not found\n")


def test_a_tool_whose_start_cannot_be_noted_does_not_go_on(here: Stage) -> None:
    def fail(_process: ProcessIdentity) -> None:
        raise LookupError("the journal is gone")

    def start(call: LiveCall, shim: Shim) -> int:
        return shim.run(ToolRun(call.tool, call.argv, call.cwd, call.env), fail).exit_code

    here.act = start
    outcome, _ = here.run("oracle -p '[[fault=deaf]]'")

    assert outcome.exit_code == 125
    assert all(process_info(call["pid"]) is None for call in here.oracle.calls)


def test_a_system_without_the_newer_calls_will_do(
    here: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "open_pidfd", lambda _pid: None)
    monkeypatch.delattr(os, "O_TMPFILE")

    assert here.run("oracle -p q")[0].exit_code == 0
    assert here.oracle.prompts == ["q"]


def test_a_closing_gateway_ends_the_calls_under_way(tmp_path: Path) -> None:
    with stage(tmp_path) as here:
        running = threading.Thread(target=here.run, args=("oracle -p '[[fault=hang]]'",))
        running.start()
        here.began.wait()
    running.join()

    assert here.ends[0].stopped
    assert not here.gateway.faults


def test_a_fault_of_ours_fails_the_call_and_is_kept(here: Stage) -> None:
    def fail(_call: LiveCall, _shim: Shim) -> int:
        raise LookupError("a bug")

    here.act = fail
    outcome, said = here.run("oracle -p q")

    assert outcome.exit_code == 125
    assert "oracle: oraclepack failed to answer this call: LookupError('a bug')" in said
    assert [repr(fault) for fault in here.gateway.faults] == ["LookupError('a bug')"]


def test_an_error_with_words_of_its_own_is_told_by_them(here: Stage) -> None:
    def fail(_call: LiveCall, _shim: Shim) -> int:
        raise MachineError("cannot write out: it is a directory", hint="move it")

    here.act = fail
    _, said = here.run("oracle -p q")

    assert "failed to answer this call: cannot write out: it is a directory\n" in said


def test_a_call_of_no_step_is_refused(here: Stage) -> None:
    attempt = here.bench.attempt("oracle -p q", first_on_path=str(here.shim_dir))
    outcome = here.bench.run(attempt)

    assert outcome.exit_code == 125
    assert "no step that is running" in Path(attempt.stderr_log).read_text()
    assert here.oracle.calls == []


def test_nothing_is_left_when_the_gateway_closes(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with stage(tmp_path) as here:
        here.run("oracle -p q")
        folder = here.shim_dir
        assert folder.stat().st_mode & 0o777 == 0o700

    assert not folder.exists()
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_call_that_gets_no_thread_fails_and_the_next_is_served(
    here: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    refused: list[str] = []

    def refuse_the_first_call(thread: threading.Thread) -> None:
        if thread.name.startswith("call") and not refused:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_first_call)
    _, said = here.run("oracle -p q; echo first $?; oracle -p r; echo second $?")

    assert "first 125\n" in said
    assert "second 0\n" in said
    assert here.oracle.prompts == ["r"]
    assert [type(fault) for fault in here.gateway.faults] == [MachineError]
