"""Replies become bytes here, and nowhere else does anything reach stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import IO

import msgspec

from oraclepack.cli.reply import Envelope, Meta, Reply, ReplyError, Styled, Text
from oraclepack.errors import ExitCode
from oraclepack.system.digests import canonical_file, canonical_reply
from oraclepack.system.jq_filter import JqFilter
from oraclepack.system.printable import one_line, visible

_LOOKS = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}


class RenderedReply(msgspec.Struct, frozen=True):
    """The bytes of one answer."""

    stdout: bytes
    stderr: bytes
    after: bytes = b""
    """What goes to stderr last."""


def as_json(
    reply: Reply, meta: Meta, jq: JqFilter | None = None, *, indented: bool
) -> RenderedReply:
    """One envelope on stdout, nothing else anywhere. For programs it is one line."""
    envelope = Envelope(reply.exit_code == 0, reply.data, reply.error, reply.warnings, meta)
    stdout = _encoded(envelope, canonical_file if indented else canonical_reply)
    if jq is None:
        return RenderedReply(stdout, b"")
    try:
        values = jq.apply(stdout)
    except ValueError as trouble:
        # What was done is done: the reply is given whole, and says so.
        shortened = msgspec.structs.replace(
            reply, warnings=(*reply.warnings, f"--jq failed: {trouble}")
        )
        return as_json(shortened, meta, indented=indented)
    return RenderedReply(b"".join(map(_filtered, values)), b"")


def _filtered(value: object) -> bytes:
    """A result of a jq program on a line of its own; a text as it is, as `gh --jq` prints it."""
    if isinstance(value, str):
        return _bytes(visible(value)) + b"\n"
    return canonical_reply(value)


def to_stderr(text: str) -> None:
    """Progress goes to stderr; the run continues when stderr is closed."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


def stream(data: bytes) -> bool:
    """Write to stdout before the reply: events as lines of JSON. False once stdout is closed."""
    return _write(sys.stdout, data) is None


def stream_text(text: str) -> bool:
    """The same for text from outside, without its control characters."""
    return stream(_bytes(visible(text)))


def as_text(reply: Reply, *, color: bool, logs_json: bool = False) -> RenderedReply:
    """Data on stdout; warnings and errors, with what to do about them, on stderr."""
    body = _line_end(_painted(reply.text, color=color))
    if logs_json:
        return RenderedReply(_bytes(body), b"".join(_log(reply)))
    talk = [_line_end(_painted(reply.talk, color=color))]
    talk += [_styled("warning", "yellow", warning, color=color) for warning in reply.warnings]
    if reply.error is not None:
        talk.append(_failure(reply.error, color=color))
    after = f"next: {one_line(reply.next)}\n" if reply.next else ""
    return RenderedReply(_bytes(body), _bytes("".join(talk)), _bytes(after))


def as_bare(reply: Reply, *, color: bool, logs_json: bool = False) -> RenderedReply:
    """A format of its own on stdout; messages on stderr as usual."""
    talk = as_text(reply, color=color, logs_json=logs_json)
    return RenderedReply(_bytes(_line_end(visible(reply.bare or ""))), talk.stderr)


def _log(reply: Reply) -> Iterator[bytes]:
    """What a reply says on stderr as JSON lines, behind those of the events."""
    for line in filter(None, _painted(reply.talk, color=False).splitlines()):
        yield _encoded({"kind": "message", "message": line})
    for warning in reply.warnings:
        yield _encoded({"kind": "warning", "message": warning})
    if reply.error is not None:
        yield _encoded({"kind": "error", **msgspec.structs.asdict(reply.error)})


def _encoded(value: object, written: Callable[[object], bytes] = canonical_reply) -> bytes:
    try:
        return written(value)
    except UnicodeEncodeError:
        return written(_encodable(value))


def emit(printed: RenderedReply) -> int:
    """Write both streams; the exit code that trouble with stdout calls for, else 0."""
    _write(sys.stderr, printed.stderr)
    trouble = _write(sys.stdout, printed.stdout)
    _write(sys.stderr, printed.after)
    return 0 if trouble is None else end_of_stdout(trouble)


def end_of_stdout(trouble: OSError) -> int:
    """Stdout will take no more. A reader that went away is no fault; a full disk is."""
    if sys.stdout is not None:
        _discard_stream(sys.stdout)
    if isinstance(trouble, BrokenPipeError):
        return 0
    failure = ReplyError("OUTPUT", f"cannot write the answer: {trouble.strerror}")
    _write(sys.stderr, as_text(Reply(error=failure), color=False).stderr)
    return int(ExitCode.INTERNAL)


def _write(stream: IO[str] | None, payload: bytes) -> OSError | None:
    if stream is None or not payload:
        return None
    try:
        stream.flush()
        stream.buffer.write(payload)  # type: ignore[attr-defined]
        stream.flush()
    except OSError as trouble:
        return trouble
    return None


def _discard_stream(stream: IO[str]) -> None:
    """Send what Python still holds to nowhere, or it complains once more when it ends."""
    import os

    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass


def _failure(failure: ReplyError, *, color: bool) -> str:
    lines = _styled("error", "red", failure.message, color=color)
    for detail in filter(None, failure.detail.splitlines()):
        lines += f"  {visible(detail)}\n"
    if failure.suggestion:
        lines += f"  hint: {one_line(failure.suggestion)}\n"
    return lines


def _styled(label: str, style: str, message: str, *, color: bool) -> str:
    return _painted((Styled(f"{label}:", f"bold {style}"), f" {one_line(message)}\n"), color=color)


def _painted(text: Text, *, color: bool) -> str:
    pieces = (text,) if isinstance(text, str) else text
    return "".join(_piece(piece, color=color) for piece in pieces)


def _piece(piece: str | Styled, *, color: bool) -> str:
    if isinstance(piece, str):
        return visible(piece)
    text = visible(piece.text)
    if not color or not text:
        return text
    codes = ";".join(_LOOKS[word] for word in piece.style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def _line_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _bytes(text: str) -> bytes:
    # File names may hold bytes that are no UTF-8; Python carries them as lone surrogates.
    return text.encode("utf-8", "backslashreplace")


def _encodable(value: object) -> object:
    """The same value with lone surrogates spelled out, for JSON cannot hold them."""
    match msgspec.to_builtins(value, str_keys=True):
        case str(text):
            return _bytes(text).decode()
        case dict(table):
            return {_encodable(key): _encodable(item) for key, item in table.items()}
        case list(items) | tuple(items):
            return [_encodable(item) for item in items]
        case other:
            return other
