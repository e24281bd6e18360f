"""The gateway of a run: what stands between its steps and the tools they call."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oraclepack.adapters.cache import AnswerCache
from oraclepack.adapters.chance import draw
from oraclepack.adapters.gateway import Gateway
from oraclepack.adapters.limits import Limits, limits_directory
from oraclepack.adapters.rundir import CACHE
from oraclepack.app.calls.answer import Calls
from oraclepack.app.calls.options import CallOptions
from oraclepack.app.calls.world import CallWorld
from oraclepack.app.run.session import Session
from oraclepack.core.call import ORACLE
from oraclepack.core.ports import Ask
from oraclepack.core.secrets import Redactor


def calls_for(session: Session, options: CallOptions, ask: Ask | None = None) -> Calls:
    """Who answers the calls of a run."""
    return Calls(
        CallWorld(
            root=session.root,
            run_dir=session.run.path,
            run_id=session.run.run_id,
            pack=session.pack,
            journal=session.record,
            cache=AnswerCache(session.root / CACHE),
            limits=Limits(limits_directory(), session.clock),
            clock=session.clock,
            chance=draw,
            options=options,
            redactor=Redactor.of(session.environment),
            ask=ask,
        )
    )


@contextmanager
def standing_between(session: Session) -> Iterator[None]:
    """While this holds, every call of a tool in a step comes to us."""
    options = session.options
    wishes = options.calls() if options.calls else CallOptions()
    session.calls = calls_for(session, wishes, options.ask)
    programs = {ORACLE: str(Path(options.oracle_bin))} if options.oracle_bin else None
    gateway = Gateway(
        session.calls.answer,
        session.stop,
        session.private,
        session.environment,
        spools=session.run.logs,
        programs=programs,
        grace=options.grace,
    )
    with gateway:
        session.gateway = gateway
        try:
            yield
        finally:
            session.gateway = None
    for fault in gateway.faults:
        raise fault
