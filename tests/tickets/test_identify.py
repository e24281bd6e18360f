"""Ids, and who names whom."""

import pytest

from oraclepack.tickets.identify import SameId, circles, identify, waves
from tests.tickets.tickets import a_ticket, known


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        pytest.param(
            {"a.md": "---\nid: X\n---\n", "b.md": ""}, ["X", "b"], id="given, else the name"
        ),
        pytest.param({"a/r.md": "", "b/r.md": ""}, ["a/r.md", "b/r.md"], id="a name that repeats"),
        pytest.param(
            {"a.md": "---\nid: r\n---\n", "b/r.md": ""}, ["r", "b/r.md"], id="a name that is taken"
        ),
        pytest.param({"ärger-1.md": ""}, ["ärger-1"], id="Unicode"),
    ],
)
def test_ids(texts: dict[str, str], ids: list[str]) -> None:
    assert [ticket.id for ticket in known(texts)] == ids


def test_one_explicit_id_twice_is_refused() -> None:
    same = "---\nid: X\n---\n"

    found = identify([a_ticket(same, "a.md"), a_ticket(same, "b/c.md")], ".tickets")

    assert found == SameId("X", ("a.md", "b/c.md"))


OTHERS = {
    "T-2.md": "",
    "T-20.md": "",
    "login.md": "",
    "42.md": "",
    "sub/deep.md": "",
}


@pytest.mark.parametrize(
    ("text", "depends_on", "blocks"),
    [
        pytest.param("see T-2.", ["T-2"], [], id="a mention"),
        pytest.param("see t-2", ["T-2"], [], id="in small letters"),
        pytest.param("see T-200 and XT-2", [], [], id="not a part of another word"),
        pytest.param("the login and 42 days", [], [], id="plain words are no names"),
        pytest.param("see login.md", ["login"], [], id="a file name is"),
        pytest.param("see ../.tickets/sub/deep.md#x", [], [], id="an anchor makes it another word"),
        pytest.param("see [it](sub/deep.md)", ["deep"], [], id="a link"),
        pytest.param("see #42", ["42"], [], id="a number with its sign"),
        pytest.param(
            "Depends on: login, 42", ["42", "login"], [], id="behind a claim every name counts"
        ),
        pytest.param("Requires login first.", [], [], id="a sentence is no claim"),
        pytest.param("Blocks T-20 until then.", [], ["T-20"], id="though its direction counts"),
        pytest.param("**Depends on:** T-2", ["T-2"], [], id="a bold claim"),
        pytest.param("Blocks: T-20", [], ["T-20"], id="the other way round"),
        pytest.param("- Blocked by T-20", ["T-20"], [], id="as a bullet"),
        pytest.param(
            "---\ndepends_on: [T-2, login]\n---\n", ["T-2", "login"], [], id="front matter"
        ),
        pytest.param(
            "---\nblocks:\n  - T-2\n  - 42\n---\n", [], ["42", "T-2"], id="a list of lines"
        ),
        pytest.param("see T-1 itself", [], [], id="itself is no dependency"),
        pytest.param("```\nT-2\n```\n", [], [], id="code names no ticket"),
    ],
)
def test_names(text: str, depends_on: list[str], blocks: list[str]) -> None:
    tickets = known({"T-1.md": text, **OTHERS})

    found = next(ticket for ticket in tickets if ticket.id == "T-1")
    assert (list(found.depends_on), list(found.blocks)) == (depends_on, blocks)


@pytest.mark.parametrize(
    ("texts", "rounds", "circle"),
    [
        pytest.param({"a-1.md": "", "b-1.md": ""}, (("a-1", "b-1"),), (), id="side by side"),
        pytest.param(
            {"a-1.md": "b-1", "b-1.md": ""}, (("b-1",), ("a-1",)), (), id="one after another"
        ),
        pytest.param(
            {"a-1.md": "", "b-1.md": "Blocks: a-1"}, (("b-1",), ("a-1",)), (), id="by a blocker"
        ),
        pytest.param(
            {"a-1.md": "b-1", "b-1.md": "a-1", "c-1.md": "a-1"},
            (("a-1",), ("b-1", "c-1")),
            ("a-1", "b-1"),
            id="a circle is broken by path",
        ),
        pytest.param(
            {"a-1.md": "b-1", "b-1.md": "a-1\n\nBlocks: a-1"},
            (("b-1",), ("a-1",)),
            (),
            id="a claim outweighs a mention",
        ),
    ],
)
def test_rounds(
    texts: dict[str, str], rounds: tuple[tuple[str, ...], ...], circle: tuple[str, ...]
) -> None:
    tickets = known(texts)

    assert (waves(tickets), circles(tickets)) == (rounds, circle)
