"""Runs at once that write to the same files: one waits for the other, and none for ever."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from oraclepack.calls.held_outputs import sweep_output_locks, wait_for_output
from oraclepack.calls.live_call import LiveCall, ToolEnd, ToolRun
from oraclepack.calls.store import Claim, Unclaimed
from oraclepack.errors import MachineError
from oraclepack.system.environment import state_directory
from tests.calls.crashed import DyingShim, KilledError, living
from tests.calls.office import Office, ScriptedShim, answering

STOPPED = 130
IMPATIENT = 20
"""How many pauses a call bears whose wait would never end."""


class Runner:
    """A run of its own in the project, whose step goes on until it is ended."""

    def __init__(self, folder: Path, run: str, bash: str = "", **options: Any) -> None:
        self.office = Office(folder, bash, run=run, **options)

    def ask(self, question: str, output: str, shim: ScriptedShim | None = None) -> int:
        office, argv = self.office, ("-p", question, "-e", "api", "--write-output", output)
        office.number += 1
        env = {"HOME": str(office.root.parent), "ORACLE_HOME_DIR": str(office.oracle_home)}
        call = LiveCall("oracle", argv, str(office.root), env, "01", 1, office.number)
        return office.calls.answer(call, shim or ScriptedShim(answering(), patience=IMPATIENT))

    def end_step(self) -> None:
        self.office.calls.release_outputs("01")


def two_runs(folder: Path, bash: str = "", **options: Any) -> tuple[Runner, Runner]:
    return Runner(folder, "1", bash, **options), Runner(folder, "2", bash, **options)


def test_two_steps_do_not_wait_for_each_other(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)

    assert first.ask("One?", "out/a.md") == 0
    assert second.ask("Two?", "out/b.md") == 0
    assert second.ask("Three?", "out/a.md") == 1
    error = second.office.last.error
    assert error is not None
    assert (error.code, error.transient) == ("OUTPUT_PATH", True)
    assert "another run writes to a.md" in error.message
    second.end_step()
    assert first.ask("Four?", "out/b.md") == 0


def test_a_step_holds_all_files_that_it_declares_from_its_first_call_on(tmp_path: Path) -> None:
    lines = [f'oracle -p "{name}?" --write-output "out/{name}.md"' for name in ("b", "a")]
    first, second = two_runs(tmp_path, "\n".join(["# 01) step", *lines, ""]))

    assert first.ask("b?", "out/b.md") == 0
    assert second.ask("Two?", "out/a.md") == STOPPED  # it waited, and was given up
    assert first.ask("a?", "out/a.md") == 0
    first.end_step()
    assert second.ask("Two?", "out/a.md") == 0


def test_who_waits_for_a_file_keeps_nobody_from_its_question(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)
    waiting = ScriptedShim(answering(), patience=1_000_000)
    assert second.ask("Two?", "out/a.md") == 0
    thread = threading.Thread(target=first.ask, args=("One?", "out/a.md", waiting))
    thread.start()
    while not waiting.pauses:
        threading.Event().wait(0.001)

    code = second.ask("One?", "out/b.md")
    second.end_step()
    thread.join()

    assert (code, len(waiting.orders)) == (0, 0)  # the answer is in the cache


def test_a_call_that_outlives_its_step_still_holds_its_file(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)

    def meanwhile(order: ToolRun) -> ToolEnd:
        first.end_step()
        assert second.ask("Two?", "out/a.md") == STOPPED
        return answering()(order)

    assert first.ask("One?", "out/a.md", ScriptedShim(meanwhile)) == 0
    assert second.ask("Two?", "out/a.md") == 0


def test_a_wait_that_takes_too_long_says_why_nothing_was_asked(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path, call_timeout=0.0)
    shim = ScriptedShim(answering())
    assert first.ask("One?", "out/a.md") == 0

    assert second.ask("Two?", "out/a.md", shim) == 1
    assert "OUTPUT_PATH: not asked: another run writes to a.md" in shim.stderr
    assert shim.orders == []


def test_a_step_of_many_files_leaves_descriptors_for_its_tools(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)
    for number in range(128):
        first.office.context.shared.outputs.add("01", tmp_path / str(number), Unclaimed())

    assert first.ask("One?", "out/a.md") == 0
    assert second.ask("Two?", "out/a.md") == 0  # nobody holds it


def test_the_tool_of_a_killed_command_is_waited_for(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)
    with living() as (tool, end_tool):
        with pytest.raises(KilledError):
            first.ask("One?", "out/a.md", DyingShim(tool))
        first.end_step()
        assert second.ask("Two?", "out/a.md") == STOPPED
        end_tool()
        assert second.ask("Two?", "out/a.md") == 0


def test_a_file_that_cannot_be_backed_up_is_let_go(tmp_path: Path) -> None:
    step = '# 01) step\noracle -p "One?" --write-output "out/a.md"\n'
    first, second = two_runs(tmp_path, step)
    assert first.ask("One?", "out/a.md") == 0
    first.end_step()
    backups = second.office.context.run_dir / "backups"
    backups.parent.mkdir(parents=True, exist_ok=True)
    backups.touch()
    shim = ScriptedShim(answering())

    with pytest.raises(MachineError, match="backups"):
        second.ask("Two?", "out/a.md", shim)
    second.end_step()

    assert shim.orders == []
    assert lock_files() == []


@pytest.mark.parametrize("rehearsal", [True, False])
def test_a_rehearsal_holds_no_file(tmp_path: Path, *, rehearsal: bool) -> None:
    runner = Runner(tmp_path, "1", rehearsal=rehearsal)

    assert not runner.office.calls.hold_outputs("01", [tmp_path / "a.md"])
    folder = state_directory() / "outputs"
    assert folder.exists() is not rehearsal
    runner.end_step()


ROUNDS = 60
HOLDER = f"""
import os, sys
from pathlib import Path
from oraclepack.calls.held_outputs import wait_for_output

