"""The private directory: who stands in it, and where it may lie."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.calls.shim_dir import ShimDir
from oraclepack.calls.tool_process import Toolbox
from oraclepack.errors import MachineError
from oraclepack.system.environment import MARKER_VARIABLE, private_directory
from tests.faults import failing
from tests.scripted import scripted_tool


@pytest.fixture
def tools(tmp_path: Path) -> str:
    for name in ("codex", "npx"):
        scripted_tool(tmp_path / "tools", name)
    return str(tmp_path / "tools")


@pytest.fixture
def made(tools: str) -> Iterator[ShimDir]:
    with private_directory() as folder:
        yield ShimDir.make(folder, tools, None)


def names(folder: ShimDir) -> set[str]:
    return {entry.name for entry in folder.path.iterdir()} - {"client", "bash_env", "node.cjs"}


def test_it_stands_in_for_what_is_there_and_for_oracle(made: ShimDir) -> None:
    assert names(made) == {"oracle", "codex", "npx", "oraclepack"}


def test_more_stand_in_when_another_path_is_covered(made: ShimDir, tmp_path: Path) -> None:
    scripted_tool(tmp_path / "more", "gemini")
    made.cover(f"{tmp_path / 'more'}:{made.path}")
    made.cover(str(tmp_path / "more"))

    assert names(made) == {"oracle", "codex", "gemini", "npx", "oraclepack"}


@pytest.mark.parametrize("umask", [0o022, 0o177, 0o777])
def test_its_programs_can_be_started_whatever_the_umask(tools: str, umask: int) -> None:
    with private_directory() as folder:
        before = os.umask(umask)
        try:
            made = ShimDir.make(folder, tools, None)
        finally:
            os.umask(before)
        assert all(os.access(made.path / name, os.X_OK) for name in names(made))


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


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("x" * 120, "too long", id="too long a path for a socket"),
        pytest.param("a:b", "colon", id="a colon in a directory of PATH"),
    ],
)
def test_a_directory_that_is_not_fit_is_an_error_with_a_way_out(
    name: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()

    with pytest.raises(MachineError, match=problem) as raised:
        ShimDir.make(tmp_path / name, "", None)
    assert "TMPDIR" in raised.value.hint


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with failing(3), pytest.raises(MachineError, match="No space left"):
        ShimDir.make(tmp_path, "", None)


def test_nothing_of_it_is_left(tmp_path: Path) -> None:
    ShimDir.make(tmp_path, "", None).remove()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("set_by_step", "restored"),
    [
        pytest.param({}, {}, id="what we hid, changed and added"),
        pytest.param({"KEY": "step"}, {"KEY": "step"}, id="a variable that we hid"),
        pytest.param({"HOME": "/step"}, {"HOME": "/step"}, id="one that we changed"),
        pytest.param({"NEW": "1", "PATH": "/step"}, {"NEW": "1", "PATH": "/step"}, id="new ones"),
    ],
)
def test_a_caller_environment_without_our_changes(
    set_by_step: dict[str, str], restored: dict[str, str], made: ShimDir
) -> None:
    own = {"PATH": "/bin", "HOME": "/user", "KEY": "secret", "NODE_OPTIONS": "--trace"}
    given = made.environment({"PATH": "/bin", "HOME": "/empty", "NODE_OPTIONS": "--trace"})
    function = {"BASH_FUNC_oracle%%": f'() {{ {made.path}/oracle "$@"; }}', MARKER_VARIABLE: "t"}
    tools = Toolbox(made, own, given)

    env = tools.restored({**given, **function, "PATH": "/bin", **set_by_step})

    assert env == own | restored
    assert tools.restored({"NODE_OPTIONS": f"--no-color {made.node_option}"}) == {
        "KEY": "secret",
        "NODE_OPTIONS": "--no-color ",
    }


def test_a_function_leads_to_the_shim_whatever_path_says(made: ShimDir, tmp_path: Path) -> None:
    scripted_tool(tmp_path / "other", "codex")
    script = f"PATH={tmp_path}/other:$PATH; hash -p {tmp_path}/other/codex codex; type -t codex"
    env = made.environment({"PATH": os.environ["PATH"]})

    for words in (["bash", "-c", script], ["bash", "-c", f"bash --posix -c '{script}'"]):
        said = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
        assert (said.stdout, said.stderr) == ("function\n", "")


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

    tool = Toolbox(made, {"PATH": path(own)}).find("codex", path(step))

    assert (tool and tool.program) == (found and str(places[found] / "codex"))
    assert tool is None or tool.path == str(places[found or ""])
