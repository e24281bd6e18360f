"""The versions of the schema on PostgreSQL, and who may do what in it."""

from collections.abc import Mapping
from pathlib import Path

from psycopg import sql

from oraclepack.store.database import Cursor, Database, StoreError

_FOLDER = Path(__file__).parent
_LOCK = 7_215_001
"""An advisory lock of ours: two `fleet init` at once wait for each other."""
SCHEMA_VERSION = 6

_ALL_TABLES = (
    *("runner", "claim", "verdict", "answer", "provider", "slot", "request_start"),
    *("job", "fleet_request", "reservation", "spending", "schema_version"),
)
_ADMIN = "oraclepack_admin"
_WORKER = "oraclepack_worker"
_OBSERVER = "oraclepack_observer"
_OF_THEIR_OWNERS = ("runner", "claim", "slot", "job")
"""Tables whose rows only their owners change, and the admin."""
_REPORTED = {
    "job": (
        *("state", "token", "runner", "host", "takes", "exit_code"),
        *("summary", "run_dir", "archive", "changed"),
    ),
    "runner": ("lease_until", "ended"),
}
"""What a worker says about a job and about itself: not what the job runs, and no burials."""

ROLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    _WORKER: {
        "SELECT": _ALL_TABLES,
        "INSERT": (
            *("runner", "claim", "verdict", "answer", "slot", "request_start"),
            *("reservation", "spending"),
        ),
        "UPDATE": ("claim", "slot", "reservation", "spending"),
        "DELETE": ("claim", "slot", "request_start", "reservation"),
    },
    _ADMIN: {
        "SELECT": _ALL_TABLES,
        "INSERT": ("runner", "verdict", "provider", "job", "fleet_request", "spending"),
        "UPDATE": ("runner", "provider", "job", "fleet_request", "spending"),
        "DELETE": ("claim", "slot", "provider", "job", "fleet_request", "reservation"),
    },
    _OBSERVER: {
        "SELECT": (
            *("runner", "claim", "verdict", "provider", "slot", "request_start"),
            *("fleet_request", "reservation", "spending", "schema_version"),
        ),
    },
}
"""What each role may do, by statement: workers run jobs, the admin submits them, buries machines
and sets limits, observers look. The owner of the schema may do everything."""


def installed_version(database: Database) -> int:
    """The version of the schema in the database; 0 when there is none."""
    (exists,) = database.rows("select to_regclass('schema_version') is not null")[0]
    if not exists:
        return 0
    return int(database.rows("select coalesce(max(version), 0) from schema_version")[0][0])


def check_version(database: Database) -> None:
    """Refuse a database that was not prepared for this version of oraclepack."""
    version = installed_version(database)
    if version == SCHEMA_VERSION:
        return
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the store has version {version}, this oraclepack knows {SCHEMA_VERSION}",
            hint="upgrade oraclepack on this machine",
            retryable=False,
        )
    raise StoreError(
        f"the store has version {version}, this oraclepack needs {SCHEMA_VERSION}",
        hint="run `oraclepack fleet init` once, as the owner of the database",
        retryable=False,
    )


def migrate(database: Database) -> tuple[int, int]:
    """Bring the schema to this version; the versions before and after."""
    before = installed_version(database)

    def work(cursor: Cursor) -> None:
        cursor.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        # Not to_regclass: it may answer from before the lock was had.
        cursor.execute(
            "select 1 from pg_tables where schemaname = current_schema()"
            " and tablename = 'schema_version'"
        )
        version = 0
        if cursor.fetchone() is not None:
            cursor.execute("select coalesce(max(version), 0) from schema_version")
            version = (cursor.fetchone() or (0,))[0]
        upgrades = [f"upgrade_{number}" for number in range(version + 1, SCHEMA_VERSION + 1)]
        for name in upgrades if version else ("schema", "postgres"):
            cursor.execute((_FOLDER / f"{name}.sql").read_bytes())
        cursor.execute(
            "insert into schema_version (version) values (%s) on conflict do nothing",
            (SCHEMA_VERSION,),
        )
        _grant(cursor)

    database.transaction(work)
    return before, installed_version(database)


def missing_roles(database: Database) -> tuple[str, ...]:
    """The roles that do not exist, since no login with the right to create them ran `migrate`."""
    rows = database.rows("select rolname from pg_roles where rolname = any(%s)", (list(ROLES),))
    return tuple(role for role in ROLES if role not in {row[0] for row in rows})


def _grant(cursor: Cursor) -> None:
    """Make the roles where we may, and give them what they need."""
    cursor.execute("select rolcreaterole or rolsuper from pg_roles where rolname = current_user")
    may_create = cursor.fetchone() == (True,)
    for role, rights in ROLES.items():
        cursor.execute("select 1 from pg_roles where rolname = %s", (role,))
        if cursor.fetchone() is None:
            if not may_create:
                continue
            cursor.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
        for statement, tables in rights.items():
            cursor.execute(
                sql.SQL("grant {} on {} to {}").format(
                    sql.SQL(statement),
                    sql.SQL(", ").join(map(sql.Identifier, tables)),
                    sql.Identifier(role),
                )
            )
        if role == _ADMIN:
            _let_admin_change(cursor)
        if role == _WORKER:
            _let_worker_report(cursor)
        if role == _OBSERVER:
            _let_observer_read_jobs(cursor)
        if "INSERT" in rights:
            cursor.execute(
                sql.SQL("grant usage on all sequences in schema public to {}").format(
                    sql.Identifier(role)
                )
            )


def _let_admin_change(cursor: Cursor) -> None:
    """Rows of dead runners are given up by the admin, also those of other logins."""
    for table in _OF_THEIR_OWNERS:
        name = sql.Identifier(table)
        cursor.execute(sql.SQL("drop policy if exists admin_change on {}").format(name))
        cursor.execute(
            sql.SQL("create policy admin_change on {} to {} using (true) with check (true)").format(
                name, sql.Identifier(_ADMIN)
            )
        )


def _let_worker_report(cursor: Cursor) -> None:
    """Versions before 4 let a worker change everything of a job and of its own runners."""
    worker = sql.Identifier(_WORKER)
    for table, columns in _REPORTED.items():
        name = sql.Identifier(table)
        cursor.execute(sql.SQL("revoke update on {} from {}").format(name, worker))
        cursor.execute(
            sql.SQL("grant update ({}) on {} to {}").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)), name, worker
            )
        )


def _let_observer_read_jobs(cursor: Cursor) -> None:
    """All of a job but its packed run directory, which holds the answers."""
    observer = sql.Identifier(_OBSERVER)
    cursor.execute(
        "select attname from pg_attribute where attrelid = 'job'::regclass and attnum > 0"
        " and not attisdropped and attname <> 'archive' order by attnum"
    )
    columns = sql.SQL(", ").join(sql.Identifier(row[0]) for row in cursor.fetchall())
    cursor.execute(sql.SQL("revoke select on job from {}").format(observer))
    cursor.execute(sql.SQL("grant select ({}) on job to {}").format(columns, observer))
