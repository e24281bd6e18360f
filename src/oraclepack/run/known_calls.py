"""Forecast without a rehearsal: the calls that earlier runs and rehearsals of the same pack made.

`run` and `run --dry-run` may not run a step's commands, so they look at what is recorded: a
rehearsal by `plan`, or an earlier run. Where nothing is recorded, the text of the pack says how
many calls there are at least.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.calls.key import InvocationKey
from oraclepack.calls.overrides import Overrides, overridden
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.costs import forecast_text, money
from oraclepack.journal.run_state import RunState
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.tool_call import AttachmentKind, ToolCall
from oraclepack.run.forecast import (
    CallFate,
    CostRange,
    RehearsedCall,
    planned_call,
    total_range,
)
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.store.history import answer_history
from oraclepack.store.sqlite import existing_store
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import read_content
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_models import output_limit, resolve_model
from oraclepack.tools.oracle_question import OracleQuestion, read_question
from oraclepack.tools.prices import TokenPrice, price_of
from oraclepack.tools.providers import BROWSER, provider_of
from oraclepack.tools.tool_names import ORACLE

if TYPE_CHECKING:
    from oraclepack.run.known_answers import KnownAnswers

_MOST_RECORDS = 8
"""Journals of the pack that are read."""
_LETTERS_PER_TOKEN = 2.9
"""Of a file that oracle sends with numbered lines."""
_FILE = "file:"
_MOST_OUTPUT = "--max-output"


class CostLimit(msgspec.Struct, frozen=True):
    """What a command may cost, and the output tokens reserved for a call that sets no limit."""

    most: Decimal | None = None
    reserved_tokens: int | None = None

    def notice(
        self,
        pack: Pack,
        calls: Iterable[RehearsedCall],
        overrides: Overrides,
        own: Mapping[str, TokenPrice],
    ) -> str:
        """The first call that may come to more than the whole limit; empty where all fit."""
        for call in calls if self.most is not None else ():
            price = price_of(call.model, own) if call.fate is CallFate.ASK else None
            written = _written_call(pack, call)
            if price is None or self.most is None or call.provider == BROWSER:
                continue
            if written is None or written.partly_hidden:
                continue  # it may set a limit that only the running shell knows
            model = resolve_model(call.model) or ""
            given = _most_output(written, _forced(overrides, call.step_id))
            tokens = given or self.reserved_tokens or output_limit(model)
            worst = price.price.cost(call.input_tokens or 0, tokens)
            if worst > self.most:
                return (
                    f"step {call.step_id}: one call may come to {money(worst)} ({model}, up to "
                    f"{tokens:,} output tokens), above --max-cost of {money(self.most)}, so it is "
                    "not made: lower it with --oracle-flag=--max-output=N, or raise the limit"
                )
        return ""


class UsualCall(msgspec.Struct, frozen=True):
    """How oracle is called where the pack does not say, or whatever it says."""

    engine: str
    model: str | None
    overrides: Overrides
    earlier: Callable[[Mapping[str, j.Setting]], Overrides | None]
    """The overrides of an earlier command, by the settings that it recorded."""
    limit: CostLimit = CostLimit()


class RunForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is expected to ask and to cost, before it begins."""

    to_ask: int
    cached: int
    adopted: int
    cost: CostRange | None
    """US dollars; null where no price is known, or nothing is to be asked."""
    unpriced_calls: int
    unrecorded_steps: tuple[str, ...] = ()
    """Steps of which only the text is known: they may make other calls than it shows."""
    by_step: Mapping[str, tuple[int, int, int]] = {}
    """Calls to ask, cached and adopted of each step."""
    above_limit: str = ""
    """Which call alone may come to more than --max-cost, and what helps."""

    @property
    def text(self) -> str:
        """`12 calls to ask, 8 cached, likely $4.20 ($2.10 to $9.80)`."""
        return forecast_text(self.event(None))

    def event(self, spent_before: Decimal | None) -> j.ForecastRecorded:
        """As the journal holds it."""
        cost = self.cost
        return j.ForecastRecorded(
            to_ask=self.to_ask,
            cached=self.cached,
            adopted=self.adopted,
            low=cost.low if cost else None,
            likely=cost.likely if cost else None,
            high=cost.high if cost else None,
            unpriced_calls=self.unpriced_calls,
            unrecorded_steps=self.unrecorded_steps,
            spent_before=spent_before,
        )


