"""Reading and writing the lines of a journal."""

import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oraclepack.journal import events as j
from oraclepack.journal.line_format import Link, Signer, Unknown, encode_line, read_lines
from oraclepack.journal.statuses import Status
from oraclepack.system.digests import canonical_line
from tests import events as e

SMALL = e.numbered(e.created("01"), e.session(), *e.a_step("01"), j.RunFinished(ok=True))
FILE = e.in_file(SMALL)
LINES = FILE.splitlines(keepends=True)


def raw(payload: bytes) -> bytes:
    """A first line around any payload, with the right checksum, as oraclepack 0.1.0 wrote it."""
    return b'{"crc":"%08x","e":%s}\n' % (zlib.crc32(payload), payload)


def test_a_journal_reads_back_as_it_was_written() -> None:
    reading = read_lines(FILE)

    assert reading.events == tuple(SMALL)
    assert (reading.torn, reading.damage, reading.good_bytes) == (b"", None, len(FILE))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(st.lists(e.any_event, max_size=8))
def test_every_event_reads_back(events: list[j.Event]) -> None:
    numbered = e.numbered(*events)

    assert read_lines(e.in_file(numbered)).events == tuple(numbered)


def test_a_cut_at_any_byte_loses_only_the_torn_line() -> None:
    for cut in range(len(FILE)):
        reading = read_lines(FILE[:cut])
        whole = FILE[:cut].count(b"\n")

        assert reading.damage is None
        assert reading.events == tuple(SMALL[:whole])
        assert FILE[reading.good_bytes : cut] == reading.torn


def test_a_flip_of_any_bit_is_noticed() -> None:
    last = len(FILE) - len(LINES[-1])
    for place in range(len(FILE)):
        for bit in range(8):
            changed = bytearray(FILE)
            changed[place] ^= 1 << bit
            reading = read_lines(bytes(changed))

            assert reading.events == tuple(SMALL[: len(reading.events)])
            assert len(reading.events) < len(SMALL)
            # Only the last line may pass for a torn one; anything earlier is damage.
            assert (reading.damage is not None) or (place >= last and reading.torn)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        pytest.param([*LINES[:2], *LINES[3:]], 3, id="a line is lost"),
        pytest.param([*LINES[:2], LINES[1], *LINES[2:]], 3, id="a line is doubled"),
        pytest.param([LINES[1], LINES[0], *LINES[2:]], 1, id="two lines are swapped"),
        pytest.param([LINES[0], b"\n", *LINES[1:]], 2, id="an empty line"),
        pytest.param([LINES[0], b"\0" * 50 + b"\n", *LINES[1:]], 2, id="zeros inside"),
        pytest.param(LINES[1:], 1, id="the beginning is lost"),
    ],
)
def test_damage_inside_names_the_line(lines: list[bytes], line: int) -> None:
    reading = read_lines(b"".join(lines))

    assert reading.damage is not None
    assert reading.damage.line == line
    assert len(reading.events) == line - 1


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"\0" * 400, id="zeros after a power cut"),
        pytest.param(b"{", id="one byte"),
        pytest.param(LINES[-1][:-1], id="all but the line end"),
        pytest.param(b"garbage\n", id="a bad last line with its end"),
    ],
)
def test_a_torn_tail_is_dropped(tail: bytes) -> None:
    before = b"".join(LINES[:-1])
    reading = read_lines(before + tail)

    assert (reading.torn, reading.damage) == (tail, None)
    assert reading.events == tuple(SMALL[:-1])


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b'{"kind":"run_created","schema_version":2,"seq":1}', id="other fields"),
        pytest.param(
            b'{"kind":"run_created","pack_hash":"0","pack_id":"x","pack_path":"p",'
            b'"schema_version":7,"seq":1}',
            id="the same fields",
        ),
        pytest.param(b'{"kind":"pack_begun","schema_version":3}', id="another kind"),
    ],
)
def test_a_newer_format_is_not_reported_as_damage(payload: bytes) -> None:
    damage = read_lines(raw(payload)).damage

    assert damage is not None
    assert damage.newer_schema is not None


def test_an_unknown_kind_is_kept() -> None:
    payload = b'{"at":"2026-03-01T10:00:01Z","kind":"dreamt","of":["sheep"],"seq":1}'
    reading = read_lines(raw(payload))

    assert reading.events == (Unknown(kind="dreamt", seq=1, at="2026-03-01T10:00:01Z"),)


