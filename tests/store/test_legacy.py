"""What oraclepack 0.1 and 0.2 left in files is read once and taken over."""

import fcntl
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from oraclepack.calls.file_store import user_store
from oraclepack.calls.store import CallStore
from oraclepack.journal.events import InvocationIntent
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.budget import Budget
from oraclepack.store.claims import Claim
from oraclepack.store.database import StoreError
from oraclepack.store.legacy import foreign_claims, trust_claim
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import canonical_line, keyed_digest, sha256_bytes
from oraclepack.system.trust_key import make_key

KEY = "a" * 64


def an_intent(pid: int) -> InvocationIntent:
    process = ProcessIdentity(pid=pid, start_time="1")
    return InvocationIntent(step="01", attempt=1, call=1, tool="oracle", key=KEY, process=process)


def a_line(intent: InvocationIntent, name: str = f"{KEY}.asking") -> bytes:
    """A line of a claim, as 0.2 wrote it."""
    payload = canonical_line(intent)
    mac = keyed_digest(make_key(), "claim", name.encode(), payload)
    return b'\n{"mac":"%s","e":%s}\n' % (mac.encode(), payload)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CallStore]:
    root = tmp_path / "project"
    run_dir = root / ".oraclepack/runs/r"
    run_dir.mkdir(parents=True)
    with user_store(root, run_dir, SystemClock(), use_cache=True) as opened:
        yield opened


@pytest.fixture
def claim_path(tmp_path: Path) -> Path:
    folder = tmp_path / "project/.oraclepack/cache"
    folder.mkdir(parents=True)
    return folder / f"{KEY}.asking"


def claimed(store: CallStore) -> Claim | None:
    return store.claims.acquire(KEY, lambda _: False)


def test_the_call_of_a_killed_command_of_0_2_is_known_to_the_next(
    store: CallStore, claim_path: Path
) -> None:
    torn = b'{"mac":"0123'
    claim_path.write_bytes(a_line(an_intent(1)) + a_line(an_intent(4711)) + torn)

    held = claimed(store)

    assert held is not None
    assert (held.open_call, held.is_unsigned) == (an_intent(4711), False)
    assert not claim_path.exists(), "the store has it now"
    held.release()
    again = claimed(store)
    assert again is not None
    assert again.open_call == an_intent(4711), "and keeps it until its end is known"


def test_a_command_of_0_2_that_asks_now_is_waited_for(store: CallStore, claim_path: Path) -> None:
    with claim_path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert claimed(store) is None
    assert claimed(store) is not None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(canonical_line(an_intent(4711)), id="as of oraclepack 0.1.0"),
        pytest.param(
            b'{"mac":"%s","e":%s}' % (b"0" * 32, canonical_line(an_intent(4711))),
            id="an invented signature",
        ),
    ],
)
def test_an_unsigned_claim_names_no_call_until_it_is_trusted(
    store: CallStore, claim_path: Path, line: bytes
) -> None:
    claim_path.write_bytes(line + b"\n")

    held = claimed(store)
    assert held is not None
    assert (held.open_call, held.is_unsigned) == (None, True)
    held.release()
    assert claim_path.read_bytes() == line + b"\n", "it is not ours to remove"

    assert foreign_claims(claim_path.parent) == (claim_path,)
    assert trust_claim(claim_path) == 1
    held = claimed(store)
    assert held is not None
    assert (held.open_call, held.is_unsigned) == (an_intent(4711), False)


def test_a_foreign_claim_is_renamed_when_the_question_is_settled(
    store: CallStore, claim_path: Path
) -> None:
    theirs = canonical_line(an_intent(1)) + b"\n"
    claim_path.write_bytes(theirs)
    held = claimed(store)
    assert held is not None
    held.settle()
    held.release()

    assert not claim_path.exists()
    assert claim_path.with_name(f"{claim_path.name}.foreign-1").read_bytes() == theirs


def test_a_claim_of_another_question_tells_nothing(store: CallStore, claim_path: Path) -> None:
    claim_path.write_bytes(a_line(an_intent(4711), f"{'b' * 64}.asking"))

    held = claimed(store)

    assert held is not None
    assert held.open_call is None


def a_ledger(folder: Path) -> Path:
    """The ledger of 0.2: a settled day, an open call, and one that was never opened."""
    ledger = (
        b'{"reservations":{'
        b'"c#1":{"at":"","command":"c","day":"2026-11-16","fleet":"","is_cut_off":false,'
        b'"is_open":true,"run":"r","worst":{"calls":1,"cost":"0.75","tokens":100}},'
        b'"c#2":{"at":"","command":"c","day":"2026-11-16","fleet":"","is_cut_off":false,'
        b'"is_open":false,"run":"r","worst":{"calls":1,"cost":"5","tokens":100}}},'
        b'"sums":[{"command":"","day":"2026-11-16","fleet":"","run":"",'
        b'"spent":{"calls":2,"cost":"1.25","tokens":30}}],"version":1}'
    )
    path = folder / "budget/ledger.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"sha256":"%s","ledger":%s}\n' % (sha256_bytes(ledger).encode(), ledger))
    return path


def test_the_ledger_of_0_2_goes_on(tmp_path: Path) -> None:
    a_ledger(tmp_path)

    found = Budget(SqliteDatabase(tmp_path)).ledger()

    assert [(one.day, one.spent.cost, one.spent.calls) for one in found.sums] == [
        ("2026-11-16", Decimal("1.25"), 2)
    ]
    ((name, held),) = found.reservations.items()
    assert (name, held.worst.cost, held.is_cut_off) == ("c#1", Decimal("0.75"), True)
    Budget(SqliteDatabase(tmp_path)).settle("c#1", None)
    (day,) = Budget(SqliteDatabase(tmp_path)).ledger().sums
    assert day.spent.cost == 2, "it was read once"


def test_a_damaged_ledger_of_0_2_is_a_clear_error(tmp_path: Path) -> None:
    path = a_ledger(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"1.25", b"0.00"))
    budget = Budget(SqliteDatabase(tmp_path))

    with pytest.raises(StoreError, match="its checksum does not fit") as caught:
        budget.ledger()

    assert f"move {path} away" in (caught.value.hint or "")
    path.unlink()
    assert budget.ledger().sums == ()
