"""Stored answers: in the cache, or in the run where there is no cache."""

import re
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from oraclepack.calls.answer_files import lacking
from oraclepack.calls.cache import GOOD, CacheEntry
from oraclepack.calls.context import CallContext
from oraclepack.calls.key import InvocationKey
from oraclepack.calls.ledger import with_cost
from oraclepack.calls.live_call import Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.store import AnswerCache
from oraclepack.calls.truth import CallEvidence, judge
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import keep_blob
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.ownership import ForeignReason
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.usage import Usage

_VERSION = re.compile(r"^🧿 oracle (\S+)", re.MULTILINE)


def answers_of(context: CallContext) -> tuple[AnswerCache, ...]:
    """Where verified answers are looked for: the cache, the user's own ones, the run."""
    store = context.store
    if not context.options.use_cache:
        return (store.own,)
    cache = (store.cache,) if store.cache.foreign is None else ()
    return (*cache, *((store.user,) if store.user else ()), store.own)


class StoredAnswer(msgspec.Struct, frozen=True):
    """A stored answer, and its usage."""

    data: bytes
    usage: Usage | None = None


def find_stored(context: CallContext, prepared: PreparedCall, shim: Shim) -> StoredAnswer | None:
    """The stored answer to the same question, if it is unchanged since it was verified."""
    key = prepared.key_value
    if key is None or not may_reuse(context, key):
        return None
    for answers in answers_of(context):
        stored = _good(context, answers, prepared, key, shim)
        # An answer that was complete when stored may not meet the current contract.
        if stored is not None and not missing_in(context, prepared, stored.data):
            return stored
    return None


def may_reuse(context: CallContext, key: str) -> bool:
    """Whether an earlier answer may be used: with `--refresh` only one of this command."""
    return not context.options.refresh or key in context.shared.answered


def is_held_back(context: CallContext, prepared: PreparedCall) -> bool:
    """Whether an unsigned answer is stored: it may be the user's, and paid for."""
    key = prepared.key_value
    if key is None or not may_reuse(context, key):
        return False
    stored = [one.get(key) for one in answers_of(context)]
    return any(one and one.foreign and one.foreign.kind is ForeignReason.UNSIGNED for one in stored)


def _good(
    context: CallContext, answers: AnswerCache, prepared: PreparedCall, key: str, shim: Shim
) -> StoredAnswer | None:
    stored = answers.get(key)  # an unreadable entry may be an answer, so nothing is asked
    if stored is None or stored.state == GOOD:
        return StoredAnswer(stored.data, stored.entry.usage) if stored else None
    if stored.foreign is not None:
        message = f"the cached answer {key[:12]} is foreign and not used: {stored.foreign.reason}"
        context.record(j.WarningRecorded(step=prepared.call.step, code="foreign", message=message))
    else:
        shim.write_stderr(f"oraclepack: the cached answer {key[:12]} was changed by hand\n")
    return None


def missing_in(context: CallContext, prepared: PreparedCall, data: bytes) -> tuple[str, ...]:
    """The sections a single answer lacks."""
    if not context.options.verify:
        return ()
    headings = context.options.require_headings
    return lacking(prepared.contracts[:1], [data], require_headings=headings)


def is_true(
    context: CallContext, prepared: PreparedCall, data: bytes, record: SessionRecord | None
) -> bool:
    """Whether an answer found elsewhere than at its path is whole and meets its contract."""
    missing = missing_in(context, prepared, data)
    size = len(data.strip())
    return (
        judge(CallEvidence(0, record=record, answer_bytes=size, missing_sections=missing)) is None
    )


def keep(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    data: bytes,
    record: SessionRecord | None,
    output: str = "",
    *,
    shared: bool = True,
) -> None:
    """Store a verified answer. Failing to store it is not an error.

    One that is not to be `shared` with other runs goes to the run's own answers.
    """
    if not isinstance(prepared.key, InvocationKey):
        return
    entry = context.redactor.clean_record(
        _entry(context, prepared, prepared.key, data, record, output)
    )
    user = context.store.user
    if shared and user is not None and context.options.use_cache:
        _put(context, shim, (user,), entry, data)
    places = [one for one in answers_of(context) if one is not user]
    if _put(context, shim, places if shared else places[-1:], entry, data):
        context.shared.answered.add(prepared.key.value)


def _put(
    context: CallContext,
    shim: Shim,
    places: Sequence[AnswerCache],
    entry: CacheEntry,
    data: bytes,
) -> bool:
    """Store an answer in the first place that takes it."""
    for answers in places:
        try:
            answers.put(entry, data)
        except OraclePackError as trouble:
            warning = f"oraclepack: the answer could not be cached: {trouble.message}\n"
            shim.write_stderr(context.redactor.clean(warning))
        else:
            return True
    return False


def keep_unmet(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    data: bytes,
    record: SessionRecord | None = None,
) -> None:
    """Store a whole answer that misses its contract, so that no other run asks for it again."""
    with suppress(OraclePackError):
        keep_blob(context.run_dir, data)
    if not isinstance(prepared.key, InvocationKey) or not context.options.use_cache:
        return
    entry = replace(
        _entry(context, prepared, prepared.key, data, record, ""),
        missing_sections=missing_in(context, prepared, data),
    )
    store = context.store
    for answers in (store.cache, store.user):
        if answers is not None:
            _put(context, shim, (answers.unmet,), context.redactor.clean_record(entry), data)


def _entry(
    context: CallContext,
    prepared: PreparedCall,
    key: InvocationKey,
    data: bytes,
    record: SessionRecord | None,
    output: str,
) -> CacheEntry:
    version = _VERSION.search(output)
    return CacheEntry(
        key=key.value,
        parts=dict(key.parts),
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at=rfc3339(context.clock.now()),
        step=prepared.call.step,
        pack_id=context.run_id,
        output_path=prepared.output_path,
        provider=prepared.provider,
        model=prepared.model,
        session=record.id if record else None,
        usage=with_cost(context, prepared, record.usage) if record else None,
        tool_version=version[1] if version else None,
    )
