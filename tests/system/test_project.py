import os
from pathlib import Path

import pytest

from oraclepack.errors import UsageError
from oraclepack.system.environment import has_runs, project_of, project_root, root_of_place


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository `repo`, a plain folder `plain`, and we stand in `repo/sub`."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "sub").mkdir()
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "repo" / "sub")
    return tmp_path


@pytest.mark.parametrize(
    ("pack", "flag", "root"),
    [
        pytest.param("pack.md", "", "repo", id="the git top level of the pack"),
        pytest.param("../../plain/pack.md", "", "repo/sub", id="no git: where we stand"),
        pytest.param(None, "", "repo", id="no pack: the git top level of where we stand"),
        pytest.param("pack.md", "../../plain", "plain", id="--cwd wins"),
        pytest.param(".", "", "repo", id="a directory of packs"),
    ],
)
def test_project_root(tree: Path, pack: str | None, flag: str, root: str) -> None:
    assert project_root(pack, flag).resolve() == tree / root


@pytest.mark.parametrize(
    ("place", "root"),
    [
        pytest.param(".", None, id="where we stand"),
        pytest.param("below", None, id="a folder below"),
        pytest.param("..", None, id="a repository"),
        pytest.param("../../plain", "plain", id="a folder elsewhere"),
        pytest.param("../../plain/pack.md", None, id="a pack elsewhere, as for run"),
        pytest.param("../../used", "used", id="a folder elsewhere with runs"),
        pytest.param("../../used/pack.md", "used", id="a pack elsewhere beside its runs"),
    ],
)
def test_the_root_of_a_place_that_the_screens_open(
    tree: Path, place: str, root: str | None
) -> None:
    (tree / "repo/sub/below").mkdir()
    (tree / "used/.oraclepack/runs").mkdir(parents=True)

    assert root_of_place(Path(place)) == (tree / root if root else None)


def test_a_linked_pack_belongs_to_the_project_it_lies_in(tree: Path) -> None:
    (tree / "plain" / "link.md").symlink_to(tree / "repo" / "pack.md")

    assert project_root(str(tree / "plain" / "link.md")) == tree / "repo"


def test_a_bad_cwd_is_refused(tree: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        project_root(None, str(tree / "none"))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param(".oraclepack/runs/r", ".", id="where runs lie"),
        pytest.param("moved/runs/r", None, id="in another folder of that name"),
        pytest.param("my.oraclepack/runs/r", None, id="a name that only ends like ours"),
    ],
)
def test_the_project_of_a_run_directory(tmp_path: Path, place: str, expected: str | None) -> None:
    (tmp_path / place).mkdir(parents=True)

    assert project_of(tmp_path / place) == (tmp_path / expected if expected else None)
    assert has_runs(tmp_path) is (expected is not None)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes files of another user")
@pytest.mark.parametrize(
    ("mode", "is_theirs", "is_root"),
    [
        pytest.param(0o1777, True, False, id="planted where every user may write"),
        pytest.param(0o1777, False, True, id="the user's own there"),
        pytest.param(0o755, True, True, id="of another user, in a directory of their own"),
    ],
)
def test_another_user_makes_no_project_of_a_public_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, *, is_theirs: bool, is_root: bool
) -> None:
    public = tmp_path / "public"
    (public / "work").mkdir(parents=True)
    (public / ".git").mkdir()
    public.chmod(mode)
    monkeypatch.chdir(public / "work")
    if is_theirs:
        os.chown(public / ".git", 4711, -1)

    assert project_root("pack.md") == (public if is_root else public / "work")
