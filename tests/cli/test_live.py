import re
import threading
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from oraclepack.cli.lines import CTRL_C, STOP_NOW, Activity, stopping_text
from oraclepack.cli.live import (
    Frame,
    LiveTable,
    Painter,
    Row,
    RowState,
    TableState,
    eta,
    fitting,
    frame,
)
from oraclepack.cli.painting import Painting, width_of
from oraclepack.journal import events as j
from oraclepack.journal.costs import CostTotal
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.run.planning.plan import Decision
from oraclepack.run.run_display import RunPreview, StepPreview
from oraclepack.store.limits import Limit, lanes_for
from oraclepack.tools.usage import Usage
from tests.clocks import SteppingClock
from tests.events import a_step, created, finished, numbered, session, started

BEGUN = [created("01", "02", "03", "04", "05"), session()]
STEPS = (
    StepPreview("01", "done", Decision.DONE),
    StepPreview("02", "first", Decision.RUN),
    StepPreview("03", "second", Decision.RUN),
    StepPreview("04", "third", Decision.RUN),
    StepPreview("05", "other", Decision.NOT_SELECTED),
)


def preview(
    run_dir: Path = Path(), parallel: int = 1, limits: dict[str, Limit] | None = None
) -> RunPreview:
    return RunPreview("a-run", run_dir, STEPS, partial(lanes_for, parallel, limits or {}))


def state_of(*events: j.Event) -> RunState:
    return fold(numbered(*BEGUN, *events))


def looks(made: Frame) -> list[str]:
    return [row.state.value for row in made.rows]


@pytest.mark.parametrize(
    ("events", "seen", "expected"),
    [
        pytest.param(
            [], {}, "already done,queued,queued,queued,not selected", id="before the first step"
        ),
        pytest.param(
            [started("02"), started("03")],
            {
                "touched": frozenset({"02", "03"}),
                "running": {"03": Activity(1, ("x",), is_waiting=True)},
            },
            "already done,running,waiting,queued,not selected",
            id="two at work, one of them waiting",
        ),
        pytest.param(
            [*a_step("02"), *a_step("03", Status.FAILED)],
            {"touched": frozenset({"02", "03"}), "over": True},
            "already done,ok,failed,not started,not selected",
            id="stopped by a failure",
        ),
        pytest.param(
            [*a_step("02"), j.RolledBack(steps=("02",))],
            {"touched": frozenset({"02"})},
            "already done,queued,queued,queued,not selected",
            id="taken back",
        ),
    ],
)
def test_the_state_of_each_step(
    events: list[j.Event], seen: dict[str, object], expected: str
) -> None:
    made = frame(preview(), TableState(state_of(*events), **seen))  # type: ignore[arg-type]

    assert ",".join(looks(made)) == expected


def test_a_row_tells_time_size_attempts_and_retries() -> None:
    outcome = j.InvocationOutcome(
        step="02",
        attempt=2,
        call=1,
        tool="oracle",
        ok=True,
        attempts=3,
        usage=Usage(cost_usd=0.25),
    )
    state = state_of(started("02", 2), outcome)
    seen = TableState(
        state,
        frozenset({"02"}),
        {"02": Activity(7000, retries=2)},
        sizes={"02": 512},
        elapsed_ms=9000,
    )

    made = frame(preview(), seen)

    assert made.rows[1] == Row("02", "first", RowState.RUNNING, 7000, 512, attempts=2, retries=2)
    assert (made.cost.cost, made.done, made.total) == (Decimal("0.25"), 1, 4)


@pytest.mark.parametrize(
    ("active", "silent", "note"),
    [
        pytest.param(Activity(9, ("429, retry in 0:45",)), 0, "429, retry in 0:45", id="a retry"),
        pytest.param(Activity(9, ("a", "b", "c")), 0, "a (and 2 more)", id="several calls wait"),
        pytest.param(Activity(9), 130_000, "silent for 2:10", id="nothing printed for a while"),
        pytest.param(Activity(9), 29_000, "", id="not for long"),
        pytest.param(Activity(9, ("a",)), 130_000, "a", id="who waits prints nothing anyway"),
    ],
)
def test_the_note_of_a_step(active: Activity, silent: int, note: str) -> None:
    seen = TableState(state_of(started("02")), frozenset({"02"}), {"02": active}, {"02": silent})

    assert frame(preview(), seen).rows[1].note == note


def test_a_note_stands_below_its_row_and_counts_as_a_line() -> None:
    waits = Row("02", "second", RowState.WAITING, 1, note="slot of browser, 1 at a time")
    made = Frame((row(RowState.OK, 1, "01"), waits, row(RowState.QUEUED, None, "03")), 0, None, 0)

    lines = Painting(color=False).lines(made, 50)
    short = Painting(color=False).lines(made, 50, 6)

    assert [line.split()[0] for line in lines] == ["step", "01", "02", "slot", "03", "1/3"]
    assert lines[3].strip() == "slot of browser, 1 at a time"
    assert [line.split()[0] for line in short] == ["step", "02", "slot", "…", "1/3"]


def test_the_screen_notices_who_is_silent(tmp_path: Path) -> None:
    log = tmp_path / "logs/02.1.stdout.log"
    log.parent.mkdir()
    log.write_text("a")
    begun = j.StepStarted(step="02", attempt=1, stdout_log="logs/02.1.stdout.log")
    table = LiveTable(color=False, clock=SteppingClock())
    table.expect(preview(tmp_path))
    table.event(begun, state_of(begun))

    def notes() -> list[str]:
        return [table.frame().rows[1].note for _ in range(20)]

    before, log_grows, after = notes(), log.write_text("ab"), notes()

    assert log_grows == 2
    assert before[0] == ""
    assert before[-1].startswith("silent for 0:")
    assert (after[0], after[-1].startswith("silent for 0:")) == ("", True)


CAPPED = {"openai": Limit(1)}


@pytest.mark.parametrize(
    ("provider", "limits", "left"),
    [
        pytest.param(None, CAPPED, 500, id="no call: as many as steps may run"),
        pytest.param("google", CAPPED, 500, id="a provider without a limit"),
        pytest.param("openai", CAPPED, 1000, id="one at a time"),
        pytest.param("browser", {}, 1000, id="a browser takes one at a time by itself"),
        pytest.param("openai", {"openai": Limit(8)}, 500, id="a limit that is not reached"),
        pytest.param(
            "openai", {"openai": Limit(None, 3)}, None, id="so many per minute: not shown"
        ),
    ],
)
def test_the_time_left_respects_the_limits_of_providers(
    provider: str | None, limits: dict[str, Limit], left: int | None
) -> None:
    intent = j.InvocationIntent(step="02", attempt=1, call=1, tool="oracle", provider=provider)
    outcome = j.InvocationOutcome(
        step="02", attempt=1, call=1, tool="oracle", ok=True, waited_ms=2000
    )
    end = j.StepFinished(step="02", attempt=1, status=Status.OK, duration_ms=2500)
    state = state_of(started("02"), intent, outcome, end)

    made = frame(preview(parallel=2, limits=limits), TableState(state, frozenset({"02"})))

    # What ended worked for half a second: the rest of its time it waited.
    assert made.eta_ms == left


def row(look: RowState, elapsed: int | None = None, step: str = "01") -> Row:
    return Row(step, "", look, elapsed)


@pytest.mark.parametrize(
    ("rows", "parallel", "expected"),
    [
        pytest.param(
            [row(RowState.RUNNING, 5), row(RowState.QUEUED)], 1, None, id="none has ended yet"
        ),
        pytest.param([row(RowState.OK, 100), row(RowState.DONE)], 1, None, id="nothing is left"),
        pytest.param(
            [row(RowState.OK, 100), row(RowState.QUEUED), row(RowState.QUEUED)], 1, 200, id="queued"
        ),
        pytest.param(
            [row(RowState.OK, 100), row(RowState.QUEUED), row(RowState.QUEUED)], 2, 100, id="by two"
        ),
        pytest.param(
            [row(RowState.OK, 100), row(RowState.RUNNING, 30)], 1, 70, id="the rest of one"
        ),
        pytest.param(
            [row(RowState.OK, 100), row(RowState.RUNNING, 30)], 4, 70, id="which is not shared"
        ),
        pytest.param(
            [row(RowState.OK, 100), row(RowState.RUNNING, 300)], 1, None, id="longer than usual"
        ),
        pytest.param(
            [row(RowState.DONE, 9), row(RowState.QUEUED)], 1, None, id="others do not count"
        ),
    ],
)
def test_the_time_that_is_left(rows: list[Row], parallel: int, expected: int | None) -> None:
    assert eta(rows, parallel) == expected


MANY = [
    *(row(RowState.OK, 1, f"{n:02}") for n in range(1, 9)),
    row(RowState.FAILED, 1, "09"),
    row(RowState.RUNNING, 1, "10"),
    *(row(RowState.QUEUED, None, f"{n:02}") for n in range(11, 21)),
]


@pytest.mark.parametrize(
    ("room", "kept", "summary"),
    [
        pytest.param(20, [f"{n:02}" for n in range(1, 21)], "", id="all fit"),
        pytest.param(
            5, ["09", "10", "11", "12"], "… and 8 queued, 8 ok", id="the busy ones and the next"
        ),
        pytest.param(
            14,
            ["08", "09", "10", *(f"{n:02}" for n in range(11, 21))],
            "… and 7 ok",
            id="then what ended last",
        ),
        pytest.param(1, [], "… and 10 queued, 1 running, 8 ok, 1 failed", id="no room at all"),
    ],
)
def test_what_fits_on_the_screen(room: int, kept: list[str], summary: str) -> None:
    rows, rest = fitting(MANY, room)

    assert ([one.step_id for one in rows], rest) == (kept, summary)


@pytest.mark.parametrize("height", [4, 8, 30, None])
@pytest.mark.parametrize("width", [5, 20, 36, 45, 55, 65, 80, 200])
def test_no_line_is_too_wide_and_there_are_never_too_many(width: int, height: int | None) -> None:
    wide = Row(
        "21", "日本語のタイトル " * 9 + "\x1b[31m\n[bold]x", RowState.RUNNING, 60_000, 10**9, 2, 3
    )
    made = Frame((*MANY, wide), 3_600_000, 5_000, 2, CostTotal(cost=Decimal("0.421"), calls=3))

    lines = Painting(color=True).lines(made, width, height)

    assert max(map(width_of, lines)) < width
    assert len(lines) <= (height or len(made.rows) + 2)
    assert all("\n" not in line for line in lines)


def test_the_table_as_people_see_it() -> None:
    made = Frame(
        (
            Row("01", "", RowState.DONE),
            Row("02", "price [cache]", RowState.RUNNING, 432_000, 4_100, 2, 1),
            Row("03", "mail queue", RowState.QUEUED),
        ),
        elapsed_ms=432_000,
        eta_ms=60_000,
        cache_hits=2,
        cost=CostTotal(cost=Decimal("0.421"), calls=3, saved=Decimal("0.84"), saved_calls=2),
    )

    assert [line.rstrip() for line in Painting(color=False).lines(made, 110, 30)] == [
        "step  state         elapsed  output  attempt  retries  title",
        "01    already done",
        "02    running          7:12  4.1 kB        2        1  price [cache]",
        "03    queued                                           mail queue",
        (
            "1/3 done, 1 running, 1 queued · 7:12, about 1:00 left · "
            "2 from the cache, $0.84 saved · $0.42"
        ),
    ]