def run_forecast(
    root: Path,
    pack: Pack,
    steps: Sequence[str],
    current: RunState,
    answers: "KnownAnswers",
    own: Mapping[str, TokenPrice],
    usual: UsualCall,
) -> RunForecast | None:
    """What the steps that are to run would ask and cost, from what is recorded of them.

    `current` is the run that goes on, `answers` are those that need not be asked for, `usual`
    is how oracle is called where the pack does not say. None where the steps ask nothing.
    """
    records = tuple(_records(root, pack))
    open_keys = {
        call.intent.key
        for step in current.steps.values()
        for call in step.invocations
        if call.is_open and call.intent is not None and call.intent.key is not None
    }
    hashes: dict[str, str | None] = {}
    calls: list[RehearsedCall] = []
    unrecorded: list[str] = []
    for step_id in steps:
        forced = _forced(usual.overrides, step_id)
        recorded = _recorded_calls(records, step_id, forced, usual)
        if recorded:
            calls += [
                _known(root, step_id, one, answers, open_keys, hashes, forced) for one in recorded
            ]
        elif (step := pack.step(step_id)) is not None:
            written = list(_written(root, step, usual, forced))
            calls += written
            unrecorded += [step_id] if written else []
    if not calls:
        return None
    history = answer_history(root, existing_store())
    priced = [planned_call(call, history, own) for call in calls]
    asked = [one for one in priced if one.fate in {CallFate.ASK, CallFate.ADOPT}]
    return RunForecast(
        to_ask=_count(calls, CallFate.ASK),
        cached=_count(calls, CallFate.CACHED),
        adopted=_count(calls, CallFate.ADOPT),
        cost=total_range(one.cost for one in asked),
        unpriced_calls=sum(one.is_unpriced for one in asked),
        unrecorded_steps=tuple(unrecorded),
        by_step={
            step_id: (
                _count(mine, CallFate.ASK),
                _count(mine, CallFate.CACHED),
                _count(mine, CallFate.ADOPT),
            )
            for step_id in steps
            if (mine := [call for call in calls if call.step_id == step_id])
        },
        above_limit=usual.limit.notice(pack, calls, usual.overrides, own),
    )


def _written_call(pack: Pack, call: RehearsedCall) -> ToolCall | None:
    step = pack.step(call.step_id)
    written = asking_calls(step) if step is not None else ()
    return written[call.call - 1] if call.call <= len(written) else None


def _most_output(written: ToolCall, forced: OracleQuestion) -> int | None:
    """The `--max-output` of a call."""
    given = [*_values(written, _MOST_OUTPUT), *forced.flags.get(_MOST_OUTPUT, ())]
    return int(given[-1]) if given and given[-1].isdecimal() else None


def _records(root: Path, pack: Pack) -> Iterator[RunState]:
    """The runs and rehearsals of exactly this pack, the latest first."""
    mark = f"__{pack.pack_hash[:8]}"
    named = [one for one in run_dir.every_run(root) if mark in one.run_id]
    found = []
    for one in named[-_MOST_RECORDS:]:
        try:
            examined = run_dir.examine(one)
        except (OSError, OraclePackError):
            continue
        if examined.foreign is None:
            found.append(examined.state)
    yield from sorted(found, key=lambda state: state.last_at or "", reverse=True)


def _recorded_calls(
    records: Sequence[RunState], step_id: str, forced: OracleQuestion, usual: UsualCall
) -> tuple[Invocation, ...]:
    """The calls of oracle in the latest attempt at a step that came to its end.

    Attempts with other overrides are passed over: from their keys ours cannot be computed.
    """
    for state in records:
        step = state.step(step_id)
        made = [call for call in step.last_invocations() if _tool(call) == ORACLE]
        if made and step.status.is_settled:
            overrides = usual.earlier(_settings_of(state, made[0]))
            if overrides is not None and _is_comparable(_forced(overrides, step_id), forced):
                return tuple(sorted(made, key=lambda one: one.call))
    return ()


