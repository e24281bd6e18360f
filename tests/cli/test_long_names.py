"""A name that no file system takes is a wrong argument, not a fault of ours."""

import pytest

from tests.cli.answers import answer

NAME = "x" * 400 + ".md"


@pytest.mark.parametrize(
    "words",
    [
        ("run", NAME),
        ("validate", NAME),
        ("list", NAME),
        ("plan", NAME),
        ("pipeline", NAME),
        ("verify-outputs", NAME),
        ("ticketify", "--tickets-dir", NAME),
    ],
    ids=lambda words: words[0],
)
def test_a_name_that_is_too_long_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    refused = answer(capsys, *words)

    assert refused.code == 2
    assert "too long" in refused.err
    assert "a way it should not" not in refused.err