@pytest.mark.parametrize(
    ("calls", "way", "line"),
    [
        (1, CTRL_C, "stopping: waiting for 1 call; press Ctrl-C again to cancel it"),
        (2, CTRL_C, "stopping: waiting for 2 calls; press Ctrl-C again to cancel them"),
        (
            2,
            STOP_NOW,
            "stopping: waiting for 2 calls; `oraclepack runs stop RUN --now` cancels them",
        ),
    ],
)
def test_a_stop_that_waits_stands_above_the_sum(calls: int, way: str, line: str) -> None:
    rows = tuple(row(RowState.RUNNING, 1, f"{number:02}") for number in range(1, 30))
    made = Frame(rows, 0, None, 0, stopping=stopping_text(calls, way))

    lines = Painting(color=False).lines(made, 100, 16)

    assert (lines[-2].rstrip(), len(lines)) == (line, 15)


def test_only_a_long_title_is_cut() -> None:
    made = Frame((Row("01", "a title " * 20, RowState.LEFT, 432_000, 4_100, 2, 1),), 0, None, 0)

    head, line, _ = Painting(color=False).lines(made, 80, 30)

    assert head.split() == ["step", "state", "elapsed", "output", "attempt", "retries", "title"]
    assert line.startswith("01    not selected     7:12  4.1 kB        2        1  a title a")
    assert line.rstrip().endswith("…")


def test_each_painting_covers_the_one_before() -> None:
    said: list[str] = []
    painter = Painter(said.append, len)

    painter.paint(["abcdef", "gh"], 10)
    painter.paint(["ABC"], 10, ["note"])
    painter.paint(["x" * 9], 10)
    painter.paint(["y"], 4)

    ups = [re.findall(r"\x1b\[(\d+)A", text) for text in said]
    assert ups == [[], ["2"], ["1"], ["3"]], "a narrower screen has broken the line in three"
    assert all(text.startswith("\x1b[?25l") and text.endswith("\x1b[?25h") for text in said)
    assert "note\x1b[K\nABC\x1b[K\n" in said[1]


def a_table(write: list[str], painted: threading.Event | None = None) -> LiveTable:
    def keep(text: str) -> None:
        write.append(text)
        if painted is not None:
            painted.set()

    return LiveTable(
        color=False, write=keep, clock=SteppingClock(), screen=lambda: (100, 30), every=0.001
    )


def test_the_live_table_follows_events(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/02.1.stdout.log").write_bytes(b"x" * 42)
    said: list[str] = []
    painted = threading.Event()
    table = a_table(said, painted)
    table.expect(preview(tmp_path))
    table.start()

    table.event(started("02"), state_of(started("02")))
    assert painted.wait(30)
    table.event(finished("02", Status.FAILED), state_of(*a_step("02", Status.FAILED)))
    table.close()

    last = said[-1]
    assert re.search(r"02 +failed +0:00 +42 B +1 +0 +first", last)
    assert re.search(r"03 +not started +second", last)
    assert "1/4 done, 1 failed, 2 not started" in last
    assert "02  failed in 0.0s (EXIT)" in "".join(said)


def test_an_older_state_from_a_slower_thread_changes_nothing() -> None:
    table = a_table([])
    table.expect(preview())
    newer = state_of(*a_step("02"), started("03"))

    table.event(started("03"), newer)
    table.event(finished("02"), state_of(started("02")))

    assert looks(table.frame())[1:3] == ["ok", "running"]


def test_nothing_to_do_needs_no_table() -> None:
    said: list[str] = []
    table = a_table(said)
    table.expect(preview())
    table.start()
    table.event(session(), state_of())
    table.close()

    assert said == []


def test_a_screen_that_breaks_does_not_break_the_run() -> None:
    said: list[str] = []

    def broken() -> tuple[int, int]:
        raise ZeroDivisionError

    table = LiveTable(color=False, write=said.append, screen=broken, every=0.001)
    table.start()
    table.event(started("02"), state_of(started("02")))
    table.close()

    assert said == ["the live table stopped: ZeroDivisionError()\n"]
