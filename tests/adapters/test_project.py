from pathlib import Path

import pytest

from oraclepack.adapters.project import project_root
from oraclepack.core.errors import UsageError


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


def test_a_linked_pack_belongs_to_the_project_it_lies_in(tree: Path) -> None:
    (tree / "plain" / "link.md").symlink_to(tree / "repo" / "pack.md")

    assert project_root(str(tree / "plain" / "link.md")) == tree / "repo"


def test_a_bad_cwd_is_refused(tree: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        project_root(None, str(tree / "none"))
