"""An answer that the cache does not have, although it was paid for."""

import shutil
from pathlib import Path

from oraclepack.journal import events as j
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
