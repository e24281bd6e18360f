"""Stated work: the spellings that models write, each read or doubted."""

import pytest

from oraclepack.answers.statements import body_lines
from oraclepack.answers.work_items import StatedWork, asks_for_work, read_work

FIELDS = "files: src/a.py | done when: the test passes | effort: S | evidence: src/a.py:3"
BAR, ESC = "\\|", "\\"
ITEM = '{"title": "Add a lock", "files": ["src/a.py"], "effort": "S", "evidence": ["src/a.py:3"]}'
NOT_JSON, NO_ITEMS = "its block of work is not JSON", "its block of work has no items"
LOCK = ("Add a lock", ("src/a.py",), "S", ("src/a.py:3",))


def block(body: str) -> str:
    return f"[oraclepack-work]\n{body}\n[/oraclepack-work]"


def read(text: str) -> StatedWork:
    return read_work(body_lines(text.split("\n")))


def items(text: str) -> list[tuple[object, ...]]:
    return [(one.title, one.files, one.effort, one.evidence) for one in read(text).items]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"WORK: Add a lock | {FIELDS}", id="as asked for"),
        pytest.param(f"- WORK: Add a lock | {FIELDS}", id="a bullet"),
        pytest.param(f"1. WORK: Add a lock | {FIELDS}", id="numbered"),
        pytest.param(f"**WORK:** Add a lock | {FIELDS}", id="a bold word"),
        pytest.param(f"**WORK: Add a lock | {FIELDS}**", id="bold as a whole"),
        pytest.param(f"`WORK: Add a lock | {FIELDS}`", id="code"),
        pytest.param(f"> WORK: Add a lock | {FIELDS}", id="a quotation"),
        pytest.param(f"Work: Add a lock | {FIELDS}", id="small letters"),
        pytest.param(f"WORK : Add a lock | {FIELDS}", id="a space"),
        pytest.param(f"| WORK: Add a lock | {FIELDS} |", id="a row"),
        pytest.param(
            "| WORK | Files | Done when | Effort | Evidence |\n|---|---|---|---|---|\n"
            "| Add a lock | `src/a.py` | it passes | S | src/a.py:3 |",
            id="a table",
        ),
        pytest.param(
            f"WORK: Add a lock\n  | {FIELDS.replace(' | ', chr(10) + '  | ')}", id="wrapped"
        ),
        pytest.param(f"WORK 1: Add a lock | {FIELDS}", id="a number"),
        pytest.param(f"WORK ITEM: Add a lock | {FIELDS}", id="an item"),
        pytest.param(f"[WORK] Add a lock | {FIELDS}", id="square brackets"),
        pytest.param(f"WORK — Add a lock | {FIELDS}", id="a dash"),
        pytest.param(f"WORK:\n- Add a lock | {FIELDS}", id="a list below it"),
        pytest.param(f"WORK: Add a lock; {FIELDS.replace(' | ', '; ')}", id="semicolons"),
        pytest.param(f"WORK: Add a lock | {FIELDS.replace(': ', '=')}", id="signs of equality"),
        pytest.param(f"WORK: Add a lock {BAR} {FIELDS.replace('|', BAR)}", id="escaped bars"),
        pytest.param(f"WORK: Add a lock\n- {FIELDS.replace(' | ', chr(10) + '- ')}", id="a list"),
        pytest.param("WORK: Add a lock|files: src/a.py|effort: S|evidence: src/a.py:3", id="tight"),
        pytest.param(
            f"WORK: Add a lock | {FIELDS.replace('effort: S', 'effort: Small (2h)')}", id="words"
        ),
        pytest.param(
            f"WORK: Add a lock | {FIELDS.replace('files', '**Files**')}", id="bold fields"
        ),
        pytest.param(f'[oraclepack-work]\n{{"items": [{ITEM}]}}\n[/oraclepack-work]', id="a block"),
        pytest.param(f'```oraclepack-work\n{{"items": [{ITEM}]}}\n```', id="a fenced block"),
        pytest.param(
            f'[oraclepack-work]\n```json\n{{"items": [{ITEM},]}}\n```\n[/oraclepack-work]',
            id="a fence inside, and a comma too many",
        ),
        pytest.param(f"[oraclepack-work] [{ITEM}] [/oraclepack-work]", id="a list on one line"),
        pytest.param(f"[oraclepack-work]\n{ITEM}\n[/oraclepack-work]", id="one item alone"),
        pytest.param(
            f'```json\n{{"verdict": "It leaks.", "items": [{ITEM}]}}\n```', id="any fence"
        ),
        pytest.param(f'```json oraclepack-work\n{{"items": [{ITEM}]}}\n```', id="a second word"),
        pytest.param(
            f'~~~\n[oraclepack-work]\n{{"items": [{ITEM}]}}\n[/oraclepack-work]\n~~~',
            id="a fence outside",
        ),
        pytest.param(f'<oraclepack-work>\n{{"items": [{ITEM}]}}\n</oraclepack-work>', id="XML"),
        pytest.param(
            f'[ORACLEPACK_WORK]\n{{"items": [{ITEM}]}}\n[/ORACLEPACK_WORK]', id="capitals"
        ),
        pytest.param(
            f'{ESC}[oraclepack-work{ESC}]\n{{"tasks": [{ITEM}]}}\n{ESC}[/oraclepack-work{ESC}]',
            id="escaped, and tasks",
        ),
        pytest.param(
            block(f'{{ // all\n"items": [{ITEM}, /* end */ ], # done\n}}'),
            id="comments",
        ),
        pytest.param(
            block(f'{{"items": [{ITEM}]}}'.replace('{"', "{“").replace('"', "”")),
            id="smart quotes",
        ),
        pytest.param(
            block(f'{{"none": False, "items": [{ITEM}]}}'.replace('"', "'")),
            id="Python",
        ),
        pytest.param(
            block(
                '{items: [{title: "Add a lock", files: "src/a.py", effort: "S",'
                ' evidence: "src/a.py:3"}]}'
            ),
            id="names without quotes",
        ),
        pytest.param(
            block(f'{{"oraclepack-work": {{"items": {{"1": {ITEM}}}}}}}'),
            id="nested",
        ),
        pytest.param(
            f'**[oraclepack-work]**\nHere it is: {{"items": [{ITEM}]}}\n**[/oraclepack-work]**',
            id="words around it",
        ),
    ],
)
def test_a_spelling_is_read(text: str) -> None:
    assert items(f"Some prose.\n\n{text}") == [LOCK]
    assert read(text).doubts == []


