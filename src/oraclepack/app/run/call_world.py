"""What the calls of a run's steps are answered with."""

from oraclepack.app.run.session import Session
from oraclepack.calls.cache import AnswerCache
from oraclepack.calls.context import CallOptions, CallWorld
from oraclepack.calls.handler import Calls
from oraclepack.calls.limits import Limits, limits_directory
from oraclepack.system.clock import draw
from oraclepack.system.path_jail import CACHE
from oraclepack.system.secrets import Redactor


def calls_of(session: Session) -> Calls:
    """Who answers the calls of a run."""
    options = session.options
    return Calls(
        CallWorld(
            root=session.root,
            run_dir=session.run.path,
            run_id=session.run.run_id,
            pack=session.pack,
            journal=session.record,
            cache=AnswerCache(session.root, session.root / CACHE),
            limits=Limits(limits_directory(), session.clock),
            clock=session.clock,
            chance=draw,
            options=options.calls() if options.calls else CallOptions(),
            redactor=Redactor.of(session.environment),
            ask=options.ask,
        )
    )
