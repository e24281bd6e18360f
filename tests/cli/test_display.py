"""Which display a run gets."""

import pytest

from oraclepack.cli.display import display_kind
from oraclepack.settings.loading import load_settings


@pytest.mark.parametrize(
    ("given", "on_terminal", "elsewhere"),
    [
        pytest.param({}, "table", "text", id="nothing: what the screen can show"),
        pytest.param({"tui": False}, "text", "text", id="--no-tui"),
        pytest.param({"quiet": True}, "quiet", "quiet", id="--quiet"),
        pytest.param({"json_log": True}, "json", "json", id="--json-log"),
        pytest.param({"ci": True}, "json", "json", id="--ci"),
        pytest.param({"output": "json"}, "text", "text", id="--json"),
        pytest.param({"output": "jsonl"}, "json", "json", id="--output jsonl"),
        pytest.param({"display": "table"}, "table", "text", id="a table needs a terminal"),
        pytest.param({"display": "text"}, "text", "text", id="--log text"),
        pytest.param({"display": "json"}, "json", "json", id="--log json"),
        pytest.param({"display": "plain"}, "text", "text", id="--display plain"),
        pytest.param({"display": "jsonl"}, "json", "json", id="--display jsonl"),
        pytest.param({"display": "quiet"}, "quiet", "quiet", id="--log quiet"),
        pytest.param({"display": "text", "quiet": True}, "text", "text", id="over --quiet"),
        pytest.param({"display": "table", "tui": False}, "table", "text", id="over --no-tui"),
        pytest.param(
            {"display": "quiet", "json_log": True}, "quiet", "quiet", id="over --json-log"
        ),
        pytest.param({"display": "text", "ci": True}, "text", "text", id="over --ci"),
        pytest.param(
            {"display": "quiet", "output": "jsonl"}, "json", "json", id="--output jsonl wins"
        ),
    ],
)
def test_older_flags_mean_a_display(
    given: dict[str, object], on_terminal: str, elsewhere: str
) -> None:
    settings = load_settings(None, given, reads_config=False)

    assert display_kind(settings, on_terminal=True) == on_terminal
    assert display_kind(settings, on_terminal=False) == elsewhere


@pytest.mark.parametrize(
    ("given", "kind"), [({}, "quiet"), ({"display": "text"}, "text"), ({"ci": True}, "json")]
)
def test_a_coding_agent_gets_nothing_unless_it_asks(given: dict[str, object], kind: str) -> None:
    settings = load_settings(None, given, reads_config=False)

    assert display_kind(settings, on_terminal=False, for_agent=True) == kind
