"""Builders of journals: events with plausible fields, numbered as a journal numbers them."""

import zlib
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.line_format import Link, Signer, encode_line
from oraclepack.journal.statuses import (
    Cache,
    CallIdentity,
    CallWait,
    OutputRetry,
    QuestionSize,
    RollbackStatus,
    Status,
    Wait,
)
from oraclepack.journal.timeline import CallTimeline
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.digests import canonical_line
from oraclepack.system.trust_key import make_key
from oraclepack.tools.usage import FigureSource, Usage

PACK_HASH = "5" * 64
SIGNER = Signer(b"a test key, 32 bytes of it or less", "2026-03-01__abc1234__55555555")


def at(second: int) -> str:
    return f"2026-03-01T10:{second // 60:02}:{second % 60:02}Z"


def numbered(*events: j.Event) -> list[j.KnownEvent]:
    return [
        msgspec.structs.replace(event, seq=number, at=event.at or at(number))
        for number, event in enumerate(events, start=1)
    ]


def created(*steps: str, **changes: object) -> j.RunCreated:
    event = j.RunCreated(
        schema_version=j.SCHEMA_VERSION,
        pack_id="2026-03-01__abc1234__55555555",
        pack_path="docs/pack.md",
        pack_hash=PACK_HASH,
        git_sha="a" * 40,
        git_dirty=False,
        oraclepack_version="1.0",
        engine="api",
        steps=steps,
    )
    return msgspec.structs.replace(event, **changes)


def session(pid: int = 100) -> j.SessionStarted:
    return j.SessionStarted(pid=pid, host="box", argv=("run", "pack.md"))


def started(step: str, attempt: int = 1) -> j.StepStarted:
    return j.StepStarted(
        step=step,
        attempt=attempt,
        command_hash=f"hash-{step}",
        stdout_log=f"logs/{step}.{attempt}.stdout.log",
        stderr_log=f"logs/{step}.{attempt}.stderr.log",
        token=f"token-{step}-{attempt}",
    )


def output(step: str, attempt: int = 1, name: str = "answer") -> j.OutputRecorded:
    return j.OutputRecorded(
        step=step,
        attempt=attempt,
        path=f"outputs/{step}-{name}.md",
        declared_path=f"out/{step}-{name}.md",
        sha256="b" * 64,
        bytes=12,
    )


def finished(step: str, status: Status = Status.OK, attempt: int = 1) -> j.StepFinished:
    error = StepError(code="EXIT", message="it ended with 1") if status is Status.FAILED else None
    return j.StepFinished(
        step=step,
        attempt=attempt,
        status=status,
        exit_code=int(status is Status.FAILED),
        error=error,
        duration_ms=5,
    )


def a_step(step: str, status: Status = Status.OK, attempt: int = 1) -> list[j.KnownEvent]:
    """A step from start to end, with its output when it went well."""
    made = [output(step, attempt)] if status is Status.OK else []
    return [started(step, attempt), *made, finished(step, status, attempt)]


def in_file(events: Iterable[j.KnownEvent], signer: Signer = SIGNER) -> bytes:
    """The bytes of a journal file that holds these events."""
    link = Link()
    lines = []
    for event in events:
        line, link = encode_line(event, link, signer)
        lines.append(line)
    return b"".join(lines)


def unsigned(events: Iterable[j.KnownEvent]) -> bytes:
    """The same as oraclepack 0.1.0 wrote it, or a repository with a journal in it."""
    crc, lines = 0, []
    for event in events:
        payload = canonical_line(event)
        crc = zlib.crc32(payload, crc)
        lines.append(b'{"crc":"%08x","e":%s}\n' % (crc, payload))
    return b"".join(lines)


def write_journal(directory: Path, *events: j.Event) -> Path:
    """A journal in a run directory, signed with the key of the user who runs the test."""
    path = directory / "journal.jsonl"
    path.write_bytes(in_file(numbered(*events), Signer(make_key(), directory.name)))
    return path


