"""Administration of the shared database: its checks, unknown calls, dead machines, limits."""

from collections.abc import Sequence
from contextlib import closing

import msgspec

from oraclepack.errors import InputError, UsageError
from oraclepack.fleet.fleet_reports import (
    Burial,
    FleetInit,
    FleetLimits,
    FleetUnknown,
    ProviderLoad,
    StoreCheck,
    StoreHealth,
    UnknownCall,
)
from oraclepack.store.budget import Budget
from oraclepack.store.database import Cursor, Database, Row
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import (
    SCHEMA_VERSION,
    installed_version,
    migrate,
    missing_roles,
)
from oraclepack.system.printable import quantity

_OLDEST = 150000
"""PostgreSQL 15."""


def examine_store(database: Database) -> tuple[StoreCheck, ...]:
    """Whether a database is safe to use: commits are durable, and no client's clock decides."""
    names = ("fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names")
    found = {
        name: str(database.rows("select coalesce(current_setting(%s, true), '')", (name,))[0][0])
        for name in names
    }
    number = int(database.rows("select current_setting('server_version_num')::int")[0][0])
    version = installed_version(database)
    fingerprints = (
        database.rows(
            "select count(distinct fingerprint) from runner where ended is null and buried is null"
            " and lease_until > unix_now()"
        )[0][0]
        if version
        else 0
    )
    encrypted, local = database.rows(
        "select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false),"
        " inet_server_addr() is null or inet_server_addr() << inet '127.0.0.0/8'"
    )[0]
    return (
        StoreCheck(
            name="version",
            ok=number >= _OLDEST,
            value=f"{number // 10000}.{number % 10000}",
            fix="PostgreSQL 15 or newer is needed",
        ),
        StoreCheck(
            name="schema",
            ok=version == SCHEMA_VERSION,
            value=str(version),
            fix="run `oraclepack fleet init`",
        ),
        StoreCheck(
            name="fsync",
            ok=found["fsync"] == "on",
            value=found["fsync"],
            fix="set fsync = on: without it a crash of the server forgets paid calls",
        ),
        StoreCheck(
            name="full_page_writes",
            ok=found["full_page_writes"] == "on",
            value=found["full_page_writes"],
            fix="set full_page_writes = on",
        ),
        StoreCheck(
            name="synchronous_commit",
            ok=found["synchronous_commit"] not in {"off", "local"}
            or (found["synchronous_commit"] == "local" and not found["synchronous_standby_names"]),
            value=found["synchronous_commit"],
            fix="set synchronous_commit = on: otherwise a crash forgets that calls were made",
        ),
        StoreCheck(
            name="standby",
            ok=True,
            value=found["synchronous_standby_names"] or "none: a failover may forget paid calls",
        ),
        StoreCheck(
            name="encryption",
            ok=bool(encrypted or local),
            value="TLS" if encrypted else ("local" if local else "none"),
            fix="add sslmode=verify-full to the store",
        ),
        StoreCheck(
            name="fingerprints",
            ok=int(fingerprints) <= 1,
            value=f"{quantity(int(fingerprints), 'kind')} of runners",
            fix="runners with different keys or configuration ask the same question twice",
        ),
    )


def unknown_calls(database: Database) -> tuple[UnknownCall, ...]:
    """Every call without a living holder whose end is not known."""
    rows = database.rows(
        "select claim.key, to_timestamp(asked)::text, runner.host, runner.machine, runner.id,"
        " claim.intent, runner.buried is not null from claim join runner on runner.id = claim.asker"
        " where claim.state = 'asking'"
        " and (claim.holder is null or not runner_is_alive(claim.holder))"
        " order by asked, key"
    )
    return tuple(_unknown(row) for row in rows)


def _unknown(row: Row) -> UnknownCall:
    key, asked, host, machine, runner, text, buried = row
    intent = msgspec.json.decode(text)
    return UnknownCall(
        key=str(key),
        asked_at=str(asked),
        host=str(host),
        machine=str(machine),
        runner=str(runner),
        step=str(intent.get("step", "")),
        model=intent.get("model"),
        output_path=intent.get("output_path"),
        resolution="its machine is buried: the next run asks again"
        if buried
        else f"the same job on {host} adopts it, `fleet bury {host}` gives it up,"
        " `--on-unknown retry` asks again",
    )


