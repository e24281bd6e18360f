"""Running the steps of a plan: the prelude, the steps, what tidies up after them."""

from functools import partial
from pathlib import Path

from oraclepack.app.run.calling import standing_between
from oraclepack.app.run.prelude import prepare, tidy_up
from oraclepack.app.run.session import Session
from oraclepack.app.run.step import run_step
from oraclepack.core.plan import Plan, PlannedStep
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import plain_text
from oraclepack.run.engine import drive
from oraclepack.run.schedule import OnFailure
from oraclepack.shell.attempt import StopLevel
from oraclepack.system import git
from oraclepack.system.path_jail import read_content


def carry_out(session: Session, planned: Plan) -> None:
    """Run what is to be run, as far as it goes; the journal tells how far that was."""
    policy = OnFailure.KEEP_GOING if session.options.keep_going else OnFailure.STOP
    session.attempts_before = session.run.attempts_seen()
    with standing_between(session):
        if prepare(session) is not None:
            return
        drive(
            planned,
            partial(_work, session),
            session.stop,
            limit=session.options.max_parallel,
            policy=policy,
            between=session.record.sync,
        )
        if session.stop.level is not StopLevel.AT_ONCE:
            tidy_up(session)
    _see_pack(session)


def _work(session: Session, step: PlannedStep) -> Status:
    status = run_step(session, step)
    _see_head(session, step.step_id)
    return status


def _see_head(session: Session, step_id: str) -> None:
    """A step that commits must not orphan its own run: its commit becomes one of the run's."""
    sha = git.peek(session.root)
    if sha is None and session.record.state.heads:
        sha = git.look(session.root, session.environment).sha
    if sha is not None and sha not in session.record.state.heads:
        session.record.append(j.HeadSeen(sha=sha, step=step_id))


def _see_pack(session: Session) -> None:
    """Say it when the pack is no longer what ran: the next command would begin another run."""
    now = read_content(Path(session.pack.path))
    if (
        now.data is not None
        and plain_text(now.data.decode("utf-8", "replace")) == session.pack.text
    ):
        return
    what = "was changed" if now.data is not None else f"is {now.trouble}"
    message = f"{session.pack.path} {what} since this command began; what ran is the older content"
    session.record.append(j.Warned(code="pack", message=message))
