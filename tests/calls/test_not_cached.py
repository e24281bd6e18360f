"""An answer that the cache does not have, although it was paid for."""

import shutil
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.costs import total_cost
from oraclepack.system.digests import sha256_bytes
from tests.calls.office import ANSWER, OUT, Office, ScriptedShim, answering

EDITED = b"edited since\n"


def answered(tmp_path: Path) -> tuple[Office, ScriptedShim]:
    """A call that ended well, and a cache that was removed."""
    office, shim = Office(tmp_path), ScriptedShim(answering())
    assert office.call(shim) == 0
    assert office.last.sha256 is not None
    shutil.rmtree(office.cache.directory)
    return office, shim


def test_the_run_has_it_by_its_hash(tmp_path: Path) -> None:
    office, shim = answered(tmp_path)

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
    assert (office.out(), office.last.adopted) == (ANSWER, True)


def test_what_was_edited_since_is_not_taken_for_it(tmp_path: Path) -> None:
    office, shim = answered(tmp_path)
    office.put(OUT, EDITED)

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
    assert office.out() == ANSWER


def test_a_run_of_an_earlier_version_has_it_among_its_outputs(tmp_path: Path) -> None:
    office, shim = answered(tmp_path)
    shutil.rmtree(office.run_dir / "blobs")
    (office.root / OUT).unlink()
    copy = "outputs/01-step.md"
    office.put(f".oraclepack/runs/r/{copy}", ANSWER)
    recorded = sha256_bytes(ANSWER)
    office.journal.append(
        j.OutputRecorded(
            step="01", attempt=1, path=copy, declared_path=OUT, sha256=recorded, bytes=len(ANSWER)
        )
    )

    assert office.call(shim) == 0
    assert (len(shim.orders), office.out()) == (1, ANSWER)


def test_an_answer_that_is_nowhere_is_asked_for_again(tmp_path: Path) -> None:
    office, shim = answered(tmp_path)
    shutil.rmtree(office.run_dir / "blobs")
    office.put(OUT, EDITED)

    assert office.call(shim) == 0
    assert len(shim.orders) == 2


@pytest.mark.parametrize("use_cache", [True, False], ids=["the cache is gone", "--no-cache"])
def test_an_answer_of_this_run_is_not_added_to_its_cost_again(
    tmp_path: Path, *, use_cache: bool
) -> None:
    office, shim = Office(tmp_path, use_cache=use_cache), ScriptedShim(answering())
    assert office.call(shim) == 0
    before = total_cost(office.invocations)
    shutil.rmtree(office.cache.directory, ignore_errors=True)
    shutil.rmtree(office.run_dir / "answers", ignore_errors=True)

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
    after = total_cost(office.invocations)
    assert (before.calls, after.calls, after.cost) == (1, 1, before.cost)
    assert after.saved_calls == 1
