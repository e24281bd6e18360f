"""A PostgreSQL server of the tests' own, on a socket in a directory, without a network."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate

_PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/pgsql")


class NoServerError(Exception):
    """PostgreSQL cannot be had here."""


def programs() -> Path:
    """The directory of initdb and pg_ctl."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    found = [path.parent for place in _PLACES for path in Path(place).glob("*/bin/initdb")]
    if not found:
        raise NoServerError("initdb was not found; install the package postgresql")
    return max(found, key=lambda path: float(path.parent.name))


class PostgresServer:
    """A cluster that can be started, stopped, killed and frozen."""

    def __init__(self, folder: Path, options: str = "") -> None:
        self.folder = folder
        self.options = options
        self._bin = programs()
        self.data = folder / "data"
        folder.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self._run("initdb", "-D", str(self.data), "-A", "trust", "-U", "owner", "--no-sync")

    @property
    def dsn(self) -> str:
        return f"postgresql:///postgres?host={self.folder}&user=owner"

    def dsn_of(self, user: str) -> str:
        return f"postgresql:///postgres?host={self.folder}&user={user}"

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=60 {self.options}"
        self._run(
            *("pg_ctl", "-D", str(self.data), "-w", "-t", "30"),
            *("-l", str(self.folder / "log"), "-o", options, "start"),
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop", check=False)

    def own_everything(self) -> None:
        """The files of the cluster belong to the user that runs it."""
        if os.getuid() == 0:
            for path in self.data.iterdir():
                shutil.chown(path, "postgres", "postgres")

    def freeze(self) -> None:
        """The server hangs: no process of it does anything until `thaw`."""
        for pid in self.processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGCONT)

    def crash(self) -> None:
        """All processes of the server die at once; what they had not written is lost."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        while any(Path(f"/proc/{pid}").exists() for pid in self.processes()):
            time.sleep(0.02)

    def stop_writing_ahead(self) -> None:
        """Only commits that wait for the disk are written from now on."""
        for pid in self.processes():
            if b"walwriter" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGSTOP)

    def processes(self) -> list[int]:
        """The server and everything it has started; the server first."""
        try:
            first = self.pid
        except (OSError, ValueError, IndexError):
            return []
        rest = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and _parent_of(int(name)) == first
        ]
        return [pid for pid in (first, *rest) if Path(f"/proc/{pid}").exists()]

    def _run(self, program: str, *words: str, check: bool = True) -> None:
        as_user: Sequence[str] = ()
        if os.getuid() == 0:
            as_user = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        done = subprocess.run(
            [*as_user, str(self._bin / program), *words],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
        )
        if check and done.returncode:
            raise NoServerError(f"{program}: {done.stderr.decode(errors='replace')[-400:]}")


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


@contextmanager
def serving_postgres(
    options: str = "", prepare: Callable[[Path], None] | None = None
) -> Iterator[PostgresServer]:
    """A server with an empty database; `prepare` may change its directory before it starts."""
    with tempfile.TemporaryDirectory(prefix="op-pg-") as folder:
        server = PostgresServer(Path(folder), options)
        if prepare is not None:
            prepare(server.data)
            server.own_everything()
        server.start()
        try:
            yield server
        finally:
            server.thaw()
            server.stop()


@contextmanager
def migrated_server() -> Iterator[PostgresServer]:
    """A server with our schema; the test is skipped where there is no PostgreSQL."""
    try:
        with serving_postgres() as running:
            database = PostgresDatabase(running.dsn)
            migrate(database)
            database.close()
            yield running
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")
