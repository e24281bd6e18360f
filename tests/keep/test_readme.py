"""The README shows what is there: its pack, its commands, its links."""

import re

import pytest

from oraclepack.cli.root import COMMANDS
from tests.keep.pages import PAGES, ROOT, fences


def test_the_pack_of_the_readme_is_the_example() -> None:
    shown = [fence.content for fence in fences("README.md") if fence.info == "markdown"]

    assert shown == [(ROOT / "examples/hello.md").read_text(encoding="utf-8")]


def test_the_readme_lists_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    cells = re.findall(r"^\| (`.+?`) \| ", text, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w[\w-]*)", cell)]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]

    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []
