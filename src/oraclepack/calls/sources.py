"""Where the answer to a question may be before it is asked: one ordered list.

    accepted → cached → this run → an interrupted call → another run

`find` goes through it; a source is a function `find(call) -> Found | Blocked | None`, and adding
one is adding a row to SOURCES.
"""

from collections.abc import Callable

import msgspec

from oraclepack.calls.answers import (
    acceptance,
    caches_of,
    find_unmet,
    is_of_another_run,
    published_at,
    unmet_of_0_2,
    with_hash,
)
from oraclepack.calls.cache import GOOD
from oraclepack.calls.call import RETRY, Call
from oraclepack.calls.context import OnUnknown
from oraclepack.calls.earlier import Blocked, adopt, next_retry
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CRASHED, UNMET, Cache
from oraclepack.journal.step_state import Invocation
from oraclepack.system.ownership import ForeignReason
from oraclepack.system.path_jail import read_content
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.usage import Usage

_CORRECTED = "meets its contract now; nothing was asked"
_ACCEPTED = "was accepted; nothing was asked"
_UNSIGNED = StepError(
    code="UNSIGNED_ANSWER",
    message="the cache has an answer to this question, or a call of it, that is not signed; "
    "`oraclepack runs trust --cache` takes it over, --on-unknown retry asks again",
)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was paid for, or that a person took as it is."""

    data: bytes
    note: str = ""
    """How it came about, in words that follow the path of its file."""
    missing: tuple[str, ...] = ()
    """The sections it lacks: the call fails, and is not asked again."""
    record: SessionRecord | None = None
    """Of the session that answered, with its usage."""
    earlier: Invocation | None = None
    """The interrupted call whose answer it is: it is still to be closed, and its cost counts."""
    is_stored: bool = True
    """The cache or the run has it."""
    is_proven: bool = True
    """It is sure to be whole, so that it may be shared with other runs."""
    cache: Cache = Cache.OFF
    saved: Usage | None = None
    """What it had used when it was paid for."""
    run_id: str | None = None
    """The run that paid for it, where that is another one."""
    acceptance: j.OutputRevised | None = None
    """The event by which a person took it, where it lacks something."""


def accepted(call: Call) -> Found | None:
    """What a person took as the answer to this question."""
    step, place = call.step_state, call.question.output
    if place is None:
        return None
    taken = next(
        (one for one in step.accepted if (call.root / one.declared_path).resolve() == place.path),
        None,
    )
    # What the user took before anything was asked is taken by its path: it has no question.
    has_no_question = taken is not None and taken.adopted and not call.context.options.refresh
    if taken is None or (_last_outcome(call) is None and not has_no_question):
        return None
    data = with_hash(call.context, step, taken.declared_path, taken.sha256)
    return None if data is None else Found(data=data, note=_ACCEPTED)


def cached(call: Call) -> Found | None:
    """A verified answer in the cache, among the user's own ones, or of the run."""
    key = call.key_value
    if key is None or not _may_reuse(call):
        return None
    for answers in caches_of(call.context):
        stored = answers.get(key)  # an unreadable entry may be an answer, so nothing is asked
        if stored is None:
            continue
        if stored.foreign is not None:
            reason = stored.foreign.reason
            # It may be the user's, and paid for.
            call.has_unsigned_answer |= stored.foreign.kind is ForeignReason.UNSIGNED
            call.warn("foreign", f"the cached answer {key[:12]} is foreign and not used: {reason}")
        elif stored.state != GOOD:
            call.say(f"the cached answer {key[:12]} was changed by hand")
        # An answer that was complete when stored may not meet the current contract.
        elif not call.lacks(stored.data):
            note, saved = "is written: it was answered before", stored.entry.usage
            return Found(data=stored.data, note=note, cache=Cache.HIT, saved=saved)
    return None


def this_run(call: Call) -> Found | None:
    """What this run has had for a call whose answer missed its contract, as it is now.

    None where the question is another one by now, `--refresh` was given, or the answer was cut
    off or is nowhere to be found: then the question is asked. Where its file is no answer any
    more (emptied, cut short, overwritten by a rehearsal or another run), the run's own copy counts.
    """
    place, last = call.question.output, _last_outcome(call)
    # A call that a kill cut off may have a better answer: it is looked for first.
    if last is None or place is None or call.claim.open_call is not None:
        return None
    if last.error is None or last.error.code not in UNMET or _is_cut_off(call, last.output_path):
        return None
    # Where the answer was written elsewhere before, or another run published here since, nothing
    # is known of a file that is here.
    now = read_content(place.path).data if last.output_path == place.relative else None
    is_theirs = is_of_another_run(call.root, call.context.run_id, place.path, now)
    if now is None or is_theirs or not call.is_whole(now):
        now = with_hash(call.context, call.step_state, place.relative, last.unmet_sha256)
    return _as_it_is(call, now)


def interrupted(call: Call) -> Found | Blocked | None:
    """The answer of a call that was cut off; those without one are closed."""
    adopted = adopt(call)
    if adopted is None or isinstance(adopted, Blocked):
        return adopted
    answer, earlier = adopted
    if answer.missing:
        # The retry that is due after it.
        before = earlier.intent.retry if earlier.intent else None
        after = next_retry(before, answer.data, answer.record)
        if call.retry is None or call.retry.number <= after.number:
            call.retry = after
    return Found(
        data=answer.data,
        note=answer.note,
        missing=answer.missing,
        record=answer.record,
        earlier=earlier,
        is_stored=False,
        is_proven=answer.is_proven,
    )


