"""The money of one try: its worst case is reserved before it is made, and settled afterwards.

`reserve_try` asks the ledgers of the command and of the run, which only this process has, then the
one of fleets, days and months, which all processes of the user share.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from oraclepack.calls.worst_case import (
    BudgetPolicy,
    WorstCase,
    hint_of,
    limit_text,
    refusal_text,
    spent_by,
    spent_in_run,
)
from oraclepack.errors import MachineError, OraclePackError, StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import BUDGET, BUDGET_LEDGER
from oraclepack.journal.step_state import Invocation
from oraclepack.store.spending import (
    NOTHING_SPENT,
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    SpentSum,
    UnknownPricePolicy,
    release,
    reserve,
    settle,
)
from oraclepack.tools.usage import Usage

if TYPE_CHECKING:
    from oraclepack.calls.context import CallContext
    from oraclepack.calls.live_call import LiveCall, Shim

_SHARED = frozenset({BudgetScope.FLEET, BudgetScope.DAY, BudgetScope.MONTH})
_numbers = itertools.count(1)
"""Of all reservations of this process."""


class CommandLedger:
    """What this command and its run have spent and reserved. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ledger: BudgetLedger | None = None
        self._runs: set[str] = set()
        """Runs of which it knows what they had spent before; a command may work on several."""
        self.allowed: set[str] = set()
        """Models and tools of unknown price that the user allows."""
        self.warned: set[str] = set()
        self._changed: dict[str, Decimal | int | None] = {}

    def set_limit(self, what: str, limit: Decimal | int | None) -> None:
        """Change a ceiling of the command while it runs: its `cost`, `calls` or `tokens`."""
        with self._lock:
            self._changed[what] = limit

    def reserve(
        self,
        request: BudgetRequest,
        policy: BudgetPolicy,
        unknown: UnknownPricePolicy,
        calls: Iterable[Invocation],
    ) -> Shortfall | None:
        """`calls` are those of the run, as its journal knows them."""
        with self._lock:
            ledger = self._ledger or BudgetLedger()
            if request.run not in self._runs:
                self._runs.add(request.run)
                before = SpentSum(command="", run=request.run, day="", spent=spent_in_run(calls))
                ledger = replace(ledger, sums=(*ledger.sums, before))
            self._ledger = ledger
            own = {scope: one for scope, one in policy.ceilings.items() if scope not in _SHARED}
            if self._changed:
                mine = own.get(BudgetScope.COMMAND, Ceiling())
                own[BudgetScope.COMMAND] = Ceiling(
                    **{name: getattr(mine, name) for name in Ceiling.__struct_fields__}
                    | self._changed
                )
            result = reserve(ledger, request, own, unknown)
            if isinstance(result, Shortfall):
                return result
            self._ledger = result
            return None

    def settle(self, reservation: str, spent: Spending | None) -> None:
        with self._lock:
            if self._ledger is not None:
                self._ledger = settle(self._ledger, reservation, spent)

    def release(self, reservation: str) -> None:
        with self._lock:
            if self._ledger is not None:
                self._ledger = release(self._ledger, reservation)


class HeldMoney:
    """The reservation of one try. Released at the end of the `with` unless it was opened."""

    def __init__(
        self, context: "CallContext", call: "LiveCall", request: BudgetRequest, *, is_shared: bool
    ) -> None:
        self._context = context
        self._call = call
        self._request = request
        self._is_shared = is_shared
        """The shared ledger has it already: some ceiling of a day or a month holds."""
        self._is_open = False
        self._is_settled = False

    @property
    def name(self) -> str:
        return self._request.reservation

    def open(self) -> None:
        """The tool is about to start, and the journal says so. Raises where it must not."""
        store, policy = self._context.store.budget, self._context.options.budget
        if self._is_shared:
            if store.open(self.name):
                self._is_open = True
                return
            # Another machine took us for dead. Nothing is paid for yet, so reserve again.
            short = store.reserve(
                replace(self._request, is_open=True), _shared(policy), UnknownPricePolicy.ALLOW
            )
            if short is not None:
                raise MachineError("the reservation of this call is gone", hint=hint_of(short))
        else:
            with _tolerated(self._context, self._call.step):
                opened = replace(self._request, is_open=True)
                store.reserve(opened, {}, UnknownPricePolicy.ALLOW)
        self._is_open = True

    def settle(self, usage: Usage | None, error: str | None) -> None:
        """What the try came to, as far as that is known."""
        if self._is_settled or not self._is_open:
            return
        self._is_settled = True
        spent = spent_by(usage, error)
        self._context.shared.budget.settle(self.name, spent)
        settle_reservation(self._context, _event(self._call, self._request), spent)

    def leave_open(self) -> None:
        """Its outcome is not known yet: a later call adopts it."""
        self._is_settled = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self._is_open or self._is_settled:
            return
        self._context.shared.budget.release(self.name)
        with _tolerated(self._context, self._call.step):
            if self._is_shared:
                self._context.store.budget.release(self.name)
            self._context.record(_settled(_event(self._call, self._request), NOTHING_SPENT))


@contextmanager
def _tolerated(context: "CallContext", step: str) -> Iterator[None]:
    """A failure of the ledger that must not stop a call or its answer: reported once."""
    try:
        yield
    except OraclePackError as trouble:
        warned = context.shared.budget.warned
        if trouble.message not in warned:
            warned.add(trouble.message)
            hint = f" ({trouble.hint})" if trouble.hint else ""
            message = f"the ledger of budgets lacks a call: {trouble.message}{hint}"
            context.record(j.WarningRecorded(step=step, code="budget", message=message))


