"""Kills the screens of `oraclepack tui` while a run goes on that they show or steer."""

import fcntl
import os
import pty
import random
import re
import select
import struct
import subprocess
import sys
import termios
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from time import monotonic

from tests.processes import is_running
from tests.torture.checker import corrupt
from tests.torture.detached_runs import is_pause, never_ending
from tests.torture.ground import Ground
from tests.torture.kills import Site, clear, last_words, placed
from tests.torture.shapes import SHAPES
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.victims import held, kill, open_gate

TRIALS = 130
"""One kill in each: more than a hundred at the usual share."""
LONGEST_DELAY = 0.4
_PATIENCE = 60.0
_SHOWN = 4000
_ESCAPES = re.compile(rb"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>])")

SCREENS: dict[str, tuple[str, ...]] = {
    "packs": ("1 pack below",),
    "findings": ("steps by step", "v", "Findings"),
    "steps": ("steps by step",),
    "answer tab": ("steps by step", "4"),
    "log tab": ("steps by step", "5"),
    "why tab": ("steps by step", "6"),
    "costs": ("steps by step", "c"),
    "help": ("steps by step", "?", "Keys of this screen"),
    "palette": ("steps by step", "\x10", "Search for commands"),
    "prepare": ("steps by step", "p", "Prepare"),
    "flag": ("steps by step", "p", "Prepare", "a", "Flag of oracle"),
    "forecast": ("steps by step", "p", "Prepare", "f"),
    "watch": ("steps by step", "w", "Run of"),
    "pause": ("steps by step", "w", "Run of", "p"),
    "read": ("steps by step", "r", "Answers"),
    "backlog": ("steps by step", "b", "Backlog"),
}
"""By turns a text to wait for and a key to press; after a last key the kill comes at any moment."""
REHEARSING = {"costs", "forecast"}
"""Screens that may be killed in a rehearsal."""


@dataclass
class Screen:
    """The program on a terminal of its own."""

    process: "subprocess.Popen[bytes]"
    ours: int
    output: bytes = b""

    @classmethod
    def start(cls, ground: Ground, place: str) -> "Screen":
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "oraclepack", "tui", place],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ground.root,
            env=ground.project.environment | {"TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(theirs)
        return cls(process, ours)

    def press(self, key: str) -> None:
        self.output = b""
        os.write(self.ours, key.encode())

    def shows(self, text: str) -> bool:
        """Wait until the program has written a text."""
        deadline = monotonic() + _PATIENCE
        while text.encode() not in _ESCAPES.sub(b"", self.output):
            if monotonic() > deadline or not self._read(1.0):
                return False
        return True

    def _read(self, seconds: float) -> bool:
        if select.select([self.ours], [], [], seconds)[0]:
            try:
                self.output += os.read(self.ours, 65536)
            except OSError:
                return False
        return True

    def wait(self, seconds: float) -> None:
        """Let it work for a while; what it writes is read."""
        deadline = monotonic() + seconds
        while monotonic() < deadline and self._read(max(0.0, deadline - monotonic())):
            pass

    def kill(self) -> bool:
        was_alive = self.process.poll() is None
        kill(self.process.pid)
        self.process.wait()
        os.close(self.ours)
        return was_alive


def kill_screens(scene: Scene) -> Tally:
    """A detached run is held in a paid call, and the screens are killed with kill -9: in each of
    them, in dialogs, and while they read, rehearse or steer. The run goes on and ends as one that
    nobody disturbed, and nothing is paid for twice.
    """
    if find_spec("textual") is None:
        return Tally(0, 0, (), {}, {}, not_played="textual is not installed")
    site = Site.of(scene, SHAPES["asking"])
    chance = random.Random(scene.seed)
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    trials = scene.some(TRIALS)
    names = [*SCREENS] * (trials // len(SCREENS) + 1)
    for number in range(trials):
        ground = site.template.copy(scene.folder / "k")
        found = _trial(site, ground, names[number], chance, where)
        broken += [placed(one, f"trial {number} ({names[number]})") for one in found]
        clear(ground, found, str(number))
    return Tally(trials, where.total(), tuple(broken), {}, +where)


def _trial(
    site: Site, ground: Ground, name: str, chance: random.Random, where: Counter[str]
) -> list[Broken]:
    os.mkfifo(ground.provider / "gate")
    words = ("run", "pack.md", "--detach", "--json", *site.shape.words)
    started = ground.project.start(*words, PROVIDER_HOLD="asking").wait()
    if started.code != 0:
        return [Broken(Promise.ENDING, f"it was not started: {started}")]
    runner, tool = started.data["pid"], held(ground)
    screen = Screen.start(ground, "." if name == "packs" else "pack.md")
    found = _played(screen, SCREENS[name])
    screen.wait(chance.uniform(0, LONGEST_DELAY))
    where[name] += screen.kill()
    if not is_running(runner):
        found.append(Broken(Promise.ENDING, "the run ended with its screen"))
    opener = Thread(target=open_gate, args=(ground, tool))
    opener.start()
    ground.project.start("runs", "resume", "latest").wait()
    opener.join()
    found += never_ending(runner)
    found += corrupt(ground, settled=False)
    if name in REHEARSING:
        # The next rehearsal removes what a killed one left in the temporary directory.
        ground.project.start("plan", "pack.md").wait()
    judged = site.judged(ground, ground.project.run(*last_words(site.shape)))
    return found + [one for one in judged if not is_pause(one)]


def _played(screen: Screen, turns: tuple[str, ...]) -> list[Broken]:
    for at, turn in enumerate(turns):
        if at % 2:
            screen.press(turn)
        elif not screen.shows(turn):
            text = _ESCAPES.sub(b"", screen.output)[-_SHOWN:].decode("utf-8", "replace")
            ended = screen.process.poll()
            state = "is running" if ended is None else f"ended with {ended}"
            what = f"the screen, which {state}, never showed {turn}: {' '.join(text.split())}"
            return [Broken(Promise.ENDING, what)]
    return []


ATTACKS: dict[str, Attack] = {"screens": kill_screens}
