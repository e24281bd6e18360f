"""The private directory: who stands in it, and where it may lie."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.adapters import shim_dir
from oraclepack.adapters.real_tool import Toolbox
from oraclepack.adapters.shim_dir import ShimDir, sweep
from oraclepack.core.errors import WorldError
from tests.scripted import scripted_tool


@pytest.fixture
def tools(tmp_path: Path) -> str:
    for name in ("codex", "npx"):
        scripted_tool(tmp_path / "tools", name)
    return str(tmp_path / "tools")


@pytest.fixture
def made(tools: str) -> Iterator[ShimDir]:
    folder = ShimDir.make(tools, None)
    yield folder
    folder.remove()


def names(folder: ShimDir) -> set[str]:
    return {entry.name for entry in folder.path.iterdir()} - {"client", "bash_env"}


def test_it_stands_in_for_what_is_there_and_for_oracle(made: ShimDir) -> None:
    assert names(made) == {"oracle", "codex", "npx", "oraclepack"}


def test_more_stand_in_when_another_path_is_covered(made: ShimDir, tmp_path: Path) -> None:
    scripted_tool(tmp_path / "more", "gemini")
    made.cover(f"{tmp_path / 'more'}:{made.path}")
    made.cover(str(tmp_path / "more"))

    assert names(made) == {"oracle", "codex", "gemini", "npx", "oraclepack"}


def test_only_its_owner_may_look_inside(made: ShimDir) -> None:
    modes = {
        entry.lstat().st_mode & 0o077 for entry in made.path.iterdir() if not entry.is_symlink()
    }

    assert modes == {0}
    assert made.path.stat().st_mode & 0o777 == 0o700


def test_the_running_oraclepack_is_there_too(made: ShimDir, tmp_path: Path) -> None:
    (tmp_path / "oraclepack.py").write_text("raise SystemExit('the wrong one')")

    with os.popen(f"cd {tmp_path} && {made.path}/oraclepack --version") as out:
        assert out.read().startswith("oraclepack ")


@pytest.mark.parametrize("name", ["x" * 120, "a:b"])
def test_a_temporary_directory_that_is_not_fit_is_passed_over(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / name
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    made = ShimDir.make("", None)
    made.remove()

    assert odd not in made.path.parents
    assert list(odd.iterdir()) == []


def test_no_fit_directory_at_all_is_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shim_dir, "_parents", lambda: iter([str(tmp_path / "nowhere")]))

    with pytest.raises(WorldError) as raised:
        ShimDir.make("", None)
    assert "TMPDIR" in raised.value.hint


def test_what_killed_runs_left_is_removed_after_a_day(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as alive, socket.socket(socket.AF_UNIX) as dead:
        for name, listener in (("oraclepack-alive", alive), ("oraclepack-dead", dead)):
            (tmp_path / name).mkdir()
            listener.bind(str(tmp_path / name / "gateway"))
            listener.listen()
        dead.close()
        (tmp_path / "oraclepack-new").mkdir()
        born = (tmp_path / "oraclepack-new").stat().st_mtime

        sweep(tmp_path, born + 3600)
        assert len(list(tmp_path.iterdir())) == 3
        sweep(tmp_path, born + 25 * 3600)

    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {"oraclepack-alive", "oraclepack-new"}


@pytest.mark.parametrize(
    ("own", "step", "found"),
    [
        pytest.param("tools", "other", "tools", id="on our PATH first"),
        pytest.param("", "other", "other", id="on the step's PATH else"),
        pytest.param("shims:tools", "shims", "tools", id="never a stand-in"),
        pytest.param("shims", "shims", None, id="and nowhere if it is nowhere"),
    ],
)
def test_where_the_real_tool_is(
    own: str, step: str, found: str | None, made: ShimDir, tmp_path: Path
) -> None:
    scripted_tool(tmp_path / "other", "codex")
    places = {name: tmp_path / name for name in ("tools", "other")} | {"shims": made.path}

    def path(names: str) -> str:
        return ":".join(str(places[name]) for name in names.split(":") if name)

    tool = Toolbox(made.path, {"PATH": path(own)}).find("codex", path(step))

    assert (tool and tool.program) == (found and str(places[found] / "codex"))
    assert tool is None or tool.path == str(places[found or ""])
