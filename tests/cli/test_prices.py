"""`oraclepack config prices`: price, source and date; your own prices; what is not known."""

from pathlib import Path

import pytest

from tests.cli.answers import answer


@pytest.fixture(autouse=True)
def in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own_config(home: Path, text: str) -> None:
    place = home / ".config/oraclepack/config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")


def test_a_price_with_its_source_and_date(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(capsys, "prices", "show", "gpt-5.1-pro")

    assert shown.code == 0
    assert "billed as gpt-5.5-pro" in shown.out
    assert "$30 for a million input tokens, $180" in shown.out
    assert "source: genai-prices" in shown.out


def test_your_own_price_wins(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own_config(home, '[prices."gpt-5.2"]\ninput = 0.5\noutput = 4\n')

    data = answer(capsys, "prices", "show", "gpt-5.2", "--json").data
    listed = answer(capsys, "prices", "list").out

    assert data["price"]["price"]["input"] == "0.5"
    assert data["price"]["source"] == "settings"
    assert "gpt-5.2                      0.5" in listed


def test_a_variable_gives_prices_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ORACLEPACK_PRICES", "my/model=1.5/6, other=0/0")

    data = answer(capsys, "prices", "show", "my/model", "--json").data

    price = data["price"]["price"]
    assert (price["input"], price["output"], price["tiers"]) == ("1.5", "6", [])


def test_a_project_may_not_set_prices(
    in_a_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_a_project / "oraclepack.toml").write_text('[prices."gpt-5.2"]\ninput = 0\noutput = 0\n')

    shown = answer(capsys, "prices", "show", "gpt-5.2")

    assert "$1.75" in shown.out
    assert "a project may not set this" in shown.err


def test_an_unknown_price_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(capsys, "prices", "show", "my/model")
    data = answer(capsys, "prices", "show", "my/model", "--json").data

    assert "the price is unknown" in shown.out
    assert data["price"] is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("prices = 3\n", "must be a table of prices", id="a number"),
        pytest.param('[prices."m"]\ninput = 3\n', "input and output of m", id="no output price"),
        pytest.param(
            '[prices."m"]\ninput = -1\noutput = 1\n', "as input of m", id="a negative price"
        ),
        pytest.param(
            '[prices."m"]\ninput = "x"\noutput = 1\n', "as input of m", id="words for a price"
        ),
        pytest.param(
            '[prices."m"]\ninput = 1\noutput = inf\n', "as output of m", id="no end of money"
        ),
    ],
)
def test_a_wrong_price_is_refused(
    text: str, reason: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_config(home, text)

    shown = answer(capsys, "prices", "list")

    assert shown.code == 2
    assert reason in shown.err