def not_stored(call: Call) -> Found | None:
    """An answer to the same question that this run had and could not store.

    The disk was full, for example, or the cache was removed; its file or its session has it.
    """
    key = call.key_value
    if key is None or not _may_reuse(call):
        return None
    for step in call.context.journal.state.steps.values():
        for invocation in reversed(step.invocations):
            outcome = invocation.outcome
            if outcome is None or not outcome.ok or outcome.key != key:
                continue
            traces = call.engine.find(call, invocation)
            kept = with_hash(call.context, step, outcome.output_path or "", outcome.sha256)
            for data in (*((kept,) if kept is not None else ()), *traces.answers):
                if data.strip() and not call.lacks(data):
                    return Found(
                        data=data,
                        note="is written: this run has had the answer",
                        record=traces.record,
                        is_stored=False,
                        saved=traces.record.usage if traces.record else None,
                    )
    return None


def before_a_retry(call: Call) -> Found | None:
    """The answer that an interrupted retry was to replace, if it is whole and can be found."""
    if call.retry is None or call.output_path is None:
        return None
    sha256 = call.retry.unmet_sha256
    return _as_it_is(call, with_hash(call.context, call.step_state, call.output_path, sha256))


def another_run(call: Call) -> Found | None:
    """What another run has paid for: accepted, corrected since, or short of its contract.

    None where the user asks for a new answer (`--refresh`, `--cache=false`), or none is whole.
    """
    context, options, key = call.context, call.context.options, call.key_value
    place = call.question.output
    if key is None or place is None or options.refresh or not options.use_cache:
        return None
    kept = find_unmet((context.store.cache,), key) or unmet_of_0_2(call, key)
    if kept is None:
        return None
    # Edited by a person since it was published there.
    last, now = published_at(call.root, place.path), read_content(place.path).data
    is_its_file = now is not None and last is not None and last.sha256 == kept.entry.sha256
    data = now if now is not None and is_its_file and call.is_whole(now) else kept.data
    if not call.is_whole(data, may_be_rehearsed=True):
        return None
    reason = kept.entry.accepted if data == kept.data else None
    missing = call.lacks(data)
    how = _CORRECTED if reason is None else _ACCEPTED
    return Found(
        data=data,
        note=f"{how} (answer of run {kept.entry.pack_id})",
        missing=missing if reason is None else (),
        run_id=kept.entry.pack_id,
        acceptance=acceptance(data, missing, reason) if reason is not None and missing else None,
    )


Source = Callable[[Call], Found | Blocked | None]
SOURCES: tuple[Source, ...] = (
    accepted,
    cached,
    this_run,
    interrupted,
    not_stored,
    before_a_retry,
    another_run,
)


def find(call: Call) -> Found | Blocked | None:
    """The first answer in the list; None when there is none."""
    found = None
    for source in SOURCES:
        found = source(call)
        if found is not None:
            break
    return found


def unsigned(call: Call) -> Blocked | None:
    """The cache has an unsigned answer or call of the question, and no word to pay again."""
    if not call.claim.is_unsigned and not call.has_unsigned_answer:
        return None
    match call.context.options.on_unknown:
        case OnUnknown.RETRY:
            return None
        case OnUnknown.ASK:
            question = f"{_UNSIGNED.message}. Ask again (it may be paid for twice)?"
            if call.decide(question) == RETRY:
                return None
    call.say(_UNSIGNED.message)
    return Blocked(_UNSIGNED)


def _may_reuse(call: Call) -> bool:
    """Whether an earlier answer may be used: with `--refresh` only one of this command."""
    context = call.context
    return not context.options.refresh or call.key_value in context.shared.answered


def _as_it_is(call: Call, data: bytes | None) -> Found | None:
    """An answer that missed its contract, if it is whole; it may meet it by now."""
    if data is None or not call.is_whole(data, may_be_rehearsed=True):
        return None
    return Found(data=data, note=_CORRECTED, missing=call.lacks(data))


def _last_outcome(call: Call) -> j.InvocationOutcome | None:
    """How the last call for this file ended, in whichever attempt, if it asked the same.

    If there was none: the last call that asked the same for another file of the step, such as
    before `--out-dir`.
    """
    if call.output_path is None or call.context.options.refresh:
        return None
    outcomes = (one.outcome for one in call.step_state.invocations if one.outcome is not None)
    ended = [one for one in outcomes if one.error is None or one.error.code != CRASHED]
    mine = [one for one in ended if one.output_path == call.output_path]
    if not mine and call.key_value is not None:
        mine = [one for one in ended if one.key == call.key_value]
    last = max(mine, key=lambda outcome: outcome.seq, default=None)
    return last if last is not None and last.key == call.key_value else None


def _is_cut_off(call: Call, also: str | None) -> bool:
    """A later call for these files has no known end: there may be another answer."""
    paths = {call.output_path, also}
    opened = [one.intent for one in call.step_state.invocations if one.is_open and one.intent]
    return any(
        intent.output_path in paths
        and (intent.step, intent.attempt, intent.call) not in call.context.shared.live
        for intent in opened
    )
