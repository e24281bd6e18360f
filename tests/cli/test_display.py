"""Which display a run gets."""

import pytest

from oraclepack import api
from oraclepack.cli.display import display_kind


@pytest.mark.parametrize(
    ("given", "on_terminal", "elsewhere"),
    [
        pytest.param({}, "table", "plain", id="nothing: what the screen can show"),
        pytest.param({"tui": False}, "plain", "plain", id="--no-tui"),
        pytest.param({"quiet": True}, "quiet", "quiet", id="--quiet"),
        pytest.param({"json_log": True}, "jsonl", "jsonl", id="--json-log"),
        pytest.param({"ci": True}, "jsonl", "jsonl", id="--ci"),
        pytest.param({"output": "json"}, "plain", "plain", id="--json"),
        pytest.param({"output": "jsonl"}, "jsonl", "jsonl", id="--output jsonl"),
        pytest.param({"display": "table"}, "table", "plain", id="a table needs a terminal"),
        pytest.param({"display": "plain"}, "plain", "plain", id="--display plain"),
        pytest.param({"display": "jsonl"}, "jsonl", "jsonl", id="--display jsonl"),
        pytest.param({"display": "quiet"}, "quiet", "quiet", id="--display quiet"),
        pytest.param({"display": "plain", "quiet": True}, "plain", "plain", id="over --quiet"),
        pytest.param({"display": "table", "tui": False}, "table", "plain", id="over --no-tui"),
        pytest.param(
            {"display": "quiet", "json_log": True}, "quiet", "quiet", id="over --json-log"
        ),
        pytest.param({"display": "plain", "ci": True}, "plain", "plain", id="over --ci"),
        pytest.param(
            {"display": "quiet", "output": "jsonl"}, "jsonl", "jsonl", id="--output jsonl wins"
        ),
    ],
)
def test_older_flags_mean_a_display(
    given: dict[str, object], on_terminal: str, elsewhere: str
) -> None:
    settings = api.load_settings(None, given, reads_config=False)

    assert display_kind(settings, on_terminal=True) == on_terminal
    assert display_kind(settings, on_terminal=False) == elsewhere


@pytest.mark.parametrize(
    ("given", "kind"), [({}, "quiet"), ({"display": "plain"}, "plain"), ({"ci": True}, "jsonl")]
)
def test_a_coding_agent_gets_nothing_unless_it_asks(given: dict[str, object], kind: str) -> None:
    settings = api.load_settings(None, given, reads_config=False)

    assert display_kind(settings, on_terminal=False, for_agent=True) == kind
