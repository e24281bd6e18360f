"""What to do about a call that a crash cut off."""

import pytest

from oraclepack.engines.adoption import (
    Adoption,
    LiveProcesses,
    adoption,
    answer_in_log,
    matching,
    session_id,
)
from oraclepack.tools.oracle_sessions import SessionRecord, read_record
from oraclepack.tools.usage import Usage

DONE = SessionRecord("s", "completed")
FAILED = SessionRecord("s", "error")
RUNNING = SessionRecord("s", "running")
PENDING = SessionRecord("s", "pending")
PRO = SessionRecord("s", "running", detached=True, worker_pid=7)


@pytest.mark.parametrize(
    ("record", "lives", "expected"),
    [
        pytest.param(None, LiveProcesses(), Adoption.CALL, id="no record: nothing was asked"),
        pytest.param(
            None, LiveProcesses(caller=True), Adoption.WAIT, id="no record yet, but it lives"
        ),
        pytest.param(
            None,
            LiveProcesses(is_named=True),
            Adoption.UNKNOWN,
            id="no record, and unknown whether it lives",
        ),
        pytest.param(
            FAILED,
            LiveProcesses(is_named=True),
            Adoption.UNKNOWN,
            id="a try failed, with an unknown outcome",
        ),
        pytest.param(
            None,
            LiveProcesses(caller=False, is_named=True),
            Adoption.CALL,
            id="no record, and it is dead",
        ),
        pytest.param(DONE, LiveProcesses(), Adoption.HARVEST, id="answered while we were dead"),
        pytest.param(FAILED, LiveProcesses(), Adoption.CALL, id="it failed"),
        pytest.param(
            FAILED, LiveProcesses(caller=True), Adoption.WAIT, id="a try failed, the next lives"
        ),
        pytest.param(
            DONE, LiveProcesses(caller=True), Adoption.WAIT, id="a try was cut, the next lives"
        ),
        pytest.param(
            PRO, LiveProcesses(caller=True, worker=False), Adoption.WAIT, id="a worker was lost"
        ),
        pytest.param(
            SessionRecord("s", "cancelled"), LiveProcesses(), Adoption.CALL, id="it was cancelled"
        ),
        pytest.param(RUNNING, LiveProcesses(caller=True), Adoption.WAIT, id="its process lives"),
        pytest.param(
            PENDING, LiveProcesses(caller=True), Adoption.WAIT, id="pending, and it lives"
        ),
        pytest.param(
            RUNNING, LiveProcesses(caller=False), Adoption.FORCE, id="dead, but marked running"
        ),
        pytest.param(RUNNING, LiveProcesses(), Adoption.UNKNOWN, id="running at an unknown place"),
        pytest.param(
            PRO, LiveProcesses(caller=False, worker=True), Adoption.ATTACH, id="a worker lives"
        ),
        pytest.param(
            PRO, LiveProcesses(caller=False, worker=False), Adoption.FORCE, id="a worker died"
        ),
        pytest.param(PRO, LiveProcesses(caller=False), Adoption.UNKNOWN, id="an invisible worker"),
    ],
)
def test_adoption(record: SessionRecord | None, lives: LiveProcesses, expected: Adoption) -> None:
    assert adoption(record, lives) is expected


@pytest.mark.parametrize(
    ("record", "lives", "expected"),
    [
        pytest.param(
            None, LiveProcesses(caller=True), Adoption.UNKNOWN, id="no record, and it lives"
        ),
        pytest.param(RUNNING, LiveProcesses(caller=True), Adoption.UNKNOWN, id="it runs and runs"),
        pytest.param(
            FAILED, LiveProcesses(caller=True), Adoption.UNKNOWN, id="the try after a failed one"
        ),
        pytest.param(
            DONE, LiveProcesses(caller=True), Adoption.HARVEST, id="answered, but does not end"
        ),
        pytest.param(
            PRO, LiveProcesses(worker=True), Adoption.UNKNOWN, id="a worker works and works"
        ),
        pytest.param(
            RUNNING, LiveProcesses(caller=False), Adoption.FORCE, id="dead, but marked running"
        ),
    ],
)
def test_adoption_when_patience_is_at_its_end(
    record: SessionRecord | None, lives: LiveProcesses, expected: Adoption
) -> None:
    assert adoption(record, lives, waits=False) is expected


