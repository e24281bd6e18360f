"""The console blocks of the pages run, and print what the pages say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from oraclepack.cli.table import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/tutorial.md", "docs/how-to/go-on-after-a-failure.md"]
WRITTEN = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
    "README.md",
]


def fences(page: str) -> list[Token]:
    tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
    return [token for token in tokens if token.type == "fence"]


def sessions(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with what it should print."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            command, printed = found[-1]
            found[-1] = (command, printed + line)
    return found


def pattern(expected: str) -> str:
    """A text as a regular expression; the ellipsis stands for anything."""
    parts = [re.escape(part) for part in expected.replace("…\n", "…").split("…")]
    return "[\\s\\S]*?".join(parts)


def copy_to(place: Path) -> None:
    """This repository as far as the commands of the README need it: they may write there."""
    for name in ("src", "docs", "examples"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md"):
        shutil.copyfile(ROOT / name, place / name)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_says(page: str, tmp_path: Path) -> None:
    if page == "README.md":
        copy_to(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for fence in fences(page):
        if fence.info.startswith("markdown "):
            (tmp_path / fence.info.split()[1]).write_text(fence.content, encoding="utf-8")
        for command, expected in sessions(fence.content) if fence.info == "console" else []:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=os.environ | {"PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=60,
            )
            printed = done.stdout.decode()
            assert re.fullmatch(pattern(expected), printed), f"$ {command}\n{printed}"


def test_the_pack_of_the_readme_is_the_example() -> None:
    shown = [fence.content for fence in fences("README.md") if fence.info == "markdown"]

    assert shown == [(ROOT / "examples/hello.md").read_text(encoding="utf-8")]


def test_the_readme_lists_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    cells = re.findall(r"^\| (`.+?`) \| ", text, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w[\w-]*)", cell)]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("page", WRITTEN)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]

    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []
