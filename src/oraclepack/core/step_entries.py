"""The parts of a step in `steps.json`: its outputs, its calls, its change of the work tree."""

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.step_state import Invocation
from oraclepack.tools.usage import Usage


class OutputEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One output of a step."""

    path: str
    declared_path: str | None
    section: str | None
    sha256: str
    bytes: int
    from_cache: bool


class InvocationEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    tool: str
    key: str | None
    provider: str | None
    model: str | None
    cache: str | None
    attempts: int
    waited_ms: int
    exit_code: int | None
    session: str | None
    usage: Usage | None


class ChangeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a step left changed in the work tree."""

    files: tuple[str, ...]
    patch: str | None
    head_before: str | None
    head_after: str | None


class AcceptedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a person took as it is."""

    path: str
    """Relative to the project root."""
    sha256: str
    reason: str
    missing_sections: tuple[str, ...]
    accepted_at: str


def accepted_entry(one: j.OutputRevised) -> AcceptedEntry:
    return AcceptedEntry(
        path=one.declared_path,
        sha256=one.sha256,
        reason=one.reason,
        missing_sections=one.missing_sections,
        accepted_at=one.at,
    )


def change_entry(change: j.TreeChanged) -> ChangeEntry:
    return ChangeEntry(
        files=change.files,
        patch=change.patch,
        head_before=change.head_before,
        head_after=change.head_after,
    )


def output_entry(output: j.OutputRecorded) -> OutputEntry:
    return OutputEntry(
        path=output.path,
        declared_path=output.declared_path,
        section=output.section,
        sha256=output.sha256,
        bytes=output.bytes,
        from_cache=output.from_cache,
    )


def invocation_entry(call: Invocation) -> InvocationEntry:
    said, outcome = call.outcome or call.intent, call.outcome
    return InvocationEntry(
        tool=said.tool if said else "",
        key=said.key if said else None,
        provider=said.provider if said else None,
        model=said.model if said else None,
        cache=outcome.cache if outcome else None,
        attempts=outcome.attempts if outcome else 0,
        waited_ms=outcome.waited_ms if outcome else 0,
        exit_code=outcome.exit_code if outcome else None,
        session=outcome.session if outcome else None,
        usage=outcome.usage if outcome else None,
    )
