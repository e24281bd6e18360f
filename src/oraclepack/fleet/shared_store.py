"""Administration of the shared database: its checks, unknown calls, dead machines, limits."""

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
from oraclepack.store.schema import (
    SCHEMA_VERSION,
    installed_version,
    migrate,
    missing_roles,
)
from oraclepack.system.printable import quantity

_OLDEST = 150000
"""PostgreSQL 15."""


class SharedStore:
    """The database that machines share: its checks, unknown calls, dead machines, limits."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def init(self) -> FleetInit:
        """Create the schema, or bring it to this version."""
        before, after = migrate(self.database)
        return FleetInit(before=before, after=after, missing_roles=missing_roles(self.database))

    def examine(self, name: str = "") -> StoreHealth:
        """Whether it is safe to use: commits are durable, and no client's clock decides."""
        names = ("fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names")
        current = "select coalesce(current_setting(%s, true), '')"
        found = {name: str(self.database.rows(current, (name,))[0][0]) for name in names}
        number = int(self.database.rows("select current_setting('server_version_num')::int")[0][0])
        version = installed_version(self.database)
        fingerprints = (
            self.database.rows(
                "select count(distinct fingerprint) from runner where ended is null"
                " and buried is null and lease_until > unix_now()"
            )[0][0]
            if version
            else 0
        )
        encrypted, local = self.database.rows(
            "select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false),"
            " inet_server_addr() is null or inet_server_addr() << inet '127.0.0.0/8'"
        )[0]
        sync, standby = found["synchronous_commit"], found["synchronous_standby_names"]
        is_durable = sync not in {"off", "local"} or (sync == "local" and not standby)
        checks = (
            (
                "version",
                number >= _OLDEST,
                f"{number // 10000}.{number % 10000}",
                "PostgreSQL 15 or newer is needed",
            ),
            ("schema", version == SCHEMA_VERSION, str(version), "run `oraclepack fleet init`"),
            (
                "fsync",
                found["fsync"] == "on",
                found["fsync"],
                "set fsync = on: without it a crash of the server forgets paid calls",
            ),
            (
                "full_page_writes",
                found["full_page_writes"] == "on",
                found["full_page_writes"],
                "set full_page_writes = on",
            ),
            (
                "synchronous_commit",
                is_durable,
                sync,
                "set synchronous_commit = on: otherwise a crash forgets that calls were made",
            ),
            ("standby", True, standby or "none: a failover may forget paid calls", ""),
            (
                "encryption",
                bool(encrypted or local),
                "TLS" if encrypted else ("local" if local else "none"),
                "add sslmode=verify-full to the store",
            ),
            (
                "fingerprints",
                int(fingerprints) <= 1,
                f"{quantity(int(fingerprints), 'kind')} of runners",
                "runners with different keys or configuration ask the same question twice",
            ),
        )
        return StoreHealth(
            store=name,
            checks=tuple(
                StoreCheck(name=check, ok=ok, value=value, fix=fix)
                for check, ok, value, fix in checks
            ),
        )

    def unknown(self) -> FleetUnknown:
        """Every call without a living holder that may have been paid for and has no known end."""
        rows = self.database.rows(
            "select claim.key, to_timestamp(asked)::text, runner.host, runner.machine, runner.id,"
            " claim.intent, runner.buried is not null from claim"
            " join runner on runner.id = claim.asker where claim.state = 'asking'"
            " and (claim.holder is null or not runner_is_alive(claim.holder))"
            " order by asked, key"
        )
        return FleetUnknown(calls=tuple(map(_unknown, rows)))

    def bury(self, host: str, by_whom: str, why: str) -> Burial:
        """Declare all runners of a machine dead for good.

        `host` is a host name, or the id of one machine, since several may have the name.
        Each unknown call of theirs gets a verdict, may be asked again, and counts as spent at its
        worst case. Their slots are free.
        """
        budget = Budget(self.database)
        if not why.strip():
            raise UsageError("a burial needs a reason", hint='--because "the VM was deleted"')

        def work(cursor: Cursor) -> Burial:
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
                    " several machines have this name, give the id of the dead one"
                    " (`fleet unknown`)",
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
            cursor.execute(
                "delete from claim where state = 'held' and holder = any(%s)", (runners,)
            )
            budget.settle_in(cursor, [name for name in reservations if name])
            return Burial(host=host, runners=len(buried), calls=len(reservations))

        return self.database.transaction(work)

    def limits(self, provider: str | None = None) -> FleetLimits:
        """The limits of a provider, or of all, and what is in flight."""
        rows = self.database.rows(
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
        names = ProviderLoad.__struct_fields__
        found = (ProviderLoad(**dict(zip(names, row, strict=True))) for row in rows)
        return FleetLimits(providers=tuple(one for one in found if provider in {None, one.name}))

    def set_limit(
        self, provider: str, max_in_flight: int | None, per_minute: int | None
    ) -> FleetLimits:
        """Change the limits of a provider for every runner.

        None leaves one as it is, 0 removes it.
        """
        self.database.rows(
            "insert into provider values (%s, nullif(%s::int, 0), nullif(%s::int, 0))"
            " on conflict (name) do update set"
            " max_in_flight = nullif(coalesce(%s::int, provider.max_in_flight), 0),"
            " per_minute = nullif(coalesce(%s::int, provider.per_minute), 0)",
            (provider, max_in_flight, per_minute, max_in_flight, per_minute),
        )
        return self.limits()


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
