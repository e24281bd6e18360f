"""The session and the response that oracle names in what it prints."""

import pytest

from oraclepack.tools.oracle_sessions import PrintedIds, printed_ids

HEAD = "🧿 oracle 0.21.2 — a tagline\nSession: five-short-words\n"
SCHEDULED = "API scheduled background response resp_68ab_1 (status=queued). Monitoring up to 60 m"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("", PrintedIds(), id="nothing yet"),
        pytest.param(HEAD, PrintedIds("five-short-words"), id="the session"),
        pytest.param("Session: half-a-na", PrintedIds(), id="half a line"),
        pytest.param(
            f"{HEAD}{SCHEDULED}\n", PrintedIds("five-short-words", "resp_68ab_1"), id="both"
        ),
        pytest.param(
            f"{HEAD}\x1b[2m{SCHEDULED}\x1b[22m\n",
            PrintedIds("five-short-words", "resp_68ab_1"),
            id="in colour",
        ),
        pytest.param(
            f"{HEAD}\nAnswer:\n{SCHEDULED}\nSession: other\n",
            PrintedIds("five-short-words", is_over=True),
            id="an answer may hold any line",
        ),
        pytest.param(
            f"{HEAD}\n\x1b[1mAnswer:\x1b[22m\n{SCHEDULED}\n",
            PrintedIds("five-short-words", is_over=True),
            id="also below a bold heading",
        ),
        pytest.param(
            f"{HEAD}{SCHEDULED.replace('resp_68ab_1', 'chatcmpl-1')}\n",
            PrintedIds("five-short-words"),
            id="another kind of id",
        ),
        pytest.param(
            f"{HEAD}{SCHEDULED.replace('resp_68ab_1', 'resp_1/../files')}\n",
            PrintedIds("five-short-words"),
            id="a path",
        ),
        pytest.param(f"{HEAD}  {SCHEDULED}\n", PrintedIds("five-short-words"), id="in a line"),
    ],
)
def test_ids(text: str, ids: PrintedIds) -> None:
    assert printed_ids(text) == ids
