"""Which files are tickets."""

import pytest

from oraclepack.tickets.identify import chosen_paths, matches
from oraclepack.tickets.ticket import TicketOptions


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        pytest.param("**/*.md", "a.md", True, id="stars for no directory"),
        pytest.param("**/*.md", "a/b/c.md", True, id="stars for two"),
        pytest.param("**/*.md", "a.txt", False, id="another ending"),
        pytest.param("*.md", "a/b.md", True, id="without a slash, anywhere"),
        pytest.param("./*.md", "b.md", True, id="a dot first means nothing"),
        pytest.param("a/*.md", "a/b/c.md", False, id="one star stays in its directory"),
        pytest.param("a/**", "a/b/c.md", True, id="stars at the end"),
        pytest.param("archive/", "archive/x/y.md", True, id="a directory"),
        pytest.param(
            "archive/", "old/archive/x.md", False, id="a directory stands where it is named"
        ),
        pytest.param("T-?.md", "T-1.md", True, id="one letter"),
        pytest.param("T-?.md", "T-12.md", False, id="not two"),
        pytest.param("[ab]*.md", "b1.md", True, id="a set"),
        pytest.param("[!ab]*.md", "b1.md", False, id="not in a set"),
        pytest.param("a+(b).md", "a+(b).md", True, id="other signs are letters"),
        pytest.param("ü*.md", "über.md", True, id="Unicode"),
        pytest.param("[", "[", True, id="an open bracket is a letter"),
    ],
)
def test_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_include_and_exclude_narrow_the_glob() -> None:
    options = TicketOptions(tickets_dir=".", include=("a/", "b/"), exclude=("*-old.md",))
    paths = ["b/2.md", "a/1.md", "a/1-old.md", "c/3.md", "a/1.txt"]

    assert chosen_paths(paths, options) == ("a/1.md", "b/2.md")
