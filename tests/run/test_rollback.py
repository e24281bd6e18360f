from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.journal import events as j
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.rollback import (
    UndoAction,
    UndoList,
    has_failed,
    is_unfinished,
    protected,
    steps_taken_back,
    undo_list,
)
from tests.events import created, numbered, output, session


def aside(step: str, path: str, attempt: int = 1) -> j.OutputBackedUp:
    return j.OutputBackedUp(
        step=step,
        attempt=attempt,
        path=path,
        backup=f"backups/{step}.{attempt}/{path}",
        sha256=f"old-{step}",
        bytes=3,
        mode=0o640,
    )


def made(step: str, path: str, **changes: object) -> j.OutputRecorded:
    event = msgspec.structs.replace(output(step), declared_path=path)
    return msgspec.structs.replace(event, **changes)


def after(*events: j.Event) -> RunState:
    return fold(numbered(created("01", "02", "03"), session(), *events))


def undos(state: RunState) -> tuple[UndoAction, ...]:
    """What is taken back; when that was recorded is not compared."""
    return tuple(
        msgspec.structs.replace(
            undo, before=undo.before and msgspec.structs.replace(undo.before, seq=0, at="")
        )
        for undo in undo_list(state).undos
    )


IN_RECORD = j.OutputBackedUp(
    step="01", attempt=1, path="a.md", backup="backups/a", sha256="old-01", bytes=0
)
REPLACED = made("01", "a.md", created=False, replaced_sha256="old-01", backup="backups/a")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="nothing was done"),
        pytest.param([made("01", "a.md")], [UndoAction("01", 1, "a.md")], id="a new file"),
        pytest.param(
            [aside("01", "a.md"), REPLACED],
            [UndoAction("01", 1, "a.md", aside("01", "a.md"))],
            id="a replaced file",
        ),
        pytest.param(
            [REPLACED],
            [UndoAction("01", 1, "a.md", IN_RECORD)],
            id="a replaced file that only its record tells of",
        ),
        pytest.param(
            [aside("01", "a.md")],
            [UndoAction("01", 1, "a.md", aside("01", "a.md"))],
            id="a file the step may or may not have replaced",
        ),
        pytest.param(
            [made("01", "a.md"), made("02", "b.md"), made("03", "c.md")],
            [UndoAction("03", 1, "c.md"), UndoAction("02", 1, "b.md"), UndoAction("01", 1, "a.md")],
            id="the newest first",
        ),
        pytest.param(
            [made("01", "a.md"), aside("02", "a.md"), made("02", "a.md", created=False)],
            [UndoAction("02", 1, "a.md")],
            id="made by one step and replaced by the next: there was none before",
        ),
        pytest.param(
            [aside("01", "a.md"), REPLACED, aside("01", "a.md", 2), made("01", "a.md", attempt=2)],
            [UndoAction("01", 2, "a.md", aside("01", "a.md"))],
            id="two attempts: the file before the first one counts",
        ),
        pytest.param(
            [msgspec.structs.replace(output("01"), declared_path=None)],
            [],
            id="a file that is only in the run directory stays",
        ),
    ],
)
def test_what_is_taken_back(events: Iterable[j.Event], expected: list[UndoAction]) -> None:
    assert list(undos(after(*events))) == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("docs/answers/01.md", None, id="an answer"),
        pytest.param(".oraclepack/ticketify/_actions.json", None, id="an index of ours"),
        pytest.param("docs/03-prd-review.md", None, id="an answer about the PRD"),
        pytest.param(".taskmaster/tasks/tasks.json", "it belongs to Task Master", id="tasks"),
        pytest.param("./.TaskMaster/x", "it belongs to Task Master", id="spelled oddly"),
        pytest.param("x/tm-complexity.json", "it is a result of Task Master", id="complexity"),
        pytest.param("docs/tickets_prd.md", "it is the PRD", id="the PRD"),
        pytest.param("PRD.txt", "it is the PRD", id="the PRD as text"),
        pytest.param(".oraclepack/cache/k.md", "it lies in .oraclepack/cache", id="the cache"),
        pytest.param(".oraclepack/runs/r/run.json", "it lies in .oraclepack/runs", id="a run"),
        pytest.param("./pack.state.json", "it records the state of the run", id="the state file"),
        pytest.param("pack.report.json", "it records the state of the run", id="the report file"),
        pytest.param("other.report.json", None, id="the report of another pack"),
    ],
)
def test_what_is_never_touched(path: str, reason: str | None) -> None:
    assert protected(path, "docs/pack.md") == reason


def test_a_state_file_needs_the_name_of_a_pack() -> None:
    assert protected(".state.json", "") is None