def session(
    name: str, prompt: str = "why?", path: str = "/p/x.md", at: str = "10"
) -> SessionRecord:
    started = f"2026-03-01T10:00:{at}.000Z"
    return SessionRecord(name, "running", prompt=prompt, output_path=path, started_at=started)


@pytest.mark.parametrize(
    ("records", "since", "expected"),
    [
        pytest.param([], "", None, id="none there"),
        pytest.param([session("a")], "", "a", id="the same question for the same file"),
        pytest.param([session("a", prompt=" why?\n")], "", "a", id="white space around it"),
        pytest.param(
            [session("a", prompt="why?\nBe brief.")], "", "a", id="a suffix of the config"
        ),
        pytest.param([session("a", prompt="why not?")], "", None, id="another question"),
        pytest.param([session("a", path="/p/y.md")], "", None, id="another file"),
        pytest.param([session("a"), session("b", at="11")], "", "b", id="the newest"),
        pytest.param(
            [session("a", at="10")], "2026-03-01T10:00:10.900Z", "a", id="the same second"
        ),
        pytest.param(
            [session("a", at="10")], "2026-03-01T10:00:11Z", None, id="older than the call"
        ),
    ],
)
def test_matching(records: list[SessionRecord], since: str, expected: str | None) -> None:
    found = matching(records, "why?", "/p/x.md", since)

    assert (found.id if found else None) == expected


COST = "0.1s · $0.0022 · gpt-5.2[xhigh] · ↑17 ↓154 ↻0* Δ171 · sid=why-is-it-2\nfiles=1\n"


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        pytest.param("🧿\nSession: why-is-it\nMode: x\n", "why-is-it", id="before the answer"),
        pytest.param("Session: fake\n" + COST, "why-is-it-2", id="after it, which is surer"),
        pytest.param("nothing\n", None, id="not reported"),
    ],
)
def test_session_id(out: str, expected: str | None) -> None:
    assert session_id(out) == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(f"Session: s\n\nAnswer:\nyes\n\nno\n\n{COST}", "yes\n\nno\n", id="an answer"),
        pytest.param(f"x\n\nAnswer:\n\n{COST}", None, id="an empty one"),
        pytest.param("x\n\nAnswer:\nhalf an", None, id="one that never ended"),
        pytest.param("x\nERROR: Overloaded\n", None, id="none"),
    ],
)
def test_answer_in_log(log: str, expected: str | None) -> None:
    assert answer_in_log(log) == expected


META = b"""{"id": "s", "status": "completed", "startedAt": "2026-03-01T10:00:00.000Z",
 "model": "gpt-5.2", "cwd": "/p", "mode": "api",
 "options": {"prompt": "why?", "writeOutputPath": "/p/x.md", "file": ["a"]},
 "lifecycle": {"execution": "background", "detached": true, "workerPid": 7},
 "transport": {"reason": "api-error"}, "error": {"category": "prompt-validation"},
 "response": {"incompleteReason": "max_output_tokens"}, "errorMessage": "no",
 "usage": {"inputTokens": 17, "outputTokens": 154, "totalTokens": 171, "cost": 0.0022}}"""


def test_read_record() -> None:
    assert read_record(META) == SessionRecord(
        id="s",
        status="completed",
        prompt="why?",
        output_path="/p/x.md",
        started_at="2026-03-01T10:00:00.000Z",
        model="gpt-5.2",
        detached=True,
        worker_pid=7,
        error_message="no",
        reason="api-error",
        category="prompt-validation",
        incomplete="max_output_tokens",
        usage=Usage(input_tokens=17, output_tokens=154, total_tokens=171, cost_usd=0.0022),
    )


@pytest.mark.parametrize("data", [b"", b"{", b'{"id": "s"}', b"\xff", b"[]"])
def test_half_a_record_is_none(data: bytes) -> None:
    assert read_record(data) is None


def test_a_young_record_tells_little() -> None:
    young = read_record(b'{"id": "s", "status": "pending", "createdAt": "x"}')

    assert young == SessionRecord("s", "pending", started_at="x")
    assert young.output_tokens is None