def reserve_try(
    context: "CallContext", call: "LiveCall", shim: "Shim", worst: WorstCase
) -> HeldMoney | StepError:
    """Reserve the worst case of a try; the error of the call where it does not fit.

    The error is transient while other calls of this command are being made whose end may free
    enough.
    """
    policy, shared = context.options.budget, _shared(context.options.budget)
    request = _request(context, worst)
    allows = worst.subject in context.shared.budget.allowed
    unknown = UnknownPricePolicy.ALLOW if allows else policy.on_unknown
    try:
        short = _reserved(context, request, policy, unknown)
        if short is not None and short.needed is None and _is_allowed(context, shim, worst, short):
            short = _reserved(context, request, policy, UnknownPricePolicy.ALLOW)
    except OraclePackError as trouble:
        hint = f"; {trouble.hint}" if trouble.hint else ""
        return StepError(code=BUDGET_LEDGER, message=f"not asked: {trouble.message}{hint}")
    if short is not None:
        may_pass = short.may_pass and short.scope not in _SHARED
        return StepError(code=BUDGET, message=refusal_text(short, worst), transient=may_pass)
    held = _event(call, request, worst.unknown)
    context.record(held)
    return HeldMoney(context, call, request, is_shared=bool(shared))


def _reserved(
    context: "CallContext",
    request: BudgetRequest,
    policy: BudgetPolicy,
    unknown: UnknownPricePolicy,
) -> Shortfall | None:
    mine, shared = context.shared.budget, _shared(policy)
    calls = (one for step in context.journal.state.steps.values() for one in step.invocations)
    short = mine.reserve(request, policy, unknown, calls)
    if short is None and shared:
        try:
            short = context.store.budget.reserve(request, shared, unknown)
        except OraclePackError:
            mine.release(request.reservation)
            raise
        if short is not None:
            mine.release(request.reservation)
    return short


def _is_allowed(context: "CallContext", shim: "Shim", worst: WorstCase, short: Shortfall) -> bool:
    """Ask the person once for each model or tool; without a terminal the answer is no."""
    if context.options.budget.on_unknown is not UnknownPricePolicy.ASK or context.ask is None:
        return False
    what = "price" if short.what == "cost" else "number of tokens"
    doubt = f"the {what} of {worst.subject} is not known, and {limit_text(short)} holds"
    question = f"{doubt}; call it anyway?"
    if worst.subject not in context.shared.budget.allowed and context.ask(question, shim.pause):
        context.shared.budget.allowed.add(worst.subject)
    return worst.subject in context.shared.budget.allowed


def settle_reservation(
    context: "CallContext", held: j.BudgetReserved, spent: Spending | None
) -> None:
    """Settle a reservation of this run in the shared ledger, then in the journal.

    In this order: killed in between, the next command settles it again, which changes nothing.
    """
    with _tolerated(context, held.step):
        context.store.budget.settle(held.reservation, spent)
        context.record(_settled(held, spent))


def settle_call(context: "CallContext", call: Invocation, usage: Usage | None) -> None:
    """The end of a call that an earlier command made is known."""
    code = call.outcome.error.code if call.outcome and call.outcome.error else None
    used = usage or (call.outcome.usage if call.outcome else None)
    for held in call.reserved:
        settle_reservation(context, held, spent_by(used, code))
    name = call.intent.reservation if call.intent else None
    if name is not None and not call.reserved:  # a call of another run, known from its claim
        with _tolerated(context, call.intent.step if call.intent else ""):
            context.store.budget.settle(name, spent_by(used, code))


def settle_ended(context: "CallContext", adopted: frozenset[str]) -> None:
    """Settle the open calls of earlier commands: those that ended or cannot be adopted.

    `adopted` are the tools whose open calls are looked for when their question is asked again.
    """
    for step in context.journal.state.steps.values():
        for call in step.invocations:
            record = call.outcome or call.intent
            waits = call.is_open and record is not None and record.tool in adopted
            if call.reserved and not waits:
                settle_call(context, call, None)


def _shared(policy: BudgetPolicy) -> dict[BudgetScope, Ceiling]:
    return {scope: one for scope, one in policy.ceilings.items() if scope in _SHARED}


def _request(context: "CallContext", worst: WorstCase) -> BudgetRequest:
    now = context.clock.now()
    command = context.command
    return BudgetRequest(
        reservation=f"{command}#{next(_numbers)}",
        command=command,
        run=f"{_text(context.root)}:{context.run_id}",
        day=f"{now:%Y-%m-%d}",
        at=now.isoformat(),
        worst=worst.spending,
        unknown=worst.unknown,
        fleet=context.options.budget.fleet,
    )


def _text(path: Path) -> str:
    """A path as text, also where its bytes are no UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _event(
    call: "LiveCall", request: BudgetRequest, unknown: tuple[str, ...] = ()
) -> j.BudgetReserved:
    return j.BudgetReserved(
        step=call.step,
        attempt=call.attempt,
        call=call.number,
        reservation=request.reservation,
        cost=request.worst.cost,
        tokens=request.worst.tokens,
        unknown=unknown,
    )


def _settled(held: j.BudgetReserved, spent: Spending | None) -> j.BudgetSettled:
    counted = Spending(held.cost, 1, held.tokens) if spent is None else spent
    return j.BudgetSettled(
        step=held.step,
        attempt=held.attempt,
        call=held.call,
        reservation=held.reservation,
        cost=counted.cost,
        calls=counted.calls,
        tokens=counted.tokens,
        worst_case=spent is None,
    )
