import pytest

from oraclepack.errors import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("strct", "strict", id="a letter left out"),
        pytest.param("STRICT", "strict", id="other case"),
        pytest.param("colour", "color", id="another spelling"),
        pytest.param("--strct", "strict", id="with dashes"),
        pytest.param("zzz", None, id="nothing near"),
        pytest.param("", None, id="nothing at all"),
    ],
)
def test_nearest(word: str, expected: str | None) -> None:
    assert nearest(word, ["color", "strict", "output"]) == expected
    assert did_you_mean(word, ["color", "strict", "output"]) == (
        f"did you mean {expected}?" if expected else ""
    )


def test_dashes_do_not_make_options_alike() -> None:
    options = ["--ignore", "--strict", "--output"]

    assert nearest("--nope", options) is None
    assert nearest("--ignroe", options) == "--ignore"
    assert nearest("--out", options) == "--output"
