"""The timeline of a run as SVG: a lane for each provider, a bar for each call, and how many ran.

Long stretches in which nothing ran are cut out of the axis. Looks come from classes of the page.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from html import escape
from itertools import pairwise

import msgspec

from oraclepack.system.printable import one_line
from oraclepack.view.report.data import CallEnd, CallPhase, ReportCall, ReportStep
from oraclepack.view.report.figures import duration

WIDTH, GUTTER, RIGHT = 1000, 132, 16
ROW, BAR = 18, 12
LOAD = 46
"""Height of the chart of calls at a time."""
AXIS = 22
LANE = 24
MOST_ROWS = 400
"""Calls that have a row each; in larger runs calls that follow each other share one."""
_GAP_WIDTH = 26
_TICKS = (
    *(100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000),
    *(1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000),
)
_CLASSES = {
    CallPhase.PREPARING: "seg-prep",
    CallPhase.WAITING: "seg-wait",
    CallPhase.TRYING: "seg-try",
    CallPhase.BACKOFF: "seg-back",
    CallPhase.CALL: "seg-try",
}
_ENDS = {
    CallEnd.ANSWERED: "end-answered",
    CallEnd.CACHED: "end-cached",
    CallEnd.ADOPTED: "end-adopted",
    CallEnd.FAILED: "end-failed",
    CallEnd.OPEN: "end-open",
}


class TimeAxis(msgspec.Struct, frozen=True):
    """Milliseconds → x: the stretches in which something ran, idle gaps between them cut out."""

    spans: tuple[tuple[int, int], ...]
    scale: float

    @classmethod
    def over(cls, busy: Iterable[tuple[int, int]], width: int) -> "TimeAxis":
        merged = merged_spans(busy)
        total = sum(end - start for start, end in merged)
        longest_gap = max(2_000, total // 8)
        spans: list[tuple[int, int]] = []
        for start, end in merged:
            if spans and start - spans[-1][1] <= longest_gap:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        room = width - _GAP_WIDTH * max(0, len(spans) - 1)
        shown = sum(end - start for start, end in spans)
        return cls(tuple(spans), max(room, 1) / max(shown, 1))

    def x(self, ms: int) -> float:
        at = 0.0
        for start, end in self.spans:
            if ms <= end:
                return at + max(0, ms - start) * self.scale
            at += (end - start) * self.scale + _GAP_WIDTH
        return at - _GAP_WIDTH if self.spans else 0.0

    def gaps(self) -> Iterator[tuple[float, int]]:
        """Where the axis leaves out time, and how much."""
        for (_, end), (start, _) in pairwise(self.spans):
            yield self.x(end), start - end

    def ticks(self, most: int = 9) -> Iterator[tuple[float, int]]:
        """Round times and where they stand."""
        total = sum(end - start for start, end in self.spans)
        step = next((one for one in _TICKS if total / one <= most), _TICKS[-1])
        for start, end in self.spans:
            first = -(-start // step) * step
            for ms in range(first, end + 1, step):
                yield self.x(ms), ms


def merged_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans that touch each other as one, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def load_of(calls: Iterable[ReportCall]) -> tuple[tuple[int, int], ...]:
    """How many calls worked at a time: each moment at which that changes, and the new number."""
    changes: dict[int, int] = {}
    for call in calls:
        for one in call.segments:
            if one.kind in {CallPhase.TRYING, CallPhase.CALL} and one.end_ms > one.start_ms:
                changes[one.start_ms] = changes.get(one.start_ms, 0) + 1
                changes[one.end_ms] = changes.get(one.end_ms, 0) - 1
    count, points = 0, []
    for ms in sorted(changes):
        count += changes[ms]
        points.append((ms, count))
    return tuple(points)


def timeline(steps: Sequence[ReportStep]) -> str:
    """The drawing; empty where no call was made."""
    calls = [call for step in steps for call in step.calls]
    if not calls:
        return ""
    rows = _rows(calls)
    axis = TimeAxis.over(((call.start_ms, call.end_ms) for call in calls), WIDTH - GUTTER - RIGHT)
    top = LOAD + AXIS
    height = top + sum(LANE + ROW * len(lane) for _, lane in rows) + 8
    box = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    description = f"{_described(calls)} The table below has the same figures."
    parts = [
        f'<svg class="timeline" {box} role="img" aria-labelledby="timeline-title timeline-desc">',
        '<title id="timeline-title">Calls over time</title>',
        f'<desc id="timeline-desc">{escape(description)}</desc>',
        *_grid(axis, height),
        *_load(calls, axis),
    ]
    y = top
    for provider, lane in rows:
        parts += _lane(provider, lane, axis, y)
        y += LANE + ROW * len(lane)
    return "".join((*parts, "</svg>"))


def _described(calls: Sequence[ReportCall]) -> str:
    count = {end: sum(call.end is end for call in calls) for end in CallEnd}
    counts = ", ".join(f"{number} {end}" for end, number in count.items() if number)
    most = max((number for _, number in load_of(calls)), default=0)
    return f"{len(calls)} calls: {counts}. At most {most} at a time."


Row = list[ReportCall]


def _rows(calls: Sequence[ReportCall]) -> list[tuple[str, list[Row]]]:
    """Lanes by provider; each row holds one call, in large runs calls that follow each other."""
    lanes: dict[str, list[ReportCall]] = {}
    for call in calls:
        lanes.setdefault(call.provider or call.tool, []).append(call)
    pack = packed_rows if len(calls) > MOST_ROWS else _one_each
    return [(name, pack(lanes[name])) for name in sorted(lanes)]


def _one_each(calls: Iterable[ReportCall]) -> list[Row]:
    ordered = sorted(calls, key=lambda one: (one.step_id, one.attempt, one.call))
    return [[call] for call in ordered]


def packed_rows(calls: Iterable[ReportCall]) -> list[Row]:
    """As few rows as possible, no two calls of one at the same time."""
    rows: list[Row] = []
    free: list[tuple[int, int]] = []
    for call in sorted(calls, key=lambda one: (one.start_ms, one.step_id, one.attempt, one.call)):
        if free and free[0][0] <= call.start_ms:
            row = heappop(free)[1]
        else:
            row = len(rows)
            rows.append([])
        rows[row].append(call)
        heappush(free, (call.end_ms, row))
    return rows


def _grid(axis: TimeAxis, height: int) -> Iterator[str]:
    for x, ms in axis.ticks():
        at = GUTTER + x
        yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{LOAD}" y2="{height - 4}"/>'
        anchor = "end" if x > WIDTH - GUTTER - RIGHT - 20 else "middle"
        yield (
            f'<text class="tick" x="{at:.1f}" y="{LOAD + 14}" text-anchor="{anchor}">'
            f"{escape(duration(ms))}</text>"
        )
    for x, ms in axis.gaps():
        at = GUTTER + x + _GAP_WIDTH / 2
        yield (
            f'<rect class="gap" x="{at - _GAP_WIDTH / 2 + 4:.1f}" y="{LOAD}"'
            f' width="{_GAP_WIDTH - 8}" height="{height - LOAD - 4}"/>'
            f'<text class="tick" x="{at:.1f}" y="{LOAD - 4}" text-anchor="middle">'
            f"{escape(duration(ms))} idle</text>"
        )


def _load(calls: Sequence[ReportCall], axis: TimeAxis) -> Iterator[str]:
    """The number of calls at a time, as a filled staircase."""
    load = load_of(calls)
    most = max((number for _, number in load), default=0)
    if not most:
        return
    base, room = LOAD - 2, LOAD - 12
    yield f'<text class="lane" x="0" y="{LOAD - 22}">calls at a time</text>'
    yield f'<text class="tick" x="{GUTTER - 8}" y="16" text-anchor="end">{most}</text>'
    points = [f"M{GUTTER},{base}"]
    previous = 0
    for ms, number in load:
        x = GUTTER + axis.x(ms)
        points.append(f"L{x:.1f},{base - room * previous / most:.1f}")
        points.append(f"L{x:.1f},{base - room * number / most:.1f}")
        previous = number
    yield f'<path class="load" d="{"".join(points)}Z"/>'


def _lane(
    provider: str, rows: Sequence[Sequence[ReportCall]], axis: TimeAxis, top: int
) -> Iterator[str]:
    yield (
        f'<text class="lane" x="0" y="{top + 16}">{escape(_short(provider, 22))}</text>'
        f'<line class="rule" x1="{GUTTER}" x2="{WIDTH - RIGHT}" y1="{top + 12}" y2="{top + 12}"/>'
    )
    for number, calls in enumerate(rows):
        y = top + LANE + number * ROW
        first = calls[0]
        name = (
            first.step_id if len(calls) > 1 or first.call == 1 else f"{first.step_id}.{first.call}"
        )
        model = _short(first.model or "", 14)
        yield f'<g class="call" data-step="{escape(first.step_id)}">'
        yield (
            f'<text class="label" x="8" y="{y + 10}">{escape(name)}'
            f'<tspan class="tick" dx="8">{escape(model)}</tspan></text>'
        )
        for call in calls:
            yield from _bar(call, axis, y)
        yield "</g>"


def _bar(call: ReportCall, axis: TimeAxis, y: int) -> Iterator[str]:
    yield f"<title>{escape(described(call))}</title>"
    for one in call.segments:
        x, end = GUTTER + axis.x(one.start_ms), GUTTER + axis.x(one.end_ms)
        yield (
            f'<rect class="{_CLASSES[one.kind]}" x="{x:.1f}" y="{y}"'
            f' width="{max(end - x, 1.5):.1f}" height="{BAR}" rx="2"/>'
        )
    at = GUTTER + axis.x(call.end_ms)
    middle = y + BAR / 2
    yield f'<path class="{_ENDS[call.end]}" d="{_mark(call.end, at, middle)}"/>'


def _mark(end: CallEnd, x: float, y: float) -> str:
    """A shape of its own for each end, so that colour is not the only difference."""
    match end:
        case CallEnd.CACHED:  # a diamond
            return f"M{x:.1f},{y - 6}l6,6l-6,6l-6,-6Z"
        case CallEnd.FAILED:  # a cross
            return f"M{x - 4:.1f},{y - 4}l8,8m0,-8l-8,8"
        case CallEnd.ADOPTED:  # a triangle
            return f"M{x - 5:.1f},{y - 5}l10,5l-10,5Z"
        case CallEnd.OPEN:  # a bar
            return f"M{x:.1f},{y - 6}v12"
        case _:  # a disc
            return f"M{x - 4:.1f},{y}a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z"


def described(call: ReportCall) -> str:
    """A call in one sentence."""
    parts = [
        f"{one.kind} {duration(one.end_ms - one.start_ms)}"
        for one in call.segments
        if one.kind not in {CallPhase.CALL, CallPhase.PREPARING}
    ] or [f"{duration(call.end_ms - call.start_ms)}"]
    tries = f", {call.tries} tries" if call.tries > 1 else ""
    why = f": {one_line(call.error)}" if call.error else ""
    return f"question {call.step_id}, call {call.call}: {', '.join(parts)}{tries}, {call.end}{why}"


def _short(text: str, most: int) -> str:
    plain = one_line(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
