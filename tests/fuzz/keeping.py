"""Fuzzing what reads our own files and those of others: journals, snapshots, states, records."""

import re
import zlib
from typing import Any

import msgspec
from hypothesis import strategies as st

from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.line_format import Damage, encode_line, read_lines
from oraclepack.journal.run_state import fold
from oraclepack.shell.prelude_snapshot import BETWEEN, take_snapshot
from oraclepack.tools.oracle_sessions import read_record
from oraclepack.view.legacy_files import import_state
from tests.events import SIGNER, any_event, in_file, numbered
from tests.fuzz import texts
from tests.fuzz.target import Target, says_why

_EVENTS = st.lists(any_event, max_size=7)


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[list[j.KnownEvent], bytes]:
    """A journal, and its bytes after something happened to them."""
    events = numbered(*draw(_EVENTS))
    data = in_file(events)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data)))
        to = draw(st.integers(at, min(len(data), at + 40)))
        wild = draw(
            st.binary(max_size=8) | st.sampled_from((b"\n", b'{"crc":"', b"}\n", b"\0" * 64))
        )
        data = draw(
            st.sampled_from(
                (
                    data[:at],
                    data[:at] + wild + data[to:],
                    data[:to] + data[at:],
                    data[at:],
                    data + wild,
                )
            )
        )
    return events, data


def true_lines_are_kept(case: tuple[list[j.KnownEvent], bytes]) -> None:
    events, data = case
    reading = read_lines(data)
    whole = in_file(events)
    same = sum(1 for one, other in zip(whole, data, strict=False) if one == other)
    same = next((at for at, (a, b) in enumerate(zip(whole, data, strict=False)) if a != b), same)
    intact = whole[:same].count(b"\n")

    assert reading.events[:intact] == tuple(events[:intact]), "what is intact is read"
    assert tuple(events[: len(reading.events)]) == reading.events, "nothing else is believed"
    assert data[: reading.good_bytes] == whole[: reading.good_bytes]
    if reading.damage is None:
        assert data == whole[: reading.good_bytes] + reading.torn
    fold(reading.events)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts.valid,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts.valid, inner, max_size=3),
    max_leaves=6,
)
_KINDS = sorted(j.KINDS)


@st.composite
def _foreign(draw: st.DrawFn) -> bytes:
    """Lines with the right checksum around any JSON."""
    lines, crc = [], 0
    for number in range(1, draw(st.integers(1, 4)) + 1):
        fields = draw(st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=5))
        fields |= {"kind": draw(st.sampled_from(_KINDS) | texts.valid), "seq": number}
        payload = msgspec.json.encode(fields)
        crc = zlib.crc32(payload, crc)
        lines.append(b'{"crc":"%08x","e":%s}\n' % (crc, payload))
    return b"".join(lines)


_FIELDS = ("schema_version", "steps", "step", "attempt", "call", "tool", "at", "ok", "path", "pid")


def foreign_lines_are_no_crash(data: bytes) -> None:
    reading = read_lines(data)

    assert reading.good_bytes <= len(data)
    assert reading.damage is None or isinstance(reading.damage, Damage)
    state = fold(reading.events)
    assert state.last_seq == len(reading.events)
    event = msgspec.structs.replace(j.RunFinished(ok=True), seq=state.last_seq + 1)
    line, _ = encode_line(event, reading.end, SIGNER)
    assert read_lines(data[: reading.good_bytes] + line).events[:-1] == reading.events


_RECORDS = st.lists(
    st.tuples(
        st.sampled_from((b"v", b"f", b"a", b"b", b"s", b"t", b"u", b"p", b"d", b"", b"complete")),
        st.sampled_from((b"PATH", b"x", b"EXIT", b"DEBUG", b"a b", b"it's", b"", b"_")),
        st.sampled_from(
            (b"x=1\n", b"errexit:login_shell", b"", b"trap -- 'x' EXIT\n", b"$(rm -rf /)")
        ),
    ).map(lambda parts: parts[0] + parts[1] + b"\0" + parts[2] + b"\0"),
    max_size=6,
).map(b"".join)


def a_snapshot_is_whole_or_none(case: tuple[bytes, bytes, int]) -> None:
    before, after, cut = case
    stream = before.removesuffix(b"\0") + BETWEEN + after + b"complete\0yes\0"
    snapshot = take_snapshot(stream)

    assert snapshot is not None
    assert take_snapshot(before) is None or b"complete\0" in before
    short = stream[: cut % (len(stream) + 1)]
    assert take_snapshot(short) is None or b"complete\0" in short.partition(BETWEEN)[2]
    same = take_snapshot(before.removesuffix(b"\0") + BETWEEN + before + b"complete\0yes\0")
    assert same is not None
    assert b"unset" not in same.text, "what did not change is not touched"


def an_old_state_is_read_or_refused(case: Any) -> None:
    data = case if isinstance(case, bytes) else msgspec.json.encode(case)
    try:
        statuses = import_state(data)
    except InputError as refused:
        says_why(refused)
        return
    assert all(re.fullmatch("[0-9]{2}", step) for step in statuses)


def a_session_record_is_read_or_not(case: Any) -> None:
    data = case if isinstance(case, bytes) else msgspec.json.encode(case)
    record = read_record(data)

    assert record is None or isinstance(record.error_message, str)


_KEYS = ("step_statuses", "steps", "status", "id", "prompt", "options", "usage", "response")
_STATES = st.binary(max_size=40) | st.fixed_dictionaries({}, optional=dict.fromkeys(_KEYS, _JSON))

TARGETS = (
    Target(
        "journal",
        "of a damaged journal the intact lines are read, and nothing else is believed",
        _damaged(),
        true_lines_are_kept,
        few=60,
    ),
    Target(
        "journal of others",
        "any events with the right checksums are read or named as damage, and can be continued",
        _foreign() | st.binary(max_size=60),
        foreign_lines_are_no_crash,
        few=60,
    ),
    Target(
        "prelude snapshot",
        "the records of a shell give a whole snapshot or none, and only what changed",
        st.tuples(_RECORDS, _RECORDS, st.integers(0, 10**6)),
        a_snapshot_is_whole_or_none,
        few=60,
    ),
    Target(
        "old states",
        "the state of the older tool is read, or refused with a reason",
        _STATES,
        an_old_state_is_read_or_refused,
        few=60,
    ),
    Target(
        "session records",
        "a session record of oracle is read, or is none",
        _STATES,
        a_session_record_is_read_or_not,
        few=60,
    ),
)
