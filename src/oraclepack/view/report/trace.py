"""The timeline of a run in the trace format of Chrome, which Perfetto opens.

Every provider is a process and every question a thread of it, so that their calls are below each
other. Times are microseconds since the first event of the run.
"""

from collections.abc import Iterator
from typing import TypeAlias

from oraclepack.system.digests import canonical_file
from oraclepack.system.printable import one_line
from oraclepack.view.report.data import CallPhase, ReportCall, ReportData
from oraclepack.view.report.timeline import load_of

TraceEvent: TypeAlias = dict[str, object]
COMMANDS = 1
"""The number of the process that stands for the commands."""


def trace_report(data: ReportData) -> str:
    """A JSON document with all calls and commands of a run."""
    calls = [call for step in data.steps for call in step.calls]
    lanes = sorted({call.provider or call.tool for call in calls})
    numbers = {name: number for number, name in enumerate(lanes, start=COMMANDS + 1)}
    events = [*_commands(data), *_names(data, numbers)]
    for call in calls:
        events += _call(call, numbers[call.provider or call.tool])
    events += [
        {"name": "calls", "ph": "C", "ts": ms * 1000, "pid": COMMANDS, "args": {"calls": number}}
        for ms, number in load_of(calls)
    ]
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"generator": f"oraclepack {data.program}", "run": data.run_name},
        "traceEvents": events,
    }
    return canonical_file(document).decode()


def _commands(data: ReportData) -> Iterator[TraceEvent]:
    yield _name("process_name", COMMANDS, 0, "commands")
    for one in data.sessions:
        yield _complete(one_line(one.command), "command", one.start_ms, one.end_ms, COMMANDS, 0)


def _names(data: ReportData, numbers: dict[str, int]) -> Iterator[TraceEvent]:
    for name, number in numbers.items():
        yield _name("process_name", number, 0, one_line(name))
    known: set[tuple[int, int]] = set()
    for step in data.steps:
        for call in step.calls:
            lane = (numbers[call.provider or call.tool], _thread(call))
            if lane not in known:
                known.add(lane)
                title = one_line(f"{step.step_id} {step.title}").strip()
                yield _name("thread_name", *lane, title)


def _call(call: ReportCall, lane: int) -> Iterator[TraceEvent]:
    name = f"{call.step_id}.{call.call} {call.end}"
    whole = _complete(name, "call", call.start_ms, call.end_ms, lane, _thread(call))
    whole["args"] = {
        "attempt": call.attempt,
        "end": call.end,
        "error": one_line(call.error),
        "model": call.model,
        "tries": call.tries,
        "cost": str(call.cost.cost) if call.cost.cost is not None else None,
    }
    yield whole
    for one in call.segments:
        if one.kind is not CallPhase.CALL:
            part = _complete(one.kind, "phase", one.start_ms, one.end_ms, lane, _thread(call))
            yield part | ({"args": {"note": one_line(one.note)}} if one.note else {})


def _thread(call: ReportCall) -> int:
    return int(call.step_id) if call.step_id.isdigit() else 0


def _name(kind: str, process: int, thread: int, name: str) -> TraceEvent:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _complete(
    name: str, category: str, start: int, end: int, process: int, thread: int
) -> TraceEvent:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": start * 1000,
        "dur": (end - start) * 1000,
        "pid": process,
        "tid": thread,
    }
