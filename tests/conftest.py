"""Every test lives in a home of its own, with none of our variables set."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run: random seeds belong to `make fuzz` and `make soak`.
# On a busy machine drawing values takes long; that says nothing about the program.
settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

collect_ignore = ["data"]
"""Repositories that tests build hold tests of their own, which are not ours to run."""
MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3
"""Bytes. All tests leave half a gigabyte, and pytest keeps three runs."""


def pytest_configure() -> None:
    """Take signals as at a terminal, also where we were started by nohup or in the background.

    A signal that is ignored stays ignored in every program the tests start.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
    if has_memory_for_tests():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def has_memory_for_tests() -> bool:
    """Directories of tests may lie in memory: it has room, and programs there can be started.

    The program syncs every line of a journal; on a disk that is a third of the time of the tests.
    """
    try:
        there = os.statvfs(MEMORY)
    except OSError:
        return False
    has_room = there.f_bavail * there.f_frsize >= ROOM
    return has_room and not there.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


@pytest.fixture(scope="session", autouse=True)
def _session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home for what fixtures of modules and of the session do, before a test has its own."""
    with pytest.MonkeyPatch.context() as patch:
        move_home(tmp_path_factory.mktemp("session-home"), patch)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home: the real one is neither read nor written."""
    folder = tmp_path_factory.mktemp("home")
    move_home(folder, monkeypatch)
    return folder


def move_home(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make this folder the home, and hide the variables that say something else of it or of us."""
    patch.setenv("HOME", str(folder))
    for name, place in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_CACHE_HOME", ".cache"),
    ):
        patch.setenv(name, str(folder / place))
    for name in list(os.environ):
        if name.startswith(("ORACLEPACK_", "_ORACLEPACK_")) or name == "NO_COLOR":
            patch.delenv(name)