def test_several_on_a_line_and_bars_in_code() -> None:
    text = "WORK: Split `a|b` | effort: S WORK: Add a lock | effort: M"

    assert items(text) == [("Split `a|b`", (), "S", ()), ("Add a lock", (), "M", ())]


def test_a_block_has_a_verdict_and_all_fields() -> None:
    work = read(
        '[oraclepack-work]\n{"verdict": "It leaks.", "items": [{"title": "Close it", "kind": '
        '"finding", "done_when": "no leak", "quote": "it is open", "after": ["Find it"]}]}\n'
        "[/oraclepack-work]"
    )
    (item,) = work.items

    assert (work.verdict, item.kind, item.done_when) == ("It leaks.", "finding", "no leak")
    assert (item.quote, item.after, item.line) == ("it is open", ("Find it",), 2)


@pytest.mark.parametrize(
    "text",
    [
        "WORK: none",
        "- **WORK:** None.",
        "WORK: none needed.",
        "WORK: Nothing to do.",
        '[oraclepack-work] {"verdict": "It is fine.", "items": null} [/oraclepack-work]',
        '[oraclepack-work] {"none": true} [/oraclepack-work]',
    ],
)
def test_no_work_is_stated_too(text: str) -> None:
    work = read(text)

    assert (work.items, work.is_none, work.is_stated, work.doubts) == ([], True, True, [])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\nWORK: Add a lock | when: soon", 2, "no known field: 'when: soon'"),
        ("WORK: Add a lock | effort: huge", 1, "effort is S, M or L, not 'huge'"),
        ("WORK Add a lock", 1, "it looks like a WORK line and has not its form"),
        (
            "WORK: none\nWORK: Add a lock | effort: S",
            2,
            "it says that there is no work, and states some",
        ),
        (
            "a\n[oraclepack-work]\nAdd a lock\n[/oraclepack-work]",
            2,
            NOT_JSON,
        ),
        (f"[oraclepack-work]\n{ITEM}", 1, "its block of work is never closed"),
        (
            f'[oraclepack-work]\n{{"items": [{ITEM}, {{"title": "Ad',
            1,
            "its block of work is not JSON; 1 of its items were read",
        ),
        (f"[oraclepack-work]\nWORK: Add a lock | {FIELDS}\n[/oraclepack-work]", 1, NOT_JSON),
        ('[oraclepack-work]\n{"verdict": "It is fine."}\n[/oraclepack-work]', 1, NO_ITEMS),
        ("### WORK\n- Add a lock | effort: S", 1, "it looks like a WORK line and has not its form"),
        ("[oraclepack-work]\nitems:\n - title: Add a lock\n[/oraclepack-work]", 1, NOT_JSON),
        (
            '[oraclepack-work] {"items": [{"effort": "S"}]} [/oraclepack-work]',
            1,
            "an item of its block has no title",
        ),
        (
            '[oraclepack-work] {"items": [{"title": "a b", "kind": "idea"}]} [/oraclepack-work]',
            1,
            "'idea' is no kind of work: a b",
        ),
        (
            '[oraclepack-work] {"items": [{"title": "a b", "owner": "me"}]} [/oraclepack-work]',
            1,
            "no known field: 'owner'",
        ),
    ],
)
def test_what_cannot_be_read_is_a_doubt_with_its_line(text: str, line: int, message: str) -> None:
    assert (line, message) in read(text).doubts


@pytest.mark.parametrize(
    "text", ["Work: the loop is slow.", "It does work: always.", "Workers: 3 | 4"]
)
def test_a_sentence_is_no_work_line(text: str) -> None:
    assert read(text) == StatedWork()


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"items": [{"title": "A book", "price": 3}]}\n```',
        '```json\n{"verdict": "guilty", "items": [1], "court": "x"}\n```',
        "```yaml\nitems:\n  - title: a\n```",
    ],
)
def test_other_code_with_items_is_prose(text: str) -> None:
    assert read(f"The server replies:\n\n{text}\n\nSo it goes.") == StatedWork()


def test_a_prompt_that_asks_for_it() -> None:
    assert asks_for_work("At the end:\nWORK: <title> | files: <paths>")
    assert asks_for_work("then one block:\n[oraclepack-work]\n{…}\n[/oraclepack-work]")
    assert not asks_for_work("Does it work: yes or no?")
