"""What a careful reader would doubt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.answers.suspicions import suspicions
from oraclepack.authoring.answer_contract import RETURN_ONLY, answer_format
from oraclepack.pack.answer_sections import Section

PROMPT = (
    "Can the last item be sold twice?\n\nAnswer format:\n1) Direct answer\n2) Risks/unknowns\n"
    "3) Next smallest concrete experiment\n4) If evidence is insufficient, name the files.\n"
)
ANSWER = (
    "Direct answer\nYes, the stock is read before it is locked, so both see one item.\n\n"
    "Risks/unknowns\nThe isolation level of the database is not visible in the files.\n\n"
    "Next smallest concrete experiment\nBuy the last item from two shells at the same time.\n"
)
THREE = "It is so.\nAnd so it is here.\n\n- This is the third one.\n- This is the fourth one.\n\n"


def signs(text: str, prompt: str | None = None, path: str = "a.md") -> list[tuple[int, str]]:
    return [(sign.line, sign.code) for sign in suspicions(text, prompt, path)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("Yes:\n\n```\ncode\n", 3, id="backticks"),
        pytest.param("~~~ python\n```\n~~~ x\n", 1, id="tildes, with other marks inside"),
        pytest.param("````\n```\ncode", 1, id="a shorter mark closes nothing"),
        pytest.param("~~~ a `b`\ncode", 1, id="tildes, with backticks behind them"),
    ],
)
def test_a_fence_is_never_closed(text: str, line: int) -> None:
    assert signs(text) == [(line, "unclosed_fence")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("- one\n-\n", 2, id="an empty item"),
        pytest.param("1. one\n2.", 2, id="an empty numbered item"),
        pytest.param("one\n\n## Two\n", 3, id="a heading"),
        pytest.param("one\n\nTwo\n===\n", 3, id="an underlined heading"),
        pytest.param("I need the", 1, id="a small word"),
        pytest.param("I need these files:", 1, id="a colon"),
        pytest.param("one, two,", 1, id="a comma"),
        pytest.param("Attach `src/sh", 1, id="a backtick"),
        pytest.param("Attach (as before", 1, id="a bracket"),
        pytest.param("See [the manual", 1, id="a square bracket"),
        pytest.param("- **Level", 1, id="bold"),
        pytest.param("| a | b |\n|---|---|\n| c | d", 3, id="a table row"),
        pytest.param(f"{THREE}All others ended with a mark and this", 7, id="no full stop"),
        pytest.param(
            f"{THREE}Two lines belong together and\nthis one ends nowhere", 8, id="wrapped"
        ),
    ],
)
def test_it_is_cut_off(text: str, line: int) -> None:
    assert signs(text) == [(line, "cut_off")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Yes", id="a word"),
        pytest.param("## a\n\n```\ncode(\n```", id="code"),
        pytest.param("- src/shop/**/*.py", id="a bare glob"),
        pytest.param("- `src/**`", id="a glob in code"),
        pytest.param("- `call(`", id="a bracket in code"),
        pytest.param("a **bold** word", id="bold that is closed"),
        pytest.param("Take plan A", id="a letter is a name"),
        pytest.param("See src/shop/", id="a directory"),
        pytest.param("| a | b |\n|---|---|\n| c | d |", id="a table"),
        pytest.param("| a\n| b", id="a table without outer marks"),
        pytest.param("It is so, and here.\n\nno marks at all in this one", id="two ways to write"),
        pytest.param(f"{THREE}src/shop/db.py", id="a path after sentences"),
        pytest.param(f"{THREE}```\nsome words in a block\n```\nend", id="a word after code"),
        pytest.param("a\n---\ntext", id="an underlined heading with text"),
        pytest.param("text\n\n---\n", id="a rule at the end"),
        pytest.param("## Direct answer\n### Evidence\nsee a.py\n", id="a heading below a section"),
        pytest.param("```\n# install\n```", id="a comment in code is no heading"),
        pytest.param("## Missing evidence\nN/A", id="nothing is missing"),
        pytest.param("[]", id="an empty list is bare"),
        pytest.param("I cannot see a caller of it.", id="a limit is no refusal"),
    ],
)
def test_it_is_whole(text: str) -> None:
    found = signs(text)

    assert found == ([(1, "placeholder")] if text == "[]" else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Answer now", [(1, "placeholder")], id="a button"),
        pytest.param("\n…\n", [(2, "placeholder")], id="dots"),
        pytest.param("N/A", [(1, "placeholder")], id="nothing at all"),
        pytest.param("```\n```", [(1, "placeholder")], id="an empty block"),
        pytest.param("## A\n...\n## B\ntext", [(2, "placeholder")], id="below a heading"),
        pytest.param(
            "**Direct answer**\n\nTODO\n\n1) Risks/unknowns\nfew",
            [(3, "placeholder")],
            id="below a bold name",
        ),
        pytest.param("## A\n[your answer here]", [(2, "placeholder")], id="a form"),
        pytest.param("Something went wrong. Reload.", [(1, "placeholder")], id="an error page"),
        pytest.param("I'm sorry, but I can't help with that.", [(1, "refusal")], id="a refusal"),
        pytest.param("I cannot open the files.", [(1, "refusal")], id="a plain refusal"),
        pytest.param(
            "## Direct answer\n\n## Risks/unknowns\nfew", [(1, "empty_section")], id="no text"
        ),
        pytest.param(
            "# Answer\n## Direct answer\n## Risks/unknowns\n",
            [(2, "empty_section"), (3, "cut_off")],
            id="no text anywhere",
        ),
        pytest.param("I can't help.\n" + "word " * 200, [], id="a long text is no refusal"),
    ],
)
def test_something_stands_in_for_an_answer(text: str, expected: list[tuple[int, str]]) -> None:
    assert signs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(PROMPT, ["echo"], id="the prompt"),
        pytest.param(f"> {PROMPT}\nOn it.", ["echo"], id="quoted, with a promise"),
        pytest.param(PROMPT.partition("\n\n")[2], ["echo"], id="some of its lines"),
        pytest.param(f"{PROMPT}\n{ANSWER}", [], id="and an answer"),
        pytest.param("Can the last item be sold twice?", [], id="one line of it"),
        pytest.param("Да, дважды.", ["script"], id="another script"),
        pytest.param("Yes, the table 注文 is read first.", [], id="a foreign name"),
        pytest.param("42", [], id="no letters at all"),
    ],
)
def test_an_answer_beside_its_prompt(text: str, expected: list[str]) -> None:
    assert [code for _, code in signs(text, PROMPT)] == expected


def test_a_short_prompt_is_no_echo_and_its_script_may_be_any() -> None:
    assert signs("Why? " * 30, "Why?") == []
    assert signs("Да.", "Почему?") == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param("a.json", '{"a": [1, 2', ["cut_off"], id="half of a JSON file"),
        pytest.param("a.JSON", '{"a": "TODO:"}', [], id="a JSON file"),
        pytest.param("a.py", "x = (", [], id="a program is not read"),
        pytest.param("v1.2/answer", "I need the", ["cut_off"], id="no extension"),
        pytest.param("a.txt", "I need the", ["cut_off"], id="text"),
    ],
)
def test_only_prose_is_read_like_prose(path: str, text: str, expected: list[str]) -> None:
    assert [code for _, code in signs(text, path=path)] == expected


@given(st.text(alphabet="#-*`~|.…() \nDirect answer[]", max_size=80))
def test_every_text_can_be_read(text: str) -> None:
    last = max(1, text.rstrip().count("\n") + 1)

    assert all(1 <= line <= last for line, _ in signs(text, PROMPT))


WORK = "WORK: Add a lock | files: src/a.py | done when: a test fails without it | effort: S"
ASKING = f"Can the last item be sold twice?\n\nAnswer format:\n{answer_format()}"
WHOLE = f"{ANSWER}\nIf evidence is insufficient, attach next\nNothing is missing here.\n\n"
WORK_LINES = [
    pytest.param(f"{WHOLE}{WORK}\n", [], id="a line in its form"),
    pytest.param(f"{WHOLE}WORK: none\n", [], id="nothing to do, and said so"),
    pytest.param(WHOLE, ["the prompt asks for stated work, and there is none"], id="no line"),
    pytest.param(
        f"{WHOLE}{WORK}XL\n",
        ["stated work is not in its form: effort is S, M or L, not 'SXL'"],
        id="an effort that is none",
    ),
    pytest.param(
        f"{WHOLE}{WORK} | when: soon\n",
        ["stated work is not in its form: no known field: 'when: soon'"],
        id="an unknown field",
    ),
    pytest.param(
        f"{WHOLE}{WORK}\nWORK: none\n",
        ["stated work is not in its form: it says that there is no work, and states some"],
        id="work and none",
    ),
]


@pytest.mark.parametrize(("text", "messages"), WORK_LINES)
def test_work_lines_are_checked_where_the_prompt_asks_for_them(
    text: str, messages: list[str]
) -> None:
    assert [sign.message for sign in suspicions(text, ASKING)] == messages
    assert suspicions(text, PROMPT) == ()


def test_other_parts_of_a_chunked_answer_need_no_work_lines() -> None:
    prompt = f"{answer_format(is_chunked=True)}\n{RETURN_ONLY[Section.RISKS_UNKNOWNS]}"

    assert signs("The isolation level is not visible in these files.\n", prompt) == []


CUT_WORK = [
    pytest.param(f"{WORK} | evidence: src/a.py:3", [], id="whole"),
    pytest.param(WORK.removesuffix(" | effort: S") + " | eff", ["cut_off"], id="inside of a field"),
    pytest.param("WORK: Add a lock to the", ["cut_off"], id="inside of the title"),
]


@pytest.mark.parametrize(("line", "codes"), CUT_WORK)
def test_an_answer_may_end_with_a_work_line(line: str, codes: list[str]) -> None:
    assert [sign.code for sign in suspicions(f"{WHOLE}{line}", ASKING)] == codes