def _settings_of(state: RunState, call: Invocation) -> Mapping[str, j.Setting]:
    """The settings of the command that made a call."""
    event = call.outcome or call.intent
    seq = event.seq if event else 0
    begun = [one.started for one in state.sessions if one.started.seq < seq]
    return begun[-1].settings if begun else {}


def _forced(overrides: Overrides, step_id: str) -> OracleQuestion:
    """What overrides choose for every call of a step, whatever the pack says."""
    table = table_of(ORACLE)
    words = overridden(table, (), overrides.for_step(step_id))
    return read_question(parse_argv(table, words), words)


def _is_comparable(earlier: OracleQuestion, forced: OracleQuestion) -> bool:
    """Whether the key of a call with earlier overrides says what its key is with ours.

    Only the engine and the model can be exchanged in a key, and only for others that are given.
    """
    if (earlier.engine and not forced.engine) or (earlier.model and not forced.model):
        return False
    same = {"engine": None, "model": None, "output": None}
    return replace(earlier, **same) == replace(forced, **same)


def _tool(call: Invocation) -> str:
    said = call.outcome or call.intent
    return said.tool if said else ""


def _known(
    root: Path,
    step_id: str,
    call: Invocation,
    answers: "KnownAnswers",
    open_keys: Collection[str],
    hashes: dict[str, str | None],
    forced: OracleQuestion,
) -> RehearsedCall:
    intent, outcome = call.intent, call.outcome
    said = outcome or intent
    size = intent.question if intent else None
    key = said.key if said else None
    # A call that was not asked has no intent: what made its key is where its answer came from.
    parts = dict(intent.key_parts if intent else (answers.parts(key) if key else None) or {})
    chosen = {"engine": forced.engine, "model": forced.model}
    changed = {part: now for part, now in chosen.items() if now and parts.get(part, now) != now}
    if changed:
        key = InvocationKey.of(parts | changed).value
    files = {name.removeprefix(_FILE): sha for name, sha in parts.items() if name[:5] == _FILE}
    fate = CallFate.ASK
    if key is not None and all(_hash(root, path, hashes) == sha for path, sha in files.items()):
        if key in open_keys:
            fate = CallFate.ADOPT
        elif answers.has(key):
            fate = CallFate.CACHED
    usage = outcome.usage or outcome.saved if outcome else None
    provider = size.provider if size else (said.provider if said else None)
    model = changed.get("model", said.model if said else None)
    if changed:
        provider = provider_of(
            OracleQuestion("", model=model, engine=changed.get("engine", parts.get("engine"))),
            OracleContext(),
        )
    return RehearsedCall(
        step_id=step_id,
        call=call.call,
        fate=fate,
        provider=None if provider == REHEARSAL else provider,
        model=model,
        files=size.files if size else {},
        input_tokens=size.input_tokens if size else (usage.input_tokens if usage else None),
    )


def _hash(root: Path, path: str, hashes: dict[str, str | None]) -> str | None:
    """The SHA-256 of a file as it is now; attached paths are relative to the project."""
    if path not in hashes:
        data = read_content(root / path).data
        hashes[path] = None if data is None else sha256_bytes(data)
    return hashes[path]


def _written(
    root: Path, step: Step, usual: UsualCall, forced: OracleQuestion
) -> Iterator[RehearsedCall]:
    """The calls that the text of a step shows."""
    for number, call in enumerate(asking_calls(step), start=1):
        yield RehearsedCall(
            step_id=step.id,
            call=number,
            fate=CallFate.ASK,
            provider=forced.engine or next(iter(_values(call, "--engine")), usual.engine),
            model=forced.model or next(iter(_values(call, "--model")), usual.model),
            input_tokens=_about(root, call),
        )


def _values(call: ToolCall, flag: str) -> list[str]:
    return [word.value for word in call.values(flag) if word.value is not None]


def _about(root: Path, call: ToolCall) -> int:
    """About how many tokens a call sends; of what only the running shell knows, nothing."""
    size = len(call.prompt.text) if call.prompt is not None else 0
    for one in call.attachments:
        if one.kind is AttachmentKind.LITERAL:
            data = read_content(root / one.value).data
            size += len(data or b"")
    return round(size / _LETTERS_PER_TOKEN)


def _count(calls: Sequence[RehearsedCall], fate: CallFate) -> int:
    return sum(call.fate is fate for call in calls)
