"""Texts and what the o200k tokenizer makes of them, counted with a real one."""

import pytest

from oraclepack.tools.usage import numbered_tokens, text_tokens

TICKET = "- [ ] `src/i7.py:41` -- drop `price`; see #12, #13 (v1.2.3)\n"
TABLE = "| 01 | 12,345 | 0.75 |\n| 02 | 23,456 | 0.25 |\n| 03 | 34,567 | 1.00 |\n"
CODE = (
    "def total(rows: list[Row]) -> Decimal:\n"
    "    return sum((row.price * row.count for row in rows), Decimal(0))\n"
)


@pytest.mark.parametrize(
    ("text", "counted", "counted_with_numbers"),
    [
        pytest.param(
            "What does the importer promise to its callers, "
            "and where does it break that promise?\n",
            17,
            19,
            id="English",
        ),
        pytest.param(CODE, 29, 33, id="Python"),
        pytest.param(
            '{"id": "2026-03-04T05:06:07Z", "sizes": [1024, 2048, 40960], "ok": true}\n',
            38,
            40,
            id="JSON",
        ),
        pytest.param(TABLE, 42, 48, id="a table of numbers"),
        pytest.param(TICKET * 3, 90, 96, id="a ticket"),
        pytest.param(
            "Welche Zusicherungen gibt diese Schnittstelle, und wo hält sie sie nicht ein?\n",
            17,
            19,
            id="German",
        ),
        pytest.param("この関数は何を約束し、どこで破りますか。\n", 17, 19, id="Japanese"),
    ],
)
def test_the_estimate_is_near_the_count_of_the_tokenizer(
    text: str, counted: int, counted_with_numbers: int
) -> None:
    assert text_tokens(text) == pytest.approx(counted, rel=0.35)
    assert numbered_tokens(text) == pytest.approx(counted_with_numbers, rel=0.35)


def test_an_empty_text_has_no_tokens() -> None:
    assert (text_tokens(""), numbered_tokens("")) == (0, 0)
