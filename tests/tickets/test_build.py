"""Everything that a set of tickets comes to."""

import json
import random
import re

import jsonschema
import msgspec
import pytest
from markdown_it import MarkdownIt

from oraclepack.tickets import ticket as names
from oraclepack.tickets.build import build
from oraclepack.tickets.ticket import TicketMode
from oraclepack.view.report.schemas import schema_of
from tests.tickets.tickets import OPTIONS, TWO, built, known

OUT = OPTIONS.out_dir
MANY = {f"T-{number}.md": f"# Work {number}\n\n- [ ] a\n- [x] b\n" for number in range(1, 9)}


def test_the_files() -> None:
    assert list(built(TWO).files) == [
        f"{OUT}/_tickets_index.json",
        f"{OUT}/_actions.json",
        f"{OUT}/_actions.md",
        f"{OUT}/ticket-action-pack.md",
        ".taskmaster/docs/tickets_prd.md",
        f"{OUT}/manifest.json",
    ]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("_tickets_index.json", "tickets-index"),
        ("_actions.json", "tickets-actions"),
        ("manifest.json", "tickets-manifest"),
    ],
)
def test_a_json_file_meets_its_published_schema(name: str, schema: str) -> None:
    content = json.loads(built(TWO).files[f"{OUT}/{name}"])

    jsonschema.validate(content, schema_of(schema))


def test_actions_are_numbered_by_ticket_and_line() -> None:
    rows = [(a.action_id, a.kind, a.done, a.source_line) for a in built(TWO).actions.actions]

    assert rows == [
        ("T-1-A01", "task", True, 8),
        ("T-1-A02", "task", False, 9),
        ("T-1-A03", "acceptance", False, 13),
        ("T-2-A01", "task", False, 7),
        ("T-2-A02", "task", False, 8),
    ]


@pytest.mark.parametrize("mode", list(TicketMode))
def test_the_same_tickets_give_the_same_bytes_in_any_order(mode: TicketMode) -> None:
    options = msgspec.structs.replace(OPTIONS, mode=mode)
    names = sorted(MANY)
    random.Random(7).shuffle(names)

    shuffled = built({name: MANY[name] for name in names}, options)

    assert shuffled.files == built(MANY, options).files


def test_an_edited_ticket_changes_only_its_own_entries() -> None:
    before = built(MANY)
    after = built(MANY | {"T-3.md": "# Other words\n\n- [ ] c\n"})

    def others(which: object) -> list[object]:
        index, actions = getattr(which, "index"), getattr(which, "actions")  # noqa: B009
        return [
            *(ticket for ticket in index.tickets if ticket.ticket_id != "T-3"),
            *(action for action in actions.actions if action.ticket_id != "T-3"),
        ]

    assert others(before) == others(after)
    assert before.index != after.index
    assert (
        before.files[f"{OUT}/ticket-action-pack.md"] == after.files[f"{OUT}/ticket-action-pack.md"]
    )


@pytest.mark.parametrize("page", [f"{OUT}/_actions.md", OPTIONS.prd_path])
def test_the_pages_change_only_in_the_section_of_an_edited_ticket(page: str) -> None:
    before = built(MANY).files[page].decode()
    after = built(MANY | {"T-3.md": "# Other\n\n- [ ] x\n- [x] y\n"}).files[page].decode()

    def sections(text: str) -> list[str]:
        mark = "\n## " if page.endswith("_actions.md") else "\n### "
        return [part for part in text.split(mark) if not part.startswith("T-3")]

    assert sections(before) == sections(after)


def test_text_of_a_ticket_cannot_pass_for_a_heading_of_the_prd() -> None:
    texts = {"T-1.md": "---\ntitle: '# Requirements'\n---\n## Overview\n\n### T-9: forged\n"}

    prd = built(texts).files[OPTIONS.prd_path].decode()

    headings = [line for line in prd.splitlines() if line.startswith("#")]
    assert headings[-1] == r"### T-1: \# Requirements"


def test_pipelines_has_a_round_for_each_rank_of_dependencies() -> None:
    options = msgspec.structs.replace(OPTIONS, mode=TicketMode.PIPELINES)

    page = built(TWO, options).files[f"{OUT}/pipelines.md"].decode()

    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# Pipelines",
        "## Round 1",
        "### T-1: Limit",
        "## Round 2",
        "### T-2: Audit",
    ]
    assert "waits for T-1" in page


def test_autopilot_lists_the_open_work_in_its_order() -> None:
    options = msgspec.structs.replace(OPTIONS, mode=TicketMode.AUTOPILOT)
    texts = {"a-1.md": "needs b-1\n\n- [ ] later\n", "b-1.md": "- [ ] first\n", "c-1.md": ""}

    page = built(texts, options).files[f"{OUT}/autopilot.md"].decode()

    rows = [line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| ")][1:]
    assert rows == [["| 1", "b-1"], ["| -", "c-1"], ["| 2", "a-1"]]


def test_the_manifest_knows_every_input_and_output() -> None:
    made = build(known(TWO), OPTIONS)

    manifest = json.loads(made.files[f"{OUT}/manifest.json"])
    assert set(manifest["inputs"]) == {".tickets/T-1.md", ".tickets/T-2.md"}
    assert set(manifest["outputs"]) == set(made.files) - {f"{OUT}/manifest.json"}


@pytest.mark.parametrize(
    ("mode", "page"), [(TicketMode.PIPELINES, "pipelines"), (TicketMode.AUTOPILOT, "autopilot")]
)
def test_a_circle_is_reported_in_both_plans(mode: TicketMode, page: str) -> None:
    texts = {"a-1.md": "b-1\n", "b-1.md": "a-1\n\n- [ ] x\n"}

    made = built(texts, msgspec.structs.replace(OPTIONS, mode=mode))

    text = made.files[f"{OUT}/{page}.md"].decode()
    assert "wait for each other in a circle, broken by path: a-1, b-1." in text
    assert "Nothing is open" in text


HOSTILE = """\
---
title: "![x](https://evil.example/p.png) <img src=x> | @ada fixes #13"
---
Live text: ![x](https://evil.example/p.png) <!-- x -->

````
- [ ] Ask @ada about octo/repo#14 ![p](http://e/p.png) <b>now</b> `a ` b` | x
````

- [ ] Ask @ada about octo/repo#14 ![p](http://e/p.png) <b>now</b> `a ` b` | x
"""


@pytest.mark.parametrize("mode", [TicketMode.PIPELINES, TicketMode.AUTOPILOT])
def test_text_of_a_ticket_stays_text_in_every_page(mode: TicketMode) -> None:
    files = built({"T-1.md": HOSTILE}, msgspec.structs.replace(OPTIONS, mode=mode)).files
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    pages = [path for path in files if path.endswith(".md") and not path.endswith(names.PACK)]
    assert len(pages) > 2
    for path in pages:
        for token in parser.parse(files[path].decode()):
            if token.type == "html_block":
                assert token.content.startswith("<!-- Made by `oraclepack")
            for child in token.children or ():
                assert child.type in {"text", "code_inline", "softbreak"}
                live = child.type == "text" and re.search(r"@\w|#\d|://", child.content)
                assert not live, child.content
