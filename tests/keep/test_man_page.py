"""The manual page has every command and exit code, and no text that is a request of roff."""

import re

from oraclepack.cli.command_manifest import commands
from oraclepack.cli.root import root
from oraclepack.errors import ExitCode
from tests.keep.pages import ROOT
from tests.man_page import man_page

REQUESTS = {".TH", ".SH", ".TP", ".B", ".BR", ".RI", ".I", '.\\"'}


def test_every_command_and_exit_code_is_on_the_page() -> None:
    titles = re.findall(r"^\.B (.+)$", man_page().replace("\\-", "-"), re.MULTILINE)
    missing = [name for name, _ in commands(root()) if not _begins(titles, name)]

    assert missing == []
    assert [code for code in ExitCode if str(int(code)) not in titles] == []


def _begins(titles: list[str], name: str) -> bool:
    return any(title == name or title.startswith(f"{name} ") for title in titles)


def test_only_known_requests_begin_a_line() -> None:
    lines = [line for line in man_page().splitlines() if line.startswith((".", "'"))]

    assert {line.split(" ")[0] for line in lines} <= REQUESTS
    assert man_page().isascii()


def test_the_page_is_installed_with_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert '"docs/oraclepack.1" = "share/man/man1/oraclepack.1"' in project
