"""A question whose prompt was sent in a browser is never asked again without a person's word."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from oraclepack.calls.context import OnUnknown
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import UNDECIDED
from tests.calls.crashed import DEAD, DyingShim, KilledError, later
from tests.calls.office import OUT, Act, Office, ScriptedShim, answering, output_of
from tests.packs import ANSWER_FORMAT

PROMPT = f"why?\n\n{ANSWER_FORMAT}"
ASK = ("-p", PROMPT, "-e", "browser", "--write-output", OUT)
WHOLE = (
    b"## Direct answer\n- yes\n\n## Risks/unknowns\n- none\n\n"
    b"## Next smallest concrete experiment\n- try it\n\n## Missing evidence\n- none\n"
)
SHORT = WHOLE.partition(b"## Missing")[0]
SUBMITTED = {"promptSubmitted": True, "conversationId": "c-1"}


def record(office: Office, runtime: dict[str, Any], integrity: str | None = None) -> None:
    """Oracle's own record of a session whose worker is dead."""
    folder = office.oracle_home / "sessions" / "s"
    folder.mkdir(parents=True, exist_ok=True)
    browser: dict[str, Any] = {"runtime": runtime}
    if integrity is not None:
        browser["harvest"] = {"state": "completed", "integrity": {"status": integrity}}
    meta = {
        "id": "s",
        "status": "running",
        "startedAt": "2026-03-01T10:00:09.000Z",
        "options": {"prompt": PROMPT, "writeOutputPath": str(office.private)},
        "browser": browser,
    }
    (folder / "meta.json").write_bytes(msgspec.json.encode(meta))


def crashed(tmp_path: Path) -> None:
    office = Office(tmp_path)
    with pytest.raises(KilledError):
        office.call(DyingShim(DEAD), *ASK)
    office.journal.close()


def harvesting(office: Office, data: bytes | None, integrity: str = "matched") -> Act:
    """`oracle session s --harvest` as the real one does it; anything else asks."""

    def act(order: ToolRun) -> ToolEnd:
        if order.argv[0] != "session":
            return answering(WHOLE)(order)
        assert order.argv[:3] == ("session", "s", "--harvest")
        if data is None:
            return ToolEnd(1, "", "No live browser tab found.\n")
        output_of(order).write_bytes(data)
        record(office, SUBMITTED, integrity)
        return ToolEnd(0, "Capture identity: matched\n")

    return act


def harvests(shim: ScriptedShim) -> list[bool]:
    return [order.argv[0] == "session" for order in shim.orders]


def test_the_answer_in_the_conversation_is_taken(tmp_path: Path) -> None:
    crashed(tmp_path)
    office = later(tmp_path)
    record(office, SUBMITTED)
    shim = ScriptedShim(harvesting(office, WHOLE))

    assert office.call(shim, *ASK) == 0
    assert harvests(shim) == [True]
    assert office.out() == WHOLE
    assert (office.last.adopted, office.last.session) == (True, "s")
    assert all(not made.is_open for made in office.invocations)


@pytest.mark.parametrize(
    ("data", "integrity"),
    [
        pytest.param(None, "", id="it cannot be read"),
        pytest.param(WHOLE, "mismatch", id="it is another conversation"),
        pytest.param(SHORT, "matched", id="it lacks a section"),
        pytest.param(b"\n", "matched", id="it is empty"),
    ],
)
def test_what_does_not_fit_is_a_decision_for_a_person(
    tmp_path: Path, data: bytes | None, integrity: str
) -> None:
    crashed(tmp_path)
    office = later(tmp_path)
    record(office, SUBMITTED)
    shim = ScriptedShim(harvesting(office, data, integrity))

    assert office.call(shim, *ASK) == 1
    assert harvests(shim) == [True]
    assert office.last.error is not None
    assert office.last.error.code == UNDECIDED
    assert office.out() is None
    office.journal.close()
    record(office, SUBMITTED)
    decided = later(tmp_path, on_unknown=OnUnknown.RETRY)
    decided.number = 19
    assert decided.call(shim, *ASK) == 0
    assert harvests(shim) == [True, True, False]


def test_a_prompt_that_was_not_sent_is_asked(tmp_path: Path) -> None:
    crashed(tmp_path)
    office = later(tmp_path)
    record(office, {})
    shim = ScriptedShim(harvesting(office, None))

    assert office.call(shim, *ASK) == 0
    assert harvests(shim) == [False]


def test_an_error_after_the_prompt_was_sent_is_not_tried_again(tmp_path: Path) -> None:
    office = Office(tmp_path)

    def losing(order: ToolRun) -> ToolEnd:
        if order.argv[0] == "session":
            return harvesting(office, WHOLE)(order)
        record(office, SUBMITTED)
        return ToolEnd(1, "Session: s\nERROR: Request timed out.\n")

    shim = ScriptedShim(losing)

    assert office.call(shim, *ASK) == 0
    assert harvests(shim) == [False, True]
    assert office.out() == WHOLE
