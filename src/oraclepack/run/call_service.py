"""The gateway of a run: what stands between its steps and the tools they call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oraclepack.calls.cache import AnswerCache
from oraclepack.calls.context import CallContext, CallOptions
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.limits import Limits, limits_directory
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.server import Gateway
from oraclepack.run.run_session import RunSession
from oraclepack.system.clock import draw
from oraclepack.system.path_jail import CACHE
from oraclepack.system.secrets import Redactor
from oraclepack.tools.tool_names import ORACLE


def calls_of(session: RunSession) -> CallHandler:
    """Who answers the calls of a run."""
    options = session.options
    return CallHandler(
        CallContext(
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


class LateCalls:
    """Who answers the calls of a run, put together when the first one comes.

    A third of the program is loaded for it, and most steps of some packs call nothing.
    """

    def __init__(self, session: RunSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._calls: CallHandler | None = None

    def answer(self, call: LiveCall, shim: Shim) -> int:
        """See to one call; the exit code with which it ends for the step."""
        return self._made().answer(call, shim)

    def attached(self, step: str, attempt: int) -> dict[str, str]:
        """What the calls of an attempt attached: paths from the project root, and SHA-256."""
        return self._calls.attached(step, attempt) if self._calls else {}

    def _made(self) -> CallHandler:
        with self._lock:
            if self._calls is None:
                self._calls = calls_of(self._session)
            return self._calls


@contextmanager
def standing_between(session: RunSession) -> Iterator[None]:
    """While this holds, every call of a tool in a step comes to us."""
    options = session.options
    session.calls = LateCalls(session)
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
