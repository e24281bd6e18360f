"""Where the answer to a question may be before it is asked: one ordered list.

    accepted → cached → this run → an interrupted call → another run

`find` goes through it; a source is a function `find(call) -> Found | Held | None`, and adding one
is adding a row to SOURCES.
"""

from collections.abc import Callable

from oraclepack.calls.adoption_rules import OnUnknown
from oraclepack.calls.call import Call, Found, Held
from oraclepack.calls.decisions import RETRY, decide
from oraclepack.calls.interrupted import harvest, interrupted, session_of
from oraclepack.calls.publication import is_of_another_run
from oraclepack.calls.stored_answers import (
    find_stored,
    is_held_back,
    may_reuse,
    missing_in,
)
from oraclepack.calls.unmet_answers import (
    acceptance,
    accepted_output,
    corrected,
    find_unmet,
    has_signs_of_a_cut,
    is_an_answer,
    is_cut_off,
    last_outcome,
    looks_cut,
    noted_before,
    with_hash,
)
from oraclepack.errors import StepError
from oraclepack.journal.statuses import UNMET, Cache
from oraclepack.system.path_jail import read_content

_CORRECTED = "meets its contract now; nothing was asked"
_HELD_BACK = StepError(
    code="UNSIGNED_ANSWER",
    message="the cache has an answer to this question, or a call of it, that is not signed; "
    "`oraclepack runs trust --cache` takes it over, --on-unknown retry asks again",
)


def accepted(call: Call) -> Found | None:
    """What a person took as the answer to this question."""
    context = call.context
    taken = accepted_output(context, call.prepared)
    if taken is None:
        return None
    step = context.journal.state.step(call.prepared.call.step)
    data = with_hash(context, step, taken.declared_path, taken.sha256)
    note = "was accepted; nothing was asked"
    return None if data is None else Found(data=data, note=note, is_stored=True)


def cached(call: Call) -> Found | None:
    """A verified answer in the cache, among the user's own ones, or of the run."""
    stored = find_stored(call.context, call.prepared, call.shim)
    if stored is None:
        return None
    note = "is written: it was answered before"
    return Found(data=stored.data, note=note, cache=Cache.HIT, saved=stored.usage, is_stored=True)


def this_run(call: Call) -> Found | None:
    """What this run has had for a call whose answer missed its contract, as it is now.

    None where the question is another one by now, `--refresh` was given, or the answer was cut
    off or is nowhere to be found: then the question is asked. Where its file is no answer any
    more (emptied, cut short, overwritten by a rehearsal or another run), the run's own copy counts.
    """
    context, prepared, path = call.context, call.prepared, call.prepared.output_path
    step = context.journal.state.step(prepared.call.step)
    last = last_outcome(context, prepared, step)
    # A call that a kill cut off may have a better answer: it is looked for first.
    if last is None or path is None or call.claim.open_call is not None:
        return None
    if last.error is None or last.error.code not in UNMET:
        return None
    if is_cut_off(context, step, {path, last.output_path}):
        return None
    # Where the answer was written elsewhere before, or another run published here since, nothing
    # is known of a file that is here.
    place = prepared.outputs[0].path
    now = read_content(place).data if last.output_path == path else None
    is_ours = not is_of_another_run(context.root, context.run_id, place, now)
    if now is None or not is_ours or not is_an_answer(prepared, now):
        now = with_hash(context, step, path, last.unmet_sha256)
    if now is None or looks_cut(prepared, now):
        return None
    missing = missing_in(context, prepared, now)
    return Found(data=now, note=_CORRECTED, missing=missing, is_stored=True)


def not_stored(call: Call) -> Found | None:
    """An answer to the same question that this run had and could not store.

    The disk was full, for example, or the cache was removed; its file or oracle's session has it.
    """
    context, key = call.context, call.prepared.key_value
    if key is None or not may_reuse(context, key) or len(call.prepared.outputs) != 1:
        return None
    for step in context.journal.state.steps.values():
        for invocation in reversed(step.invocations):
            outcome = invocation.outcome
            if outcome is None or not outcome.ok or outcome.key != key:
                continue
            record = session_of(call, invocation)
            found = harvest(call, invocation, record)
            if found is not None and not found.missing:
                saved = record.usage if record else None
                note = "is written: this run has had the answer"
                return Found(data=found.data, note=note, record=record, saved=saved)
    return None


def before_a_retry(call: Call) -> Found | None:
    """The answer that an interrupted retry was to replace, if it is whole and can be found."""
    context, prepared = call.context, call.prepared
    if call.retry is None or prepared.output_path is None or len(prepared.outputs) != 1:
        return None
    step = context.journal.state.step(prepared.call.step)
    data = with_hash(context, step, prepared.output_path, call.retry.unmet_sha256)
    if data is None or looks_cut(prepared, data):
        return None
    missing = missing_in(context, prepared, data)
    return Found(data=data, note=_CORRECTED, missing=missing, is_stored=True)


def another_run(call: Call) -> Found | None:
    """What another run has paid for: accepted, corrected since, or short of its contract.

    None where the user asks for a new answer (`--refresh`, `--cache=false`), or none is whole.
    """
    context, prepared, options = call.context, call.prepared, call.context.options
    key = prepared.key_value
    if key is None or len(prepared.outputs) != 1 or options.refresh or not options.use_cache:
        return None
    store = context.store
    caches = (store.cache, *((store.user,) if store.user else ()))
    kept = find_unmet(caches, key) or noted_before(context, prepared, key)
    if kept is None:
        return None
    place, prompt = prepared.outputs[0], prepared.question.prompt
    data = corrected(context.root, place, prompt, kept) or kept.data
    if has_signs_of_a_cut(data, prompt, place.relative):
        return None
    reason = kept.entry.accepted if data == kept.data else None
    missing = missing_in(context, prepared, data)
    how = _CORRECTED if reason is None else "was accepted; nothing was asked"
    return Found(
        data=data,
        note=f"{how} (answer of run {kept.entry.pack_id})",
        missing=missing if reason is None else (),
        run_id=kept.entry.pack_id,
        acceptance=acceptance(data, missing, reason) if reason is not None and missing else None,
        is_stored=True,
    )


Source = Callable[[Call], Found | Held | None]
SOURCES: tuple[Source, ...] = (
    accepted,
    cached,
    this_run,
    interrupted,
    not_stored,
    before_a_retry,
    another_run,
)


def find(call: Call) -> Found | Held | None:
    """The first answer in the list; None when the question is to be asked.

    An answer that lacks a section is asked for again while retries are left for that.
    """
    for source in SOURCES:
        found = source(call)
        if isinstance(found, Held):
            return found
        if found is not None:
            if not call.asks_again(found):
                return found
            call.short = found
            break
    return _unsigned(call)


def _unsigned(call: Call) -> Held | None:
    """The cache has an unsigned answer or call of the question, and nobody says to pay again."""
    context = call.context
    if not call.claim.is_unsigned and not is_held_back(context, call.prepared):
        return None
    match context.options.on_unknown:
        case OnUnknown.RETRY:
            return None
        case OnUnknown.ASK:
            question = f"{_HELD_BACK.message}. Ask again (it may be paid for twice)?"
            if decide(context, call.prepared.call, call.shim, question) == RETRY:
                return None
    call.say(_HELD_BACK.message)
    return Held(_HELD_BACK)
