"""Exit 0 and what it is worth."""

import pytest

from oraclepack.engines.oracle_evidence import CallEvidence, judge
from oraclepack.tools.oracle_failures import FailureClass
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.usage import Usage

COST = "0.1s · $0.0022 · gpt-5.2[xhigh] · ↑17 ↓154 ↻0* Δ171 · sid=s\nfiles=1\n"
NOTHING = "0.1s · $0 · gpt-5.2[xhigh] · ↑0 ↓0 ↻0* Δ0 · sid=s\nfiles=1\n"
SAVED = "Saved assistant output to /p/out/x.md\n"
HEAD = "🧿 oracle\nSession: s\n\nAnswer:\nyes\n\n"


def record(status: str = "completed", tokens: int | None = 154, **more: str) -> SessionRecord:
    usage = None if tokens is None else Usage(output_tokens=tokens)
    return SessionRecord("s", status, usage=usage, **more)  # type: ignore[arg-type]


GOOD = CallEvidence(0, HEAD + COST + SAVED, record=record(), answer_bytes=99)


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param(GOOD, id="a completed session and its file"),
        pytest.param(
            CallEvidence(0, HEAD + COST + SAVED, answer_bytes=99), id="no record: the file decides"
        ),
        pytest.param(CallEvidence(0, "", answer_bytes=1), id="no word said: the file decides"),
        pytest.param(
            CallEvidence(0, HEAD + COST, record=record(), promised=False), id="no file promised"
        ),
        pytest.param(
            CallEvidence(0, HEAD + COST + SAVED, record=record(tokens=None), answer_bytes=9),
            id="a record that tells no tokens",
        ),
        pytest.param(
            CallEvidence(
                0, "\nAnswer:\n(no text output)\n" + NOTHING + "line\n" * 20, answer_bytes=9
            ),
            id="an answer that quotes such lines",
        ),
    ],
)
def test_a_true_answer(proof: CallEvidence) -> None:
    assert judge(proof) is None


@pytest.mark.parametrize(
    ("proof", "code", "transient"),
    [
        pytest.param(
            CallEvidence(0, HEAD + NOTHING + SAVED, record=record(tokens=0), answer_bytes=9),
            *("TRUNCATED", True),
            id="a stream that ended without its end mark",
        ),
        pytest.param(
            CallEvidence(0, HEAD + NOTHING + SAVED, answer_bytes=9),
            *("TRUNCATED", True),
            id="the same, without a record",
        ),
        pytest.param(
            CallEvidence(
                0,
                "(no text output)\n" + COST + "write-output skipped: no assistant content to save.",
                record=record(),
            ),
            *("EMPTY_ANSWER", True),
            id="an empty answer",
        ),
        pytest.param(CallEvidence(0, "", answer_bytes=0), "EMPTY_ANSWER", True, id="an empty file"),
        pytest.param(
            CallEvidence(0, HEAD + COST, record=record()), "NO_OUTPUT", False, id="no file at all"
        ),
        pytest.param(
            CallEvidence(
                0,
                COST + "write-output failed (EISDIR: illegal operation); session completed anyway.",
                record=record(),
            ),
            *("WRITE_FAILED", False),
            id="a write that failed",
        ),
        pytest.param(
            CallEvidence(
                0,
                COST + "write-output fallback to /p/x.fallback.md (original failed: EACCES: no)",
                record=record(),
            ),
            *("REDIRECTED_WRITE", False),
            id="a write to another file",
        ),
        pytest.param(
            CallEvidence(0, "Detach: yes, polling\n", record=record("running", None, detached="1")),
            *("DETACHED", False),
            id="a detached worker",
        ),
        pytest.param(
            CallEvidence(0, "Session: s\nDetach: yes, polling\n"),
            *("DETACHED", False),
            id="a detached worker without a record",
        ),
        pytest.param(
            CallEvidence(
                0, HEAD + SAVED, record=record("error", error_message="Overloaded"), answer_bytes=9
            ),
            *("OVERLOADED", True),
            id="a session that says error",
        ),
        pytest.param(
            CallEvidence(0, HEAD + SAVED, record=record("cancelled"), answer_bytes=9),
            *("SESSION_NOT_COMPLETED", False),
            id="a session that did not complete",
        ),
        pytest.param(
            CallEvidence(
                0, HEAD + SAVED, record=record(incomplete="max_output_tokens"), answer_bytes=9
            ),
            *("INCOMPLETE", False),
            id="an incomplete response",
        ),
        pytest.param(
            CallEvidence(137, "", timed_out=True),
            "CALL_TIMEOUT",
            True,
            id="longer than the call may take",
        ),
        pytest.param(
            CallEvidence(1, "ERROR: Overloaded\n", answer_bytes=9), "OVERLOADED", True, id="exit 1"
        ),
    ],
)
def test_a_false_claim(proof: CallEvidence, code: str, transient: bool) -> None:
    failure = judge(proof)

    assert failure is not None
    assert (failure.code, failure.kind is FailureClass.TRANSIENT) == (code, transient)
    assert failure.error().transient is transient
