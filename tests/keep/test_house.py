"""The habits of the house, as a failing build."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
VAGUE = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base", "stuff"}
MOST_IMPORTS_IN_FUNCTIONS = 30
MOST_SUPPRESSIONS = 60
SOURCES = sorted(
    path
    for folder in ("src", "tests", "bench")
    for path in (ROOT / folder).rglob("*.py")
    if not path.is_relative_to(ROOT / "tests/data")
)


def test_every_file_keeps_the_house_rules() -> None:
    """Vague names, modules that do not say what they are for, imports and findings hidden away."""
    vague, silent, hidden_imports, suppressed = [], [], [], []
    for path in SOURCES:
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if VAGUE & set(path.stem.split("_")):
            vague.append(name)
        suppressed += [
            f"{name}: {line.strip()}"
            for line in text.splitlines()
            if re.search(r"#\s*(ruff:\s*)?noqa\b", line)
        ]
        if path.is_relative_to(ROOT / "src"):
            tree = ast.parse(text)
            if not ast.get_docstring(tree):
                silent.append(name)
            hidden_imports += [f"{name}:{line}" for line in imports_in_functions(tree)]

    assert (vague, silent) == ([], [])
    assert len(hidden_imports) <= MOST_IMPORTS_IN_FUNCTIONS, hidden_imports
    assert len(suppressed) <= MOST_SUPPRESSIONS, suppressed


def imports_in_functions(tree: ast.Module) -> set[int]:
    """The lines on which a function imports a module of ours: the seams of ARCHITECTURE.md."""
    return {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom | ast.Import)
        if any(name.split(".")[0] == "oraclepack" for name in imported_names(node))
    }


def imported_names(node: ast.ImportFrom | ast.Import) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return ["oraclepack" if node.level else node.module or ""]
    return [alias.name for alias in node.names]


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


def test_no_folder_is_larger_than_its_ceiling() -> None:
    """A ceiling may be lowered in any commit, and raised with a reason in docs/decisions.md."""
    rows = (ROOT / "tests/keep/ceilings.txt").read_text(encoding="utf-8").splitlines()
    ceilings = {name: int(most) for name, most in (row.split() for row in rows)}
    package = ROOT / "src/oraclepack"
    lines = Counter[str]()
    for path in package.rglob("*.py"):
        folder, *rest = path.relative_to(package).parts
        text = path.read_text(encoding="utf-8")
        lines[folder if rest else "."] += len(text.splitlines())

    assert set(lines) == set(ceilings)
    too_large = {name: count for name, count in lines.items() if count > ceilings[name]}
    assert too_large == {}
