"""Providers that fail in every way we know, at any rate: what is paid for, and what is repeated."""

import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.errors import ExitCode
from oraclepack.store.sqlite import SqliteDatabase
from tests.e2e.program import Ran
from tests.e2e.run.project import asking
from tests.torture import ground as grounds
from tests.torture.checker import Snapshot, check
from tests.torture.ground import Ground, a_ground
from tests.torture.outcome import outcome
from tests.torture.shapes import OLDER, REPLACE
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

TRANSIENT = ("rate_hint", "rate", "overloaded", "timeout", "server", "refused", "reset", "partial")
TRANSIENT_ANSWERS = ("cut", "empty", "blank")
FINAL = frozenset({"quota", "auth", "context", "unknown", "nowrite", "elsewhere"})
"""After these the question is not asked again until the next command."""
EVERYTHING = (*TRANSIENT, *TRANSIENT_ANSWERS, *sorted(FINAL), "lacking", "flood")
ROUNDS = 40
SHORT = 0.1
"""A share for which a few questions in bad weather have to do."""
TRIES = 5
HINT = 0.15
"""Seconds: what the fault `rate_hint` asks for."""
_PROGRAM = Path(__file__).with_name("chaotic_oracle.py")


MANY = 64
THINKING = 0.3
"""Seconds that an answer takes where calls have to wait for each other, so that they meet."""


class Weather(msgspec.Struct, frozen=True):
    """How bad it is, and how the pack is run in it."""

    rate: float
    steps: int
    words: tuple[str, ...] = ()
    faults: tuple[str, ...] = EVERYTHING
    at_once: int = MANY
    """The provider's cap, which is never exceeded."""
    kills: bool = False
    output_retries: int = 0


WEATHERS = (
    Weather(0.05, 12),
    Weather(0.2, 12, ("--max-parallel", "4", "--keep-going"), at_once=2),
    Weather(0.35, 16, ("--max-parallel", "8", "--keep-going"), at_once=3, output_retries=2),
    Weather(0.5, 12, ("--max-parallel", "4", "--keep-going"), kills=True),
    Weather(0.5, 8, ("--max-parallel", "8", "--keep-going"), output_retries=1),
    Weather(0.5, 6, faults=TRANSIENT),
    Weather(0.3, 6, ("--max-parallel", "4", "--keep-going", "--call-timeout", "6s"), ("hang",)),
    Weather(0.3, 8, ("--max-parallel", "4", "--keep-going", "--no-cache"), kills=True, at_once=2),
)


def a_weather_station(folder: Path, scene: Scene, weather: Weather) -> Ground:
    """A pack of questions, every third of which has an older answer, and the chaotic oracle."""
    bash = "mkdir -p out\n" + "".join(asking(number) for number in range(1, weather.steps + 1))
    ground = a_ground(folder, scene.zygote, bash)
    source = Path(grounds.__file__).with_name("scripted_provider.py").read_text()
    (ground.tools / "scripted_provider.py").write_text(source)
    program = ground.tools / "oracle"
    program.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
    for number in range(1, weather.steps + 1, 3):
        place = ground.root / f"out/{number:02}-topic-{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(OLDER)
    # A call that outlives its killed runner holds no place: long ones would say nothing there.
    is_capped = weather.at_once < MANY and not weather.kills
    return ground.knowing(
        THINKING=str(THINKING if is_capped else 0),
        CHAOS=f"{scene.seed} {weather.rate} {','.join(weather.faults)}",
        OPENAI_API_KEY="sk-of-nobody",
        ORACLEPACK_RETRY_BASE_SECONDS="0.01",
        ORACLEPACK_PROVIDERS_OPENAI_MAX_CONCURRENT=str(weather.at_once),
        ORACLEPACK_OUTPUT_RETRIES=str(weather.output_retries),
    )


def storm(scene: Scene) -> Tally:
    """Providers that fail 5 to 50 % of all calls in twenty ways, over packs with up to eight steps
    at once, caps and retries; in some storms the runner is killed again and again. Commands are
    given until all is done: every good answer is paid for once, no fault is taken for an answer,
    what is final is not repeated, and neither tries, waits nor caps are exceeded."""
    broken: list[Broken] = []
    facts: Counter[str] = Counter()
    kills = 0
    chosen = WEATHERS[: scene.some(len(WEATHERS))]
    for number, weather in enumerate(chosen):
        if scene.share < SHORT:
            weather = msgspec.structs.replace(weather, steps=4, rate=0.5)  # noqa: PLW2901
        ground = a_weather_station(scene.folder / f"s{number}", scene, weather)
        calm = ground.copy(scene.folder / f"c{number}").knowing(CHAOS="0 0 x")
        assert calm.project.run(*REPLACE, *weather.words).code == 0
        before = Snapshot.of(ground)
        ran, rounds, killed = _until_done(ground, weather, random.Random(scene.seed + number))
        found = check(ground, before, ran=ran, wanted=None if killed else outcome(calm))
        found += [*_tries(ground, weather), *_caps(ground, weather)]
        broken += [Broken(one.promise, f"storm {number}: {one.what}") for one in found]
        kills += killed
        facts["calls"] += len(ground.asked)
        facts["faults"] += sum(bool(one["fault"]) for one in ground.asked)
        facts["commands"] += rounds
        calm.remove()
        if not found:
            ground.remove()
    return Tally(len(chosen), kills, tuple(broken), dict(facts))


