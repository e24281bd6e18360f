"""docs/security.md says of every setting what a project may do with it, and names real tests."""

import re

import pytest

from oraclepack.settings.project_rules import SettingScope
from oraclepack.settings.registry import SETTINGS
from tests.keep.pages import ROOT

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")


def part(heading: str) -> str:
    """What stands below a heading of the third level."""
    return re.split(
        r"^##", PAGE.partition(f"\n### {heading}\n")[2], maxsplit=1, flags=re.MULTILINE
    )[0]


@pytest.mark.parametrize("scope", SettingScope)
def test_each_setting_is_listed_under_its_kind(scope: SettingScope) -> None:
    shown = part(scope)
    names = {
        re.sub(r"^(providers)\.\w+", r"\1.*", s.name) for s in SETTINGS if s.project.scope is scope
    }

    assert {name for name in names if f"`{name}`" not in shown} == set()


def test_the_direction_of_each_limit_is_documented() -> None:
    rows = dict(
        re.findall(r"^\| `([^`]+)` \| (.+) \|$", part(SettingScope.TIGHTEN_ONLY), re.MULTILINE)
    )
    limits = {
        re.sub(r"^(providers)\.\w+", r"\1.*", s.name): s.project.limit
        for s in SETTINGS
        if s.project.scope is SettingScope.TIGHTEN_ONLY
    }

    assert rows == limits


def test_every_test_that_a_page_names_exists() -> None:
    pages = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    named = {
        name
        for page in pages
        for name in re.findall(r"\btests/[\w/]+\.py\b", page.read_text(encoding="utf-8"))
    }

    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_every_row_about_who_can_do_what_names_a_test() -> None:
    rows = [line for line in _section("Who can do what").splitlines() if line.startswith("| ")][1:]

    assert len(rows) >= 12
    assert [row for row in rows if "`tests/" not in row.rsplit("|", 2)[1]] == []


def _section(heading: str) -> str:
    return re.split(
        r"^## ", PAGE.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE
    )[0]
