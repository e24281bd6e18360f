"""How large a fleet must be for so many calls a week: a discrete-event simulation.

Packs arrive at random, wait for a place on a worker, and ask their questions in some lanes at once.
Each call waits for a slot of the provider and for its turn in the store, then for its answer.
Machines die now and then: their packs begin again elsewhere, and their open calls end unknown.
The time that the store needs for a call is measured (`bench/store_costs.py`); the rest is assumed.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Load:
    """What is asked. Latencies are log-normal."""

    calls_per_week: float
    calls_per_pack: int = 40
    lanes: int = 4
    """Calls that a pack has in flight at most."""
    median_latency: float = 150.0
    spread: float = 1.0
    """The standard deviation of the logarithm of the latency."""

    @property
    def mean_latency(self) -> float:
        return self.median_latency * math.exp(self.spread**2 / 2)

    @property
    def calls_per_second(self) -> float:
        return self.calls_per_week / WEEK


@dataclass(frozen=True)
class FleetSize:
    """Who answers."""

    places: int
    """Packs at once, on all workers."""
    provider_slots: int | None = None
    store_rate: float = 100.0
    """Calls that the store takes per second."""
    pack_seconds: float = 1.0
    """Starting a pack and publishing its run."""
    packs_per_machine: int = 8
    machine_lives: float = 30 * 24 * 3600.0
    """Seconds between two deaths of a machine, on average."""


@dataclass
class Outcome:
    """What happened after the warm-up."""

    seconds: float
    calls: int = 0
    packs: int = 0
    deaths: int = 0
    unknown: int = 0
    slot_waits: list[float] = field(default_factory=list)
    pack_waits: list[float] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)
    """Once every ten seconds."""
    running: list[int] = field(default_factory=list)
    store_busy: float = 0.0
    """Seconds in which the store worked."""


def share(values: list[int] | list[float], part: float) -> float:
    """The value below which this part of them lies; 0 of nothing."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else 0.0


@dataclass
class _Pack:
    left: int
    """Questions that were not asked yet."""
    arrived: float
    asking: int = 0
    place: int = 0
    is_lost: bool = False


class Simulation:
    """One fleet under one load. The same seed gives the same outcome."""

    def __init__(self, load: Load, size: FleetSize, seed: int = 1) -> None:
        self._load, self._size, self._random = load, size, Random(seed)
        self._now = 0.0
        self._number = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._waiting: deque[_Pack] = deque()
        self._free = deque(range(size.places))
        self._running: dict[int, _Pack] = {}
        self._asked: deque[tuple[float, _Pack]] = deque()
        self._in_flight = 0
        self._store_free_at = 0.0
        self._outcome = Outcome(0.0)
        self._begins = 0.0

    def run(self, seconds: float, warm_up: float) -> Outcome:
        """The outcome of so many seconds after the warm-up."""
        self._outcome = Outcome(seconds)
        self._begins = warm_up
        self._after(self._gap(), self._arrive)
        self._after(warm_up, self._sample)
        machines = math.ceil(self._size.places / self._size.packs_per_machine)
        if self._size.machine_lives > 0:
            for machine in range(machines):
                self._after(self._life(), partial(self._die, machine))
        while self._events and self._events[0][0] <= warm_up + seconds:
            self._now, _, act = heapq.heappop(self._events)
            act()
        return self._outcome

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (self._now + seconds, self._number, act))

    @property
    def _counts(self) -> bool:
        return self._now >= self._begins

    def _gap(self) -> float:
        return self._random.expovariate(self._load.calls_per_second / self._load.calls_per_pack)

    def _life(self) -> float:
        return self._random.expovariate(1 / self._size.machine_lives)

    def _latency(self) -> float:
        return self._random.lognormvariate(math.log(self._load.median_latency), self._load.spread)

    def _arrive(self) -> None:
        self._waiting.append(_Pack(self._load.calls_per_pack, self._now))
        self._after(self._gap(), self._arrive)
        self._start_packs()

    def _start_packs(self) -> None:
        while self._waiting and self._free:
            pack = self._waiting.popleft()
            pack.place = self._free.popleft()
            self._running[pack.place] = pack
            if self._counts:
                self._outcome.pack_waits.append(self._now - pack.arrived)
            self._after(self._size.pack_seconds, partial(self._ask_more, pack))

    def _ask_more(self, pack: _Pack) -> None:
        if pack.is_lost:
            return
        while pack.left and pack.asking < self._load.lanes:
            pack.left -= 1
            pack.asking += 1
            self._asked.append((self._now, pack))
        self._give_slots()
        if not pack.left and not pack.asking and self._running.get(pack.place) is pack:
            del self._running[pack.place]
            self._free.append(pack.place)
            if self._counts:
                self._outcome.packs += 1
            self._start_packs()

    def _give_slots(self) -> None:
        slots = self._size.provider_slots
        while self._asked and (slots is None or self._in_flight < slots):
            asked, pack = self._asked.popleft()
            if pack.is_lost:
                continue
            if self._counts:
                self._outcome.slot_waits.append(self._now - asked)
            self._in_flight += 1
            work = 1 / self._size.store_rate
            self._store_free_at = max(self._store_free_at, self._now) + work
            if self._counts:
                self._outcome.store_busy += work
            until = self._store_free_at - self._now + self._latency()
            self._after(until, partial(self._answer, pack))

    def _answer(self, pack: _Pack) -> None:
        self._in_flight -= 1
        if not pack.is_lost:
            pack.asking -= 1
            if self._counts:
                self._outcome.calls += 1
            self._ask_more(pack)
        self._give_slots()

    def _die(self, machine: int) -> None:
        """The packs of a machine begin again with what is left; what they asked is unknown."""
        for place, pack in [*self._running.items()]:
            if place // self._size.packs_per_machine != machine:
                continue
            pack.is_lost = True
            del self._running[place]
            self._free.append(place)
            if self._counts:
                self._outcome.unknown += pack.asking
            self._waiting.appendleft(_Pack(pack.left, self._now))
        if self._counts:
            self._outcome.deaths += 1
        self._after(self._life(), partial(self._die, machine))
        self._start_packs()

    def _sample(self) -> None:
        self._outcome.in_flight.append(self._in_flight)
        self._outcome.running.append(len(self._running))
        self._after(10.0, self._sample)
