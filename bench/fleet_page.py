"""Measures fleets and the shared store, simulates large ones, and writes the section about both.

`python -m bench.fleet_page [--quick] [--rounds N] [--growth] [--simulate] [--write]`: without
`--write` the section is printed, with it bench/fleets.md, docs/performance.md and, for the next
simulation, bench/fleet_figures.json are written. `--growth` also runs 100 and 1,000 packs, which
takes minutes. `--simulate` takes the figures of the last time.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.postgres_server import NoServerError, PostgresServer, serving_postgres

from bench import fleet_throughput as throughput
from bench.fleet_simulation import WEEK, FleetSize, Load, Outcome, Simulation, share
from bench.machine import commit
from bench.page import FLEETS, number, renew_fragments
from bench.process import spent
from bench.scene import clean_place, measured
from bench.store_costs import FLOOR, OPERATIONS, several
from bench.table import Row
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("fleet_section.md")
FIGURES = Path(__file__).with_name("fleet_figures.json")
PROCESSES = 8
ANSWER_BYTES = 15_000
"""Of an answer with its entry in the database: assumed."""
RUN_BYTES = 7_000
"""Of a packed run directory: measured once."""
LOADS = (1e6, 3e6, 1e7)
CONNECTIONS = 2
"""Of each running pack: its job, and its calls."""


@contextmanager
def database() -> Iterator[PostgresServer]:
    with serving_postgres() as server:
        opened = PostgresDatabase(server.dsn)
        migrate(opened)
        opened.close()
        yield server


def emptied(server: PostgresServer) -> Callable[[], None]:
    """Removes what rounds leave, so that each begins alike."""

    def empty() -> None:
        opened = PostgresDatabase(server.dsn)
        opened.rows(
            "truncate answer, claim, slot, request_start, job, fleet_request, verdict,"
            " budget_ledger, runner cascade"
        )
        opened.close()

    return empty


def throughputs(server: PostgresServer, rounds: int, *, quick: bool) -> list[Row]:
    with clean_place(quick=quick) as place:
        contenders = throughput.scene(place, server.dsn, emptied(server))
        times = measured(contenders, 1 if quick else rounds, place)
    return throughput.rows(times, 3 if quick else 12)


def store_costs(server: PostgresServer, *, quick: bool) -> dict[str, dict[str, float]]:
    """Milliseconds of each operation by store and number of processes."""
    count = 20 if quick else 200
    found: dict[str, dict[str, float]] = {}
    for kind, name in (("files", "files"), (server.dsn, "PostgreSQL")):
        for processes in (1, 2 if quick else PROCESSES):
            with clean_place() as place:
                emptied(server)()
                env = {**place.env, "PYTHONPATH": str(ROOT)}
                folder = place.path / "project"
                folder.mkdir()
                found[f"{name}, {processes}"] = several(kind, folder, count, processes, env)
    return found


LISTING = """
import sys, time
from pathlib import Path
from oraclepack.fleet.fleet_job import JobSource, make_job
from oraclepack.fleet.fleets import Fleets
dsn, count = sys.argv[1], int(sys.argv[2])
jobs = [make_job("big", JobSource(repo="r", pack=f"p{n}.md"), "a" * 40) for n in range(count)]
fleets = Fleets(dsn)
with fleets._jobs() as store:
    began = time.perf_counter()
    store.add(jobs)
    added = time.perf_counter()