def bury(database: Database, host: str, by_whom: str, why: str) -> tuple[int, int]:
    """Declare all runners of a machine dead for good; how many runners and unknown calls.

    `host` is a host name, or the id of one machine, since several may have the name.
    Each unknown call of theirs gets a verdict, may be asked again, and counts as spent at its
    worst case. Their slots are free.
    """
    budget = Budget(database)
    if not why.strip():
        raise UsageError("a burial needs a reason", hint='--because "the VM was deleted"')

    def work(cursor: Cursor) -> tuple[int, int]:
        cursor.execute(
            "select id, runner_is_alive(id) from runner where %s in (host, machine)", (host,)
        )
        alive_by_runner: dict[str, bool] = dict(cursor.fetchall())
        runners = list(alive_by_runner)
        living = sum(alive_by_runner.values())
        if living:
            raise InputError(
                f"{host} is alive: {living} of its runners have renewed their leases",
                hint="stop them, or wait until their leases have run out (store_lease); where"
                " several machines have this name, give the id of the dead one (`fleet unknown`)",
            )
        cursor.execute(
            "update runner set buried = unix_now(), buried_by = %s, buried_why = %s"
            " where id = any(%s) and buried is null returning id",
            (by_whom, why, runners),
        )
        buried = [row[0] for row in cursor.fetchall()]
        if not runners:
            raise InputError(f"no runner was ever on {host}", hint="see `fleet status`")
        cursor.execute(
            "insert into verdict (at, key, asker, decided, by_whom, why, intent)"
            " select unix_now(), key, asker, 'given up', %s, %s, intent from claim"
            " where state = 'asking' and asker = any(%s)"
            " and (holder is null or not runner_is_alive(holder))",
            (by_whom, why, runners),
        )
        cursor.execute(
            "delete from claim where state = 'asking' and asker = any(%s)"
            " and (holder is null or not runner_is_alive(holder))"
            " returning intent::jsonb->>'reservation'",
            (runners,),
        )
        reservations = [row[0] for row in cursor.fetchall()]
        cursor.execute("delete from slot where runner = any(%s)", (runners,))
        cursor.execute("delete from claim where state = 'held' and holder = any(%s)", (runners,))
        budget.settle_in(cursor, [name for name in reservations if name])
        return len(buried), len(reservations)

    return database.transaction(work)


def set_limit(
    database: Database, provider: str, max_in_flight: int | None, per_minute: int | None
) -> None:
    """Change the limits of a provider for every runner; None leaves one as it is, 0 removes it."""
    database.rows(
        "insert into provider values (%s, nullif(%s::int, 0), nullif(%s::int, 0))"
        " on conflict (name) do update set"
        " max_in_flight = nullif(coalesce(%s::int, provider.max_in_flight), 0),"
        " per_minute = nullif(coalesce(%s::int, provider.per_minute), 0)",
        (provider, max_in_flight, per_minute, max_in_flight, per_minute),
    )


def provider_loads(database: Database) -> Sequence[ProviderLoad]:
    """The limits of every provider and what is in flight."""
    rows = database.rows(
        "with asked as (select intent::jsonb->>'provider' as provider from claim"
        "  where state = 'asking' and intent::jsonb->>'provider' is not null"
        "  and runner_is_alive(holder))"
        " select name, greatest((select count(*) from slot where slot.provider = names.name),"
        "  (select count(*) from asked where asked.provider = names.name)),"
        " max_in_flight, per_minute,"
        " (select count(*) from request_start where request_start.provider = names.name"
        "  and at > unix_now() - 60)"
        " from (select name from provider union select provider from slot"
        "  union select provider from asked) as names(name)"
        " left join provider using (name) order by name"
    )
    return [
        ProviderLoad(
            name=row[0],
            in_flight=row[1],
            max_in_flight=row[2],
            per_minute=row[3],
            begun_last_minute=row[4],
        )
        for row in rows
    ]


class SharedStore:
    """Administration of the database that the settings name."""

    def __init__(self, dsn: str) -> None:
        if not dsn:
            raise UsageError(
                "there is no shared store",
                hint="add --store postgresql://…, or set `store` in your own config file or"
                " ORACLEPACK_STORE",
            )
        self._dsn = dsn

    def init(self) -> FleetInit:
        """Create the schema, or bring it to this version."""
        with closing(PostgresDatabase(self._dsn)) as database:
            before, after = migrate(database)
            missing = missing_roles(database)
        return FleetInit(before=before, after=after, missing_roles=missing)

    def examine(self) -> StoreHealth:
        """Whether the database is durable, and what to change."""
        with closing(PostgresDatabase(self._dsn)) as database:
            return StoreHealth(store=self._dsn, checks=examine_store(database))

    def unknown(self) -> FleetUnknown:
        """The calls that may have been paid for and have no known end."""
        with closing(PostgresDatabase(self._dsn)) as database:
            return FleetUnknown(calls=unknown_calls(database))

    def bury(self, host: str, by_whom: str, why: str) -> Burial:
        """Declare a machine dead for good."""
        with closing(PostgresDatabase(self._dsn)) as database:
            runners, calls = bury(database, host, by_whom, why)
        return Burial(host=host, runners=runners, calls=calls)

    def limits(self, provider: str | None = None) -> FleetLimits:
        """The limits of a provider, or of all."""
        with closing(PostgresDatabase(self._dsn)) as database:
            loads = provider_loads(database)
        return FleetLimits(
            providers=tuple(one for one in loads if provider in {None, one.name}),
        )

    def set_limit(
        self, provider: str, max_in_flight: int | None, per_minute: int | None
    ) -> FleetLimits:
        """Change the limits of a provider for every runner."""
        with closing(PostgresDatabase(self._dsn)) as database:
            set_limit(database, provider, max_in_flight, per_minute)
        return self.limits()
