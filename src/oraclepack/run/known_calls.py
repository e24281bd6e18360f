"""Forecast without a rehearsal: the calls that earlier runs and rehearsals of the same pack made.

`run` and `run --dry-run` may not run a step's commands, so they look at what is recorded: a
rehearsal by `plan`, or an earlier run. Where nothing is recorded, the text of the pack says how
many calls there are at least.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.answers import find_unmet
from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import answer_caches, run_answers
from oraclepack.calls.key import InvocationKey, Parts
from oraclepack.calls.overrides import Overrides, overridden
from oraclepack.errors import InputError, OraclePackError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.costs import forecast_text, money
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.tool_call import AttachmentKind, ToolCall
from oraclepack.run.forecast import (
    CallFate,
    ExpectedCalls,
    RehearsedCall,
    open_keys,
    planned_call,
    total_range,
)
from oraclepack.run.request import overrides_of
from oraclepack.settings import call_settings as cs
from oraclepack.settings.registry import Settings
from oraclepack.store.history import answer_history
from oraclepack.store.sqlite import existing_store
from oraclepack.system import environment
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.ownership import Foreign
from oraclepack.system.path_jail import read_content
from oraclepack.system.printable import quantity
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import OracleContext, around_call
from oraclepack.tools.oracle_models import output_limit, resolve_model
from oraclepack.tools.oracle_question import OracleQuestion, read_question
from oraclepack.tools.prices import price_of
from oraclepack.tools.providers import BROWSER, engine_of, model_of, provider_of
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.step import shaped

_MOST_RECORDS = 8
"""Journals of the pack that are read."""
_LETTERS_PER_TOKEN = 2.9
"""Of a file that oracle sends with numbered lines."""
_FILE = "file:"
_MOST_OUTPUT = "--max-output"


class KnownAnswers:
    """The answers that a run of a pack would use: of the cache, of the user, and of itself."""

    def __init__(self, root: Path, run_dir: Path, settings: Settings) -> None:
        self._settings = settings
        self._caches = answer_caches(root, user=settings[cs.ANSWERS] == "user")
        own = run_answers(root, run_dir)
        self._places = (*self._caches, own) if settings[cs.CACHE] else (own,)
        self._unused: dict[str, Foreign] = {}
        """Answers to questions that were looked up, and why they are not used."""

    def parts(self, key: str) -> Parts | None:
        """What made the key of a question that was answered; None where no answer is known."""
        if self._settings[cs.REFRESH]:
            return None
        looked = [one for place in self._places if (one := place.get(key)) is not None]
        found = next((one for one in looked if one.state == GOOD), None)
        foreign = next((one.foreign for one in looked if one.foreign is not None), None)
        if found is None and foreign is not None:
            self._unused[key] = foreign
        if found is None and self._settings[cs.CACHE]:
            found = find_unmet(self._caches, key)
        return None if found is None else found.entry.parts

    @property
    def notice(self) -> str:
        """Why answers that are there do not count; empty where all of them do."""
        if not self._unused:
            return ""
        first = next(iter(self._unused.values()))
        number = quantity(len(self._unused), "cached answer")
        return f"{number} not used: {first.reason}; {first.way_out}"

    def has(self, key: str) -> bool:
        """Whether a call would be answered with what is there."""
        return self.parts(key) is not None


class RunForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is expected to ask and to cost, before it begins."""

    recorded: j.ForecastRecorded
    """As the journal holds it, but for what was spent before."""
    by_step: Mapping[str, ExpectedCalls] = {}
    above_limit: str = ""
    """Which call alone may come to more than --max-cost, and what helps."""

    @property
    def text(self) -> str:
        """`12 calls to ask, 8 cached, likely $4.20 ($2.10 to $9.80)`."""
        return forecast_text(self.recorded)


def above_limit(settings: Settings, pack: Pack, calls: Iterable[RehearsedCall]) -> str:
    """The first call that may come to more than all of --max-cost; empty where all fit."""
    most = settings[cs.MAX_COST]
    overrides = overrides_of(settings, pack)
    for call in calls if most is not None else ():
        price = price_of(call.model, settings[cs.PRICES]) if call.fate is CallFate.ASK else None
        step = pack.step(call.step_id)
        asked = asking_calls(step) if step is not None else ()
        if price is None or most is None or call.provider == BROWSER or call.call > len(asked):
            continue
        written = asked[call.call - 1]
        if written.partly_hidden:
            continue  # it may set a limit that only the running shell knows
        model = resolve_model(call.model) or ""
        forced = _forced(overrides, call.step_id).flags.get(_MOST_OUTPUT, ())
        given = [*_values(written, _MOST_OUTPUT), *forced][-1:]
        tokens = int(given[0]) if given and given[0].isdecimal() else 0
        tokens = tokens or settings[cs.BUDGET_OUTPUT_TOKENS] or output_limit(model)
        worst = price.price.cost(call.input_tokens or 0, tokens)
        if worst > most:
            return (
                f"step {call.step_id}: one call may come to {money(worst)} ({model}, up to "
                f"{tokens:,} output tokens), above --max-cost of {money(most)}, so it is "
                "not made: lower it with --oracle-flag=--max-output=N, or raise the limit"
            )
    return ""


def run_forecast(
    settings: Settings, pack: Pack, root: Path, run: RunDir, state: RunState, steps: Sequence[str]
) -> RunForecast | None:
    """What the steps that are to run would ask and cost, from what is recorded of them.

    `run` is the one that goes on, in this state. None where the steps ask nothing.
    """
    known = _KnownCalls(settings, pack, root, run, state)
    calls: list[RehearsedCall] = []
    unrecorded: list[str] = []
    for step_id in steps:
        recorded = known.recorded(step_id)
        if recorded:
            calls += recorded
        elif (step := pack.step(step_id)) is not None:
            written = list(known.written(step))
            calls += written
            unrecorded += [step_id] if written else []
    if not calls:
        return None
    history = answer_history(root, existing_store())
    priced = [planned_call(call, history, settings[cs.PRICES]) for call in calls]
    asked = [one for one in priced if one.fate in {CallFate.ASK, CallFate.ADOPT}]
    cost = total_range(one.cost for one in asked)
    return RunForecast(
        recorded=shaped(
            j.ForecastRecorded,
            _expected(calls),
            low=cost.low if cost else None,
            likely=cost.likely if cost else None,
            high=cost.high if cost else None,
            unpriced_calls=sum(one.is_unpriced for one in asked),
            unrecorded_steps=tuple(unrecorded),
        ),
        by_step={
            step_id: _expected(mine)
            for step_id in steps
            if (mine := [call for call in calls if call.step_id == step_id])
        },
        above_limit=above_limit(settings, pack, calls),
    )


def _expected(calls: Sequence[RehearsedCall]) -> ExpectedCalls:
    fates = Counter(call.fate for call in calls)
    return ExpectedCalls(
        to_ask=fates[CallFate.ASK], cached=fates[CallFate.CACHED], adopted=fates[CallFate.ADOPT]
    )


class _KnownCalls:
    """What is known of the calls that steps of a pack would make, without running them."""

    def __init__(
        self, settings: Settings, pack: Pack, root: Path, run: RunDir, state: RunState
    ) -> None:
        self._settings = settings
        self._pack = pack
        self._root = root
        self._overrides = overrides_of(settings, pack)
        self._answers = KnownAnswers(root, run.path, settings)
        self._open_keys = open_keys(state)
        self._records = tuple(_records(root, pack))
        self._hashes: dict[str, str | None] = {}
        try:
            around = around_call(str(root), environment.environment())
        except InputError:
            around = OracleContext()
        self._usual_engine = engine_of(OracleQuestion(""), around)
        self._usual_model = model_of(OracleQuestion(""), around)

    def recorded(self, step_id: str) -> list[RehearsedCall]:
        """The calls of oracle in the latest attempt at a step that came to its end.

        Attempts with other overrides are passed over: from their keys ours cannot be computed.
        """
        forced = _forced(self._overrides, step_id)
        for state in self._records:
            step = state.step(step_id)
            made = [call for call in step.last_invocations() if call.tool == ORACLE]
            if made and step.status.is_settled:
                overrides = self._earlier_overrides(state, made[0])
                if overrides is not None and _is_comparable(_forced(overrides, step_id), forced):
                    ordered = sorted(made, key=lambda one: one.call)
                    return [self._known(step_id, one, forced) for one in ordered]
        return []

    def written(self, step: Step) -> Iterator[RehearsedCall]:
        """The calls that the text of a step shows."""
        forced = _forced(self._overrides, step.id)
        for number, call in enumerate(asking_calls(step), start=1):
            engine, model = _values(call, "--engine"), _values(call, "--model")
            yield RehearsedCall(
                step_id=step.id,
                call=number,
                fate=CallFate.ASK,
                provider=forced.engine or next(iter(engine), self._usual_engine),
                model=forced.model or next(iter(model), self._usual_model),
                input_tokens=self._about(call),
            )

    def _earlier_overrides(self, state: RunState, call: Invocation) -> Overrides | None:
        """The overrides of the command that made a call; None where they are refused now."""
        seq = call.record.seq if call.record else 0
        begun = [one.started for one in state.sessions if one.started.seq < seq]
        recorded = begun[-1].settings if begun else {}
        chosen = (cs.ENGINE, cs.ORACLE_FLAG, cs.OVERRIDE, cs.CHATGPT_URL)
        given = {one.name: recorded[one.name] for one in chosen if one.name in recorded}
        values: dict[str, object] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in given.items()
        }
        values[cs.CHATGPT_URLS.name] = self._settings[cs.CHATGPT_URLS]
        try:
            return overrides_of(Settings(values), self._pack)
        except UsageError:
            return None

    def _known(self, step_id: str, call: Invocation, forced: OracleQuestion) -> RehearsedCall:
        intent, outcome = call.intent, call.outcome
        said = call.record
        size = intent.question if intent else None
        key = said.key if said else None
        # A call that was not asked has no intent: what made its key is where its answer came from.
        parts = dict(
            intent.key_parts if intent else (self._answers.parts(key) if key else None) or {}
        )
        chosen = {"engine": forced.engine, "model": forced.model}
        changed = {part: now for part, now in chosen.items() if now and parts.get(part, now) != now}
        if changed:
            key = InvocationKey.of(parts | changed).value
        files = {name.removeprefix(_FILE): sha for name, sha in parts.items() if name[:5] == _FILE}
        fate = CallFate.ASK
        if key is not None and all(self._hash(path) == sha for path, sha in files.items()):
            if key in self._open_keys:
                fate = CallFate.ADOPT
            elif self._answers.has(key):
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
            provider=None if provider == cs.REHEARSAL else provider,
            model=model,
            files=size.files if size else {},
            input_tokens=size.input_tokens if size else (usage.input_tokens if usage else None),
        )

    def _hash(self, path: str) -> str | None:
        """The SHA-256 of a file as it is now; attached paths are relative to the project."""
        if path not in self._hashes:
            data = read_content(self._root / path).data
            self._hashes[path] = None if data is None else sha256_bytes(data)
        return self._hashes[path]

    def _about(self, call: ToolCall) -> int:
        """About how many tokens a call sends; of what only the running shell knows, nothing."""
        size = len(call.prompt.text) if call.prompt is not None else 0
        for one in call.attachments:
            if one.kind is AttachmentKind.LITERAL:
                size += len(read_content(self._root / one.value).data or b"")
        return round(size / _LETTERS_PER_TOKEN)


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


def _values(call: ToolCall, flag: str) -> list[str]:
    return [word.value for word in call.values(flag) if word.value is not None]
