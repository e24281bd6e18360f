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
    "_hashlib",
    "ast",
    "asyncio",
    "click.termui",
    "concurrent.futures",
    "decimal",
    "dotenv",
    "gettext",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "ipaddress",
    "logging",
    "markdown_it",
    "msgspec.inspect",
    "pkgutil",
    "platform",
    "platformdirs",
    "random",
    "rapidfuzz",
    "rich",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "tenacity",
    "textwrap",
    "tomllib",
    "tree_sitter",
    "typing_extensions",
    "unittest",
    "urllib.parse",
    "urllib.request",
    "uuid",
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


CHECKS_PACKS = {"tree_sitter", "subprocess", "tomllib"}
DESCRIBES = {"decimal", "msgspec.inspect", "platform", "textwrap", "uuid"}

ALLOWED = [
    pytest.param(["--version"], set(), id="--version"),
    pytest.param(["--help"], set(), id="--help"),
    pytest.param(
        ["validate", "--help"], {"shutil", "subprocess", "textwrap"}, id="validate --help"
    ),
    pytest.param(["schema"], set(), id="schema"),
    pytest.param(["schema", "envelope"], DESCRIBES, id="schema envelope"),
    pytest.param(["explain", "OP201"], {"textwrap", "tomllib"}, id="explain"),
    pytest.param(["config", "show"], {"tomllib"}, id="config show"),
    pytest.param(["completion", "bash"], {"gettext"}, id="completion"),
    pytest.param(["validate", "pack.md"], CHECKS_PACKS, id="validate"),
    pytest.param(["list", "pack.md"], {"tree_sitter", "tomllib"}, id="list"),
]


@pytest.mark.parametrize(("args", "allowed"), ALLOWED)
def test_a_command_loads_no_more_than_it_needs(
    args: list[str], allowed: set[str], tmp_path: Path
) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    assert imported(tmp_path, *args) & HEAVY <= allowed


def test_what_is_loaded_is_noticed(tmp_path: Path) -> None:
    quoted = pack_text("# 01) x\ntrue\n") + "\n> a quotation\n"
    (tmp_path / "pack.md").write_text(quoted, encoding="utf-8")

    assert {"markdown_it", "tree_sitter"} <= imported(tmp_path, "list", "pack.md") & HEAVY


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["-h"]], ids=lambda args: args[0])
def test_static_answers_load_nothing_of_ours(args: list[str], tmp_path: Path) -> None:
    ours = {name for name in imported(tmp_path, *args) if name.startswith("oraclepack")}

    assert ours == {"oraclepack", "oraclepack.__main__"}


def test_no_command_loads_another(tmp_path: Path) -> None:
    loaded = imported(tmp_path, "schema")

    commands = {name for name in loaded if name.startswith("oraclepack.cli.commands.")}
    assert commands == {"oraclepack.cli.commands.schema"}
