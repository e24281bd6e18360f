"""What the login profile does with BASH_ENV is known before a step runs."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from select import select

import pytest

from oraclepack.shell.launch import environment_ahead, keeps_bash_env
from tests.bashes import Bench


def surroundings_with(home: Path, profile: str) -> dict[str, str]:
    (home / ".bash_profile").write_text(profile)
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize("ahead", [False, True], ids=["when it is needed", "ahead"])
@pytest.mark.parametrize(
    ("profile", "kept"),
    [
        pytest.param("x=1\n", True, id="a plain profile"),
        pytest.param("export BASH_ENV=~/theirs\n", False, id="one that wants its own"),
        pytest.param("echo hello\n", True, id="a talkative one"),
        pytest.param("exit 3\n", True, id="one that ends the shell"),
    ],
)
def test_a_profile_is_asked(tmp_path: Path, profile: str, kept: bool, ahead: bool) -> None:
    env = surroundings_with(tmp_path, profile)

    if not ahead:
        assert keeps_bash_env(env, str(tmp_path)) is kept
        return
    with environment_ahead(env, str(tmp_path)):
        assert keeps_bash_env(env, str(tmp_path)) is kept


def test_an_unneeded_profile_is_ended_with_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    env = surroundings_with(tmp_path, f"exec 3>{pipe}; sleep 600 & echo >&3; wait\n")

    with environment_ahead(env, str(tmp_path)):
        reader = os.open(pipe, os.O_RDONLY)
        assert os.read(reader, 1)

    assert select([reader], [], [], 30)[0]
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_missing_directory_is_reported_when_it_matters(tmp_path: Path) -> None:
    env = surroundings_with(tmp_path, "x=1\n")

    with environment_ahead(env, str(tmp_path / "gone")), pytest.raises(FileNotFoundError):
        keeps_bash_env(env, str(tmp_path / "gone"))


def test_a_slow_profile_holds_up_no_other_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    slow = bench.attempt("true", first_on_path=str(tmp_path))
    begun, go = (bench.home / name for name in ("begun", "go"))
    os.mkfifo(begun)
    os.mkfifo(go)
    asks = "exec 9<>~/go; : >~/asked; echo >~/begun; read -r _ <&9"
    (bench.home / ".bash_profile").write_text(f"[[ -e ~/asked ]] || {{ {asks}; }}\n")

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(bench.run, slow)
        begun.read_text()
        outcome = bench.run(bench.attempt("true", login=False))
        # Raises, if the profile had to be ended for us to come to our turn.
        writer = os.open(go, os.O_WRONLY | os.O_NONBLOCK)
        os.write(writer, b"\n")
        assert outcome.ok
        assert waiting.result().ok
    os.close(writer)
