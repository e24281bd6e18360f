"""Lets the disk refuse an operation, or all from one on, and then lets the next command go on."""

import errno
import json
import os
import re
import resource
from collections import Counter
from contextlib import suppress

from tests.e2e.program import Ran
from tests.torture.checker import corrupt, paid_twice
from tests.torture.kills import Site, clear, last_words, named, noted, placed
from tests.torture.shapes import SHAPES
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE)
CLEAR = frozenset({0, 2, 3})
"""Done in spite of it, refused before anything was changed, or a step failed."""
LIMIT, MOST = 320, 40
"""Of so many descriptors, up to so many are free: from none to enough for a whole run."""

ADMITTED = ("oracle_version", "git_dirty: None instead of", ".warnings")
"""What could not be found out without descriptors: recorded as unknown, with a warning."""


def refuse(scene: Scene, *, once: bool) -> Tally:
    site = Site.of(scene, SHAPES["asking"])
    ends: Counter[str] = Counter()
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    # Whatever fails at one operation for good also fails for good at the next: half will do.
    full = site.operations if once else site.operations // 2
    moments = site.moments(full, site.operations)
    for number in moments:
        code = CODES[(number + scene.seed) % len(CODES)]
        ground = site.template.copy(scene.folder / "k")
        notes = ground.folder / "notes"
        fault = {"notes": str(notes), "fail": number, "once": once, "code": code}
        ran = ground.project.run(*site.shape.words, fault=fault)
        found = unclear(ran) + corrupt(ground, settled=False) + paid_twice(ground)
        judged = site.judged(ground, ground.project.run(*last_words(site.shape)))
        found += [one for one in judged if not _is_warning_of_budgets(one)]
        seen = noted(notes)
        place = named(seen[number - 1]) if len(seen) >= number else "(it had ended before)"
        where[place] += 1
        ends[f"ended with {ran.code}"] += 1
        what = f"{errno.errorcode[code]} at {number} ({place})"
        broken += [placed(one, what) for one in found]
        clear(ground, found, f"{number}")
    return Tally(len(moments), 0, tuple(broken), dict(sorted(ends.items())), where)


def run_out_of_descriptors(scene: Scene) -> Tally:
    """Nearly all file descriptors of the runner are in use; the next command has enough again."""
    site = Site.of(scene, SHAPES["asking"])
    ends: Counter[str] = Counter()
    broken: list[Broken] = []
    moments = site.moments(MOST, MOST)
    for free in moments:
        ground = site.template.copy(scene.folder / "k")
        inside: dict[str, dict[str, object]] = {f"{__name__}:use_up_descriptors": {"free": free}}
        ran = ground.project.run(*site.shape.words, inside=inside)
        found = unclear(ran) + corrupt(ground, settled=False) + paid_twice(ground)
        judged = site.judged(ground, ground.project.run(*last_words(site.shape)))
        found += [one for one in judged if not _is_admitted(one)]
        ends[f"ended with {ran.code}"] += 1
        broken += [placed(one, f"{free} descriptors") for one in found]
        clear(ground, found, f"{free}")
    return Tally(len(moments), 0, tuple(broken), dict(sorted(ends.items())))


def _is_warning_of_budgets(one: Broken) -> bool:
    """The disk refused the ledger of budgets: the run goes on, and warns of that alone."""
    differs = one.promise is Promise.ENDING and one.what.startswith("outcome")
    codes = re.findall(r"'code': '(\w+)'", one.what)
    return differs and ".warnings: " in one.what and set(codes) == {"budget"}


def _is_admitted(one: Broken) -> bool:
    differs = one.promise is Promise.ENDING and one.what.startswith("outcome")
    return differs and any(text in one.what for text in ADMITTED)


def use_up_descriptors(free: int) -> None:
    """Leave only the last few; to be called in the process that becomes the program."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    taken = [os.open(os.devnull, os.O_RDONLY)]
    with suppress(OSError):
        while True:
            taken.append(os.dup(taken[0]))
    for descriptor in taken[len(taken) - free :]:
        os.close(descriptor)


def unclear(ran: Ran) -> list[Broken]:
    """An end that does not say what happened: another exit code, a traceback, no one reply."""
    wrong = [] if ran.code in CLEAR else [f"it ended with {ran.code}: {ran.out}{ran.err}"]
    if "Traceback" in ran.err:
        wrong.append(f"a traceback: {ran.err}")
    try:
        reply = json.loads(ran.out)
    except ValueError:
        wrong.append(f"no reply: {ran.out!r} {ran.err!r}")
    else:
        error = reply["error"] or {}
        if ran.code and not error.get("message"):
            wrong.append(f"no error reported: {ran.out}")
    return [Broken(Promise.ENDING, one) for one in wrong]


def refuse_once(scene: Scene) -> Tally:
    """One operation of the disk fails: no space, input/output error, read-only, or too many files.

    This is tried at every
    operation of a run, which must succeed or end with a clear error.
    """
    return refuse(scene, once=True)


def refuse_from_then_on(scene: Scene) -> Tally:
    """From an operation on, every one fails in the same way, until the next command."""
    return refuse(scene, once=False)


ATTACKS: dict[str, Attack] = {
    "disk-once": refuse_once,
    "disk-from-then-on": refuse_from_then_on,
    "descriptors": run_out_of_descriptors,
}
