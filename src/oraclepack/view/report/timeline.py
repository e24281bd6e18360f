"""The timeline of a run as SVG: a lane for each provider, a bar for each call.

Long stretches in which nothing ran are cut out of the axis. Looks come from classes of the page.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from html import escape
from itertools import pairwise

import msgspec

from oraclepack.system.printable import one_line
from oraclepack.view.calls import CallEnd, RunCall
from oraclepack.view.report.data import ReportStep
from oraclepack.view.report.figures import duration

WIDTH, GUTTER, RIGHT = 1000, 132, 16
ROW, BAR = 18, 12
TOP, LANE = 36, 24
MOST_ROWS = 400
"""Calls that have a row each; in larger runs calls that follow each other share one."""
_GAP_WIDTH = 26
_TICKS = (
    *(100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000),
    *(1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000),
)
_CLASSES = {"preparing": "seg-prep", "waiting": "seg-wait", "backing off": "seg-back"}
"""Anything else is a try."""


class TimeAxis(msgspec.Struct, frozen=True):
    """Milliseconds → x: the stretches in which something ran, idle gaps between them cut out."""

    spans: tuple[tuple[int, int], ...]
    scale: float

    @classmethod
    def over(cls, busy: Iterable[tuple[int, int]], width: int) -> "TimeAxis":
        merged = _merged(busy, 0)
        spans = _merged(merged, max(2_000, sum(end - start for start, end in merged) // 8))
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


def _merged(spans: Iterable[tuple[int, int]], longest_gap: int) -> list[tuple[int, int]]:
    """Spans with no more than this between them as one, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start - merged[-1][1] <= longest_gap:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def timeline(steps: Sequence[ReportStep]) -> str:
    """The drawing; empty where no call was made."""
    calls = [call for step in steps for call in step.calls]
    if not calls:
        return ""
    rows = _rows(calls)
    axis = TimeAxis.over(((call.start_ms, call.end_ms) for call in calls), WIDTH - GUTTER - RIGHT)
    height = TOP + sum(LANE + ROW * len(lane) for _, lane in rows) + 8
    box = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    counts = Counter(call.end for call in calls)
    listed = ", ".join(f"{counts[end]} {end}" for end in CallEnd if counts[end])
    description = f"{len(calls)} calls: {listed}. The table below has the same figures."
    parts = [
        f'<svg class="timeline" {box} role="img" aria-labelledby="timeline-title timeline-desc">',
        '<title id="timeline-title">Calls over time</title>',
        f'<desc id="timeline-desc">{escape(description)}</desc>',
        *_grid(axis, height),
    ]
    y = TOP
    for provider, lane in rows:
        parts += _lane(provider, lane, axis, y)
        y += LANE + ROW * len(lane)
    return "".join((*parts, "</svg>"))


Row = list[RunCall]


def _rows(calls: Sequence[RunCall]) -> list[tuple[str, list[Row]]]:
    """Lanes by provider; each row holds one call, in large runs calls that follow each other."""
    lanes: dict[str, list[RunCall]] = {}
    for call in sorted(calls, key=lambda one: (one.step_id, one.attempt, one.call)):
        lanes.setdefault(call.provider or call.tool, []).append(call)
    if len(calls) > MOST_ROWS:
        return [(name, _packed_rows(lanes[name])) for name in sorted(lanes)]
    return [(name, [[call] for call in lanes[name]]) for name in sorted(lanes)]


def _packed_rows(calls: Iterable[RunCall]) -> list[Row]:
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
        yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="14" y2="{height - 4}"/>'
        anchor = "end" if x > WIDTH - GUTTER - RIGHT - 20 else "middle"
        yield (
            f'<text class="tick" x="{at:.1f}" y="{TOP - 8}" text-anchor="{anchor}">'
            f"{escape(duration(ms))}</text>"
        )
    for x, ms in axis.gaps():
        at = GUTTER + x + _GAP_WIDTH / 2
        yield (
            f'<rect class="gap" x="{at - _GAP_WIDTH / 2 + 4:.1f}" y="14"'
            f' width="{_GAP_WIDTH - 8}" height="{height - 18}"/>'
            f'<text class="tick" x="{at:.1f}" y="10" text-anchor="middle">'
            f"{escape(duration(ms))} idle</text>"
        )


def _lane(
    provider: str, rows: Sequence[Sequence[RunCall]], axis: TimeAxis, top: int
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


def _bar(call: RunCall, axis: TimeAxis, y: int) -> Iterator[str]:
    yield f"<title>{escape(described(call))}</title>"
    for one in call.segments:
        x, end = GUTTER + axis.x(one.start_ms), GUTTER + axis.x(one.end_ms)
        yield (
            f'<rect class="{_CLASSES.get(one.doing, "seg-try")}" x="{x:.1f}" y="{y}"'
            f' width="{max(end - x, 1.5):.1f}" height="{BAR}" rx="2"/>'
        )
    at = GUTTER + axis.x(call.end_ms)
    middle = y + BAR / 2
    yield f'<path class="end-{call.end.name.lower()}" d="{_mark(call.end, at, middle)}"/>'


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


def described(call: RunCall) -> str:
    """A call in one sentence."""
    parts = [
        f"{one.doing} {duration(one.end_ms - one.start_ms)}"
        for one in call.segments
        if one.doing not in {"call", "preparing"}
    ] or [f"{duration(call.end_ms - call.start_ms)}"]
    tries = f", {call.tries} tries" if call.tries > 1 else ""
    why = f": {one_line(call.error)}" if call.error else ""
    return f"question {call.step_id}, call {call.call}: {', '.join(parts)}{tries}, {call.end}{why}"


def _short(text: str, most: int) -> str:
    plain = one_line(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
