"""The real oracle is called while processes are killed; the provider's bill decides."""

import itertools
import random
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic, sleep
from typing import NamedTuple

from oraclepack.journal.events import InvocationIntent, WarningRecorded
from oraclepack.journal.journal_file import load
from oraclepack.journal.statuses import Wait
from tests.e2e.program import Ran
from tests.provider import Rule
from tests.real.install import NotToBeHadError
from tests.torture.checker import alive, corrupt, paid_twice
from tests.torture.ground import Ground
from tests.torture.kills import Site, clear, killed_at, placed, unexpected
from tests.torture.real_office import DETACHED, Office, an_office, is_completed
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.victims import ENDED_BY_FORCE, kill

KILLS = 12
"""So many first kills of the runner, spread over its operations."""
AT_ONCE = 2
STORM = (
    ("rate_soon", 3),
    ("server_error", 1),
    ("server_error", 3),
    ("unavailable", 3),
    ("drop", 1),
    ("reset", 3),
    ("cut", 1),
    ("cut_clean", 1),
    ("error_event", 1),
    ("empty", 1),
    ("slow", 1),
)
"""Faults, one for each run, and how many requests meet them: the tool sends some three times."""
_JOURNAL = "journal.jsonl"
_PATIENCE = 30.0
_SILENCE = 15.0


def kill_the_runner(scene: Scene, office: Office) -> Tally:
    """The real `oracle` of npm instead of a scripted one, with a provider on loopback that fails
    as providers do: too many requests, errors, slow, empty, cut and dropped answers. The runner
    dies at operations all over a run of two questions at the same time, and every other time once
    more while it recovers. The checker is the same."""
    site = office.site(AT_ONCE)
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    kills = 0
    moments = site.moments(KILLS, site.operations)
    chance = random.Random(scene.seed)
    storm = itertools.cycle(chance.sample(STORM, len(STORM)))
    for index, number in enumerate(moments):
        rule = Rule(f"Question {1 + index % AT_ONCE}?", *next(storm))
        ground = office.ground(site, rule)
        numbers = [number, chance.randrange(1, site.operations)][: 1 + index % 2]
        found = []
        for one in numbers:
            died, place = killed_at(ground, site.shape.words, one)
            found += unexpected(died) + corrupt(ground, settled=False)
            kills += died.code == -signal.SIGKILL
            where[place] += bool(place)
        ran = ground.project.run(*site.shape.words)
        office.write_up(ground)
        found += site.judged(ground, ran)
        moment = f"killed at {numbers}, {rule.fault} {rule.first} times"
        broken += [placed(one, moment) for one in found]
        clear(ground, found, f"{number}")
    facts = {"operations": site.operations, **office.facts}
    return Tally(len(moments), kills, tuple(broken), facts, +where)


@dataclass(frozen=True)
class Trial:
    """Who dies, and when."""

    who: str
    moment: str
    """The tool has started, waits for the provider, has half of the answer, has written it to its
    path, or has recorded that it has it; or a second one has started after an answer was cut."""

    @property
    def rules(self) -> list[Rule]:
        faults = {
            "halfway": [("halfway", 1)],
            "starting after a cut": [("cut", 1), ("hold", 2)],
            "starting after an early end": [("cut_clean", 1), ("hold", 2)],
        }
        return [Rule("", *one) for one in faults.get(self.moment, [("hold", 1)])]

    def has_begun(self, office: Office, ground: Ground) -> bool:
        """Whether every process that may be killed is there."""
        if self.moment.startswith("starting"):
            return len(_known_tools(ground)) == len(self.rules) and bool(office.tools(ground))
        return bool(office.provider.requests)

    def has_come(self, office: Office, ground: Ground) -> bool:
        match self.moment:
            case "halfway":
                return office.provider.requests[0].status is not None
            case "written":
                return any((ground.root / "out").glob("01-*.md"))
            case "completed":
                return is_completed(ground)
            case _:
                return True

    def victims(self, office: Office, ground: Ground, runner: int) -> list[int]:
        """The runner first: it is not to see the others die."""
        tools = office.tools(ground)
        others = [pid for pid in alive(ground) if pid not in {runner, *tools}]
        return {
            "the runner": [runner],
            "the step": others,
            "the tool": tools,
            "all but the tool": [runner, *others],
            "everything": [runner, *others, *tools],
        }[self.who]


TRIALS = (
    Trial("all but the tool", "waiting"),
    Trial("the tool", "waiting"),
    Trial("the runner", "starting"),
    Trial("everything", "completed"),
    Trial("all but the tool", "halfway"),
    Trial("the tool", "completed"),
    Trial("the runner", "starting after an early end"),
    Trial("all but the tool", "starting"),
    Trial("everything", "halfway"),
    Trial("the step", "waiting"),
    Trial("the runner", "written"),
    Trial("everything", "starting"),
    Trial("the runner", "waiting"),
    Trial("the tool", "written"),
    Trial("the step", "starting"),
    Trial("all but the tool", "completed"),
    Trial("the runner", "starting after a cut"),
)
OF_WORKERS = (
    Trial("the step", "waiting"),
    Trial("all but the tool", "waiting"),
    Trial("everything", "completed"),
    Trial("the runner", "waiting"),
)


