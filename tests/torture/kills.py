"""Kills the runner with kill -9 at every operation on the disk, and lets the next one end it."""

import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.program import Ran
from tests.torture.checker import Snapshot, check, corrupt
from tests.torture.ground import Ground
from tests.torture.outcome import outcome
from tests.torture.shapes import ADOPT, SHAPES, Shape
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

TEARS = (None, 0, 1, 70)
"""How much of a write the disk takes before the kill; the moments take turns."""
FIRST_KILLS = 8
"""So many first kills, each followed by second ones spread over its recovery."""
SECOND_KILLS = 5


@dataclass
class Site:
    """A shape with all that is known of it undisturbed."""

    scene: Scene
    shape: Shape
    template: Ground
    before: Snapshot
    wanted: dict[str, Any]
    operations: int

    @classmethod
    def of(cls, scene: Scene, shape: Shape) -> "Site":
        template = shape.ground(scene.folder / "t", scene.zygote)
        undisturbed = template.copy(scene.folder / "u")
        before = Snapshot.of(template, *shape.owned)
        seen = scene.folder / "seen"
        ran = undisturbed.project.run(*shape.words, fault={"notes": str(seen)})
        assert ran.code == 0, ran
        wanted = outcome(undisturbed)
        found = check(undisturbed, before, ran=ran)
        assert not found, found
        return cls(scene, shape, template, before, wanted, len(noted(seen)))

    def moments(self, full: int, of: int) -> list[int]:
        """Which of the operations 1 to `of`; as many as the share of `full`, evenly spread."""
        count = min(of, self.scene.some(full))
        offset = random.Random(self.scene.seed).randrange(max(1, of // count))
        return sorted({1 + (offset + index * of // count) % of for index in range(count)})

    def judged(self, ground: Ground, ran: Ran) -> list[Broken]:
        """What is wrong after the last command; a ground where all is well is removed."""
        found = check(ground, self.before, ran=ran, wanted=self.wanted)
        if self.shape.words == ADOPT:
            found = [one for one in found if not is_adopted_by_its_step(one)]
        return [one for one in found if not (self.shape.finished and is_step_again(one))]


def is_adopted_by_its_step(one: Broken) -> bool:
    """Whether a killed adoption was ended by the step itself: its call takes the same file."""
    return re.search(r"steps\[\d+\]\.(invocations|exit_code): ", one.what) is not None


def is_step_again(one: Broken) -> bool:
    """Whether it is only said that a step ran again that had ended well."""
    is_about_a_step = one.promise is Promise.ENDING and one.what.startswith("step ")
    return is_about_a_step and one.what.endswith(" ran again")


def killed_at(ground: Ground, words: tuple[str, ...], number: int) -> tuple[Ran, str]:
    """Run until the n-th operation; how it ended, and what it was about to do."""
    notes = ground.folder / "notes"
    notes.unlink(missing_ok=True)
    fault = {"notes": str(notes), "kill": number, "torn": TEARS[number % len(TEARS)]}
    ran = ground.project.run(*words, fault=fault)
    # Several threads work at once: the last of them may have died before it noted anything.
    seen = noted(notes)[:number]
    return ran, named(seen[-1]) if seen and ran.code == -signal.SIGKILL else ""


def named(note: str) -> str:
    """A noted operation, without the names that differ from run to run."""
    operation, _, name = note.partition(" ")
    kinds = {".tmp": "a temporary file", ".log": "a log", ".md": "an answer", ".txt": "an answer"}
    kinds |= {".asking": "a claim"}
    suffix = Path(name).suffix
    return f"{operation} {kinds.get(suffix, 'a cache entry' if len(name) > 60 else name)}"


def kill_everywhere(scene: Scene, shape: Shape) -> Tally:
    site = Site.of(scene, shape)
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    moments = site.moments(site.operations, site.operations)
    for number in moments:
        ground = site.template.copy(scene.folder / "k")
        killed, place = killed_at(ground, shape.words, number)
        found = unexpected(killed) + corrupt(ground, settled=False)
        found += site.judged(ground, ground.project.run(*last_words(shape)))
        where[place] += bool(place)
        broken += [placed(one, f"killed at {number} ({place})") for one in found]
        clear(ground, found, f"{number}")
    facts = {"operations": site.operations}
    return Tally(len(moments), where.total(), tuple(broken), facts, +where)


def kill_the_recovery(scene: Scene, shape: Shape) -> Tally:
    site = Site.of(scene, shape)
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    kills = trials = 0
    for first in site.moments(FIRST_KILLS, site.operations):
        for second in site.moments(SECOND_KILLS, _recovery(site, first)):
            ground, is_dead = _killed(site, first)
            died, place = killed_at(ground, last_words(shape), second)
            found = unexpected(died) + corrupt(ground, settled=False)
            found += site.judged(ground, ground.project.run(*last_words(shape)))
            trials += 1
            kills += is_dead + (died.code == -signal.SIGKILL)
            where[place] += bool(place)
            moment = f"killed at {first}, then at {second} ({place})"
            broken += [placed(one, moment) for one in found]
            clear(ground, found, f"{first}-{second}")
    return Tally(trials, kills, tuple(broken), {}, +where)


def _killed(site: Site, first: int) -> tuple[Ground, bool]:
    """A ground after the first kill, and whether there was one."""
    ground = site.template.copy(site.scene.folder / "k")
    ran, _ = killed_at(ground, site.shape.words, first)
    return ground, ran.code == -signal.SIGKILL


def _recovery(site: Site, first: int) -> int:
    """How many operations it takes to end a run that was killed there."""
    ground, _ = _killed(site, first)
    seen = ground.folder / "recovery"
    ground.project.run(*last_words(site.shape), fault={"notes": str(seen)})
    operations = len(noted(seen))
    ground.remove()
    return operations


def last_words(shape: Shape) -> tuple[str, ...]:
    """How the next command goes on: what is to be run again is reported once only."""
    return () if shape.finished else shape.words


def unexpected(ran: Ran) -> list[Broken]:
    """A runner that was to be killed ends by that, or had ended well before."""
    if ran.code in {0, -signal.SIGKILL}:
        return []
    return [Broken(Promise.ENDING, f"the attacked command ended with {ran.code}: {ran.err}")]


def placed(one: Broken, where: str) -> Broken:
    return Broken(one.promise, f"{where}: {one.what}")


def noted(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def clear(ground: Ground, found: list[Broken], name: str) -> None:
    """What went wrong stays to be looked at."""
    if found:
        ground.folder.rename(ground.folder.with_name(f"broken-{name}"))
    else:
        ground.remove()


def _attack(kind: Callable[[Scene, Shape], Tally], shape: Shape, what: str) -> Attack:
    def attack(scene: Scene) -> Tally:
        return kind(scene, shape)

    attack.__doc__ = f"{what}. {shape.what}."
    return attack


_EVERY = "The runner is killed before every operation on the disk, or in the middle of a write"
_AGAIN = "The runner is killed, and the command that continues it too, all over its recovery"
ATTACKS: dict[str, Attack] = {
    **{f"kills-{name}": _attack(kill_everywhere, one, _EVERY) for name, one in SHAPES.items()},
    **{
        f"recovery-{name}": _attack(kill_the_recovery, SHAPES[name], _AGAIN)
        for name in ("asking", "retrying", "parallel")
    },
}
