"""Names of outputs in the run directory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.pack.output_names import LONGEST_SLUG, output_names, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Direct Answer", "direct-answer"),
        ("  --a__b..c--  ", "a-b-c"),
        ("Überprüfung naïve Größe", "uberprufung-naive-grosse"),
        ("日本語", ""),
        ("a" * 100, "a" * LONGEST_SLUG),
        ("word " * 20, "word-" * 11 + "word"),
        ("../../etc/passwd\n", "etc-passwd"),
        ("", ""),
    ],
)
def test_slugs(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param(["out/01-cache.md"], ["01-cache"], id="its own number is not doubled"),
        pytest.param(["out/02-cache.md"], ["01-02-cache"], id="another number stays"),
        pytest.param(["next.json"], ["01-next"], id="any extension"),
        pytest.param(["a/x.md", "b/x.md", "c/X.md"], ["01-x", "01-x-2", "01-x-3"], id="collisions"),
        pytest.param(["x.md", "x-2.md", "y/x.md"], ["01-x", "01-x-2", "01-x-3"], id="a taken -2"),
        pytest.param(["日本.md"], ["01-the-title"], id="nothing left: the title"),
        pytest.param(["a.md", "a.md"], ["01-a"], id="the same path twice is one file"),
    ],
)
def test_output_names(declared: list[str], expected: list[str]) -> None:
    names = output_names("01", "The title", declared)

    assert list(names.values()) == [f"outputs/{name}.md" for name in expected]


def test_without_a_title_there_is_still_a_name() -> None:
    assert output_names("01", "…", ["…"]) == {"…": "outputs/01-output.md"}


def test_a_name_once_given_stays() -> None:
    first = output_names("01", "t", ["b/x.md"])

    assert output_names("01", "t", ["a/x.md", "b/x.md"], known=first) == {
        "b/x.md": "outputs/01-x.md",
        "a/x.md": "outputs/01-x-2.md",
    }


@given(st.lists(st.text(min_size=1), unique=True))
def test_no_two_outputs_share_a_name_and_none_leaves(declared: list[str]) -> None:
    names = output_names("07", "t", declared).values()

    assert len({name.casefold() for name in names}) == len(declared)
    assert all(name.startswith("outputs/07-") and name.count("/") == 1 for name in names)
    assert all(len(name) < 100 for name in names)
