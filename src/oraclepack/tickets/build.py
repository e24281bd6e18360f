"""Tickets to every file made from them. Same tickets and options: same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from oraclepack.system.digests import canonical_file, sha256_bytes
from oraclepack.tickets import ticket as names
from oraclepack.tickets.pages import pack_text, ticket_page
from oraclepack.tickets.ticket import (
    Action,
    Actions,
    CheckedFile,
    FileState,
    IndexedTicket,
    KnownTicket,
    TicketIndex,
    TicketManifest,
    TicketMode,
    TicketOptions,
    action_id,
)

_MARK = b"Made by `oraclepack ticketify`"


def read_manifest(data: bytes | None) -> TicketManifest | None:
    """The manifest, or None when it is missing or not one."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=TicketManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def is_ours(path: str, data: bytes, manifest: TicketManifest | None) -> bool:
    """Whether a file is as ticketify wrote it; without a manifest its own mark decides."""
    if manifest is None or path not in manifest.outputs:
        return _MARK in data
    return sha256_bytes(data) == manifest.outputs[path]


def changed_tickets(old: TicketManifest | None, now: Mapping[str, str]) -> tuple[str, ...]:
    """The tickets that came, went or changed since the manifest was written."""
    before = {} if old is None else dict(old.inputs)
    return tuple(sorted(p for p in {*before, *now} if before.get(p) != now.get(p)))


def compared(
    expected: Mapping[str, bytes], existing: Mapping[str, bytes | None], old: TicketManifest | None
) -> tuple[CheckedFile, ...]:
    """Each file as it should be against the file on disk."""
    return tuple(
        CheckedFile(path=path, state=_state(path, data, existing.get(path), old))
        for path, data in sorted(expected.items())
    )


def _state(path: str, data: bytes, there: bytes | None, old: TicketManifest | None) -> FileState:
    if there is None:
        return FileState.MISSING
    if there == data:
        return FileState.SAME
    if path.endswith("/manifest.json"):
        return FileState.STALE if old is not None else FileState.UNREADABLE
    return FileState.STALE if old is not None and is_ours(path, there, old) else FileState.CHANGED


@dataclass(frozen=True, slots=True)
class TicketBuild:
    """The files made from a set of tickets, by path relative to the project root."""

    index: TicketIndex
    actions: Actions
    files: dict[str, bytes]
    """The manifest stands last."""


def build(tickets: Sequence[KnownTicket], options: TicketOptions) -> TicketBuild:
    """Every file of a set of chosen tickets, given in the order of their paths."""
    index = index_of(tickets, options)
    actions = actions_of(tickets, options)
    texts = {
        names.INDEX: canonical_file(index),
        names.ACTIONS: canonical_file(actions),
        names.ACTIONS_PAGE: ticket_page("actions", tickets, actions, options).encode(),
        names.PACK: pack_text(options).encode(),
    }
    if options.mode in {TicketMode.PIPELINES, TicketMode.AUTOPILOT}:
        page = ticket_page(options.mode, tickets, actions, options)
        texts[f"{options.mode}.md"] = page.encode()
    files = {f"{options.out_dir}/{name}": data for name, data in texts.items()}
    files[options.prd_path] = ticket_page("prd", tickets, actions, options).encode()
    manifest = TicketManifest(
        options=options,
        inputs={ticket.path: ticket.ticket.sha256 for ticket in tickets},
        outputs={path: sha256_bytes(data) for path, data in sorted(files.items())},
    )
    files[f"{options.out_dir}/{names.MANIFEST}"] = canonical_file(manifest)
    return TicketBuild(index, actions, files)


def index_of(tickets: Sequence[KnownTicket], options: TicketOptions) -> TicketIndex:
    return TicketIndex(
        tickets_dir=options.tickets_dir,
        ticket_glob=options.glob,
        include=options.include,
        exclude=options.exclude,
        top_n=options.top_n,
        selected_count=len(tickets),
        tickets=tuple(
            IndexedTicket(
                ticket_id=known.id,
                path=known.path,
                title=known.ticket.title,
                summary=known.ticket.summary,
                sha256=known.ticket.sha256,
                depends_on=known.depends_on,
                blocks=known.blocks,
            )
            for known in tickets
        ),
    )


def actions_of(tickets: Sequence[KnownTicket], options: TicketOptions) -> Actions:
    actions = tuple(
        Action(
            action_id=action_id(known.id, number),
            ticket_id=known.id,
            ticket_path=known.path,
            source_line=item.line,
            kind=item.kind,
            done=item.done,
            text=item.text,
        )
        for known in tickets
        for number, item in enumerate(known.ticket.items, start=1)
    )
    return Actions(out_dir=options.out_dir, count=len(actions), actions=actions)
