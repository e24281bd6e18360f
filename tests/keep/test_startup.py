"""Each command loads what it needs and no more."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packs import pack_text

SPY = """
import sys
before = set(sys.modules)
sys.argv[1:] = {args!r}
from oraclepack.__main__ import main
code = main()
sys.stderr.write("\\n".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""

HEAVY = {
    "asyncio",
    "dask",
    "distributed",
    "importlib.metadata",
    "jinja2",
    "junitparser",
    "markdown_it",
    "matplotlib",
    "mcp",
    "nh3",
    "psycopg",
    "rapidfuzz",
    "rich",
    "textual",
    "tree_sitter",
}
"""Modules that cost a short command too much, alone or by what they load."""


def imported(place: Path, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SPY.format(args=list(args))],
        cwd=place,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.decode().splitlines())


READS_PACKS = {"markdown_it", "tree_sitter"}

ALLOWED = [
    pytest.param(["--version"], set(), id="--version"),
    pytest.param(["--help"], set(), id="--help"),
    pytest.param(["config", "schema"], set(), id="schema"),
    pytest.param(["explain", "OP201"], set(), id="explain"),
    pytest.param(["config", "show"], {"markdown_it"}, id="config show"),
    pytest.param(["config", "completion", "bash"], set(), id="completion"),
    pytest.param(["validate", "pack.md"], READS_PACKS, id="validate"),
    pytest.param(["list", "pack.md"], READS_PACKS, id="list"),
    pytest.param(["run", "--quiet", "pack.md"], READS_PACKS, id="run"),
]


@pytest.mark.parametrize(("args", "allowed"), ALLOWED)
def test_a_command_loads_no_more_than_it_needs(
    args: list[str], allowed: set[str], tmp_path: Path
) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    assert imported(tmp_path, *args) & HEAVY <= allowed


def test_what_is_loaded_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    assert imported(tmp_path, "list", "pack.md") & HEAVY == READS_PACKS


UNUSED = {
    "difflib",
    "oraclepack.journal.events",
    "oraclepack.run.run",
    "platformdirs",
    "tomllib",
    "traceback",
}
"""What only some commands need, and all would load if it stood at the top of a common module."""


@pytest.mark.parametrize(
    ("args", "more"),
    [
        pytest.param(["config", "schema"], {"hashlib", "tree_sitter"}, id="schema"),
        pytest.param(["explain", "OP201"], {"hashlib", "oraclepack.doctor"}, id="explain"),
        pytest.param(["config", "show"], {"hashlib", "random"}, id="config show"),
        pytest.param(["config", "completion", "bash"], {"hashlib"}, id="completion"),
    ],
)
def test_a_command_that_runs_nothing_loads_nothing_of_runs(
    args: list[str], more: set[str], tmp_path: Path
) -> None:
    assert imported(tmp_path, *args) & (UNUSED | more) == set()


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("validate", {"oraclepack.run.run", "tomllib"}),
        ("list", {"oraclepack.answers.verify_pack", "oraclepack.run.run", "tomllib"}),
    ],
)
def test_a_command_that_reads_packs_loads_nothing_that_runs_them(
    command: str, unused: set[str], tmp_path: Path
) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    assert imported(tmp_path, command, "pack.md") & unused == set()


def test_a_run_with_nothing_left_to_do_loads_nothing_that_runs_steps(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")
    unused = {"oraclepack.calls.server", "oraclepack.run.step", "socket"}

    first, again = (imported(tmp_path, "run", "--quiet", "pack.md") for _ in range(2))

    assert first & unused == unused
    assert again & unused == set()


UUID_AND_DECIMAL = """
import sys
sys.argv[1:] = ["list", "pack.md"]
from oraclepack.__main__ import main
code = main()
import decimal, uuid, msgspec
msgspec.json.encode([uuid.uuid4(), decimal.Decimal("1.50")])
sys.exit(code)
"""


def test_a_command_leaves_the_libraries_whole(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    subprocess.run([sys.executable, "-c", UUID_AND_DECIMAL], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["-h"]], ids=lambda args: args[0])
def test_static_answers_load_nothing_of_ours(args: list[str], tmp_path: Path) -> None:
    ours = {name for name in imported(tmp_path, *args) if name.startswith("oraclepack")}

    assert ours == {"oraclepack", "oraclepack.__main__"}


def test_no_command_loads_another(tmp_path: Path) -> None:
    loaded = imported(tmp_path, "config", "schema")

    commands = {name for name in loaded if name.startswith("oraclepack.cli.commands.")}
    assert commands == {"oraclepack.cli.commands.config"}
