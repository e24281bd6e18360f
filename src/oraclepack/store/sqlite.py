"""The store of one user: a SQLite database in the state directory, beside the locks of runners.

    store.db                0600
    runners/<runner id>     locked while the command runs: the kernel says who is alive

A commit survives every kill. A durable one survives a power cut too; others may be lost in one,
and then the journals still know.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from oraclepack.errors import MachineError
from oraclepack.store.database import Cursor, Database, Result, StoreError, Values
from oraclepack.store.legacy import take_over_files
from oraclepack.system import disk, file_moves, files
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.environment import process_id, state_directory
from oraclepack.system.locks import hold

NAME = "store.db"
VERSION = 6
_RUNNERS = "runners"
_PATIENCE = 30.0
"""Seconds for which other processes may keep the database busy; a change takes milliseconds."""
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "sshfs", "glusterfs"}
)
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT")


class StoreDamagedError(StoreError):
    """The database is not one of ours, or no longer."""

    code = "STORE_DAMAGED"
    retryable = False


class _Cursor(sqlite3.Cursor):
    """A cursor whose statements a test can interrupt."""

    def execute(self, query: str, values: Values = (), /) -> "_Cursor":
        disk.statement(query)
        super().execute(query.replace("%s", "?"), values)
        disk.statement(query, is_done=True)
        return self


class SqliteDatabase(Database):
    """A `Database` in a folder of the user. It is opened by its first statement."""

    spans_machines = False
    begin = "begin immediate"

    def __init__(
        self, folder: Path | None = None, clock: Clock | None = None, patience: float = _PATIENCE
    ) -> None:
        self.folder = folder or state_directory()
        self._clock = clock or SystemClock()
        self._patience = patience
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._runners: dict[str, int] = {}

    @property
    def path(self) -> Path:
        return self.folder / NAME

    def _perform(self, work: Callable[[Cursor], Result], *, waits: bool, durable: bool) -> Result:
        del waits  # it waits for other processes of the machine only, which are quick
        with self._lock, self._clear_errors():
            connection = self._opened()
            if durable:
                connection.execute("pragma synchronous = full")
            try:
                result = work(connection.cursor(_Cursor))
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("rollback")
                raise
            finally:
                if durable:
                    connection.execute("pragma synchronous = normal")
            if durable:
                self._note_sync()
            return result

    def decide_alone(self, cursor: Cursor, about: str) -> None:
        """Nothing to do: one transaction at a time writes to the database."""

    def lock_runner(self, runner: str) -> None:
        folder = self.folder / _RUNNERS
        files.make_private(folder)
        descriptor = hold(folder / runner)
        if descriptor is None:
            raise StoreError(f"runner {runner} exists already")
        self._runners[runner] = descriptor

    def unlock_runner(self, runner: str) -> None:
        descriptor = self._runners.pop(runner, None)
        files.forget(self.folder / _RUNNERS / runner)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == process_id():
                connection.close()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None or self._process != process_id():
            files.sweep(self.folder)  # what a killed command or a power cut left half made
            if not self.path.exists():
                self._create()
            _refuse_unsafe(self.path)
            connection = self._connect(self.path)
            try:
                _check_version(connection, self.path)
                # A write-ahead log needs memory that all processes share.
                is_remote = is_on_network(self.folder)
                if is_remote:
                    _refuse_without_locks(self.folder)
                connection.execute(f"pragma journal_mode = {'delete' if is_remote else 'wal'}")
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, process_id()
        return self._connection

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma trusted_schema = off")
        now = lambda: self._clock.now().timestamp()  # noqa: E731 - read anew at every use
        connection.create_function("unix_now", 0, now)
        connection.create_function(
            "runner_is_alive", 1, partial(_is_locked, self.folder / _RUNNERS)
        )
        return connection

    def _create(self) -> None:
        """Make the database under another name first: an empty one is never taken for ours."""
        files.make_private(self.folder)
        temporary = files.temporary_beside(self.path)
        try:
            os.close(disk.create(temporary, files.PRIVATE_FILE))
            with closing(self._connect(temporary)) as connection:
                connection.execute("pragma journal_mode = off")
                cursor = connection.cursor(_Cursor)
                cursor.execute(self.begin)
                for name in ("schema.sql", "user.sql"):
                    for statement in files.shipped(__package__, name).decode().split(";\n"):
                        connection.execute(statement)
                take_over_files(cursor, self.folder)
                connection.execute(f"pragma user_version = {VERSION}")
                cursor.execute("commit")
            disk.sync_file(temporary)
            with suppress(FileExistsError):  # another process was faster
                file_moves.move(temporary, self.path)
        finally:
            files.forget(temporary)

    def _note_sync(self) -> None:
        """SQLite has synced its files; tests that cut the power want to know."""
        for path in (self.path, self.folder / f"{NAME}-wal"):
            if path.exists():
                disk.note_sync(path)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as trouble:
            name = getattr(trouble, "sqlite_errorname", "")
            if name.startswith(_DAMAGED):
                raise _damaged(self.path, str(trouble)) from trouble
            if name.startswith("SQLITE_BUSY"):
                raise StoreError(
                    f"another process has kept {self.path} busy for {self._patience:g} s",
                    hint=f"`fuser -v {self.path}` shows which one; let it finish, or end it",
                ) from trouble
            raise StoreError(
                f"cannot use the store {self.path}: {trouble}",
                hint="free some space, or correct the rights of the directory; then run again",
            ) from trouble
        except OSError as trouble:
            raise files.cannot("use", self.path, trouble) from trouble


def existing_store() -> SqliteDatabase | None:
    """The user's store, if there is one: a command that only reads makes none."""
    database = SqliteDatabase()
    return database if database.path.exists() else None


def _is_locked(folder: Path, runner: str) -> bool:
    """Whether the kernel holds the lock of a runner. What cannot be examined counts as alive."""
    try:
        descriptor = os.open(folder / runner, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_on_network(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a folder is on a file system of another machine; False where that is not known."""
    kinds: dict[str, str] = {}
    with suppress(OSError):
        for line in mounts.read_text("utf-8", "replace").splitlines():
            place, _, kind = line.partition(" - ")
            kinds[place.split()[4]] = kind.split()[0]
    real = Path(os.path.realpath(folder))
    nearest = next((str(one) for one in (real, *real.parents) if str(one) in kinds), "")
    return kinds.get(nearest, "").removeprefix("fuse.") in _NETWORK


def _refuse_without_locks(folder: Path) -> None:
    path = folder / f"{_RUNNERS}.lock"
    locks = [hold(path), hold(path)]
    for descriptor in locks:
        if descriptor is not None:
            os.close(descriptor)
    if locks[1] is not None:
        raise MachineError(
            f"{folder} is on a network file system whose locks do not work",
            hint="set XDG_STATE_HOME to a directory on a local disk",
        )


def _refuse_unsafe(path: Path) -> None:
    """A database that others could have written says nothing about what was paid for."""
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise StoreDamagedError(
            f"the store {path} is not used: it is a link, or others may read or write it",
            hint=f"if it is yours: `chmod 600 {path}`",
        )


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > VERSION:
        raise StoreDamagedError(
            f"the store {path} has version {version}, this oraclepack knows {VERSION}",
            hint="upgrade oraclepack",
        )
    if version < VERSION:
        raise _damaged(path, "it is empty, or not one of ours")


def _damaged(path: Path, reason: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"the store {path} cannot be read: {reason}",
        hint=f"move {path} and the files beside it with longer names away to begin a new one; what"
        " was spent before does not count there, so lower your budgets until the month is over",
    )
