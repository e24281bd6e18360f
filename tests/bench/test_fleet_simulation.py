"""The simulation of fleets follows the laws that are known, and its page has its tables."""

import json
from pathlib import Path

import pytest
from bench.fleet_page import FIGURES
from bench.fleet_simulation import FleetSize, Load, Outcome, Simulation, share

LOAD = Load(400_000, calls_per_pack=8, median_latency=20.0, spread=0.5)
HOUR = 3600.0


def played(**size: float) -> Outcome:
    given = {"places": 60, "machine_lives": 0, **size}
    return Simulation(LOAD, FleetSize(**given)).run(2 * HOUR, HOUR / 2)  # type: ignore[arg-type]


def test_calls_in_flight_follow_littles_law() -> None:
    outcome = played()
    rate = outcome.calls / outcome.seconds
    assert rate == pytest.approx(LOAD.calls_per_second, rel=0.1)
    mean = sum(outcome.in_flight) / len(outcome.in_flight)
    assert mean == pytest.approx(rate * LOAD.mean_latency, rel=0.1)
    assert outcome.store_busy / outcome.seconds == pytest.approx(rate / 100, rel=0.1)


def test_the_same_seed_gives_the_same_outcome() -> None:
    assert played() == played()


def test_slots_of_the_provider_are_never_exceeded_and_make_calls_wait() -> None:
    free, capped = played(), played(provider_slots=12)
    assert max(free.in_flight) > 12
    assert max(capped.in_flight) <= 12
    assert share(free.slot_waits, 0.99) == 0
    assert share(capped.slot_waits, 0.5) > 0


def test_too_few_places_let_packs_wait() -> None:
    assert share(played().pack_waits, 0.95) == 0
    assert share(played(places=3).pack_waits, 0.5) > 600


def test_a_slow_store_is_busy_and_delays_calls() -> None:
    slow = played(store_rate=0.7)
    assert slow.store_busy / slow.seconds > 0.8
    assert share(slow.in_flight, 0.5) > 1.5 * share(played().in_flight, 0.5)


def test_machines_that_die_leave_unknown_calls() -> None:
    outcome = played(machine_lives=HOUR, packs_per_machine=4)
    assert outcome.deaths > 5
    assert outcome.unknown > 0
    assert played().unknown == 0


def test_the_page_has_the_figures_that_the_simulation_used() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    page = (Path(__file__).parents[2] / "docs/performance.md").read_text(encoding="utf-8")
    part = page.split("## Fleets\n")[1].split("\n## ")[0]
    assert str(figures["about"]) in part
    assert f"the store takes {figures['store_rate']:.0f} calls a second" in part
    assert part.count("\n| 10,000,000 |") == 1
