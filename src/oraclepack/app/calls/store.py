"""Answers that were given before: kept in the cache, or in the run when that is off."""

import re

from oraclepack.adapters.cache import GOOD, AnswerCache
from oraclepack.app.calls.answer_files import lacking
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.cache_entry import CacheEntry
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.invocation import Shim
from oraclepack.core.invocation_key import InvocationKey
from oraclepack.core.moment import rfc3339
from oraclepack.core.oracle_session import SessionRecord
from oraclepack.core.regex import regex
from oraclepack.intercept.truth import Proof, judge

_VERSION = regex(r"^🧿 oracle (\S+)", re.MULTILINE)


def answers_of(world: CallWorld) -> AnswerCache:
    """Where verified answers go: without a cache the run still knows its own."""
    return world.cache if world.options.use_cache else AnswerCache(world.run_dir / "answers")


def find_stored(world: CallWorld, prepared: Prepared, shim: Shim) -> bytes | None:
    """The answer to the same question, if one was kept and still is what was verified."""
    key = prepared.key_value
    if key is None or (world.options.refresh and key not in world.shared.answered):
        return None
    found = answers_of(world).get(key)
    if found is None:
        return None
    if found.state != GOOD:
        shim.tell(f"oraclepack: the cached answer {key[:12]} was changed by hand; asking again\n")
        return None
    # What was enough when it was stored may not meet the contract that holds now.
    missing = missing_in(world, prepared, found.data)
    return None if missing else found.data


def missing_in(world: CallWorld, prepared: Prepared, data: bytes) -> tuple[str, ...]:
    """The sections a single answer lacks."""
    if not world.options.verify:
        return ()
    headings = world.options.require_headings
    return lacking(prepared.contracts[:1], [data], require_headings=headings)


def is_true(
    world: CallWorld, prepared: Prepared, data: bytes, record: SessionRecord | None
) -> bool:
    """Whether an answer found elsewhere than at its path is whole and meets its contract."""
    missing = missing_in(world, prepared, data)
    size = len(data.strip())
    return judge(Proof(0, record=record, answer_bytes=size, missing_sections=missing)) is None


def store(
    world: CallWorld,
    prepared: Prepared,
    data: bytes,
    record: SessionRecord | None,
    said: str = "",
) -> None:
    """Keep a verified answer for the next time."""
    if not isinstance(prepared.key, InvocationKey):
        return
    version = _VERSION.search(said)
    entry = CacheEntry(
        key=prepared.key.value,
        parts=dict(prepared.key.parts),
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at=rfc3339(world.clock.now()),
        step=prepared.call.step,
        pack_id=world.run_id,
        output_path=prepared.output_path,
        provider=prepared.provider,
        model=prepared.model,
        session=record.id if record else None,
        usage=record.usage if record else None,
        tool_version=version[1] if version else None,
    )
    answers_of(world).put(world.redactor.clean_record(entry), data)
    world.shared.answered.add(prepared.key.value)
