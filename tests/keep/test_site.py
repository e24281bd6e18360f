"""Links of pages on the site lead to the same pages as in the repository."""

import re

import pytest

from tests.site_pages import ON_SITE, ROOT, site_links


@pytest.mark.parametrize(
    ("page", "link", "on_site"),
    [
        pytest.param("README.md", "docs/ci.md", "ci.md", id="down from the top"),
        pytest.param("README.md", "docs/how-to/tui.md", "how-to/tui.md", id="further down"),
        pytest.param("README.md", "docs/README.md", "pages.md", id="the list of pages"),
        pytest.param("README.md", "docs/images/a.png", "images/a.png", id="a picture"),
        pytest.param("docs/ci.md", "cli.md", "cli.md", id="beside it"),
        pytest.param("docs/ci.md", "../RELIABILITY.md", "RELIABILITY.md", id="up"),
        pytest.param("docs/ci.md", "how-to/tui.md", "how-to/tui.md", id="down"),
        pytest.param("docs/how-to/tui.md", "../../README.md", "../index.md", id="to the top"),
        pytest.param("docs/how-to/tui.md", "../ci.md", "../ci.md", id="up one"),
        pytest.param("docs/README.md", "cli.md", "cli.md", id="from the list"),
        pytest.param(
            "docs/ci.md", "https://example.org/a.md", "https://example.org/a.md", id="out"
        ),
        pytest.param("docs/ci.md", "#money", "#money", id="within the page"),
    ],
)
def test_a_link_on_the_site(page: str, link: str, on_site: str) -> None:
    assert site_links(f"a [b]({link}) c", page) == f"a [b]({on_site}) c"


def test_a_link_to_a_heading_keeps_it() -> None:
    assert site_links("[a](../../README.md#b)", "docs/how-to/tui.md") == "[a](../index.md#b)"


def test_no_example_on_a_page_holds_a_link_that_would_change() -> None:
    pages = [*ON_SITE, *(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]
    fences = {
        page: "".join(re.findall(r"(?ms)^(?:`{3,}).*?^`{3,}", (ROOT / page).read_text("utf-8")))
        for page in pages
    }

    assert [page for page, code in fences.items() if site_links(code, page) != code] == []