class Killed(NamedTuple):
    """What came of a trial: how the next command ended, and who died how."""

    ran: Ran
    anybody: bool
    in_window: bool
    """The tool died with an answer on its bill, and without a record that it has it."""


def kill_victims(scene: Scene, office: Office) -> Tally:
    """The real `oracle` again: the runner, the step, all but the tool, the tool or everything dies
    while the tool starts, waits for the provider, has half of an answer, has written it or has
    recorded it. Where the tool lives, the answer comes when the next command says that it waits."""
    return _played(office, office.site(1), TRIALS[: scene.some(len(TRIALS))])


def kill_beside_workers(scene: Scene, office: Office) -> Tally:
    """The real `oracle` with `--no-wait`: it ends, and leaves the question to a worker, which
    outlives the step, all but itself or the runner. Its answer is the one that counts."""
    chosen = OF_WORKERS[: scene.some(len(OF_WORKERS))]
    return _played(office, office.site(1, DETACHED), chosen)


def _played(office: Office, site: Site, trials: Sequence[Trial]) -> Tally:
    where: Counter[str] = Counter()
    broken: list[Broken] = []
    again = 0
    for trial in trials:
        ground = office.ground(site, *trial.rules)
        killed = _killed(trial, office, ground, site.shape.words)
        where[trial.moment] += killed.anybody
        office.write_up(ground)
        allowed = [bill["prompt"] for bill in ground.billed][: int(killed.in_window)]
        twice = paid_twice(ground, allowed)
        again += len(paid_twice(ground)) - len(twice)
        found = site.judged(ground, killed.ran)
        found = [one for one in found if one.promise is not Promise.PAID_TWICE] + twice
        broken += [placed(one, f"{trial.who}, {trial.moment}") for one in found]
        clear(ground, found, f"{trial.who} {trial.moment}".replace(" ", "-"))
    facts = dict(office.facts) | {ENDED_BY_FORCE: again}
    return Tally(len(trials), where.total(), tuple(broken), facts, +where)


def _killed(trial: Trial, office: Office, ground: Ground, words: tuple[str, ...]) -> Killed:
    """Kill at the moment, and run the command again."""
    program = ground.project.start("run", "pack.md", "--json", *words)
    _await(trial.has_begun, office, ground)
    victims = trial.victims(office, ground, program.pid)
    if trial.moment in {"written", "completed"}:
        office.provider.release.set()
    _await(trial.has_come, office, ground)
    dead = {pid for pid in victims if kill(pid)}
    is_tool_dead = trial.who in {"the tool", "everything"}
    in_window = is_tool_dead and bool(office.provider.requests) and not is_completed(ground)
    if is_tool_dead or program.pid not in dead:
        office.provider.release.set()
    program.wait()
    over = Event()
    answering = Thread(target=_answer_who_waits, args=(office, ground, over))
    answering.start()
    ran = ground.project.run(*words)
    over.set()
    answering.join()
    return Killed(ran, bool(dead), in_window)


def _await(moment: Callable[[Office, Ground], bool], office: Office, ground: Ground) -> None:
    deadline = monotonic() + _PATIENCE
    while not moment(office, ground):
        assert monotonic() < deadline, "the tool never came so far"
        sleep(0.001)


def _known_tools(ground: Ground) -> set[int]:
    """The processes of the calls that the run has written down."""
    events = [one for run_dir in ground.project.run_dirs for one in load(run_dir / _JOURNAL).events]
    calls = [one.process for one in events if isinstance(one, InvocationIntent)]
    return {one.pid for one in calls if one is not None}


def _answer_who_waits(office: Office, ground: Ground, over: Event) -> None:
    """Keep the answer back until a command waits for it, is over, or says nothing for long."""
    deadline = monotonic() + _SILENCE
    while not over.wait(0.02) and monotonic() < deadline:
        events = ground.project.journal.events
        if any(
            isinstance(one, WarningRecorded) and one.code == Wait.EARLIER_CALL for one in events
        ):
            break
    office.provider.release.set()


def _attack(kind: Callable[[Scene, Office], Tally]) -> Attack:
    def attack(scene: Scene) -> Tally:
        try:
            with an_office(scene) as office:
                return kind(scene, office)
        except NotToBeHadError as reason:
            return Tally(0, not_played=f"the real oracle is not to be had: {reason}")

    attack.__doc__ = kind.__doc__
    return attack


ATTACKS: dict[str, Attack] = {
    "real-oracle-kills": _attack(kill_the_runner),
    "real-oracle-victims": _attack(kill_victims),
    "real-oracle-workers": _attack(kill_beside_workers),
}
