"""Reading one ticket."""

import pytest

from tests.tickets.tickets import a_ticket


@pytest.mark.parametrize(
    ("text", "given_id", "title", "summary"),
    [
        pytest.param("# Limit\n\nSlow it.\n", None, "Limit", "Slow it.", id="a plain one"),
        pytest.param("", None, "T-1", "", id="an empty one is called by its file"),
        pytest.param("just words\n", None, "T-1", "just words", id="no heading"),
        pytest.param(
            "---\nid: A-7\ntitle: Own\n---\n# Other\n", "A-7", "Own", "", id="front matter"
        ),
        pytest.param("---\nticket: A-8\n---\n", "A-8", "T-1", "", id="ticket is an id too"),
        pytest.param(
            "---\nKEY: 'A-9' # note\n---\n", "A-9", "T-1", "", id="key, quoted, in capitals"
        ),
        pytest.param("---\nkey: b\nid: a\n---\n", "a", "T-1", "", id="id comes before key"),
        pytest.param("---\nid:\nkey: b\n---\n", "b", "T-1", "", id="an empty id is none"),
        pytest.param("---\nid: 0042\n---\n", "0042", "T-1", "", id="a number keeps its zeros"),
        pytest.param('---\ntitle: "a: b"\n---\n', None, "a: b", "", id="a colon in quotes"),
        pytest.param(
            "---\nid: x\n# Limit\n", None, "Limit", "id: x", id="unclosed front matter is text"
        ),
        pytest.param(
            "\ufeff---\r\nid: A\r\n---\r\n# Win\r\n\r\none\r\ntwo\r\n",
            "A",
            "Win",
            "one two",
            id="CRLF",
        ),
        pytest.param("# A\n\n- [ ] x\n\nLast.\n", None, "A", "Last.", id="lists are no summary"),
        pytest.param("# A\n\n**Acceptance Criteria**\n\n- x\n", None, "A", "", id="nor is a label"),
        pytest.param("# \x1b[31mred\n", None, "[31mred", "", id="control characters go"),
    ],
)
def test_head(text: str, given_id: str | None, title: str, summary: str) -> None:
    ticket = a_ticket(text)

    assert (ticket.given_id, ticket.title, ticket.summary) == (given_id, title, summary)


def test_a_long_summary_ends_at_a_word() -> None:
    ticket = a_ticket("word " * 200)

    assert len(ticket.summary) <= 280
    assert ticket.summary.endswith("word…")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        pytest.param(
            "- [ ] a\n- [x] b\n- [X] c\n- d\n", "task 1 a, task 2 b!, task 3 c!", id="boxes"
        ),
        pytest.param("1. [ ] a\n", "task 1 a", id="in a numbered list"),
        pytest.param("- x\n  - [ ] inner\n", "task 2 inner", id="nested"),
        pytest.param("- [ ] one\n  two\n", "task 1 one two", id="over two lines"),
        pytest.param("- [ ]\n- [ ] a\n", "task 2 a", id="an empty box asks for nothing"),
        pytest.param("```\n- [ ] a\n```\n", "", id="not in code"),
        pytest.param("```bash ticket\n- [ ] a\n```\n", "", id="nor in code about tickets"),
        pytest.param("```ticket\n- [ ] a\n- b\n```\n", "task 2 a", id="in a ticket block"),
        pytest.param(
            "Intro:\n\n* Split:\n\n```ticket T1\nTitle: x\nRisks:\n- none\nAcceptance Criteria:\n"
            "- a\n  more\n- [x] b\n  - c\nPriority & Severity (if known):\n- d\n- [ ] e\n```\n",
            "acceptance 10 a more, acceptance 12 b!, acceptance 13 c, task 16 e",
            id="a ticket block with its fields",
        ),
        pytest.param(
            "```ticket\n## Acceptance Criteria\n\n1) a\n2) Not provided.\n\n## Notes\n- b\n```\n",
            "acceptance 4 a",
            id="a ticket block with headings; nothing provided is nothing asked",
        ),
        pytest.param(
            "~~~Ticket\nAcceptance Criteria:\n- a\n~~~\n\n```ticket\n- b\n- [ ] c\n```\n",
            "acceptance 3 a, task 8 c",
            id="two blocks, each for itself",
        ),
        pytest.param("<!--\n- [ ] a\n-->\n", "", id="not in a comment"),
        pytest.param("- [link](x) a\n", "", id="a link is no box"),
        pytest.param(
            "## Acceptance Criteria\n\n- a\n- [x] b\n\n## Notes\n\n- c\n",
            "acceptance 3 a, acceptance 4 b!",
            id="acceptance criteria until the next heading",
        ),
        pytest.param(
            "## acceptance criteria (must)\n\n### Speed\n\n* a\n",
            "acceptance 5 a",
            id="below it too",
        ),
        pytest.param(
            "Acceptance Criteria:\n\n- a\n\nMore:\n\n- b\n", "acceptance 3 a", id="a label"
        ),
        pytest.param(
            "---\nid: x\n---\n- [ ] a\n", "task 4 a", id="lines count from the file's top"
        ),
        pytest.param("---\r\nid: x\r\n---\r\n- [ ] a\r\n", "task 4 a", id="also with CRLF"),
    ],
)
def test_items(text: str, items: str) -> None:
    found = a_ticket(text).items

    summary = ", ".join(f"{i.kind} {i.line} {i.text}{'!' if i.done else ''}" for i in found)
    assert summary == items


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("-" * 500_000, id="dashes"),
        pytest.param("acceptance criteria" + "*" * 500_000 + "x", id="stars"),
        pytest.param("---\na" + " " * 500_000 + "\n---\n", id="blanks in the front matter"),
        pytest.param("- " * 2_000 + "x", id="lists in lists"),
        pytest.param("[ ] " * 100_000, id="boxes in a line"),
    ],
)
def test_hostile_text_is_read_in_no_time(text: str) -> None:
    assert a_ticket(text).path == "T-1.md"
