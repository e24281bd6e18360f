import inspect

import pytest

from oraclepack.core.docstring import cleaned


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("One line. ", id="one line"),
        pytest.param("  One line.", id="one line, indented"),
        pytest.param("\tA tab\there", id="tabs"),
        pytest.param("First.\n\n    Second\n      deeper.\n    ", id="a docstring"),
        pytest.param("\n    First.\n\n    Second.\n", id="text on the second line"),
        pytest.param("First.\n   \n\n", id="nothing but blanks follows"),
        pytest.param("\n\n", id="nothing but line ends"),
        pytest.param("First.\n  a\n b\n   c", id="the least indent counts"),
    ],
)
def test_a_docstring_is_cleaned_as_by_inspect(text: str) -> None:
    assert cleaned(text) == inspect.cleandoc(text)
