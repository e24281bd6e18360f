"""The gateway of a run: what stands between its steps and the tools they call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oraclepack.calls.context import CallContext, CallOptions
from oraclepack.calls.file_store import file_store
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.server import Gateway
from oraclepack.run.run_session import RunSession
from oraclepack.system.clock import draw
from oraclepack.system.secrets import Redactor
from oraclepack.tools.tool_names import ORACLE


def calls_of(session: RunSession) -> CallHandler:
    """Who answers the calls of a run."""
    options = session.options
    calls = options.calls() if options.calls else CallOptions()
    return CallHandler(
        CallContext(
            root=session.root,
            run_dir=session.run.path,
            run_id=session.run.run_id,
            pack=session.pack,
            journal=session.record,
            store=file_store(
                session.root, session.run.path, session.clock, use_cache=calls.use_cache
            ),
            clock=session.clock,
            chance=draw,
            options=calls,
            redactor=Redactor.of(session.environment),
            ask=options.ask,
        )
    )


@contextmanager
def standing_between(session: RunSession) -> Iterator[None]:
    """While this holds, every call of a tool in a step comes to us."""
    options = session.options
    session.calls = calls_of(session)
    programs = {ORACLE: str(Path(options.oracle_bin))} if options.oracle_bin else None
    gateway = Gateway(
        session.calls.answer,
        session.stop,
        session.private,
        session.environment,
        spools=session.run.logs,
        programs=programs,
        grace=options.grace,
        every_tool=bool(options.answered),
    )
    with gateway:
        session.gateway = gateway
        try:
            yield
        finally:
            session.gateway = None
    for fault in gateway.faults:
        raise fault
