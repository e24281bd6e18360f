"""The options that cut a reply to size: `--fields`, `--jq`, `--out`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from oraclepack import api
from oraclepack.cli.reply import Reply

FIELDS_FLAG = "--fields"
JQ_FLAG = "--jq"
OUT_FLAG = "--out"
_MOST_NAMED = 12


class WrittenReply(msgspec.Struct, frozen=True):
    """The data of a reply that went to a file."""

    path: str
    bytes: int
    sha256: str
    schema: str
    """The schema of what the file holds; with `--fields` it is a part of that."""


class ReplyParts(msgspec.Struct, frozen=True):
    """What of a reply is wanted, and where."""

    fields: tuple[str, ...] = ()
    """Dotted paths into `data`; lists are passed through."""
    jq: api.JqFilter | None = None
    """Applied to the whole envelope."""
    out: str | None = None
    """A file for the data."""

    @property
    def wants_json(self) -> bool:
        return bool(self.fields) or self.jq is not None


def part_options(params: list[click.Parameter]) -> list[click.Parameter]:
    """The options that a command with these parameters still lacks."""
    taken = {spelling for param in params for spelling in param.opts}
    options: list[click.Parameter] = [
        click.Option(
            [FIELDS_FLAG],
            metavar="A,B.C",
            help="Only these parts of the data, as JSON; a dot goes into objects and lists.",
        ),
        click.Option([JQ_FLAG], metavar="PROGRAM", help="Apply a jq program to the JSON envelope."),
    ]
    if OUT_FLAG not in taken:
        option = click.Option(
            [OUT_FLAG, "reply_file"],
            metavar="FILE",
            help="Write the data to this new file.",
        )
        options.append(option)
    return options


def take_parts(params: dict[str, Any]) -> ReplyParts:
    """Take these options out of a command's parameters; whatever is wrong is said at once."""
    fields = params.pop("fields", None)
    program = params.pop("jq", None)
    out = params.pop("reply_file", None)
    if fields is not None:
        names = tuple(filter(None, (name.strip() for name in fields.split(","))))
        if not names:
            raise api.UsageError(f"{FIELDS_FLAG}: names at least one field")
    if out is not None:
        _refuse_existing(out)
    return ReplyParts(
        fields=names if fields is not None else (),
        jq=None if program is None else api.jq_filter(program),
        out=out,
    )


def _refuse_existing(out: str) -> None:
    target = Path(out)
    try:
        if target.is_symlink() or target.exists():
            raise api.AlreadyExistsError(
                f"{OUT_FLAG} {out} exists", hint="choose a new name, or redirect stdout with >"
            )
        if not target.absolute().parent.is_dir():
            raise api.NotFoundError(f"{OUT_FLAG} {out}: there is no such directory")
    except (OSError, ValueError) as trouble:
        raise api.UsageError(f"{OUT_FLAG} {out}: {trouble}") from None


def chosen_fields(data: object, fields: tuple[str, ...]) -> tuple[object, tuple[str, ...]]:
    """The wanted parts of the data, nested as they were; and a warning for each unknown one."""
    plain = msgspec.to_builtins(data, str_keys=True)
    if plain is None:
        return None, ()
    chosen: object = None
    warnings: list[str] = []
    for field in fields:
        part, is_there = _part(plain, field.split("."))
        if not is_there:
            warnings.append(f"{FIELDS_FLAG}: there is no {field}{_known(plain)}")
            continue
        chosen = _merged(chosen, part)
    return chosen, tuple(warnings)


_NOTHING = object()


def _part(value: object, names: list[str]) -> tuple[object, bool]:
    """The value with nothing in it but what the names lead to, and whether anything does."""
    if not names:
        return value, True
    match value:
        case list() | tuple():
            parts = [_part(item, names) for item in value]
            # An empty list has every field; else one item with it is enough.
            return [part for part, _ in parts], not parts or any(there for _, there in parts)
        case dict() if names[0] in value:
            part, is_there = _part(value[names[0]], names[1:])
            return {names[0]: part}, is_there
        case None:
            return None, True
    return {}, False


def _merged(one: object, other: object) -> object:
    if one is _NOTHING or other is _NOTHING:
        return one if other is _NOTHING else other
    match one, other:
        case dict(), dict():
            keys = [*one, *(key for key in other if key not in one)]
            return {key: _merged(one.get(key, _NOTHING), other.get(key, _NOTHING)) for key in keys}
        case ((list() | tuple()), (list() | tuple())):
            return [_merged(left, right) for left, right in zip(one, other, strict=True)]
    return one if other is None else other


def _known(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    names = [str(name) for name in value]
    more = ", …" if len(names) > _MOST_NAMED else ""
    return f"; the data has {', '.join(names[:_MOST_NAMED])}{more}"


def in_file(reply: Reply, parts: ReplyParts, schema: str, *, as_json: bool) -> Reply:
    """The reply with its data, or its text, in the file that was asked for.

    When the file cannot be written the reply is given as it is, with a warning: what the command
    did is done.
    """
    if parts.out is None or (reply.data is None and not reply.text):
        return reply
    text = "".join(
        piece if isinstance(piece, str) else piece.text
        for piece in ((reply.text,) if isinstance(reply.text, str) else reply.text)
    )
    content = api.canonical_file(reply.data) if as_json else text.encode("utf-8", "replace")
    try:
        api.write_new_file(parts.out, content)
    except api.OraclePackError as trouble:
        warning = f"{OUT_FLAG}: {trouble.message}"
        return msgspec.structs.replace(reply, warnings=(*reply.warnings, warning))
    written = WrittenReply(
        str(Path(parts.out).absolute()), len(content), api.sha256_bytes(content), schema
    )
    return msgspec.structs.replace(
        reply, data=written, text=f"{written.path}: {written.bytes} bytes\n"
    )
