"""The README shows what is there: its pack, its commands, its links."""

import re
from pathlib import Path

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
    assert sorted(listed) == sorted(COMMANDS), listed


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]

    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """The names by which headings of a page can be linked to."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1", "", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"\s+", "-", one) for one in words}


@pytest.mark.parametrize("page", PAGES)
def test_links_to_headings_lead_to_one(page: str) -> None:
    here = ROOT / page
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", here.read_text(encoding="utf-8"))
    missing = [
        f"{name}#{anchor}"
        for name, anchor in links
        if (name.endswith(".md") or not name)
        and anchor not in anchors(here.parent / name if name else here)
    ]
    assert missing == []
