"""The pages of the repository: their blocks, and the commands in them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent.parent
MADE = ("docs/cli.md", "docs/rules.md", "docs/settings.md")
"""Pages that are made from the program itself."""
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)
COMMAND_PAGES = [page for page in PAGES if page != "docs/cli.md"]
"""Pages with commands; docs/cli.md is the help itself."""
WRITTEN = [page for page in PAGES if page not in MADE]


def tokens(page: str) -> list[Token]:
    return MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))


def fences(page: str) -> list[Token]:
    return [token for token in tokens(page) if token.type == "fence"]


def has_sessions(page: str) -> bool:
    return any(fence.info == "console" for fence in fences(page))


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


class Said(NamedTuple):
    """A command line of ours, as a page says it."""

    page: str
    line: int
    words: str
    whole: bool
    """It stands in a block of its own, so that a reader may paste it."""


def said(page: str) -> Iterator[Said]:
    """Every command line of a page, in the order of the text."""
    for token in tokens(page):
        line = (token.map or [0])[0] + 1
        if token.type in ("fence", "code_block"):
            for words in commands_in(token.content):
                yield Said(page, line, words, whole=token.info != "console")
        for child in token.children or []:
            if child.type == "code_inline" and child.content.startswith("oraclepack "):
                yield Said(page, line, child.content, whole=False)


def commands_in(block: str) -> list[str]:
    """The lines of a block that call us: in bash, in a session, or in a job's YAML."""
    lines = block.replace("\\\n", " ").splitlines()
    return re.findall(r"^\s*(?:\$ |- )?(?:run: )?(oraclepack .*)$", "\n".join(lines), re.MULTILINE)


def in_bash(command: str, cwd: Path, *folders: Path) -> tuple[int, str]:
    """Run a line as a reader would, with us on PATH: its exit code and all that it printed."""
    path = [*map(str, folders), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=os.environ | {"PATH": os.pathsep.join(path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout.decode()


def play(page: str, place: Path) -> None:
    """Do what a page does: write its packs, run its sessions, compare what they print."""
    for fence in fences(page):
        if fence.info.startswith(("markdown ", "sh ")):
            (place / fence.info.split()[1]).write_text(fence.content, encoding="utf-8")
        for command, expected in sessions(fence.content) if fence.info == "console" else []:
            printed = in_bash(command, place)[1]
            assert re.fullmatch(pattern(expected), printed), f"$ {command}\n{printed}"
