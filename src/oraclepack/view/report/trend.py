"""Runs over time: the figures of each, and how they changed from one run of a pack to the next."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import reduce
from html import escape

import msgspec

from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.pack.answer_sections import normalise
from oraclepack.system.digests import sha256_text
from oraclepack.view.report.data import CallEnd, ReportData
from oraclepack.view.report.figures import amount, duration
from oraclepack.work.backlog import WorkStatus

SPARK_WIDTH, SPARK_HEIGHT = 120, 28
MOST_POINTS = 60


class ModelUse(msgspec.Struct, frozen=True):
    """What a model was used for in a run."""

    model: str
    cost: CostTotal


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the index of a site."""

    project: str
    run_name: str
    pack_path: str
    page: str
    """Relative to the site."""
    created_at: str | None
    status: str
    questions: int
    answered: int
    partial: int
    attention: int
    retries: int
    calls: int
    worked_ms: int
    cost: CostTotal = NO_COST
    models: tuple[ModelUse, ...] = ()
    tasks: tuple[str, ...] = ()
    """Of each task a short digest of its title, so that runs can be compared."""
    ticked: tuple[str, ...] = ()
    """Those that a person ticked."""

    @property
    def completion(self) -> float:
        return self.answered / self.questions if self.questions else 0.0

    @property
    def age(self) -> tuple[str, str]:
        return (self.created_at or "", self.run_name)


def row_of(data: ReportData, project: str, page: str) -> RunRow:
    """A run in figures."""
    calls = [call for step in data.steps for call in step.calls]
    paid = [call for call in calls if call.end is not CallEnd.CACHED]
    tasks = {
        _short(record.title): record.task_id
        for record in data.records
        if record.status is WorkStatus.ACTIONABLE
    }
    return RunRow(
        project=project,
        run_name=data.run_name,
        pack_path=data.pack_path,
        page=page,
        created_at=data.created_at,
        status=data.status,
        questions=len(data.steps),
        answered=data.answered,
        partial=sum(any(one.cut for one in step.answers) for step in data.steps),
        attention=len(data.attention),
        retries=sum(max(0, call.tries - 1) for call in paid),
        calls=len(calls),
        worked_ms=data.worked_ms,
        cost=data.cost,
        models=tuple(ModelUse(row.name, row.cost) for row in data.by_model),
        tasks=tuple(sorted(tasks)),
        ticked=tuple(sorted(name for name, task in tasks.items() if task in data.ticked)),
    )


def _short(title: str) -> str:
    return sha256_text(normalise(title))[:12]


class TrendRow(msgspec.Struct, frozen=True):
    """A run beside the run of the same pack before it."""

    row: RunRow
    opened: int
    """Tasks that the run before did not have."""
    closed: int
    """Tasks of the run before that are gone, and tasks that a person ticked here."""


class PackTrend(msgspec.Struct, frozen=True):
    """The runs of one pack, the newest first."""

    project: str
    pack_path: str
    runs: tuple[TrendRow, ...]

    @property
    def newest(self) -> RunRow:
        return self.runs[0].row

    @property
    def oldest_first(self) -> tuple[RunRow, ...]:
        return tuple(one.row for one in reversed(self.runs))


class SiteData(msgspec.Struct, frozen=True):
    """Everything the index of a site shows."""

    packs: tuple[PackTrend, ...]
    models: tuple[ModelUse, ...]
    runs: int
    cost: CostTotal


def site_data(rows: Iterable[RunRow]) -> SiteData:
    """Runs by pack, the pack with the newest run first."""
    every = sorted(rows, key=lambda row: row.age)
    groups: dict[tuple[str, str], list[RunRow]] = {}
    models: dict[str, CostTotal] = {}
    for row in every:
        groups.setdefault((row.project, row.pack_path), []).append(row)
        for use in row.models:
            models[use.model] = models.get(use.model, NO_COST).plus(use.cost)
    packs = [
        PackTrend(*key, tuple(reversed([*_trend(members)]))) for key, members in groups.items()
    ]
    return SiteData(
        packs=tuple(sorted(packs, key=lambda pack: pack.newest.age, reverse=True)),
        models=tuple(ModelUse(name, models[name]) for name in sorted(models)),
        runs=len(every),
        cost=reduce(CostTotal.plus, (row.cost for row in every), NO_COST),
    )


def _trend(rows: Sequence[RunRow]) -> Iterable[TrendRow]:
    before: RunRow | None = None
    for row in rows:
        known = set(before.tasks) if before else set()
        opened = len(set(row.tasks) - known)
        closed = len(known - set(row.tasks)) + len(row.ticked)
        yield TrendRow(row, opened, closed)
        before = row


def sparkline(values: Sequence[float | None], label: str) -> str:
    """A small line of values over time, the newest at the right; what is not known is a gap."""
    shown = values[-MOST_POINTS:]
    known = [value for value in shown if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(0.0, *known), max(known)
    span = (high - low) or 1.0
    step = (SPARK_WIDTH - 8) / max(1, len(shown) - 1)
    points: list[str] = []
    last = (0.0, 0.0)
    is_gap = True
    for number, value in enumerate(shown):
        if value is None:
            is_gap = True
            continue
        last = (4 + number * step, SPARK_HEIGHT - 4 - (value - low) / span * (SPARK_HEIGHT - 8))
        points.append(f"{'M' if is_gap else 'L'}{last[0]:.1f},{last[1]:.1f}")
        is_gap = False
    return (
        f'<svg class="spark" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" width="{SPARK_WIDTH}"'
        f' height="{SPARK_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<path d="{"".join(points)}"/>'
        f'<circle cx="{last[0]:.1f}" cy="{last[1]:.1f}" r="2.5"/></svg>'
    )


class Sparks(msgspec.Struct, frozen=True):
    """The small drawings of a pack."""

    cost: str
    time: str
    completion: str
    retries: str
    tasks: str


def sparks_of(pack: PackTrend) -> Sparks:
    """How the figures of a pack changed from run to run."""
    rows = pack.oldest_first
    costs = [_known(row) for row in rows]
    return Sparks(
        cost=sparkline(costs, f"cost, now {amount(pack.newest.cost.cost)}"),
        time=sparkline(
            [float(row.worked_ms) for row in rows], f"time, now {duration(pack.newest.worked_ms)}"
        ),
        completion=sparkline(
            [row.completion for row in rows],
            f"completion, now {pack.newest.answered} of {pack.newest.questions}",
        ),
        retries=sparkline(
            [float(row.retries) for row in rows], f"retries, now {pack.newest.retries}"
        ),
        tasks=sparkline(
            [float(len(row.tasks)) for row in rows], f"tasks, now {len(pack.newest.tasks)}"
        ),
    )


def _known(row: RunRow) -> float | None:
    cost: Decimal | None = row.cost.cost
    return float(cost) if cost is not None else None
