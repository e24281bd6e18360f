"""Who may ask a question: one at a time, and what the dead leave to the next."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.calls.claims import foreign_claims, take_over
from oraclepack.calls.file_store import claims_in
from oraclepack.calls.store import Claim, Unclaimed
from oraclepack.journal.events import InvocationIntent
from oraclepack.journal.statuses import CallIdentity
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.digests import canonical_line

KEY = "a" * 64


def an_intent(pid: int | None = None) -> InvocationIntent:
    process = ProcessIdentity(pid=pid) if pid else None
    return InvocationIntent(step="01", attempt=1, call=1, tool="oracle", key=KEY, process=process)


def claim(folder: Path, key: str) -> Claim | None:
    """The right to ask, without waiting for it."""
    return claims_in(folder, lambda: folder).acquire(key, lambda _: False)


def claimed(folder: Path) -> Claim:
    held = claim(folder, KEY)
    assert held is not None
    return held


def test_one_at_a_time(tmp_path: Path) -> None:
    first = claimed(tmp_path)

    assert claim(tmp_path, KEY) is None
    assert claim(tmp_path, "b" * 64) is not None
    first.release()
    assert claimed(tmp_path).open_call is None


def test_nothing_stays_of_a_settled_question(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent())
    held.settle()
    held.release()

    assert list(tmp_path.iterdir()) == []


def test_the_next_holder_learns_under_which_names_a_call_is_known(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent(4711))
    known = replace(an_intent(4711), identity=CallIdentity(session="s", response="resp_1"))
    held.identify(known)
    held.release()

    assert claimed(tmp_path).open_call == known


def test_a_foreign_claim_is_renamed_when_the_question_is_settled(tmp_path: Path) -> None:
    theirs = canonical_line(an_intent()) + b"\n"
    (tmp_path / f"{KEY}.asking").write_bytes(theirs)
    held = claimed(tmp_path)
    held.note(an_intent(4711))
    held.settle()
    held.release()

    (aside,) = tmp_path.iterdir()
    assert aside.name == f"{KEY}.asking.foreign-1"
    assert aside.read_bytes().startswith(theirs)
    assert claimed(tmp_path).open_call is None


def test_what_is_not_settled_is_found_by_the_next(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent())
    held.note(an_intent(4711))
    held.release()

    later = claimed(tmp_path)
    assert later.open_call == an_intent(4711)
    later.release()
    assert claimed(tmp_path).open_call == an_intent(4711), "looking alone settles nothing"


def test_a_line_behind_a_torn_one_can_be_read(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent())
    held.release()
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"step":"0')
    held = claimed(tmp_path)
    held.note(an_intent(4711))
    held.release()

    assert claimed(tmp_path).open_call == an_intent(4711)


def test_a_torn_last_line_leaves_the_one_before(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent())
    held.release()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"kind": "invocation_int')

    assert claimed(tmp_path).open_call == an_intent()


def test_a_removed_file_is_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder removed it between our opening and our locking it."""
    opened = []

    def samestat(*_: object) -> bool:
        opened.append(1)
        return len(opened) > 1

    monkeypatch.setattr(os.path, "samestat", samestat)
    assert claim(tmp_path, KEY) is not None
    assert len(opened) == 2


def test_where_no_file_can_be_made_the_question_is_asked_without_a_claim(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")

    held = claim(tmp_path / "cache", KEY)

    assert isinstance(held, Unclaimed)
    assert (held.open_call, held.is_unsigned) == (None, False)


def test_who_waits_asks_after_the_one_who_asks_now(tmp_path: Path) -> None:
    first, waited = claimed(tmp_path), list[float]()
    first.note(an_intent(4711))

    def pause(seconds: float) -> bool:
        waited.append(seconds)
        if len(waited) == 5:
            first.release()
        return True

    held = claims_in(tmp_path, lambda: tmp_path).acquire(KEY, pause)

    assert held is not None
    assert held.open_call == an_intent(4711)
    assert waited == [0.05, 0.1, 0.2, 0.4, 0.5], "ever more seldom, up to twice a second"


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
def test_an_unsigned_claim_names_no_call_until_it_is_trusted(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / f"{KEY}.asking"
    path.write_bytes(line + b"\n")

    held = claimed(tmp_path)
    assert (held.open_call, held.is_unsigned) == (None, True)
    held.release()
    assert path.read_bytes() == line + b"\n", "it is not ours to remove"

    assert foreign_claims(tmp_path) == (path,)
    assert take_over(path) == 1
    held = claimed(tmp_path)
    assert (held.open_call, held.is_unsigned) == (an_intent(4711), False)


def test_a_claim_of_another_question_tells_nothing(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.note(an_intent())
    held.release()
    (tmp_path / f"{KEY}.asking").rename(tmp_path / f"{'b' * 64}.asking")

    other = claim(tmp_path, "b" * 64)

    assert other is not None
    assert other.open_call is None
