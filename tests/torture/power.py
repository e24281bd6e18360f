"""Cuts the power at every operation on the disk: all processes die, and unsynced data with them."""

import os
import shutil
import signal
from collections import Counter
from contextlib import suppress
from time import sleep

from oraclepack.errors import ExitCode
from oraclepack.journal import events as j
from tests.torture.checker import alive, corrupt, paid_twice, place_of
from tests.torture.ground import Ground
from tests.torture.kills import Site, clear, is_step_again, last_words, named, noted, placed
from tests.torture.shapes import SHAPES
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.volatile import HOLLOW, LOST, Durable

AGAIN = "second payments because the cut came before the answer was on the disk"
Inside = dict[str, dict[str, object]]


def cut_power(scene: Scene, bug: Inside | None = None) -> Tally:
    """The power fails before an operation: all processes end, and what was not synced is
    lost: with the names of new files, or only their content.
    """
    site = Site.of(scene, SHAPES["asking"])
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    again = 0
    for turn, number in enumerate(site.moments(site.operations, site.operations)):
        how = (LOST, HOLLOW)[turn % 2]
        ground = site.template.copy(scene.folder / "k")
        place = _cut(ground, site, number, how, bug or {})
        found = not_written_down(ground) + _damaged(ground)
        under_way = open_questions(ground)
        judged = _continued(site, ground, under_way)
        twice = paid_twice(ground, under_way)
        again += len(paid_twice(ground)) - len(twice)
        found += [one for one in judged if not _is_fair(one)] + twice
        where[place] += bool(place)
        broken += [placed(one, f"cut at {number} ({place}), {how}") for one in found]
        clear(ground, found, f"{number}")
    return Tally(turn + 1, where.total(), tuple(broken), {AGAIN: again}, +where)


def _continued(site: Site, ground: Ground, under_way: list[str]) -> list[Broken]:
    """What is wrong after the next command.

    Where oracle's own record of a call was lost, the call is unknown: nothing is asked before a
    person says so.
    """
    cut = ground.copy(ground.folder.with_name("cut"))
    ran = ground.project.run(*last_words(site.shape))
    found: list[Broken] = []
    if ran.code == ExitCode.DECISION and under_way:
        found = paid_twice(ground)
        ground.remove()
        cut.copy(ground.folder)
        ran = ground.project.run(*last_words(site.shape), "--on-unknown", "retry")
    cut.remove()
    return [*found, *(one for one in site.judged(ground, ran) if not _is_decided(one))]


def _is_decided(one: Broken) -> bool:
    """The journal has the verdict that `--on-unknown retry` stands for."""
    return one.what.startswith("a verdict of no person")


def _cut(ground: Ground, site: Site, number: int, how: str, bug: Inside) -> str:
    """Run until the cut, and leave what a disk would have; what was about to be done."""
    durable = [Durable(ground.root), Durable(ground.home)]
    record, notes = ground.folder / "record", ground.folder / "notes"
    begin: Inside = {
        "tests.torture.volatile:begin": {"record": str(record), "notes": str(notes), "cut": number}
    }
    ground.project.run(*site.shape.words, inside=begin | bug)
    if not record.exists():
        return ""
    while left := alive(ground):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        sleep(0.01)
    for path in ground.temporary.iterdir():
        shutil.rmtree(path)  # as at every start of a machine
    for known, folder in zip(durable, (ground.root, ground.home), strict=True):
        known.learn(record)
        known.forget(folder, how)
    return named(noted(notes)[number - 1])


def _is_fair(one: Broken) -> bool:
    """The tool syncs nothing: a step whose file is gone runs again, answered by the cache.

    Nor is the end of a claim or of a reservation synced in the store: the question of the claim is
    answered by the cache too, and the next command that asks settles the money by the journal.
    """
    is_taken_back = one.what.startswith(("claim ", "reservation "))
    return one.promise is Promise.PAID_TWICE or is_step_again(one) or is_taken_back


def _damaged(ground: Ground) -> list[Broken]:
    """The journal must be whole; all else that may be hollow now is computed from it."""
    return [one for one in corrupt(ground, settled=False) if one.what.startswith("journal")]


def not_written_down(ground: Ground) -> list[Broken]:
    """Calls that were made although the journal on the disk knows nothing of them."""
    known = {one.output_path for one in _calls(ground) if isinstance(one, j.InvocationIntent)}
    made = {place_of(ground, call) for call in ground.asked}
    return [
        Broken(Promise.PAID_TWICE, f"{place} was asked for before that was written down")
        for place in sorted(made - known)
    ]


def open_questions(ground: Ground) -> list[str]:
    """Prompts that were asked and whose end the journal on the disk does not know."""
    done = {one.output_path for one in _calls(ground) if isinstance(one, j.InvocationOutcome)}
    return [call["prompt"] for call in ground.asked if place_of(ground, call) not in done]


def _calls(ground: Ground) -> list[j.InvocationIntent | j.InvocationOutcome]:
    events = ground.project.journal.events if ground.project.run_dirs else ()
    return [one for one in events if isinstance(one, j.InvocationIntent | j.InvocationOutcome)]


ATTACKS: dict[str, Attack] = {"power-cut": cut_power}
