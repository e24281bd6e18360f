"""A run of twenty steps with the real oracle that is left, watched, steered, stopped, run again."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oraclepack.journal.journal_file import load
from oraclepack.journal.timeline import SegmentKind, call_timelines
from oraclepack.shell.processes import exists
from tests.packs import pack_text
from tests.provider import Provider, Rule
from tests.real.oracles import RealOracle

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
STEPS = 20
WATCHERS = ("second", "third")
MOST_MS = 50
"""Milliseconds of a call that may pass without a reason; more on a machine with too much to do."""


class Terminals:
    """Panes of a tmux server of its own, and commands beside them."""

    def __init__(self, oracle: RealOracle) -> None:
        self.oracle = oracle
        self.env = {**oracle.env, "TERM": "xterm-256color"}
        self._server = f"op-left-{os.getpid()}"

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-L", self._server, *words]
        done = subprocess.run(argv, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout

    def open(self, name: str, *words: str) -> None:
        """A terminal that stays open after the command, until it is closed."""
        command = shlex.join([sys.executable, "-m", "oraclepack", *words])
        place = ("-s", name, "-x", "100", "-y", "40", "-c", str(self.oracle.cwd))
        self.tmux("new-session", "-d", *place, f"{command}; sleep 600")

    def screen(self, name: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", name)

    def command(self, *words: str) -> tuple[int, dict[str, Any]]:
        argv = [sys.executable, "-m", "oraclepack", *words, "--json"]
        done = subprocess.run(
            argv, cwd=self.oracle.cwd, env=self.env, check=False, capture_output=True, text=True
        )
        loaded: dict[str, Any] = json.loads(done.stdout)
        return done.returncode, loaded["data"]

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._server, "kill-server"], check=False)


@pytest.fixture
def terminals(real_oracle: RealOracle) -> Iterator[Terminals]:
    made = Terminals(real_oracle)
    # The server ends with its last session; it must not do so while the next one is opened.
    made.tmux("new-session", "-d", "-s", "keeper", "sleep 900")
    yield made
    made.close()


def until(holds: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.1)


def twenty_questions(oracle: RealOracle) -> None:
    """The pack, and a login profile that finds the real oracle."""
    flags = shlex.join(oracle.flags)
    bash = "".join(
        f"# {number:02}) question {number}\n"
        f'oracle {flags} -m gpt-5.2 -p "Question {number}?" --write-output out/{number}.md\n'
        for number in range(1, STEPS + 1)
    )
    (oracle.cwd / "pack.md").write_text(pack_text(bash))
    profile = f"PATH={shlex.quote(str(oracle.programs))}:$PATH\n"
    (oracle.home / ".bash_profile").write_text(profile)


def is_resting(run: Path) -> bool:
    """No call of the run asks anything."""
    calls = call_timelines(load(run / "journal.jsonl").events)
    now = [call.current.kind for call in calls if call.current is not None]
    return all(kind is SegmentKind.WAIT for kind in now)


def longest_gap(run: Path) -> int:
    """Milliseconds of a call that no event explains; its parts add up to the whole."""
    longest = 0
    for call in call_timelines(load(run / "journal.jsonl").events):
        parts = sum(one.milliseconds() for one in call.segments)
        assert abs(parts - call.milliseconds()) <= len(call.segments) + 1, call
        gaps = [one for one in call.segments if one.kind is SegmentKind.GAP]
        longest = max(longest, *(one.milliseconds() for one in gaps), 0)
    return longest


@pytest.mark.timeout(900)
def test_a_run_is_left_watched_steered_stopped_and_run_again(
    terminals: Terminals, real_oracle: RealOracle, provider: Provider
) -> None:
    twenty_questions(real_oracle)
    provider.rules.append(Rule("", "slow"))
    words = ("pack.md", "--no-validate", "--output-verify=false")
    terminals.open("first", "run", *words, "--detach", "--max-parallel", "2")
    until(lambda: len(provider.requests) >= 2)
    (run,) = (real_oracle.cwd / ".oraclepack/runs").iterdir()
    pid = int(next((run / "logs").glob("console.*.log")).name.split(".")[1])
    terminals.tmux("kill-pane", "-t", "first")
    for name in WATCHERS:
        terminals.open(name, "runs", "watch", "latest")
    until(lambda: all("/20 done" in terminals.screen(name) for name in WATCHERS))

    assert terminals.command("runs", "pause", "latest")[0] == 0
    until(lambda: is_resting(run))
    asked = len(provider.requests)
    assert terminals.command("runs", "list")[1]["runs"][0]["status"] == "paused"
    assert terminals.command("runs", "set", "latest", "max_parallel=4")[0] == 0
    assert len(provider.requests) == asked, "paused: nothing is asked"
    provider.rules[:] = [Rule("", "hold")]
    assert terminals.command("runs", "resume", "latest")[0] == 0
    until(lambda: len(provider.requests) == asked + 4)
    assert exists(pid), "the terminal is closed, and the run goes on"

    assert terminals.command("runs", "stop", "latest")[0] == 0
    waiting = "stopping: waiting for 4 calls; `oraclepack runs stop RUN --now` cancels them"
    until(lambda: all(waiting in terminals.screen(name) for name in WATCHERS))
    provider.release.set()
    until(lambda: not exists(pid))
    assert all(request.answered for request in provider.requests), "a polite stop cuts nothing off"
    asked = len(provider.requests)
    provider.rules.clear()

    code, data = terminals.command("run", *words, "--max-parallel", "4")

    assert (code, data["failed_steps"]) == (0, [])
    account = Counter(request.prompt for request in provider.requests)
    assert len(provider.requests) == STEPS > asked, "what was answered is not asked again"
    assert set(account.values()) == {1}, "no call is paid for twice"
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    assert longest_gap(run) <= MOST_MS * max(1.0, crowd)
