"""An `undo` that is killed, whose git is killed, or that meets a failing disk."""

import errno
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.torture.disk_faults import unclear
from tests.torture.kills import TEARS, named
from tests.torture.rollbacks import output_tail, spread
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.undo_trials import UNDO, Site, Trial, faces

CODES = (errno.ENOSPC, errno.EIO)
KILLS, TROUBLES = 110, 24
"""So many of its operations, evenly spread: about every second, and every ninth."""
CLEANING = (0, 1, 2, 5, 12)
"""It dies when it has removed so many of its copies."""
GITS = {
    "dies at once": "kill -9 $$",
    "has removed all files": "rm -rf -- *; kill -9 $$",
    "dies of its first write": "ulimit -f 0",
    "dies within a longer file": "ulimit -f 1",
    "dies when all is done": '$GIT "$@"; kill -9 $$',
    "outlives the command": "kill -9 $PPID",
    "goes on under the next command": "kill -9 $PPID\n"
    "for ((n = 0; n < 500; n++)); do [[ -e ../before ]] || break; sleep 0.01; done",
}
"""What becomes of the git that takes the patch back, before it begins its work."""
_WRAPPER = """\
#!/bin/bash
ulimit -c 0
GIT={git}
case "$*" in
*--check* | *--numstat*) ;;
*apply*)
{does}
;;
esac
exec $GIT "$@"
"""


def undo_killed(scene: Scene) -> Tally:
    """`undo` is killed before each of its operations on the disk and while it cleans up, every
    fourth time also the one that finishes it; its git is killed at several moments, or outlives
    it. Until all is taken back `run` refuses; then every file is as before the step."""
    site = Site(scene)
    chance = random.Random(scene.seed)
    count = len(site.operations)
    numbers = spread(1, count, scene.some(KILLS))
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    again = 0
    for index, number in enumerate(numbers):
        trial = Trial(site, f"undo-killed-{number}")
        dead = trial.undo(kill=number, torn=TEARS[index % 4]).code == -signal.SIGKILL
        where[named(site.operations[number - 1])] += dead
        if index % 4 == 0:
            second = trial.undo(kill=chance.randint(1, count))
            again += second.code == -signal.SIGKILL
        trial.settle(index)
        broken += trial.end()
    gits = dict(list(GITS.items())[: scene.some(len(GITS))])
    cleanings = CLEANING[: scene.some(len(CLEANING))]
    broken += _gits_killed(site, gits, where) + _cleaning_killed(site, cleanings, where)
    trials = len(numbers) + len(gits) + len(cleanings)
    facts = {"operations": count, "kills of the next undo": again}
    return Tally(trials, where.total() + again, tuple(broken), facts, +where)


def _gits_killed(site: Site, gits: Mapping[str, str], where: Counter[str]) -> list[Broken]:
    broken = []
    for index, (what, does) in enumerate(gits.items()):
        tools = site.scene.folder / f"git-{index}"
        tools.mkdir()
        wrapper = tools / "git"
        wrapper.write_text(_WRAPPER.format(git=shutil.which("git"), does=does))
        wrapper.chmod(0o755)
        trial = Trial(site, f"git {what}")
        path = f"{tools}:{trial.ground.project.environment['PATH']}"
        ran = trial.ground.project.start(*UNDO, PATH=path).wait()
        if ran.code not in {2, -signal.SIGKILL}:
            trial.say(Promise.ENDING, f"ended with {ran.code}: {output_tail(ran)}")
        if trial.is_begun or faces(trial.ground.root) != site.changed:
            trial.say(Promise.TOUCHED, "although git did not come to its end")
        where["git apply"] += 1
        trial.settle(index)
        broken += trial.end()
    return broken


def _cleaning_killed(site: Site, numbers: Sequence[int], where: Counter[str]) -> list[Broken]:
    broken = []
    for index, number in enumerate(numbers):
        trial = Trial(site, f"cleaning-killed-{number}")
        inside: dict[str, dict[str, object]] = {f"{__name__}:die_cleaning": {"number": number}}
        ran = trial.ground.project.start(*UNDO, inside=inside).wait()
        if ran.code != -signal.SIGKILL or not trial.is_done or not trial.copies:
            trial.say(
                Promise.ENDING, f"it was not killed while cleaning: {ran.code} {output_tail(ran)}"
            )
        where["clean-up"] += ran.code == -signal.SIGKILL
        trial.settle(index)
        broken += trial.end()
    return broken


def die_cleaning(number: int) -> None:
    """Die when so many copies are removed; in the process that becomes the program."""
    seen = -1

    def look(event: str, given: tuple[object, ...]) -> None:
        nonlocal seen
        begins = event == "shutil.rmtree" and str(given[0]).endswith(".undo")
        if begins or (seen >= 0 and event in {"os.remove", "os.rmdir"}):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def disk_fails_in_undo(scene: Scene) -> Tally:
    """At some operation of an `undo`, or from there on, the disk refuses (full, broken): that is
    reported, no file is lost, and the next `undo` ends it."""
    site = Site(scene)
    numbers = spread(1, len(site.operations), scene.some(TROUBLES))
    broken: list[Broken] = []
    ends: Counter[str] = Counter()
    for index, number in enumerate(numbers):
        code = CODES[index // 2 % len(CODES)]
        trial = Trial(site, f"undo-{errno.errorcode[code]}-{number}")
        ran = trial.undo(fail=number, code=code, once=index % 2 == 0)
        ends[f"ended with {ran.code}"] += 1
        for one in unclear(ran):
            trial.say(one.promise, one.what)
        trial.settle(index)
        broken += trial.end()
    return Tally(len(numbers), 0, tuple(broken), dict(sorted(ends.items())))


ATTACKS: dict[str, Attack] = {
    "undo-killed": undo_killed,
    "undo-failing-disk": disk_fails_in_undo,
}
