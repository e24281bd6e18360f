"""Eleven deliberate bugs, put into the running program by the tests alone: each must be caught.

Five of them and their scenes stand in `bug_scenes.py`, one in `shared_outputs.py`. The scenes that
catch them are attacks of their own, in which the true program must pass.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from oraclepack.calls import file_store, handler
from oraclepack.calls.answers import keep
from oraclepack.calls.call import Call
from oraclepack.engines.engine import Ended
from oraclepack.run import step_outputs
from oraclepack.store.limits import Limit, Slot
from oraclepack.system import disk, locks
from oraclepack.tools.oracle_failures import Failure
from tests.e2e.run.project import asking
from tests.torture import bug_scenes, power, shared_outputs
from tests.torture.bug_scenes import NotPlayedError
from tests.torture.checker import Snapshot, check, unverified
from tests.torture.ground import a_ground
from tests.torture.kills import placed
from tests.torture.power import Inside
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.victims import held, open_gate

LOCKED = 6


def skip_an_fsync() -> None:
    """The journal is written, and never synced."""
    disk.sync_data = lambda *_: None


def drop_the_lock() -> None:
    """Any number of commands may write to a run."""

    def let_in(directory: Path, holder: locks.Holder) -> locks.RunLock | locks.Holder:
        path = directory / locks.NAME
        return locks.RunLock(disk.open_append(path), path)

    locks.acquire = let_in


def cache_an_unverified_answer() -> None:
    """What the tool left goes into the cache before it was verified."""
    judge = handler._after

    def trusting(call: Call, ended: Ended, failure: Failure) -> int | None:
        if ended.answer is not None:
            keep(call, ended.answer, ended.record)
        return judge(call, ended, failure)

    vars(handler)["_after"] = trusting


def forget_a_quarantine() -> None:
    """What a failed attempt left stays where the next one writes."""
    vars(step_outputs)["move_to_quarantine"] = lambda *_: ()


class Unlimited:
    """`Limits` that has none."""

    def acquire(self, _name: str, _limit: Limit, _pause: Callable[[float], bool]) -> Slot:
        return Slot()


def ignore_the_cap() -> None:
    """Every call gets a slot of a provider at once."""
    vars(file_store)["Limits"] = lambda *_: Unlimited()


def without_power(scene: Scene, bug: Inside) -> list[Broken]:
    few = Scene(scene.folder, scene.zygote, scene.seed, min(max(scene.share, 0.012), 0.06))
    return list(power.cut_power(few, bug).broken)


def two_runners(scene: Scene, bug: Inside) -> list[Broken]:
    """While one command asks, a second one is started on the same run."""
    ground = a_ground(scene.folder / "g", scene.zygote, "mkdir -p out\n" + asking(1) + asking(2))
    before = Snapshot.of(ground)
    os.mkfifo(ground.provider / "gate")
    # One at a time: the second question must not be claimed by the first command, which is held.
    words = ("run", "pack.md", "--json", "--engine", "api", "--max-parallel", "1")
    first = ground.knowing(PROVIDER_HOLD="asking").project.start(*words, inside=bug)
    tool = held(ground)
    second = ground.project.start(*words, "--steps", "02", inside=bug)
    ran = second.wait()
    opener = Thread(target=open_gate, args=(ground, tool))
    opener.start()
    ended = first.wait()
    opener.join()
    found = [] if ran.code == LOCKED else [f"the second runner ended with {ran.code}"]
    found += [] if ended.code == 0 else [f"the first runner ended with {ended.code}: {ended.err}"]
    return [Broken(Promise.ENDING, one) for one in found] + check(ground, before)


def bad_answers(scene: Scene, bug: Inside) -> list[Broken]:
    """Answers that are cut or lack a part fail their steps, and are quarantined by the next run."""
    bash = "mkdir -p out\n" + "".join(
        asking(number).replace("?", f"? [[fault={fault} first=1]]", 1)
        for number, fault in ((1, "partial"), (2, "cut"))
    )
    ground = a_ground(scene.folder / "g", scene.zygote, bash)
    before = Snapshot.of(ground)
    ground.project.run("--keep-going", "--retry-budget", "0", inside=bug)
    found = unverified(ground)
    again = ("--rerun", "failed", "--refresh")
    ran = ground.project.run("--keep-going", "--retry-budget", "0", *again, inside=bug)
    aside = [path.read_bytes() for path in (ground.root / "out").glob("_failed/**/*.md")]
    for bill in ground.billed:
        if (
            not bill["good"]
            and "partial" in bill["prompt"]
            and bill["content"].encode() not in aside
        ):
            found.append(Broken(Promise.LOST, f"{bill['output']} is not in quarantine"))
    return found + check(ground, before, ran=ran)


def one_at_a_time(scene: Scene, bug: Inside) -> list[Broken]:
    """Four steps at once ask a provider that takes one question at a time."""
    bash = "mkdir -p out\n" + "".join(
        asking(number).replace("?", "? [[fault=slow]]", 1) for number in range(1, 5)
    )
    ground = a_ground(scene.folder / "g", scene.zygote, bash)
    before = Snapshot.of(ground)
    ran = ground.project.run("--max-parallel", "4", "--engine", "browser", inside=bug)
    most = max(call["at_once"] for call in ground.asked)
    over = [Broken(Promise.CAP, f"{most} questions at once")] if most > 1 else []
    return over + check(ground, before, ran=ran)


@dataclass(frozen=True)
class Bug:
    """What is wrong, who puts it in, and the scene in which that must show."""

    what: str
    put_in: Callable[[], None]
    scene: Callable[[Scene, Inside], list[Broken]]
    where: str
    breaks: Promise
    """What must be seen to break; anything else may be chance."""

    @property
    def is_heavy(self) -> bool:
        """Whether its scene starts a database server, or another Python with the MCP server."""
        return self.scene in bug_scenes.OWN_PROCESS


BUGS = (
    Bug("skip an fsync", skip_an_fsync, without_power, "power-cut", Promise.PAID_TWICE),
    Bug("drop the lock", drop_the_lock, two_runners, "two-runners", Promise.ENDING),
    Bug(
        "cache an unverified answer",
        cache_an_unverified_answer,
        bad_answers,
        "bad-answers",
        Promise.UNVERIFIED,
    ),
    Bug("forget a quarantine", forget_a_quarantine, bad_answers, "bad-answers", Promise.LOST),
    Bug("ignore the cap", ignore_the_cap, one_at_a_time, "one-at-a-time", Promise.CAP),
    Bug(
        "forget a reservation",
        bug_scenes.forget_a_reservation,
        bug_scenes.few_calls,
        "few-calls",
        Promise.CAP,
    ),
    Bug(
        "accept a zombie's write",
        bug_scenes.let_zombies_write,
        bug_scenes.zombies,
        "zombies",
        Promise.PAID_TWICE,
    ),
    Bug(
        "take rehearsals for answers",
        bug_scenes.put_rehearsals_among_runs,
        bug_scenes.rehearsed_first,
        "rehearsed-first",
        Promise.UNVERIFIED,
    ),
    Bug(
        "insert texts unescaped",
        bug_scenes.insert_texts_as_they_are,
        bug_scenes.hostile_text,
        "hostile-text",
        Promise.ALTERED,
    ),
    Bug(
        "run without approval",
        bug_scenes.approve_everything,
        bug_scenes.unasked_runs,
        "unasked-runs",
        Promise.UNAPPROVED,
    ),
    Bug(
        "write to shared paths",
        shared_outputs.share_folders,
        shared_outputs.two_packs,
        "shared-outputs",
        Promise.UNVERIFIED,
    ),
)


def caught(scene: Scene, bug: Bug) -> Counter[Promise]:
    """The promises that were seen to break with the bug in place."""
    place = scene.folder / str(BUGS.index(bug))
    place.mkdir()
    inside: Inside = {f"{bug.put_in.__module__}:{bug.put_in.__name__}": {}}
    found = bug.scene(Scene(place, scene.zygote, scene.seed, scene.share), inside)
    return Counter(one.promise for one in found)


def put_in_bugs(scene: Scene) -> Tally:
    """Eleven deliberate bugs are put into the running program, one at a time; each must be
    caught."""
    facts: dict[str, int] = {}
    missed = []
    for bug in BUGS:
        try:
            seen = caught(scene, bug)
        except NotPlayedError as reason:
            facts[f"{bug.what} | {bug.where} | not played: {reason}"] = 0
            continue
        facts |= {f"{bug.what} | {bug.where} | {one}": seen[one] for one in sorted(seen)}
        if not seen[bug.breaks]:
            missed.append(Broken(Promise.ENDING, f"no attack noticed the bug: {bug.what}"))
    return Tally(len(BUGS), 0, tuple(missed), facts)


def _true(scene_of: Callable[[Scene, Inside], list[Broken]], name: str) -> Attack:
    def attack(scene: Scene) -> Tally:
        try:
            found = [placed(one, name) for one in scene_of(scene, {})]
        except NotPlayedError as reason:
            return Tally(0, not_played=str(reason))
        return Tally(1, 0, tuple(found))

    attack.__doc__ = scene_of.__doc__
    return attack


ATTACKS: dict[str, Attack] = {
    "two-runners": _true(two_runners, "two-runners"),
    "bad-answers": _true(bad_answers, "bad-answers"),
    "one-at-a-time": _true(one_at_a_time, "one-at-a-time"),
    "few-calls": _true(bug_scenes.few_calls, "few-calls"),
    "zombies": _true(bug_scenes.zombies, "zombies"),
    "rehearsed-first": _true(bug_scenes.rehearsed_first, "rehearsed-first"),
    "hostile-text": _true(bug_scenes.hostile_text, "hostile-text"),
    "unasked-runs": _true(bug_scenes.unasked_runs, "unasked-runs"),
    "deliberate-bugs": put_in_bugs,
}
