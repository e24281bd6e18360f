"""Which run a command opens, where two commands come at once."""

from pathlib import Path

import pytest

from oraclepack.adapters.clock import SystemClock
from oraclepack.app.reading import read_pack
from oraclepack.app.run.opening import Wish, find_run, opened
from oraclepack.core.errors import LockedError
from tests.events import created
from tests.packs import pack_text


def test_two_new_runs_of_the_same_moment_do_not_become_one(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) one\ntrue\n"))
    pack, clock, wish = read_pack(tmp_path / "pack.md"), SystemClock(), Wish(new_run=True)
    mine, theirs = (find_run(tmp_path, pack, wish, clock) for _ in range(2))

    with opened(theirs, pack, wish, clock, "run") as record:
        record.append(created("01"))
    with pytest.raises(LockedError, match=r"began run .* at the same moment"):
        opened(mine, pack, wish, clock, "run").__enter__()

    assert find_run(tmp_path, pack, wish, clock).run.run_id == f"{mine.run.run_id}__2"
