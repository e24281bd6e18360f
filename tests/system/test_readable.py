"""Characters that steer a screen: left out, spelled out, or escaped."""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.system.digests import canonical_file
from oraclepack.system.printable import one_line, quantity, screen_json, spelled, visible

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    st.sampled_from(
        'aé\n\t\r\x00\x1b\x7f\x85\x9b\u061c\u200b\u200d\u200e\u2028\u202e\u2066\ufeff"\\'
    )
)


@given(TEXTS)
def test_json_for_a_screen_is_the_same_value(text: str) -> None:
    value = {text: [text]}
    for data in (screen_json(msgspec.json.encode(value)), canonical_file(value)):
        assert json.loads(data) == value
        assert not STEERING.search(data.decode())


@given(TEXTS)
def test_nothing_that_steers_is_left_in_text(text: str) -> None:
    assert not STEERING.search(visible(text))
    assert not STEERING.search(spelled(text))
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", "plain", id="plain text stays"),
        pytest.param("a\nb\r\n c", "a b c", id="line ends become blanks"),
        pytest.param("a\u2028\x1b[2Jb", "a [2Jb", id="nothing steers"),
        pytest.param("a  b", "a  b", id="blanks alone stay"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_what_is_not_seen_is_spelled_out() -> None:
    assert spelled("a\x1b\u202e\U000e0041\udc80") == r"a\x1b\u202e\U000e0041\udc80"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 criteria"), (1, "1 criterion"), (2, "2 criteria"), (1200, "1,200 criteria")],
)
def test_one_thing_is_counted_in_the_singular(number: int, words: str) -> None:
    assert quantity(number, "criterion", "criteria") == words
