"""The call server of a run, between its steps and the tools they call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oraclepack.calls.call_budget import settle_ended
from oraclepack.calls.context import CallContext, CallOptions
from oraclepack.calls.file_store import user_store
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.server import Gateway
from oraclepack.calls.store import CallStore
from oraclepack.calls.waiting import settle_ended_tools
from oraclepack.run.request import store_of
from oraclepack.settings import call_settings as cs
from oraclepack.settings.declaration import Setting
from oraclepack.shell.attempt import StopLevel
from oraclepack.store.database import missing_driver
from oraclepack.system.clock import draw
from oraclepack.system.secrets import Redactor
from oraclepack.tools.oracle_attachments import RECORDS, OwnFiles
from oraclepack.tools.providers import BROWSER
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.legacy_files import all_file_names

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_BUDGET_LIMITS: dict[Setting[Any], str] = {
    cs.MAX_COST: "cost",
    cs.MAX_CALLS: "calls",
    cs.MAX_TOKENS: "tokens",
}
"""The limits of a command that `runs set` may change, and what each is about."""


@contextmanager
def _store_of(run: Run, calls: CallOptions) -> Iterator[CallStore]:
    """What the calls share with other runs: the database of the settings, or the user's own."""
    root, run_dir = run.root, run.dir.path
    if not store_of(run.request):
        with user_store(
            root, run_dir, run.clock, use_cache=calls.use_cache, user=calls.user_answers
        ) as store:
            yield store
        return
    try:
        from oraclepack.calls.fleet_store import fleet_store
    except ImportError:
        raise missing_driver() from None
    timeout = calls.call_timeout
    with fleet_store(
        store_of(run.request),
        root,
        run_dir,
        refresh=calls.refresh,
        call_timeout=timeout,
        lease=run.settings[cs.STORE_LEASE],
        gives_up=lambda: run.stop.level is not StopLevel.NONE,
    ) as store:
        yield store


def _own_files(run: Run) -> OwnFiles:
    """What of this run and its pack no pattern of an attachment takes in."""
    quarantine = Path(os.path.relpath(run.failed, run.root)).as_posix()
    declared = (output.path.value for step in run.pack.steps for output in step.outputs)
    return OwnFiles(
        folders=(*RECORDS, quarantine),
        files=all_file_names(run.pack.path),
        outputs=tuple(path for path in declared if path),
    )


def _context(run: Run, calls: CallOptions, store: CallStore) -> CallContext:
    """What the calls of a run share."""
    control = run.control
    context = CallContext(
        root=run.root,
        run_dir=run.dir.path,
        run_id=run.dir.run_id,
        pack=run.pack,
        journal=run.record,
        store=store,
        clock=run.clock,
        chance=draw,
        options=calls,
        redactor=Redactor.of(run.environment),
        ask=run.request.ask,
        desk=control if control is not None and control.answers_questions else None,
        is_paused=(lambda: control.is_paused) if control is not None else lambda: False,
        cancels=control.is_cancelled if control is not None else lambda _: False,
        own_files=_own_files(run),
    )
    if run.request.ledger is not None:
        context.shared.budget = run.request.ledger
    if run.request.oracle_bin:
        # What a program in the place of oracle asks without a key is its own affair.
        context.shared.noted.add(BROWSER)
    settle_ended(context, adopted=frozenset({ORACLE}))
    settle_ended_tools(context)
    if control is not None:
        for setting, what in _BUDGET_LIMITS.items():
            change = partial(context.shared.budget.set_limit, what)
            control.add_settable(setting.name, setting.kind.read, change)
    return context


@contextmanager
def intercepted_calls(run: Run) -> Iterator[None]:
    """While this is open, every call of a tool in a step is sent to oraclepack."""
    calls = run.request.call_options
    with _store_of(run, calls) as store:
        context = _context(run, calls, store)
        run.calls = CallHandler(context)
        yield from _intercepting(run, run.calls)
        # What could not be settled while the store did not answer.
        settle_ended(context, adopted=frozenset({ORACLE}))


def _intercepting(run: Run, calls: CallHandler) -> Iterator[None]:
    named = run.request.oracle_bin
    programs = {ORACLE: str(Path(named))} if named else None
    gateway = Gateway(
        calls.answer,
        run.stop,
        run.private,
        run.user_environment or run.environment,
        given=run.environment,
        dotenv=run.dotenv,
        spools=run.dir.logs,
        programs=programs,
        every_tool=run.request.is_rehearsal,
    )
    with gateway:
        run.gateway = gateway
        try:
            yield
        finally:
            run.gateway = None
    for fault in gateway.faults:
        raise fault
