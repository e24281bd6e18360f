"""The key that everything is signed with: made once, and used only where no other user had it."""

import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oraclepack.errors import MachineError, OraclePackError, UsageError
from oraclepack.system import trust_key
from oraclepack.system.trust_key import find_key, key_file, make_key

SHARED = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_file() -> Iterator[None]:
    yield
    trust_key.use_file("")


def test_looking_makes_no_key() -> None:
    assert find_key() is None
    assert not key_file().parent.exists()


def test_a_key_is_made_once_and_for_its_owner_alone(home: Path) -> None:
    made = make_key()

    assert (make_key(), find_key()) == (made, made)
    assert key_file().is_relative_to(home)
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file().parent.stat().st_mode) == 0o700
    assert [path.name for path in key_file().parent.iterdir()] == ["trust.key"]


def test_processes_that_begin_together_have_one_key() -> None:
    program = "from oraclepack.system.trust_key import make_key; print(make_key().hex())"
    begun = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(6)
    ]

    keys = {process.communicate()[0] for process in begun}

    assert len(keys) == 1
    assert len(keys.pop().strip()) == 64


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda path: path.chmod(0o640), "others may read", id="readable for a group"),
        pytest.param(lambda path: path.chmod(0o602), "others may read", id="writable for all"),
        pytest.param(_link, "symbolic link", id="a link"),
        pytest.param(lambda path: path.write_text("short"), "at least 32", id="too short"),
    ],
)
def test_a_key_that_others_may_know_is_refused_and_left(
    change: Callable[[Path], None], words: str
) -> None:
    make_key()
    change(key_file())
    before = key_file().read_bytes()

    for use in (find_key, make_key):
        with pytest.raises(OraclePackError, match=words):
            use()
    assert key_file().read_bytes() == before


def test_a_directory_in_its_place_is_refused() -> None:
    key_file().mkdir(parents=True)

    with pytest.raises(MachineError, match="no regular file"):
        make_key()


def test_where_none_can_be_made_a_shared_one_is_proposed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    with pytest.raises(MachineError) as caught:
        make_key()

    assert "ORACLEPACK_TRUST_KEY" in caught.value.hint


def test_a_shared_key_is_the_same_wherever_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = make_key()
    (tmp_path / "key").write_text(f"{SHARED}\n")
    (tmp_path / "key").chmod(0o600)
    trust_key.use_file(str(tmp_path / "key"))
    from_file = find_key()
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", SHARED)

    assert find_key() == from_file != own


def test_the_users_own_key_can_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    own = make_key()
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", key_file().read_text())

    assert find_key() == own


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("keys/team", "absolute", id="one that the project could bring"),
        pytest.param("/nowhere/team", "gone", id="one that is not there"),
    ],
)
def test_a_key_file_that_cannot_be_meant_is_an_error(path: str, words: str) -> None:
    trust_key.use_file(path)

    with pytest.raises(OraclePackError, match=words):
        find_key()


def test_a_short_key_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", "hunter2")

    with pytest.raises(UsageError) as caught:
        find_key()

    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_a_key_that_came_with_a_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a home inside of a clone, and a umask that lets no other user read its files."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key_file().parent.mkdir(parents=True)
    key_file().write_text(SHARED)
    key_file().chmod(0o600)
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    with pytest.raises(MachineError, match="git tracks it"):
        find_key()
