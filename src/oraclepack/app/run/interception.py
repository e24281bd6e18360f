"""An attempt behind the gateway: its calls of tools reach us instead of the tools."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from oraclepack.app.run.session import Session
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Wait
from oraclepack.shell.attempt import Attempt, StopLevel

_GOES_ON = "a question it asked goes on without it; the run ends after the answer"


@contextmanager
def intercepted(session: Session, attempt: Attempt) -> Iterator[Attempt]:
    """The attempt with our stand-ins first on its PATH, for as long as it runs."""
    gateway = session.gateway
    if gateway is None:
        yield attempt
        return
    guarded = replace(
        attempt,
        env=gateway.shims.environment(attempt.env),
        first_on_path=str(gateway.shims.path),
    )
    gateway.expect(guarded)
    try:
        yield guarded
        if session.stop.level is StopLevel.NONE and not gateway.await_answers(guarded, 0):
            warning = j.Warned(step=attempt.step, code=Wait.EARLIER_CALL, message=_GOES_ON)
            session.record.append(warning)
    finally:
        gateway.forget(guarded)


def answers(session: Session, attempt: Attempt) -> Callable[[float], bool] | None:
    """Waits that many seconds for what the attempt has asked; whether all is answered."""
    gateway = session.gateway
    return partial(gateway.await_answers, attempt) if gateway is not None else None
