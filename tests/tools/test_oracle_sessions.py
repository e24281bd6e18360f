"""What oracle leaves on disk: sessions, configs, the processes behind them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.tools.oracle_config import around_call, oracle_home
from oraclepack.tools.oracle_sessions import OracleSessions, is_alive, worker_is_alive


def leave(home: Path, name: str, status: str = "completed", log: str | None = None) -> None:
    folder = home / "sessions" / name
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(f'{{"id": "{name}", "status": "{status}"}}')
    if log is not None:
        (folder / "output.log").write_text(log)


def test_records_in_order(tmp_path: Path) -> None:
    leave(tmp_path, "b", "running")
    leave(tmp_path, "a")
    (tmp_path / "sessions" / "half").mkdir()
    (tmp_path / "sessions" / "stray").write_text("x")

    found = list(OracleSessions(tmp_path).records())

    assert [(record.id, record.status) for record in found] == [
        ("a", "completed"),
        ("b", "running"),
    ]


def test_no_home_no_sessions(tmp_path: Path) -> None:
    assert list(OracleSessions(tmp_path / "none").records()) == []
    assert OracleSessions(tmp_path / "none").record("a") is None
    assert OracleSessions(tmp_path / "none").log("a") == ""


@pytest.mark.parametrize("name", ["", "..", "../sessions/a", ".hidden", "/etc"])
def test_a_name_does_not_lead_elsewhere(tmp_path: Path, name: str) -> None:
    leave(tmp_path, "a")

    assert OracleSessions(tmp_path).record(name) is None


def test_the_log_of_a_session(tmp_path: Path) -> None:
    leave(tmp_path, "a", log="said")

    sessions = OracleSessions(tmp_path)

    assert sessions.record("a") is not None
    assert sessions.log("a") == "said"


def test_only_the_very_same_process_is_alive() -> None:
    pid = os.getpid()
    started = processes.start_time(pid)

    assert is_alive(ProcessIdentity(pid=pid, start_time=started)) is True
    assert is_alive(ProcessIdentity(pid=pid, start_time="1")) is False
    assert is_alive(ProcessIdentity(pid=pid)) is None


def test_a_process_that_ended_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass

    assert is_alive(ProcessIdentity(pid=child.pid, start_time="1")) is False
    assert worker_is_alive(child.pid) is False


def test_without_proc_only_the_dead_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "has_proc", lambda: False)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass

    assert is_alive(ProcessIdentity(pid=child.pid)) is False
    assert worker_is_alive(child.pid) is False
    for pid in (os.getpid(), 1):
        assert is_alive(ProcessIdentity(pid=pid)) is None
        assert worker_is_alive(pid) is None


def test_a_worker_must_look_like_oracle() -> None:
    # `exec -a` needs bash; a Python that waits is enough of a worker.
    argv = [sys.executable, "-c", "import sys; sys.stdin.read()", "oracle-worker"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as worker:
        alive = worker_is_alive(worker.pid)
        worker.kill()
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as other:
        stranger = worker_is_alive(other.pid)
        other.kill()

    assert (alive, stranger) == (True, False)


def test_home() -> None:
    assert oracle_home({"HOME": "/h"}) == Path("/h/.oracle")
    assert oracle_home({"HOME": "/h", "ORACLE_HOME_DIR": "/o"}) == Path("/o")
    assert oracle_home({}) == Path.home() / ".oracle"


def test_what_stands_around_a_call(tmp_path: Path) -> None:
    project = tmp_path / "project" / "deep"
    for folder, text in ((tmp_path, "user"), (tmp_path / "project", "outer"), (project, "inner")):
        (folder / ".oracle").mkdir(parents=True)
        (folder / ".oracle" / "config.json").write_text(text)
    (project / ".env").write_text("OPENAI_API_KEY=x\nOPENAI_BASE_URL='http://h/$X'\nBARE\n")

    made = around_call(str(project), {"HOME": str(tmp_path)})

    assert list(made.configs) == ["user", "outer", "inner"]
    assert made.variables == {"OPENAI_BASE_URL": "http://h/$X"}
    assert made.has_key


def test_nothing_around_a_call(tmp_path: Path) -> None:
    made = around_call(str(tmp_path), {"HOME": str(tmp_path / "home"), "XAI_BASE_URL": "u"})

    assert (made.variables, made.has_key, made.configs) == ({"XAI_BASE_URL": "u"}, False, ())


def test_a_config_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".oracle" / "config.json").mkdir(parents=True)

    with pytest.raises(InputError, match="config"):
        around_call(str(tmp_path / "x"), {"HOME": str(tmp_path)})