output, inside = map(Path, sys.argv[1:])
for number in range({ROUNDS}):
    if number % 3 == 0 and not (child := os.fork()):
        wait_for_output(output, lambda _: True)
        os._exit(0)  # as if killed: the file stays
    if number % 3 == 0:
        os.waitpid(child, 0)
    lock = wait_for_output(output, lambda _: True)
    for _ in range(200):
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        inside.unlink()
    lock.release()
"""


def lock_files() -> list[str]:
    return os.listdir(state_directory() / "outputs")


@pytest.mark.slow
def test_a_sweep_lets_no_two_processes_hold_the_same_file(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(tmp_path / "a.md"), str(tmp_path / "inside")]
    holders = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(3)]
    swept = 0
    while any(holder.poll() is None for holder in holders):
        swept += sweep_output_locks()

    assert [holder.communicate()[1] for holder in holders] == [b""] * 3
    assert swept
    sweep_output_locks()
    assert lock_files() == []


def test_a_sweep_removes_only_what_nobody_holds(tmp_path: Path) -> None:
    first, second = two_runs(tmp_path)
    with living() as (tool, end_tool):
        with pytest.raises(KilledError):
            first.ask("One?", "out/a.md", DyingShim(tool))
        first.end_step()
        assert second.ask("Two?", "out/b.md") == 0
        assert wait_for_output(tmp_path / "c.md", lambda _: True) is not None

        assert (sweep_output_locks(), len(lock_files())) == (0, 3)
        end_tool()
        assert (sweep_output_locks(), len(lock_files())) == (1, 2)
    assert second.ask("Three?", "out/b.md") == 0


class ReleasingShim(ScriptedShim):
    """The lock that it waits for is released meanwhile."""

    lock: Claim

    def pause(self, seconds: float) -> bool:
        self.lock.release()
        return super().pause(seconds)


def test_a_lock_that_a_sweep_holds_for_a_moment_refuses_no_call(tmp_path: Path) -> None:
    runner = Runner(tmp_path, "1")
    assert runner.ask("One?", "out/b.md") == 0
    lock = wait_for_output(runner.office.root / "out/a.md", lambda _: True)
    assert lock is not None

    shim = ReleasingShim(answering(), patience=1)
    shim.lock = lock
    assert runner.ask("Two?", "out/a.md", shim) == 0
