"""Kills what takes part in a detached run: its runner, a watcher, a client that steers it."""

import os
import random
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

from oraclepack.journal.events import ControlOpened
from oraclepack.journal.journal_file import load
from tests.e2e.run.project import Program
from tests.processes import is_running
from tests.torture.checker import corrupt
from tests.torture.ground import Ground
from tests.torture.kills import Site, clear, last_words, placed
from tests.torture.shapes import SHAPES
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.victims import kill

TRIALS = 130
"""Each kills one, two or three of the victims: two hundred kills at the usual share."""
VICTIMS = ("runner", "watcher", "client")
REQUESTS = (
    ("pause", "latest"),
    ("resume", "latest"),
    ("set", "latest", "max_parallel=2"),
    ("stop", "latest", "01"),
)
LONGEST_DELAY = 0.6
"""Seconds: about as long as a run takes."""
_PATIENCE = 60.0


def kill_detached(scene: Scene) -> Tally:
    """A run is detached, watched and steered by others, and the runner, the watcher and the client
    that steers it are killed at random moments, one, two or all of them. Nothing is paid for twice,
    the next command ends the run as an undisturbed one, and no process and no socket is
    left.
    """
    site = Site.of(scene, SHAPES["asking"])
    chance = random.Random(scene.seed)
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    trials = scene.some(TRIALS)
    for number in range(trials):
        ground = site.template.copy(scene.folder / "k")
        found = _trial(site, ground, chance, where)
        broken += [placed(one, f"trial {number}") for one in found]
        clear(ground, found, str(number))
    return Tally(trials, where.total(), tuple(broken), {}, +where)


def _trial(site: Site, ground: Ground, chance: random.Random, where: Counter[str]) -> list[Broken]:
    chosen = chance.sample(VICTIMS, chance.randint(1, len(VICTIMS)))
    words = ("run", "pack.md", "--detach", "--json", *site.shape.words)
    started = ground.project.start(*words).wait()
    if started.code != 0:
        return [Broken(Promise.ENDING, f"it was not started: {started}")]
    runner = started.data["pid"]
    programs: dict[str, Program] = {
        "watcher": ground.project.start("runs", "watch", "--json"),
        "client": ground.project.start("runs", *chance.choice(REQUESTS)),
    }
    pids = {"runner": runner} | {name: one.pid for name, one in programs.items()}
    for name in chosen:
        sleep(chance.uniform(0, LONGEST_DELAY) / len(chosen))
        where[name] += kill(pids[name])
    # Whatever the client came to ask for, the run goes on to its end or is dead.
    programs.pop("client").wait()
    ground.project.start("runs", "resume", "latest").wait()
    found = never_ending(runner)
    programs.pop("watcher").wait()
    found += corrupt(ground, settled=False)
    judged = site.judged(ground, ground.project.run(*last_words(site.shape)))
    found += [one for one in judged if not is_pause(one)]
    return found + _sockets(ground)


def is_pause(one: Broken) -> bool:
    """Whether it is only said that a call waited while the run was paused, as was asked for."""
    return one.promise is Promise.ENDING and "'message': 'the run is paused'" in one.what


def never_ending(runner: int) -> list[Broken]:
    deadline = monotonic() + _PATIENCE
    while is_running(runner):
        if monotonic() > deadline:
            kill(runner)
            return [Broken(Promise.LEFT, f"the runner {runner} does not end")]
        sleep(0.02)
    return []


def _sockets(ground: Ground) -> list[Broken]:
    """Control sockets that are left of any command."""
    opened = (
        event
        for run_dir in ground.project.run_dirs
        for event in load(run_dir / "journal.jsonl").events
        if isinstance(event, ControlOpened)
    )
    left = [one.socket for one in opened if os.path.lexists(Path(one.socket).parent)]
    return [Broken(Promise.LEFT, f"the socket {socket}") for socket in left]


ATTACKS: dict[str, Attack] = {"detached": kill_detached}