def test_protected_and_lost_files_are_kept_and_reported() -> None:
    state = after(made("01", "prd.md"), made("02", "a.md", created=False))
    lost = "a.md stays: no copy of the file it replaced was kept"

    assert undo_list(state, failed=["03"]) == UndoList(
        undos=(),
        unrestored=(
            j.WarningRecorded(step="02", message=lost),
            j.WarningRecorded(step="01", message="prd.md stays: it is the PRD"),
        ),
        steps=("03",),
    )


def test_steps_of_which_something_is_taken_back_are_pending_again() -> None:
    state = after(made("01", "a.md"), aside("02", "a.md"), made("02", "prd.md"))

    assert undo_list(state, failed=["03"]).steps == ("01", "02", "03")


BEGUN = (
    made("01", "a.md"),
    made("02", "b.md"),
    j.RollbackStarted(steps=("01", "02", "03")),
    j.FileUndone(step="02", path="b.md"),
)


def test_an_interrupted_rollback_goes_on_where_it_was() -> None:
    state = after(*BEGUN)

    assert is_unfinished(state)
    assert undos(state) == (UndoAction("01", 1, "a.md"),)
    assert undo_list(state).steps == ("01", "02", "03")


@pytest.mark.parametrize("status", [RollbackStatus.COMPLETED, RollbackStatus.FAILED])
def test_an_earlier_rollback_says_nothing_about_this_command(status: RollbackStatus) -> None:
    state = after(*BEGUN, j.RollbackFinished(status=status), session(), made("02", "b.md"))

    assert not is_unfinished(state)
    assert undos(state) == (UndoAction("02", 1, "b.md"),)
    assert undo_list(state).steps == ("02",)


FAILED = j.RollbackFinished(status=RollbackStatus.FAILED, error="no", left=("a.md",))


def test_a_failed_rollback_goes_on_with_what_was_left() -> None:
    state = after(*BEGUN, FAILED)

    assert has_failed(state)
    assert undos(state) == (UndoAction("01", 1, "a.md"),)
    again = fold(numbered(created("01", "02", "03"), session(), *BEGUN, FAILED, BEGUN[2]))
    assert is_unfinished(again)
    assert undos(again) == (UndoAction("01", 1, "a.md"),)


def test_the_next_command_makes_an_earlier_failure_its_own_past() -> None:
    state = after(*BEGUN, FAILED, j.SessionFinished(exit_code=3), session())

    assert not has_failed(state)


@pytest.mark.parametrize(
    ("undone", "left", "back"),
    [
        pytest.param(["a.md", "b.md", "c.md"], [], ("01", "02", "03"), id="all of it"),
        pytest.param(["c.md"], ["a.md", "b.md"], ("02", "03"), id="only what came back"),
        pytest.param(["b.md"], ["a.md", "c.md"], ("02", "03"), id="one of two files of a step"),
        pytest.param([], ["a.md", "b.md", "c.md"], ("03",), id="nothing came back"),
        pytest.param(["a.md"], ["b.md", "c.md"], ("01", "03"), id="the oldest alone"),
    ],
)
def test_after_a_failed_rollback_steps_are_what_their_files_are(
    undone: list[str], left: list[str], back: tuple[str, ...]
) -> None:
    """Step 01 made a.md, step 02 b.md and c.md; step 03 failed and left nothing."""
    events = [made("01", "a.md"), made("02", "b.md"), made("02", "c.md")]
    listed = undo_list(after(*events), failed=["03"])
    done = [j.FileUndone(step="02", path=path) for path in undone]

    state = after(*events, j.RollbackStarted(steps=listed.steps), *done)

    assert steps_taken_back(state, listed, left) == back


def test_a_run_without_a_beginning_has_nothing_to_take_back() -> None:
    assert undo_list(RunState()) == UndoList((), (), ())


_PATHS = st.sampled_from(["a.md", "b.md", "c.md", ".taskmaster/t.json"])
_STEPS = st.sampled_from(["01", "02", "03"])


@given(
    st.lists(st.builds(aside, _STEPS, _PATHS) | st.builds(made, _STEPS, _PATHS), max_size=8),
    st.data(),
)
def test_interrupted_anywhere_a_rollback_takes_back_the_same(
    events: list[j.Event], data: st.DataObject
) -> None:
    whole = undo_list(after(*events))
    cut = data.draw(st.integers(0, len(whole.undos)))
    undone = [j.FileUndone(step=undo.step, path=undo.path) for undo in whole.undos[:cut]]

    rest = undo_list(after(*events, j.RollbackStarted(steps=whole.steps), *undone))

    assert rest == UndoList(whole.undos[cut:], whole.unrestored, whole.steps)
