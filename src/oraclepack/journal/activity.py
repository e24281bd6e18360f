"""What a command that works on a run waits for, from the events of the run."""

from collections.abc import Iterable, Sequence

from oraclepack.journal import events as j
from oraclepack.journal.line_format import AnyEvent

NEEDS_DECISION, WAITING, PAUSED, RUNNING = "needs_decision", "waiting", "paused", "running"
STOPPING = "stopping"


def open_decisions(events: Iterable[AnyEvent]) -> tuple[j.DecisionNeeded, ...]:
    """The questions to a person that are not answered yet, while their command runs."""
    waiting: dict[tuple[str, int], j.DecisionNeeded] = {}
    for event in events:
        match event:
            case j.SessionStarted() | j.SessionFinished():
                waiting.clear()
            case j.DecisionNeeded():
                waiting[event.step, event.call] = event
            case j.DecisionMade() | j.InvocationOutcome():
                waiting.pop((event.step, event.call), None)
            case _:
                pass
    return tuple(waiting.values())


def waiting_for_run(events: Iterable[AnyEvent]) -> str | None:
    """The run that this one waits for, by its id; None where it does not."""
    waiting: str | None = None
    for event in events:
        match event:
            case j.WaitStarted(step="", detail=detail):
                waiting = detail
            case j.WaitFinished(step="") | j.SessionStarted() | j.SessionFinished():
                waiting = None
            case _:
                pass
    return waiting


def is_paused(events: Iterable[AnyEvent]) -> bool:
    """The last command was paused, and not resumed."""
    paused = False
    for event in events:
        match event:
            case j.SessionStarted():
                paused = False
            case j.ControlRequested(action="pause"):
                paused = True
            case j.ControlRequested(action="resume"):
                paused = False
            case _:
                pass
    return paused


def is_stopping(events: Iterable[AnyEvent]) -> bool:
    """The last command was asked to stop, and waits for calls or for steps that end."""
    stopping = False
    for event in events:
        match event:
            case j.SessionStarted() | j.SessionFinished():
                stopping = False
            case j.CallsAwaited(step="") | j.ControlRequested(action="stop", value="" | "now"):
                stopping = True
            case _:
                pass
    return stopping


def activity_word(events: Sequence[AnyEvent]) -> str:
    """The state of a run on which a command works: `running`, or why it waits."""
    if is_stopping(events):
        return STOPPING
    if open_decisions(events):
        return NEEDS_DECISION
    if waiting_for_run(events) is not None:
        return WAITING
    return PAUSED if is_paused(events) else RUNNING