report = fleets.status("big")
assert report.totals.jobs == count
print(added - began, time.perf_counter() - added)
"""
"""Submits jobs and reads how they stand: what grows with their number on the head."""


def listings(server: PostgresServer) -> dict[str, dict[int, tuple[float, float]]]:
    """Seconds to submit so many jobs, and to read how they stand."""
    found: dict[str, dict[int, tuple[float, float]]] = {"files": {}, "PostgreSQL": {}}
    for name, dsn in (("files", ""), ("PostgreSQL", server.dsn)):
        for count in (100, 1000):
            emptied(server)()
            with clean_place() as place:
                done = subprocess.run(
                    [sys.executable, "-c", LISTING, dsn, str(count)],
                    env=dict(place.env),
                    capture_output=True,
                    check=True,
                )
            add, status = map(float, done.stdout.split())
            found[name][count] = (add, status)
    return found


def growth(*, quick: bool) -> dict[int, float]:
    """Seconds per pack of fleets of so many packs with one step that does nothing."""
    found = {}
    for packs in (3, 6) if quick else (100, 1000):
        with clean_place() as place:
            throughput.repositories(place, packs, 0)
            contender = throughput.fleet(place, "", packs)
            used = spent(contender.argv, {**place.env, **contender.env})
        found[packs] = used.seconds / packs
    return found


def simulated(load: Load, store_rate: float, pack_seconds: float) -> tuple[FleetSize, Outcome]:
    """The smallest number of places with which packs hardly wait, in steps of a twentieth."""
    packs = load.calls_per_second / load.calls_per_pack
    needed = load.calls_per_second * load.mean_latency / load.lanes + packs * pack_seconds
    seconds = min(12 * 3600.0, 150_000 / load.calls_per_second)
    for step in range(21, 31):
        size = FleetSize(
            math.ceil(needed * step / 20), store_rate=store_rate, pack_seconds=pack_seconds
        )
        outcome = Simulation(load, size).run(seconds, 5400)
        if share(outcome.pack_waits, 0.95) <= 600:
            break
    return size, outcome


def sizing(figures: Mapping[str, float]) -> str:
    lines = []
    for calls in LOADS:
        load = Load(calls)
        before = f"| {calls:,.0f} | {load.calls_per_second:.1f} |"
        if figures["store_rate"] <= load.calls_per_second:
            lines.append(f"{before} the store is too slow | | | | | |")
            continue
        size, outcome = simulated(load, figures["store_rate"], figures["pack_seconds"])
        slots = share(outcome.in_flight, 0.999)
        machines = math.ceil(size.places / size.packs_per_machine)
        busy = outcome.store_busy / outcome.seconds
        gigabytes = calls * (ANSWER_BYTES + RUN_BYTES / load.calls_per_pack) / 1e9
        expected = slots * WEEK / size.machine_lives
        lines.append(
            f"{before} {size.places} on {machines} | {slots:,.0f} | {busy:.0%} |"
            f" {size.places * CONNECTIONS + 10} | {gigabytes:,.0f} GB |"
            f" {expected:,.0f} |"
        )
    head = (
        "| calls a week | per second | packs at once, machines | provider slots | store busy |"
        " connections | database, per week | unknown calls a week |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    return "\n".join([head, *lines])


def _files_first(name: str) -> bool:
    return not name.startswith("files")


def milliseconds(found: Mapping[str, Mapping[str, float]]) -> str:
    columns = sorted(found, key=_files_first)
    lines = [
        f"| {name} | " + " | ".join(f"{found[one][name]:.1f}" for one in columns) + " |"
        for name in (*OPERATIONS, FLOOR)
        if all(name in found[one] for one in columns)
    ]
    rates = " | ".join(f"{found[one]['calls per second']:.0f}" for one in columns)
    head = " | ".join(f"{one} process{'es' if not one.endswith(', 1') else ''}" for one in columns)
    rule = " | ".join("---" for _ in columns)
    return "\n".join(
        [f"| ms | {head} |", f"| --- | {rule} |", *lines, f"| calls per second | {rates} |"]
    )


def measure(rounds: int, *, quick: bool, with_growth: bool) -> dict[str, object]:
    before = os.getloadavg()[0]
    began = time.monotonic()
    with database() as server:
        rows = throughputs(server, rounds, quick=quick)
        costs = store_costs(server, quick=quick)
        listed = listings(server)
    grown = growth(quick=quick) if with_growth else {}
    rates = {name: one["calls per second"] for name, one in costs.items()}
    most = max(rate for name, rate in rates.items() if name.startswith("PostgreSQL"))
    files = next(row.ours for row in rows if throughput.FILES in row.what)
    return {
        "about": f"commit {commit()}, {os.cpu_count()} cores, load {before:.1f} before and"
        f" {os.getloadavg()[0]:.1f} after, {time.monotonic() - began:.0f} s",
        "realtime": os.sched_getscheduler(0) == os.SCHED_RR,
        "load": before,  # afterwards it is our own
        "rounds": 1 if quick else rounds,
        "store_rate": most,
        "pack_seconds": throughput.AT_ONCE / files,
        "throughput": [[row.what, row.against, row.ours, row.unit] for row in rows],
        "noise": rows[0].control,
        "costs": costs,
        "listed": {name: {str(n): both for n, both in one.items()} for name, one in listed.items()},
        "grown": {str(packs): seconds for packs, seconds in grown.items()},
    }


def section(figures: dict[str, object]) -> str:
    """The part of the page about fleets."""
    rows = figures["throughput"]
    assert isinstance(rows, list)
    speeds = "\n".join(
        f"| {what} | {'' if against == 'nothing' else against} | {number(ours)} {unit} |"
        for what, against, ours, unit in rows
    )
    listed = figures["listed"]
    assert isinstance(listed, dict)
    lists = "\n".join(
        f"| {name} | "
        + " | ".join(f"{one[n][0]:.2f} s, {one[n][1]:.2f} s" for n in ("100", "1000"))
        + " |"
        for name, one in sorted(listed.items(), key=lambda item: _files_first(item[0]))
    )
    grown = figures["grown"]
    assert isinstance(grown, dict)
    growth = "; ".join(f"{int(packs):,} packs: {one:.2f} s a pack" for packs, one in grown.items())
    growth_line = (
        f"Fleets of packs with one step that does nothing, three at once, files: {growth}."
        if grown
        else "Running 100 and 1,000 packs (`--growth`) was not measured this time."
    )
    load = float(str(figures["load"]))
    busy = f"The machine was busy (load {load:.0f} on {os.cpu_count()} cores)"
    if figures.get("realtime"):
        trust = (
            f"{busy}, and what was measured had real-time priority (`chrt -r 5`): it waited for the"
            " disk and for itself, not for other work."
        )
    elif load > 2 * (os.cpu_count() or 1):
        trust = f"**{busy}**: absolute figures are far worse than on a quiet one, and ratios noisy."
    else:
        trust = "The machine was quiet."
    costs = figures["costs"]
    assert isinstance(costs, dict)
    inputs = {name: float(str(figures[name])) for name in ("store_rate", "pack_seconds")}
    return TEMPLATE.read_text(encoding="utf-8").format(
        about=figures["about"],
        trust=trust,
        rounds=figures["rounds"],
        noise=f"{float(str(figures['noise'])):.2f}",
        speeds=speeds,
        costs=milliseconds(costs),
        costs_about=figures.get("costs_about", "Measured in the same rounds."),
        lists=lists,
        growth=growth_line,
        sizing=sizing(inputs),
        store_rate=f"{inputs['store_rate']:.0f}",
        pack_seconds=f"{inputs['pack_seconds']:.1f}",
    )


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m bench.fleet_page", description=__doc__)
    asked.add_argument("--quick", action="store_true", help="small sizes: does it work")
    asked.add_argument("--rounds", type=int, default=3, help="of the throughput")
    asked.add_argument("--growth", action="store_true", help="also run 100 and 1,000 packs")
    asked.add_argument("--simulate", action="store_true", help="with the figures of the last time")
    asked.add_argument("--write", action="store_true", help="into the pages, not printed")
    args = asked.parse_args()
    try:
        figures = (
            json.loads(FIGURES.read_text(encoding="utf-8"))
            if args.simulate
            else measure(args.rounds, quick=args.quick, with_growth=args.growth)
        )
    except NoServerError as reason:
        sys.exit(f"PostgreSQL cannot be had here: {reason}")
    if args.write and not args.simulate:
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = section(figures)
    if args.write:
        FLEETS.write_text(text, encoding="utf-8")
        renew_fragments()
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
