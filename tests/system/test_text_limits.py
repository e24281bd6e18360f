import pytest

from oraclepack.system.text_limits import TextLimit

LIMIT = TextLimit(40, 4, 20)


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        pytest.param("a\nb\n", None, id="a small text"),
        pytest.param("a" * 20 + "\n" + "a" * 19, None, id="just within"),
        pytest.param("é" * 19 + "\n" + "é\n", "more than 40 bytes", id="too many bytes"),
        pytest.param("a\n" * 5, "more than 4 lines", id="too many lines"),
        pytest.param("a\r" * 5, "more than 4 lines", id="lines of old Macs count"),
        pytest.param("a" * 21, "a line of more than 20 characters", id="a long line"),
    ],
)
def test_what_is_too_much(text: str, excess: str | None) -> None:
    assert LIMIT.excess(text) == excess
