"""`ticketify` on a disk that fails: what is kept, and what a rollback brings back."""

import errno
from pathlib import Path

import pytest

from oraclepack.errors import OraclePackError
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.faults import failing, failing_once
from tests.tickets.tickets import TWO, everything_but_tickets, put

OUT = ".oraclepack/ticketify"
PRD = ".taskmaster/docs/tickets_prd.md"

NUMBER_OF_WRITES = 6


@pytest.mark.parametrize("at", range(1, NUMBER_OF_WRITES + 1))
@pytest.mark.parametrize("fresh", [True, False], ids=["new files", "over old files"])
def test_rollback_brings_everything_back(tmp_path: Path, at: int, fresh: bool) -> None:
    put(tmp_path, TWO)
    if not fresh:
        ticketify(TicketifyRequest(tmp_path, mode="codex"))
        (tmp_path / ".tickets" / "T-2.md").write_text("other\n")
    before = everything_but_tickets(tmp_path)

    with failing(at, errno.ENOSPC, only="rename"):
        made = ticketify(TicketifyRequest(tmp_path, rollback_on_failure=True))

    # The disk that fails every later rename cannot restore files either; it says so.
    after = {
        path: data
        for path, data in everything_but_tickets(tmp_path).items()
        if "_failed" not in path
    }
    prds = after.pop(PRD, None), before.pop(PRD, None)
    if made.data.rollback_status is RollbackStatus.COMPLETED:
        assert after == before
    assert made.data.failed_step is not None
    assert made.data.rollback_status in {RollbackStatus.COMPLETED, RollbackStatus.FAILED}
    # Only the manifest is written after the PRD.
    assert (prds[0] == prds[1]) is (at < NUMBER_OF_WRITES)
    assert not [path for path in made.data.quarantined if path.endswith(PRD)]


@pytest.mark.parametrize("fresh", [True, False], ids=["a new PRD", "over an old PRD"])
def test_a_rollback_leaves_the_prd_and_the_next_command_goes_on(
    tmp_path: Path, fresh: bool
) -> None:
    put(tmp_path, TWO)
    if not fresh:
        ticketify(TicketifyRequest(tmp_path))
        (tmp_path / ".tickets" / "T-2.md").write_text("other\n")

    with failing_once("rename", "manifest.json"):
        made = ticketify(TicketifyRequest(tmp_path, rollback_on_failure=True))

    written = (tmp_path / PRD).read_bytes()
    assert made.data.rollback_status is RollbackStatus.COMPLETED
    assert made.data.completed_steps[-1] == "tickets_prd.md"
    assert made.data.rolled_back_steps == made.data.completed_steps[:-1]
    assert not [path for path in made.data.quarantined if path.endswith(PRD)]
    again = ticketify(TicketifyRequest(tmp_path))
    assert again.data.ok
    assert PRD in again.data.unchanged
    assert (tmp_path / PRD).read_bytes() == written


def test_a_directory_in_the_way_is_found_before_anything_is_written(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    (tmp_path / OUT / "_actions.md").mkdir(parents=True)

    with pytest.raises(OraclePackError):
        ticketify(TicketifyRequest(tmp_path))

    assert everything_but_tickets(tmp_path) == {}


def test_without_the_flag_no_rollback_is_attempted(tmp_path: Path) -> None:
    put(tmp_path, TWO)

    with failing(3, only="rename"):
        made = ticketify(TicketifyRequest(tmp_path))

    assert made.data.rollback_status is RollbackStatus.NOT_ATTEMPTED
    assert made.data.failed_step == "_actions.md"
    assert made.data.completed_steps == ("_tickets_index.json", "_actions.json")
    assert made.data.skipped_steps[-2:] == ("tickets_prd.md", "manifest.json")