def _until_done(ground: Ground, weather: Weather, chance: random.Random) -> tuple[Ran, int, int]:
    """Give the command until it ends well; how it did, how often it was given, how often killed."""
    killed = 0
    again: tuple[str, ...] = ()
    for number in range(1, ROUNDS + 1):
        fault: dict[str, object] | None = None
        if weather.kills and number <= ROUNDS // 2:
            fault = {"notes": str(ground.folder / "notes"), "kill": chance.randint(40, 400)}
        ran = ground.project.run(*REPLACE, *weather.words, *again, fault=fault, ROUND=str(number))
        killed += ran.code < 0
        if ran.code == 0 and not again:
            return ran, number, killed
        again = _asking_for_more(ran)
    return ran, ROUNDS, killed


def _asking_for_more(ran: Ran) -> tuple[str, ...]:
    """What a person adds to the next command: an answer that lacks a part is asked for again."""
    steps = ran.data["steps"] if ran.code == ExitCode.STEP_FAILED else []
    unmet = [step["step_id"] for step in steps if step["error"] == "CONTRACT"]
    return ("--rerun", ",".join(unmet), "--refresh") if unmet else ()


def _tries(ground: Ground, weather: Weather) -> Iterable[Broken]:
    """Nothing is asked more often in a command than the policy allows, nor after what is final."""
    asked: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in sorted(ground.asked, key=lambda one: float(one["begun"])):
        asked[one["round"], one["prompt"].split("\n")[0]].append(one)
    for (_, prompt), calls in asked.items():
        faults = [one["fault"] for one in calls]
        if len(calls) > TRIES + weather.output_retries:
            yield Broken(Promise.PAID_TWICE, f"{prompt} was tried {len(calls)} times: {faults}")
        final = FINAL | (frozenset() if weather.output_retries else {"lacking"}) | {""}
        for one, after in pairwise(calls):
            if one["fault"] in final:
                yield Broken(Promise.PAID_TWICE, f"{prompt} was asked after {one['fault']!r}")
            if one["fault"] == "rate_hint" and after["begun"] - one["ended"] < HINT - 0.05:
                yield Broken(Promise.ENDING, f"{prompt} did not wait as requested")


def _caps(ground: Ground, weather: Weather) -> Iterable[Broken]:
    most = max((one["at_once"] for one in ground.asked), default=0)
    # A call that outlives its killed runner holds no place: at most one more set of them.
    allowed = weather.at_once * (2 if weather.kills else 1)
    if most > allowed:
        yield Broken(Promise.CAP, f"{most} calls at once, where {weather.at_once} are allowed")


def minute(scene: Scene) -> Tally:
    """Where only so many calls may begin in a minute, counting those of commands before, the next
    ones wait until the minute is over, in packs with eight steps at once."""
    weather = Weather(0.2, 8, ("--max-parallel", "8", "--keep-going"), TRANSIENT)
    ground = a_weather_station(scene.folder / "m", scene, weather)
    ground = ground.knowing(ORACLEPACK_PROVIDERS_OPENAI_REQUESTS_PER_MINUTE=str(PER_MINUTE))
    database = SqliteDatabase(ground.home / ".local/state/oraclepack")
    now = time.time()
    earlier = [now - 60 + 1.5 + number * 0.1 for number in range(PER_MINUTE - 2)]
    for moment in earlier:
        database.rows("insert into request_start values ('openai', %s)", (moment,))
    database.close()
    ran = ground.project.run(*REPLACE, *weather.words, ROUND="1")
    starts = sorted([*earlier, *(float(one["begun"]) for one in ground.asked)])
    broken = [] if ran.code == 0 else [Broken(Promise.ENDING, f"{ran.code} {ran.err[-300:]}")]
    # A call is counted when it is allowed to begin, a moment before its process tells the time.
    for first, last in zip(starts, starts[PER_MINUTE:], strict=False):
        if last - first < 60 - _START_UP:
            broken.append(Broken(Promise.CAP, f"{PER_MINUTE + 1} calls in {last - first:.1f} s"))
    return Tally(1, 0, tuple(broken), {"calls": len(ground.asked)})


PER_MINUTE = 14
_START_UP = 1.0

ATTACKS: dict[str, Attack] = {"provider-chaos": storm, "provider-rate": minute}