def _some(event: type[j.Event], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[j.Event]:
    return st.builds(event, **fields)


_STEPS = st.sampled_from(["01", "02", "03"])
_SMALL = st.integers(1, 3)
_WHO = {"step": _STEPS, "attempt": _SMALL}
_CALL = {**_WHO, "call": _SMALL, "tool": st.just("oracle")}
_USAGE = st.none() | st.builds(
    Usage,
    input_tokens=st.none() | st.integers(0, 9),
    cost=st.none() | st.decimals(0, 9, places=6),
    cost_source=st.sampled_from(FigureSource),
)
_WAIT = st.none() | st.builds(CallWait, call=st.integers(1, 9), reason=st.text(max_size=5))
_QUESTION = st.none() | st.builds(
    QuestionSize, provider=st.just("openai"), input_tokens=_SMALL, files=st.just({"a.py": 3})
)
_RETRY = st.none() | st.builds(OutputRetry, number=_SMALL)

_RESERVED = {
    **_WHO,
    "call": _SMALL,
    "reservation": st.sampled_from(["a#1", "a#2"]),
    "cost": st.sampled_from([Decimal(0), Decimal("1.25")]),
    "tokens": _SMALL,
}
any_event: st.SearchStrategy[j.Event] = st.one_of(
    st.just(created("01", "02", "03")),
    st.builds(session, _SMALL),
    _some(j.ForecastRecorded, to_ask=_SMALL, likely=st.sampled_from([None, Decimal(1)])),
    _some(j.HeadRecorded, sha=st.none() | st.sampled_from(["a" * 40, "c" * 40])),
    _some(j.PreludeStarted, attempt=_SMALL),
    _some(j.PreludeFinished, attempt=_SMALL),
    _some(j.StepStarted, **_WHO),
    _some(j.StepSpawned, **_WHO, process=st.just(ProcessIdentity(pid=7))),
    _some(j.InvocationIntent, **_CALL, retry=_RETRY, question=_QUESTION),
    _some(
        j.InvocationOutcome, **_CALL, ok=st.booleans(), cache=st.sampled_from(Cache), usage=_USAGE
    ),
    _some(
        j.CallIdentified,
        **_WHO,
        call=_SMALL,
        identity=st.builds(CallIdentity, session=st.just("s"), response=st.just("resp_1")),
    ),
    _some(j.TryStarted, **_WHO, call=_SMALL, number=_SMALL),
    _some(j.TryFinished, **_WHO, call=_SMALL, number=_SMALL, ok=st.booleans()),
    _some(j.WaitStarted, **_WHO, call=_SMALL, wait=_SMALL, reason=st.sampled_from(list(Wait))),
    _some(j.WaitFinished, **_WHO, call=_SMALL, wait=_SMALL),
    _some(j.ControlOpened, socket=st.just("/tmp/op-0/control")),
    _some(j.ControlRequested, action=st.sampled_from(["stop", "pause"]), by=st.just("me")),
    _some(j.CallsAwaited, calls=_SMALL, step=_STEPS),
    _some(j.DecisionNeeded, step=_STEPS, call=_SMALL, question=st.text(max_size=5)),
    _some(
        j.DecisionMade,
        step=_STEPS,
        call=_SMALL,
        question=st.text(max_size=5),
        answer=st.sampled_from(["retry", "fail"]),
    ),
    _some(j.BudgetReserved, **_RESERVED),
    _some(j.BudgetSettled, **_RESERVED, calls=_SMALL, worst_case=st.booleans()),
    _some(
        j.OutputBackedUp,
        **_WHO,
        path=st.just("a.md"),
        backup=st.just("b"),
        sha256=st.just("0"),
        bytes=_SMALL,
    ),
    _some(j.OutputInUse, **_WHO, path=st.just("out/01-answer.md"), obtained=st.booleans()),
    st.builds(output, _STEPS, _SMALL),
    _some(
        j.OutputRevised,
        **_WHO,
        path=st.just("outputs/01-answer.md"),
        declared_path=st.just("out/01-answer.md"),
        sha256=st.sampled_from(["0", "b" * 64]),
        bytes=_SMALL,
        accepted=st.booleans(),
    ),
    _some(
        j.OutputRestored,
        step=_STEPS,
        path=st.just("outputs/01-answer.md"),
        declared_path=st.just("out/01-answer.md"),
        sha256=st.just("0"),
    ),
    st.builds(finished, _STEPS, st.sampled_from(Status), _SMALL),
    _some(j.Quarantined, **_WHO, moves=st.just(())),
    _some(j.Restored, step=_STEPS, moves=st.just(())),
    _some(j.RollbackStarted, steps=st.just(("01",))),
    _some(j.FileUndone, step=_STEPS, path=st.just("a.md")),
    _some(j.RolledBack, steps=st.just(("01", "02"))),
    _some(
        j.RollbackFinished,
        status=st.sampled_from(RollbackStatus),
        left=st.sampled_from([(), ("a.md",)]),
    ),
    _some(j.Imported, source=st.just("x.state.json"), sha256=st.just("0")),
    _some(j.RunTrusted, reason=st.sampled_from(["unsigned", "other_key"])),
    _some(j.WarningRecorded, message=st.text(max_size=5), wait=_WAIT),
    _some(j.SessionFinished, exit_code=_SMALL),
    _some(j.RunFinished, ok=st.booleans()),
)
"""Any event, in any order: a fold must be total over all of it."""


def totals_by_reason(timelines: Iterable[CallTimeline]) -> dict[str, int]:
    """Milliseconds that calls spent: each kind, and each wait by its reason."""
    sums: dict[str, int] = {}
    for timeline in timelines:
        for segment in timeline.segments:
            name = segment.reason or segment.kind.value
            sums[name] = sums.get(name, 0) + segment.milliseconds()
    return dict(sorted(sums.items()))
