"""The timeline of a run in the trace format of Chrome, which Perfetto opens.

Every provider is a process and every question a thread of it, so that their calls are below each
other. Times are microseconds since the first event of the run.
"""

from collections.abc import Iterator
from typing import TypeAlias

from oraclepack.system.digests import canonical_file
from oraclepack.system.printable import one_line
from oraclepack.view.report.data import Report, ReportStep

TraceEvent: TypeAlias = dict[str, object]
COMMANDS = 1
"""The number of the process that stands for the commands."""


def trace_report(data: Report) -> str:
    """A JSON document with all calls and commands of a run."""
    lanes = sorted({call.provider or call.tool for step in data.steps for call in step.calls})
    numbers = {name: number for number, name in enumerate(lanes, start=COMMANDS + 1)}
    events = [_name("process_name", COMMANDS, 0, "commands")]
    for one in data.manifest.sessions if data.manifest else ():
        start = data.clock.ms(one.started_at)
        end = data.clock.ms(one.finished_at) if one.finished_at else data.clock.span_ms
        name = one_line(" ".join(one.argv) or one.command)
        events.append(_complete(name, "command", start, max(start, end), (COMMANDS, 0)))
    events += [_name("process_name", numbers[name], 0, one_line(name)) for name in lanes]
    for step in data.steps:
        events += _calls(step, numbers)
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"generator": f"oraclepack {data.program}", "run": data.run.name},
        "traceEvents": events,
    }
    return canonical_file(document).decode()


def _calls(step: ReportStep, numbers: dict[str, int]) -> Iterator[TraceEvent]:
    thread = int(step.step_id) if step.step_id.isdigit() else 0
    title = one_line(f"{step.step_id} {step.title}").strip()
    for lane in dict.fromkeys(numbers[call.provider or call.tool] for call in step.calls):
        yield _name("thread_name", lane, thread, title)
    for call in step.calls:
        place = (numbers[call.provider or call.tool], thread)
        name = f"{call.step_id}.{call.call} {call.end}"
        yield _complete(name, "call", call.start_ms, call.end_ms, place) | {
            "args": {
                "attempt": call.attempt,
                "end": call.end,
                "error": one_line(call.error),
                "model": call.model,
                "tries": call.tries,
                "cost": str(call.cost.cost) if call.cost.cost is not None else None,
            }
        }
        for one in call.segments:
            if one.doing != "call":
                part = _complete(one.doing, "phase", one.start_ms, one.end_ms, place)
                yield part | ({"args": {"note": one_line(one.note)}} if one.note else {})


def _name(kind: str, process: int, thread: int, name: str) -> TraceEvent:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _complete(name: str, category: str, start: int, end: int, place: tuple[int, int]) -> TraceEvent:
    times: TraceEvent = {"ts": start * 1000, "dur": (end - start) * 1000}
    return times | {"name": name, "cat": category, "ph": "X", "pid": place[0], "tid": place[1]}
