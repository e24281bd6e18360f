"""Whether oracle has answered: exit code 0 is not enough, its words and its records count too."""

import re

import msgspec

from oraclepack.journal.statuses import DETACHED
from oraclepack.tools.oracle_failures import Failure, FailureClass, classify
from oraclepack.tools.oracle_sessions import UNFINISHED, SessionRecord

COMPLETED = "completed"
TIMED_OUT = Failure(
    "CALL_TIMEOUT", FailureClass.TRANSIENT, "the call took longer than --call-timeout allows"
)
_WRITE_FALLBACK = re.compile(r"^write-output fallback to (.+?) \(original failed: ", re.MULTILINE)
_WRITE_FAILED = re.compile(r"^write-output failed \((?P<why>[^)]*)", re.MULTILINE)
_WRITE_SKIPPED = re.compile(r"^write-output skipped: no assistant content", re.MULTILINE)
_NO_TEXT = re.compile(r"^\(no text output\)$", re.MULTILINE)
_NO_TOKENS = re.compile(r"^.*· .*↑0 ↓0 .*Δ0\b.*$", re.MULTILINE)
_SAVED = re.compile(r"^Saved assistant output to ", re.MULTILINE)
_VERSION = re.compile(r"^🧿 oracle (\S+)", re.MULTILINE)
_DETACHED = re.compile(r"^Detach: yes", re.MULTILINE)


class CallEvidence(msgspec.Struct, frozen=True):
    """What is known after a call."""

    exit_code: int
    out: str = ""
    err: str = ""
    record: SessionRecord | None = None
    """None: there is no session record, and the file decides alone."""
    promised: bool = True
    """The call names a file for its answer."""
    answer_bytes: int | None = None
    """The size of the fresh file at the promised path; None when there is none."""
    timed_out: bool = False
    is_whole: bool = False
    """Its file has all sections that were demanded of it, and no sign of a cut."""


def judge(proof: CallEvidence) -> Failure | None:
    """Why there is no whole answer; None when there is one.

    A complete answer in hand counts, however the tool ended: it may have failed on its own log.
    """
    if proof.timed_out or proof.exit_code != 0:
        if proof.answer_bytes and (proof.is_whole or has_saved(proof.out)):
            return _cut_off(proof)
        return TIMED_OUT if proof.timed_out else classify(proof.out, proof.err, proof.record)
    return _detached(proof) or _without_file(proof) or _incomplete(proof)


def has_saved(out: str) -> bool:
    """Whether the tool said, after the answer, that it has written all of it."""
    return _SAVED.search(_last_words(out)) is not None


def version_in(out: str) -> str | None:
    """The version that the tool has printed."""
    found = _VERSION.search(out)
    return found[1] if found else None


def _detached(proof: CallEvidence) -> Failure | None:
    running = proof.record is not None and proof.record.status in UNFINISHED
    if running or (_DETACHED.search(proof.out) and proof.answer_bytes is None):
        message = "the tool left its question running in the background and ended"
        return Failure(DETACHED, FailureClass.FINAL, message)
    return None


def _without_file(proof: CallEvidence) -> Failure | None:
    """The write that did not happen, or happened elsewhere."""
    if proof.answer_bytes:
        return None
    last_line = _last_words(proof.out)
    redirected = redirected_to(proof.out)
    if redirected is not None:
        message = f"the tool could not write the answer and put it at {redirected}"
        return Failure("REDIRECTED_WRITE", FailureClass.FINAL, message)
    failed = _WRITE_FAILED.search(last_line)
    if failed is not None:
        message = f"the tool could not write the answer: {failed['why']}"
        return Failure("WRITE_FAILED", FailureClass.FINAL, message)
    if proof.answer_bytes == 0 or _WRITE_SKIPPED.search(last_line) or _NO_TEXT.search(last_line):
        return _transient("EMPTY_ANSWER", "the model answered nothing")
    if proof.promised and proof.answer_bytes is None:
        message = "the tool said it was done, but there is no file at the promised path"
        return Failure("NO_OUTPUT", FailureClass.FINAL, message)
    return None


def _incomplete(proof: CallEvidence) -> Failure | None:
    """An answer that looks whole and is not: its session says so."""
    record = proof.record
    if record is not None and record.status != COMPLETED:
        failure = classify(proof.out, proof.err, record)
        if failure.kind is not FailureClass.UNKNOWN:
            return failure
        message = f"the tool ended well, but its session is {record.status}"
        return Failure("SESSION_NOT_COMPLETED", FailureClass.FINAL, message)
    return _cut_off(proof)


def _cut_off(proof: CallEvidence) -> Failure | None:
    """The stream ended before its end mark, or the model came to its limit."""
    record = proof.record
    if record is not None and record.incomplete:
        message = f"the answer is incomplete: {record.incomplete}"
        return Failure("INCOMPLETE", FailureClass.FINAL, message)
    if record is None:
        is_empty = _NO_TOKENS.search(_last_words(proof.out)) is not None
    else:
        is_empty = record.output_tokens == 0
    if is_empty:
        message = "the answer was cut off: the stream ended before its end mark"
        return _transient("TRUNCATED", message)
    return None


def redirected_to(out: str) -> str | None:
    """Where the tool says it has put an answer that it could not write to its path."""
    paths = _WRITE_FALLBACK.findall(_last_words(out))
    return paths[-1] if paths else None  # what is before it may be of the answer


def _last_words(out: str, lines: int = 12) -> str:
    """What is after the answer, which may hold any words itself."""
    return "\n".join(out.splitlines()[-lines:])


def _transient(code: str, message: str) -> Failure:
    return Failure(code, FailureClass.TRANSIENT, message)
