"""The size budget and the naming habits of the house, as a failing build."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LONGEST_FILE = 300
LONGEST_FUNCTION = 50
VAGUE = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base", "stuff"}
PAGES = {"README.md": 150, "ARCHITECTURE.md": 150, "CONTRIBUTING.md": 120}

TO_BE_SPLIT = {
    "tests/core/test_manifest.py": ["test_steps_json"],
}
"""What is over the budget today. Nothing may join; what is mended must leave."""

SOURCES = sorted(
    path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)

every_source = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each function with its length in lines. A docstring is documentation: it is not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            told = _lines(first) if ast.get_docstring(node) is not None else 0
            yield node.name, _lines(node) - told


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def too_long(path: Path) -> list[str]:
    """What of a file breaks the size budget."""
    text = path.read_text(encoding="utf-8")
    long = [name for name, length in functions(ast.parse(text)) if length > LONGEST_FUNCTION]
    return long + (["the file"] if text.count("\n") > LONGEST_FILE else [])


@every_source
def test_a_file_keeps_the_house_rules(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)

    assert too_long(path) == TO_BE_SPLIT.get(path.relative_to(ROOT).as_posix(), [])
    assert not VAGUE & set(path.stem.split("_"))
    if path.is_relative_to(ROOT / "src"):
        assert ast.get_docstring(tree), "a module says what it is for"


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
