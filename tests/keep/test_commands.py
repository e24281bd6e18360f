"""Every command that a page tells of exists, with its flags; what can be pasted runs."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from oraclepack.cli.command_manifest import commands
from oraclepack.cli.root import root
from tests.authoring.repositories import a_repository
from tests.keep.pages import (
    COMMAND_PAGES,
    ROOT,
    Said,
    commands_in,
    has_sessions,
    in_bash,
    play,
    said,
)
from tests.packs import pack_text
from tests.scripted import scripted_tool

COMMANDS = dict(commands(root()))
GROUPS = {name.split()[0] for name in COMMANDS if " " in name}
LIBRARY = Path(__file__).parent.parent / "data/repositories/library"
WORDS = {
    "PACK": "pack.md",
    "NN": "01",
    "NAME": "run",
    "<pack_id>": "*",
    "src/billing": "src/ledger",
    "charge_customer": "open_book",
    "origin/main": "HEAD~1",
}
"""What stands for something of the reader's, and what it is here."""
EXPECTED = (0, 4, 5)
"""A page's commands succeed; the answers of our stand-in may fail a check or a policy."""
AFTER_A_RUN = ("docs/actionizer.md", "docs/report.md")
SESSIONS = [page for page in COMMAND_PAGES if has_sessions(page)]
PASTED = [
    page for page in COMMAND_PAGES if page not in SESSIONS and any(one.whole for one in said(page))
]


def examples() -> Iterator[Said]:
    """The examples in the help of each command."""
    for name, command in COMMANDS.items():
        for example in command.facts.examples:
            for words in commands_in(example):
                yield Said(f"{name} --help", 0, words, whole=False)


def fault(words: str) -> str:
    """What our own parser has against a command line; empty if it is fine."""
    command_line = re.sub(r"\|\S+", "", re.split(r" (?:[|>]|\|\||&&) ", words)[0])
    args = shlex.split(command_line, comments=True)[1:]
    if args[:1] and args[0] in GROUPS and len(args) == 1:
        return ""
    name = next((each for each in (" ".join(args[:2]), *args[:1]) if each in COMMANDS), None)
    if name is None:
        return f"there is no command {' '.join(args[:2])}"
    command = COMMANDS[name]
    try:
        command.make_context(name, args[len(name.split()) :])
    except click.UsageError as error:
        # In running text a command may be named without its arguments.
        missing = isinstance(error, click.MissingParameter) and len(args) == len(name.split())
        return "" if missing else error.format_message()
    return ""


@pytest.mark.parametrize("page", [*COMMAND_PAGES, "--help"])
def test_the_commands_of_a_page_exist_with_their_flags(page: str) -> None:
    found = examples() if page == "--help" else said(page)

    faults = {f"{one.page}:{one.line} {one.words}": fault(one.words) for one in found}
    assert {words: message for words, message in faults.items() if message} == {}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("oraclepack valdate pack.md", "there is no command valdate pack.md"),
        ("oraclepack validate --strikt pack.md", "No such option"),
        ("oraclepack cache explode 07", "there is no command cache explode"),
        ("oraclepack step why a.md 01 02", "unexpected extra argument"),
        ("oraclepack validate --format yaml a.md", "'yaml' is not one of"),
        ("oraclepack step why pack.md", "Missing argument"),
        ("oraclepack validate --json docs/ | jq '.data.counts'", ""),
        ("oraclepack new PACK --template single|runbook", ""),
        ("oraclepack actionize", ""),
        ("oraclepack tickets", ""),
    ],
)
def test_a_wrong_command_is_noticed(words: str, expected: str) -> None:
    found = fault(words)

    assert expected in found if expected else found == ""


@pytest.mark.parametrize("page", SESSIONS)
def test_the_sessions_of_a_page_print_what_it_says(page: str, tmp_path: Path) -> None:
    if page == "README.md":
        copy_to(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "stock.py").write_text("quantity = 1\n", encoding="utf-8")
    play(page, tmp_path)


def test_a_session_that_prints_something_else_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.md").write_text("```console\n$ oraclepack --version\noraclepack 0\n```\n")
    monkeypatch.setattr("tests.keep.pages.ROOT", tmp_path)

    with pytest.raises(AssertionError, match="oraclepack --version"):
        play("page.md", tmp_path)


def copy_to(place: Path) -> None:
    """This repository as far as the commands of the README need it: they may write there."""
    for name in ("src", "docs", "examples"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md"):
        shutil.copyfile(ROOT / name, place / name)


def asking(*numbers: int) -> str:
    """A pack in which these steps ask something; it owes no more under --strict."""
    allow = "# oraclepack: allow OP110, OP301, OP306 because it only shows how commands are given\n"
    question = 'oracle -p "What is {0} for?" --write-output out/{0:02}.md'
    steps = (
        f"# {number:02}) Step {number}\n"
        + (question.format(number) if number in numbers else "true")
        for number in range(1, max(numbers) + 1)
    )
    return pack_text(f"{allow}mkdir -p out\n" + "\n".join(steps))


def a_readers_project(place: Path) -> Path:
    """What the commands of the pages speak of: packs, tickets and answers."""
    return a_repository(
        place / "project",
        {"stock.py": "quantity = 0\n"},
        {
            "pack.md": asking(3, 7),
            "docs/pack.md": asking(1),
            "docs/oracle-pack.md": asking(1),
            "docs/answers/01-why.md": "# Direct answer\n\n- Add a check to `stock.py`.\n",
            "stock.py": "quantity = 1\n",
            ".tickets/T-1.md": "# Count again\n\n## Acceptance Criteria\n\n- [ ] it counts\n",
            ".gitignore": ".oraclepack/\n",
            **{
                f"src/{path.relative_to(LIBRARY).as_posix()}": path.read_bytes()
                for path in sorted((LIBRARY / "ledger").glob("*.py"))
            },
        },
    )


@pytest.mark.parametrize("page", PASTED)
def test_what_can_be_pasted_runs(page: str, tmp_path: Path) -> None:
    project = a_readers_project(tmp_path)
    oracle = scripted_tool(tmp_path / "tools")
    if page in AFTER_A_RUN:
        in_bash("oraclepack run docs/pack.md", project, oracle.folder)
    for line in dict.fromkeys(one.words for one in said(page) if one.whole):
        words = re.sub("|".join(map(re.escape, WORDS)), lambda match: WORDS[match[0]], line)
        if "$" not in words:
            code, printed = in_bash(words, project, oracle.folder)
            assert code in EXPECTED, f"{page}: {line}\n{printed}"