def test_an_unknown_field_is_ignored() -> None:
    payload = b'{"at":"t","kind":"warning","message":"m","mood":"bad","seq":1}'

    assert read_lines(raw(payload)).events == (j.WarningRecorded(seq=1, at="t", message="m"),)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b'{"kind":"step_finished","seq":1}', id="fields are missing"),
        pytest.param(b'{"kind":"warning","message":"m","seq":4}', id="a wrong number"),
        pytest.param(b'{"seq":1}', id="no kind"),
        pytest.param(b"[]", id="no object"),
    ],
)
def test_a_line_that_is_no_event_is_damage(payload: bytes) -> None:
    follow, _ = encode_line(j.WarningRecorded(seq=2, message="m"), Link(), e.SIGNER)

    assert read_lines(raw(payload) + follow).damage is not None


def test_the_form_of_a_line() -> None:
    line, _ = encode_line(e.numbered(e.finished("01", Status.OK))[0], Link(), e.SIGNER)
    payload = (
        b'{"at":"2026-03-01T10:00:01Z","attempt":1,"duration_ms":5,"exit_code":0,'
        b'"kind":"step_finished","seq":1,"status":"ok","step":"01"}'
    )
    mac = e.SIGNER.sign(Link(), payload).encode()

    assert line == b'{"crc":"%08x","mac":"%s","e":%s}\n' % (zlib.crc32(mac + payload), mac, payload)


MORE = encode_line(
    e.numbered(*SMALL, j.WarningRecorded(message="m"))[-1], read_lines(FILE).end, e.SIGNER
)[0]
FORGED = e.unsigned(SMALL)
TAKEN = encode_line(
    e.numbered(*SMALL, j.RunTrusted(reason="unsigned"))[-1], read_lines(FORGED).end, e.SIGNER
)[0]


@pytest.mark.parametrize(
    ("data", "signer", "signature"),
    [
        pytest.param(b"", e.SIGNER, "absent", id="an empty journal"),
        pytest.param(FILE, e.SIGNER, "valid", id="one of ours"),
        pytest.param(FILE + MORE, e.SIGNER, "valid", id="one of ours, continued"),
        pytest.param(FILE + MORE[:-9], e.SIGNER, "valid", id="one of ours with a torn line"),
        pytest.param(FILE, None, "invalid", id="one of ours where there is no key"),
        pytest.param(FILE, Signer(b"another", e.SIGNER.run_id), "invalid", id="of another key"),
        pytest.param(FILE, Signer(e.SIGNER.key, "other"), "invalid", id="of another run"),
        pytest.param(FORGED, e.SIGNER, "absent", id="of oraclepack 0.1.0"),
        pytest.param(FORGED + TAKEN, e.SIGNER, "valid", id="of 0.1.0, taken over"),
    ],
)
def test_the_last_signature_decides_whose_it_is(
    data: bytes, signer: Signer | None, signature: str
) -> None:
    reading = read_lines(data, signer)

    assert reading.damage is None
    assert reading.signature == signature


def test_what_others_append_is_noticed() -> None:
    payload = canonical_line(j.WarningRecorded(seq=len(SMALL) + 1, message="m"))
    forged = zlib.crc32(payload, read_lines(FILE).end.crc)
    line = b'{"crc":"%08x","e":%s}\n' % (forged, payload)

    reading = read_lines(FILE + line, e.SIGNER)

    assert (len(reading.events), reading.signature) == (len(SMALL) + 1, "absent")


def test_what_others_change_before_the_last_line_is_noticed() -> None:
    """With the checksums made to fit, which are no secret, and all signatures left as they were."""
    changed, crc = [], 0
    for line in LINES:
        mac, payload = line[25:57], line[63:-2].replace(b'"step":"01"', b'"step":"02"')
        crc = zlib.crc32(payload, zlib.crc32(mac, crc))
        changed.append(b'{"crc":"%08x","mac":"%s","e":%s}\n' % (crc, mac, payload))

    reading = read_lines(b"".join(changed), e.SIGNER)

    assert (reading.damage, len(reading.events)) == (None, len(SMALL))
    assert reading.signature == "invalid"


def test_a_line_that_is_nested_too_deep_is_damage() -> None:
    payload = b'{"kind":' * 100_000
    line = b'{"crc":"%08x","e":%s}\n' % (zlib.crc32(payload), payload)

    assert read_lines(line * 2).damage is not None
