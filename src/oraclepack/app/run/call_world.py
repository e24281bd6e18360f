"""What the calls of a run's steps are answered with."""

from oraclepack.adapters.cache import AnswerCache
from oraclepack.adapters.limits import Limits, limits_directory
from oraclepack.app.calls.answer import Calls
from oraclepack.app.calls.options import CallOptions
from oraclepack.app.calls.world import CallWorld
from oraclepack.app.run.session import Session
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
