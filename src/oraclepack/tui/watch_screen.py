"""A run as it goes on, also one that another command started."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Footer, Header, Static

from oraclepack.run.accept import accept_outputs
from oraclepack.run.control import ControlReply, ControlRequest
from oraclepack.run.project_records import ProjectRuns
from oraclepack.tui.dialogs import ChoiceDialog, LineDialog, StopDialog
from oraclepack.tui.log_view import LogView
from oraclepack.tui.pack_screen import PackScreen, Rows
from oraclepack.tui.screen_text import cell, number_cell, state_cell
from oraclepack.view.report import figures
from oraclepack.view.run_status import CallInFlight, RunStatus, StepStatus

EVERY = 0.7
"""Seconds between two looks at a run."""
COLUMNS = ("Step", "State", "Elapsed", "Cost", "Question, and what it does now")
FLEXIBLE = COLUMNS[-1:]


class WatchScreen(PackScreen):
    """A run: states, waits, retries, cost. Leaving this screen does not stop it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Open", id="watch.open", priority=True),
        Binding("p", "pause", "Pause", id="watch.pause"),
        Binding("k", "stop_step", "Stop step", id="watch.stop_step"),
        Binding("K", "stop_run", "Stop run", id="watch.stop_run"),
        Binding("t", "retry", "Retry", id="watch.retry"),
        Binding("A", "accept", "Accept", id="watch.accept"),
        Binding("d", "decide", "Decide", id="watch.decide"),
        Binding("r", "read", "Read", id="watch.read"),
        Binding("b", "backlog", "Backlog", id="watch.backlog"),
    ]

    def __init__(self, pack: str, name: str) -> None:
        super().__init__()
        self.pack = pack
        self.run_name = name
        self.status: RunStatus | None = None
        self._log_of = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Header(icon="≡")
        yield Static("Reading…", id="watch-note", classes="note", markup=False)
        with Vertical(classes="main wide"):
            yield Rows(COLUMNS, FLEXIBLE, id="watched")
        yield LogView(id="watch-log")
        yield Footer()

    def on_mount(self) -> None:
        self.title = f"Run of {Path(self.pack).name}"
        self.query_one("#watched", Rows).focus()
        self.load()
        self._timer = self.set_interval(EVERY, self.load)

    @property
    def root(self) -> str:
        return self.program.load_settings(self.pack).root

    def load(self) -> None:
        self.start("watch", lambda: ProjectRuns(self.root).status(self.run_name), self._show)

    def _show(self, status: RunStatus) -> None:
        self.status = status
        self.sub_title = status.state
        self.query_one("#watch-note", Static).update(summary(status))
        calls = {one.step_id: one for one in status.calls}
        steps = status.steps
        with self.app.batch_update():
            self.query_one("#watched", Rows).fill(
                len(steps), lambda at: step_row(steps[at], calls.get(steps[at].step_id))
            )
        if not status.alive and self._timer is not None:
            self._timer.pause()
        self._follow()

    def on_data_table_row_highlighted(self) -> None:
        self._follow()

    def current_step(self) -> StepStatus | None:
        row = self.query_one("#watched", Rows).cursor_row
        steps = self.status.steps if self.status else ()
        return steps[row] if 0 <= row < len(steps) else None

    def _follow(self) -> None:
        step = self.current_step()
        if step is None or step.step_id == self._log_of or not step.attempts:
            return
        self._log_of = step.step_id
        name, step_id = self.run_name, step.step_id
        view = self.query_one("#watch-log", LogView)
        view.border_title = f"log of step {step_id}"
        view.follow(step_id, lambda: ProjectRuns(self.root).log_windows(name, step_id))

    def current_text(self) -> str:
        return self.query_one("#watch-log", LogView).plain

    # Control

    def _ask(self, request: ControlRequest) -> None:
        name = self.run_name
        self.start("control", lambda: ProjectRuns(self.root).control(name, request), self._answered)

    def _answered(self, reply: ControlReply) -> None:
        self.say(reply.message, "information" if reply.ok else "error")
        self.load()

    def action_pause(self) -> None:
        paused = self.status is not None and self.status.paused
        self._ask(ControlRequest(action="resume" if paused else "pause", by="tui"))

    def action_stop_step(self) -> None:
        step = self.current_step()
        if step is not None:
            self._ask_to_stop(step.step_id)

    def action_stop_run(self) -> None:
        self._ask_to_stop(None)

    @work(group="dialog")
    async def _ask_to_stop(self, step: str | None) -> None:
        calls = self.status.calls if self.status else ()
        asked = sum(one.doing == "try" and step in {None, one.step_id} for one in calls)
        question = "Stop this run?" if step is None else f"Stop step {step}?"
        answer = await self.app.push_screen_wait(StopDialog(question, stop_detail(asked)))
        if answer is not None:
            now = answer == "now"
            self._ask(ControlRequest(action="stop", step=step, now=now, by="tui"))

    @work(group="dialog")
    async def action_decide(self) -> None:
        decisions = self.status.decisions if self.status else ()
        if not decisions:
            self.say("no call waits for a decision")
            return
        one = decisions[0]
        dialog = ChoiceDialog(
            f"Step {one.step_id}: {one.question}", [(word, word) for word in one.options]
        )
        answer = await self.app.push_screen_wait(dialog)
        if answer is not None:
            self._ask(
                ControlRequest(
                    action="answer", step=one.step_id, call=one.call, answer=answer, by="tui"
                )
            )

    @work(group="dialog")
    async def action_accept(self) -> None:
        step = self.current_step()
        if step is None:
            return
        question = f"Why are the outputs of step {step.step_id} good as they are?"
        reason = await self.app.push_screen_wait(LineDialog(question))
        if reason is not None:
            settings = self.program.load_settings(self.pack)
            pack, step_id = self.pack, step.step_id
            run_id = self.status.run_id if self.status else None

            def accepted(_: object) -> None:
                self.say(f"step {step_id} is accepted")
                self.load()

            self.start(
                "accept",
                lambda: accept_outputs(pack, step_id, settings, reason=reason, run_id=run_id),
                accepted,
            )

    def action_retry(self) -> None:
        if self.status is not None and self.status.alive:
            self.say("this run still goes on; failed steps can be run again when it has ended")
            return
        self.program.open_prepare(self.pack)

    def action_read(self) -> None:
        step = self.current_step()
        self.program.open_read(self.pack, self.run_name, step.step_id if step else "")

    def action_backlog(self) -> None:
        self.program.open_backlog(self.pack, self.run_name)


def stop_detail(asked: int) -> str:
    """What the two ways of stopping do to the calls that are being asked."""
    kept = "What is finished is kept; the next run continues."
    if not asked:
        return f"No call is being asked. {kept}"
    are, them = ("is", "it") if asked == 1 else ("are", "them")
    return (
        f"{figures.count(asked, 'call')} {are} being asked. Stop waits for {them}. "
        f"Stop now cancels {them}; you may have to pay for {them} again. {kept}"
    )


def step_row(step: StepStatus, call: CallInFlight | None) -> tuple[Text, ...]:
    """A step in the table of a run, as `COLUMNS`: what it does now stands before its title."""
    now = doing(step, call)
    attempt = f"attempt {step.attempts}" if step.attempts > 1 else ""
    return (
        cell(step.step_id),
        state_cell(step.state),
        number_cell(figures.duration(step.elapsed_ms) if step.elapsed_ms else "-"),
        number_cell(figures.cost_cell(step.cost)),
        cell(" · ".join(filter(None, (now, attempt, step.title)))),
    )


_DOING = {
    "prepare": "preparing {}",
    "try": "asking {}",
    "wait": "{} waits",
    "settle": "checking {}",
}


def doing(step: StepStatus, call: CallInFlight | None) -> str:
    """What a step does now, or why it failed."""
    if call is None:
        return step.error or ""
    reason = f": {call.reason}" if call.reason else ""
    detail = f" ({call.detail})" if call.detail else ""
    tries = f", try {call.tries}" if call.tries > 1 else ""
    words = _DOING.get(call.doing, "{}").format(call.model or call.tool)
    return f"{words}{reason}{detail}{tries}"


def summary(status: RunStatus) -> Text:
    """A run in a line: state, figures, time left, open questions, with the key for them."""
    done = sum(one.state in {"ok", "accepted"} for one in status.steps)
    failed = sum(one.state == "failed" for one in status.steps)
    parts = [status.state, f"{done} of {len(status.steps)} done"]
    parts += [f"{failed} failed"] if failed else []
    parts.append(f"cost {figures.cost_cell(status.cost)}")
    left = time_left(status)
    parts += [f"about {figures.duration(left)} left"] if left is not None else []
    parts += [f"waits for run {status.waiting_for}"] if status.waiting_for else []
    if status.decisions:
        parts.append(f"{figures.count(len(status.decisions), 'decision')} to make: press d")
    parts += ["" if status.alive else "no command works on it now"]
    return cell(" · ".join(filter(None, parts)), "bold")


def time_left(status: RunStatus) -> int | None:
    """Milliseconds, from the mean of the finished steps; None where none is finished."""
    if not status.alive:
        return None
    past = [one.elapsed_ms for one in status.steps if one.state == "ok" and one.elapsed_ms]
    running = [one for one in status.steps if one.state == "running"]
    waiting = sum(one.state == "pending" for one in status.steps)
    if not past:
        return None
    mean = sum(past) / len(past)
    now = max((mean - (one.elapsed_ms or 0) for one in running), default=0.0)
    return round(max(now, 0.0) + mean * waiting / max(1, len(running)))
