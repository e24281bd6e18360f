"""What the oracle CLI itself writes down about one of its runs: its session record."""

import msgspec

from oraclepack.core.usage import Usage


class _Options(msgspec.Struct, frozen=True, rename="camel"):
    prompt: str | None = None
    write_output_path: str | None = None
    model: str | None = None


class _Lifecycle(msgspec.Struct, frozen=True, rename="camel"):
    detached: bool | None = None
    worker_pid: int | None = None


class _Usage(msgspec.Struct, frozen=True, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


class _Transport(msgspec.Struct, frozen=True):
    reason: str | None = None


class _Error(msgspec.Struct, frozen=True):
    category: str | None = None


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    incomplete_reason: str | None = None


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    status: str
    started_at: str | None = None
    created_at: str | None = None
    error_message: str | None = None
    model: str | None = None
    options: _Options = _Options()
    lifecycle: _Lifecycle | None = None
    usage: _Usage | None = None
    transport: _Transport | None = None
    error: _Error | None = None
    response: _Response | None = None


class SessionRecord(msgspec.Struct, frozen=True):
    """One session of oracle, as far as it matters to us."""

    id: str
    status: str
    """`pending`, `running`, `completed`, `error`, …"""
    prompt: str = ""
    output_path: str | None = None
    """Absolute; where it comes from the disk, with links resolved."""
    started_at: str = ""
    model: str | None = None
    detached: bool = False
    worker_pid: int | None = None
    error_message: str = ""
    reason: str = ""
    """The kind of transport trouble, in oracle's words."""
    category: str = ""
    """The kind of local trouble, in oracle's words."""
    incomplete: str = ""
    usage: Usage | None = None

    @property
    def output_tokens(self) -> int | None:
        return self.usage.output_tokens if self.usage else None


_DECODER = msgspec.json.Decoder(_Meta)


def read_record(data: bytes) -> SessionRecord | None:
    """The record in a `meta.json`; None when it is not one (yet)."""
    try:
        meta = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    life = meta.lifecycle or _Lifecycle()
    return SessionRecord(
        id=meta.id,
        status=meta.status,
        prompt=meta.options.prompt or "",
        output_path=meta.options.write_output_path,
        started_at=meta.started_at or meta.created_at or "",
        model=meta.model or meta.options.model,
        detached=bool(life.detached),
        worker_pid=life.worker_pid,
        error_message=meta.error_message or "",
        reason=(meta.transport.reason or "") if meta.transport else "",
        category=(meta.error.category or "") if meta.error else "",
        incomplete=(meta.response.incomplete_reason or "") if meta.response else "",
        usage=_usage(meta.usage),
    )


def _usage(told: _Usage | None) -> Usage | None:
    if told is None:
        return None
    return Usage(
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        reasoning_tokens=told.reasoning_tokens,
        total_tokens=told.total_tokens,
        cost_usd=told.cost,
    )
