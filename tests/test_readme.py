"""The console blocks of the pages run, and print what the pages say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from oraclepack.cli.table import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/tutorial.md"]
WRITTEN = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", *PAGES]


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


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_says(page: str, tmp_path: Path) -> None:
    place = ROOT if page == "README.md" else tmp_path
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for fence in fences(page):
        if fence.info.startswith("markdown "):
            (place / fence.info.split()[1]).write_text(fence.content, encoding="utf-8")
        for command, expected in sessions(fence.content) if fence.info == "console" else []:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=place,
                env=os.environ | {"PATH": path, "ROOM": str(tmp_path)},
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


def test_the_commands_of_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    listed = re.findall(r"^\| `(\w[\w-]*)", text, re.MULTILINE)
    assert listed
    assert set(listed) <= set(COMMANDS)


@pytest.mark.parametrize("page", WRITTEN)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]

    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []
