"""Carries out the plan of a run: its control socket, what surrounds its steps, the steps.

`run/run.py` loads it where there is something to run: a command that finds all steps done
starts without the call server and what that needs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from oraclepack.journal import events as j
from oraclepack.run.control_server import ControlServer
from oraclepack.run.execute import ready_for_steps
from oraclepack.run.executor import Executor, FixedThrottle, ThreadExecutor
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.schedule import OnFailure, Progress
from oraclepack.run.request import max_parallel
from oraclepack.run.run_control import RunControl
from oraclepack.run.run_session import RunSession
from oraclepack.run.step import run_step

CONCERNS_ALL = frozenset({"AUTH", "QUOTA", "MODEL_UNAVAILABLE"})
"""Failures that the next question would meet too: nothing new begins, even with --keep-going."""


@contextmanager
def open_control(session: RunSession) -> Iterator[None]:
    """Accept requests of other processes while this is open."""
    session.control = RunControl(
        session.stop,
        max_parallel(session.settings),
        answers_questions=session.request.arguments.detached,
    )
    with ControlServer(session.private, session.control, session.record.append) as server:
        session.record.append(j.ControlOpened(socket=str(server.path)))
        yield


@contextmanager
def ready_to_execute(
    session: RunSession, executor: Executor | None
) -> Iterator[Callable[[Plan], Progress] | None]:
    """What runs the steps of a plan, by the given executor or in threads of this process.

    None where the prelude failed.
    """
    run = (executor or threads_for(session)).run
    work = partial(run_step, session)
    execute = partial(run, work=work, stop=session.stop, between=session.record.sync)
    with ready_for_steps(session) as is_ready:
        yield execute if is_ready else None


def threads_for(session: RunSession) -> Executor:
    """The executor of a run that is given none."""
    policy = OnFailure.KEEP_GOING if session.request.keep_going else OnFailure.STOP

    def concerns_all(step_id: str) -> bool:
        error = session.record.state.step(step_id).error
        return error is not None and error.code in CONCERNS_ALL

    throttle = session.control or FixedThrottle(max_parallel(session.settings))
    return ThreadExecutor(throttle, policy, concerns_all)
