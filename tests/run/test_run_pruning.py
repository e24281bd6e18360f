"""Which runs stay, by what their journals tell."""

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.run_state import fold
from oraclepack.run.prune_runs import RunFacts, continued_ones, reasons_to_keep, unpaid_again
from tests.events import a_step, created, numbered, session


def run(name: str, last_at: str = "2026-03-01", pack: str = "a.md", **more: object) -> RunFacts:
    about = {"run_id": name, "last_at": last_at, "pack_path": pack, "pack_hash": pack} | more
    return RunFacts(**about)  # type: ignore[arg-type]


OLD, MIDDLE, NEW = run("old", "2026-01-01"), run("middle", "2026-02-01"), run("new", "2026-03-01")
OTHER = run("other", "2026-01-15", pack="b.md")


@pytest.mark.parametrize(
    ("runs", "before", "keep", "kept"),
    [
        pytest.param([OLD, MIDDLE, NEW], None, 1, "new", id="the newest stays"),
        pytest.param([OLD, MIDDLE, NEW], None, 2, "middle new", id="the newest two stay"),
        pytest.param([OLD, MIDDLE, NEW], None, 0, "", id="none need stay"),
        pytest.param([OLD, NEW, OTHER], None, 1, "new other", id="of each pack"),
        pytest.param([OLD, MIDDLE, NEW], "2026-02-01", None, "middle new", id="the old ones go"),
        pytest.param([OLD, MIDDLE, NEW], "2026-02-15", 2, "middle new", id="both must agree"),
        pytest.param([OLD, NEW], "2027-01-01", None, "", id="all are old"),
        *(
            pytest.param([run("x", status=word)], None, 0, "x", id=word)
            for word in ("running", "failed", "incomplete", "interrupted", "damaged", "foreign")
        ),
        pytest.param([run("x", has_open_calls=True)], None, 0, "x", id="a call is open"),
        pytest.param([run("x", is_rolling_back=True)], None, 0, "x", id="a rollback is open"),
        pytest.param([run("x", quarantined=2)], None, 0, "x", id="files are in quarantine"),
        *(
            pytest.param(
                [run("x", status=word, is_rehearsal=True)], None, 0, kept, id=f"a rehearsal, {word}"
            )
            for word, kept in (("failed", ""), ("interrupted", ""), ("running", "x"))
        ),
        pytest.param(
            [OLD, run("rehearsal", "2026-02-01", is_rehearsal=True)],
            None,
            1,
            "old rehearsal",
            id="rehearsals are counted for themselves",
        ),
        pytest.param(
            [OLD, run("failed", "2026-02-01", status="failed")],
            None,
            1,
            "failed",
            id="an unfinished one counts among the newest",
        ),
    ],
)
def test_the_runs_that_stay(
    runs: list[RunFacts], before: str | None, keep: int | None, kept: str
) -> None:
    found = reasons_to_keep(runs, before=before, keep=keep)

    assert sorted(found) == kept.split()
    assert all(found.values())


def test_the_run_that_the_next_command_goes_by() -> None:
    edited = run("edited", "2026-04-01", pack_hash="other words")

    assert continued_ones([OLD, NEW, OTHER, edited]) == {"new", "other", "edited"}


def outcome(tool: str, sha256: str | None, *, ok: bool = True) -> j.InvocationOutcome:
    return j.InvocationOutcome(step="01", attempt=1, call=1, tool=tool, ok=ok, sha256=sha256)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        pytest.param(outcome("oracle", "aa"), None, id="an answer in the cache"),
        pytest.param(outcome("oracle", "bb"), "ask again", id="an answer that is not"),
        pytest.param(outcome("oracle", None), "ask again", id="several answers of one call"),
        pytest.param(outcome("oracle", None, ok=False), None, id="a call that failed"),
        pytest.param(outcome("codex", None), "would call codex again", id="another tool"),
    ],
)
def test_what_the_next_run_would_pay_for(call: j.InvocationOutcome, reason: str | None) -> None:
    state = fold(numbered(created("01"), session(), *a_step("01"), call))

    found = unpaid_again(state, {"aa"})

    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")
