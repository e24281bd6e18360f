"""The naming habits of the house, as a failing build."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
VAGUE = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base", "stuff"}
PAGES = {"README.md": 200, "ARCHITECTURE.md": 150, "CONTRIBUTING.md": 150, "AGENTS.md": 80}

MOST_IMPORTS_IN_FUNCTIONS = 30
MOST_SUPPRESSIONS = 60
MOST_TINY_MODULES = 15

SOURCES = sorted(
    path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)

MODULES = [path for path in SOURCES if path.is_relative_to(ROOT / "src")]

every_source = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@every_source
def test_a_file_keeps_the_house_rules(path: Path) -> None:
    assert not VAGUE & set(path.stem.split("_"))
    if path.is_relative_to(ROOT / "src"):
        assert ast.get_docstring(tree_of(path)), "a module says what it is for"


@pytest.mark.parametrize(("page", "most"), PAGES.items())
def test_a_page_stays_short(page: str, most: int) -> None:
    assert (ROOT / page).read_text(encoding="utf-8").count("\n") <= most


@pytest.mark.parametrize(
    "args",
    [
        ["validate-config", ".pre-commit-config.yaml"],
        ["validate-manifest", ".pre-commit-hooks.yaml"],
    ],
    ids=lambda args: args[1],
)
def test_pre_commit_accepts_its_files(args: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "pre_commit", *args], cwd=ROOT, check=True)


def test_the_ruff_of_pre_commit_is_the_tested_one() -> None:
    tested = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")

    version = next(line for line in tested if line.startswith("ruff=="))
    assert hooks.count(f'["{version}"]') == 2


def test_functions_import_few_modules_of_ours() -> None:
    """They are for the seams that ARCHITECTURE.md names."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom | ast.Import)
        if any(name.split(".")[0] == "oraclepack" for name in imported_names(node))
    }

    assert len(found) <= MOST_IMPORTS_IN_FUNCTIONS, sorted(found)


def imported_names(node: ast.ImportFrom | ast.Import) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return ["oraclepack" if node.level else node.module or ""]
    return [alias.name for alias in node.names]


def test_module_names_and_public_classes_are_unique() -> None:
    modules = Counter(path.stem for path in MODULES if path.stem != "__init__")
    classes = Counter(
        node.name
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, count in (modules + classes).items() if count > 1] == []


def test_few_modules_are_tiny() -> None:
    """A module with one small function belongs in its user."""
    tiny = [
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if path.stem != "__init__" and path.read_text(encoding="utf-8").count("\n") < 40
    ]

    assert len(tiny) <= MOST_TINY_MODULES, tiny


def test_suppressed_findings_stay_rare() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in SOURCES
        if not path.is_relative_to(ROOT / "tests/data")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"#\s*(ruff:\s*)?noqa\b", line)
    ]

    assert len(found) <= MOST_SUPPRESSIONS, found
