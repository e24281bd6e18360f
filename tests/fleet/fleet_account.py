"""The account of a fleet: what the provider was paid against what the store knows about it."""

from collections import Counter
from typing import Any

from oraclepack.store.budget import Budget
from oraclepack.store.postgres import PostgresDatabase
from tests.fleet.fleet_world import FleetWorld

DECIDED = frozenset({"given up", "expired"})
"""Verdicts of a person, or by an age that a person has set."""
ON_UNKNOWN = "--on-unknown retry"


def account(world: FleetWorld) -> list[str]:
    """What is wrong after a fleet: empty when every promise was kept."""
    database = PostgresDatabase(world.dsn)
    try:
        return [
            *_second_payments(world, database),
            *_leftovers(database),
        ]
    finally:
        database.close()


def _second_payments(world: FleetWorld, database: PostgresDatabase) -> list[str]:
    rows = database.rows(
        "select verdict.intent::jsonb->>'output_path', verdict.decided, verdict.why, asker.host,"
        " by.host from verdict left join runner as asker on asker.id = verdict.asker"
        " left join runner as by on by.id = verdict.by_whom"
    )
    allowed = Counter(row[0] for row in rows if _is_decision(row))
    wrong = []
    for question, times in sorted(world.bill().items()):
        path = _path_of(question)
        if times - 1 > allowed[path]:
            wrong.append(f"{question!r} was paid {times} times, with {allowed[path]} verdicts")
    return wrong


def _is_decision(row: Any) -> bool:
    """Whether a verdict allows a second payment: a decision, or proof on the same machine."""
    _, decided, why, asker, by = row
    return decided in DECIDED or why.startswith(ON_UNKNOWN) or (bool(by) and asker == by)


def _path_of(question: str) -> str:
    """`shop-1 question 2: why?` is to be answered in out/shop-1/02.md."""
    name, _, number = question.partition(":")[0].partition(" question ")
    return f"out/{name}/{int(number):02d}.md"


def _leftovers(database: PostgresDatabase) -> list[str]:
    wrong = [f"claim {row[0][:12]} is left" for row in database.rows("select key from claim")]
    wrong += [f"a slot of {row[0]} is left" for row in database.rows("select provider from slot")]
    wrong += [
        f"runner {row[0]} on {row[1]} is left"
        for row in database.rows(
            "select id, host from runner where ended is null and buried is null"
            " and lease_until > unix_now()"
        )
    ]
    ledger = Budget(database).ledger()
    return wrong + [f"reservation {name} is left" for name in ledger.reservations]
