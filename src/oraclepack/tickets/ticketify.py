"""The use case behind `ticketify`: find the tickets, read them, write the files made from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, MachineError, Refusal, UsageError
from oraclepack.run.quarantine import FOLDER, move_to_quarantine
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import file_moves, files
from oraclepack.system.path_jail import jail
from oraclepack.tickets import ticket as names
from oraclepack.tickets.build import TicketBuild, build, is_ours, read_manifest
from oraclepack.tickets.identify import SameId, chosen_paths, circles, identify
from oraclepack.tickets.read_tickets import find_tickets_dir, list_files, parse_ticket, read_ticket
from oraclepack.tickets.ticket import KnownTicket, TicketManifest, TicketMode, TicketOptions


class TicketifyReport(TransactionReport, frozen=True, kw_only=True):
    """What became of a set of tickets."""

    tickets_dir: str
    matched: int
    """How many files the patterns choose; `selected` of them were taken."""
    selected: int
    actions: int
    done: int
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    """Files that already held the same bytes."""
    backups: tuple[str, ...] = ()
    """Where `--regenerate` and `--force` moved files to."""
    pack: str
    """The ticket action pack."""
    without_actions: tuple[str, ...] = ()
    """The chosen tickets that ask for nothing, by path."""


class TicketsReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a sub-command of `tickets` answers."""

    text: str
    """The word, the prompt or the sentence that it prints."""
    written: str | None = None
    """The file it wrote."""
    ok: bool = True


PARTS = ("index", "actions", "prd")
_MOST_NAMED = 10
"""Paths in a warning."""


@dataclass(frozen=True, slots=True)
class TicketifyRequest:
    """What the user asked for; empty means the default."""

    root: Path
    tickets_dir: str = ""
    glob: str = "**/*.md"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    top_n: int = 25
    out_dir: str = ".oraclepack/ticketify"
    prd_path: str = ".taskmaster/docs/tickets_prd.md"
    mode: str = TicketMode.BACKLOG.value
    only: str | None = None
    force: bool = False
    regenerate: bool = False
    rollback_on_failure: bool = False


@dataclass(frozen=True, slots=True)
class LoadedTickets:
    """The tickets as they are now, and everything made of them."""

    options: TicketOptions
    matched: int
    built: TicketBuild
    warnings: tuple[str, ...]
    without_actions: tuple[str, ...] = ()
    """The tickets that ask for nothing, by path."""


@dataclass(frozen=True, slots=True)
class TicketifyResult:
    """The result of `ticketify`, with warnings for the user."""

    data: TicketifyReport
    warnings: tuple[str, ...] = ()


def read_tickets(request: TicketifyRequest, *, backwards: bool = False) -> LoadedTickets:
    """Read the chosen tickets and make everything of them, in memory.

    `backwards` reads them in the opposite order, which must change nothing.
    """
    options = _options(request)
    own = f"{options.out_dir}/"
    here = "" if options.tickets_dir == "." else f"{options.tickets_dir}/"
    ticket_paths = [
        path
        for path in list_files(request.root, options.tickets_dir)
        if not f"{here}{path}".startswith(own) and f"{here}{path}" != options.prd_path
    ]
    paths = chosen_paths(ticket_paths, options)
    if not paths:
        raise InputError(
            f"no tickets: nothing below {options.tickets_dir}/ matches {_patterns(options)}",
            hint="check --glob, --include and --exclude",
        )
    chosen = paths[: options.top_n]
    order = reversed(chosen) if backwards else chosen
    read = [read_ticket(request.root, options.tickets_dir, path) for path in order]
    tickets = [parse_ticket(file.text, file.path, file.sha256) for file in read]
    known = identify(sorted(tickets, key=lambda ticket: ticket.path), options.tickets_dir)
    if isinstance(known, SameId):
        places = ", ".join(f"{here}{path}" for path in known.paths)
        raise InputError(
            f"the id {known.id!r} belongs to more than one ticket: {places}",
            hint="give each its own id in the front matter",
        )
    empty = [one.path for one in known if not one.ticket.body.strip()]
    warnings = [f"{path} is empty" for path in empty]
    if len(paths) > len(chosen):
        left = len(paths) - len(chosen)
        warnings.append(f"{left} of {len(paths)} tickets are left out by --top-n {options.top_n}")
    if circle := circles(known):
        warnings.append(f"tickets wait for each other in a circle: {', '.join(circle)}")
    warnings += [
        f"{one.path}:{mention.line} names {mention.name}, which is no chosen ticket"
        for one in known
        for mention in one.unknown
    ]
    idle = _without_actions(known)
    if idle:
        listed = ", ".join(idle[:_MOST_NAMED]) + (", …" if len(idle) > _MOST_NAMED else "")
        warnings.append(f"{len(idle)} of {len(known)} tickets name no action: {listed}")
    return LoadedTickets(options, len(paths), build(known, options), tuple(warnings), idle)


def _without_actions(tickets: Sequence[KnownTicket]) -> tuple[str, ...]:
    return tuple(one.path for one in tickets if not one.ticket.items)


def ticketify(request: TicketifyRequest) -> TicketifyResult:
    """Write the files made from the tickets. Files that would not change are not touched."""
    transaction = Transaction(request.root, "ticketify", undo=request.rollback_on_failure)
    read = read_tickets(request)
    options, built = read.options, read.built
    contents = _contents_to_write(read, request.only)
    places = {path: _place(request.root, path) for path in contents}
    for folder in sorted({place.parent for place in places.values()}):
        files.sweep(folder)
    differing = [path for path in contents if files.read(places[path]) != built.files[path]]
    _refuse_foreign_prd(request, options, differing)
    copied = (
        _backed_up_prd(request, options) if request.force and options.prd_path in differing else ()
    )
    pieces = [
        FileWrite(_step(path), places[path], built.files[path], stays=path == options.prd_path)
        for path in differing
    ]
    written = transaction.carry_out(_ordered(request, options, pieces))
    moved = _regenerated(request, options) if request.regenerate and written.ok else ()
    done = set(written.completed_steps) if written.ok else set()
    actions = built.actions.actions
    data = TicketifyReport(
        tickets_dir=options.tickets_dir,
        matched=read.matched,
        selected=built.index.selected_count,
        actions=built.actions.count,
        done=sum(action.done for action in actions),
        written=tuple(path for path in differing if _step(path) in done),
        unchanged=tuple(path for path in contents if path not in differing),
        backups=(*copied, *moved),
        pack=f"{options.out_dir}/{names.PACK}",
        without_actions=read.without_actions,
        **{name: getattr(written, name) for name in written.__struct_fields__},
    )
    return TicketifyResult(data, read.warnings)


def manifest_of(root: Path, out_dir: str) -> TicketManifest | None:
    """What the last command wrote down; None where there is none or it is unreadable."""
    return read_manifest(files.read(root / out_dir / names.MANIFEST))


def _options(request: TicketifyRequest) -> TicketOptions:
    tickets_dir = find_tickets_dir(request.root, request.tickets_dir)
    words = (tickets_dir, request.glob, *request.include, *request.exclude)
    if any(char < " " for word in words for char in word) or not all(words):
        raise UsageError("a pattern or path is empty or holds a control character")
    return TicketOptions(
        tickets_dir=tickets_dir,
        glob=request.glob,
        include=request.include,
        exclude=request.exclude,
        top_n=request.top_n,
        out_dir=_folder(request.root, request.out_dir),
        prd_path=_plain(request.root, request.prd_path, f"--prd-path {request.prd_path}"),
        mode=TicketMode(request.mode),
    )


def _folder(root: Path, path: str) -> str:
    """The out dir: files must be allowed in it, and it may not be the root itself."""
    option = f"--out-dir {path}"
    folder, _, _ = _plain(root, f"{path}/x", option).rpartition("/")
    if not folder:
        raise UsageError(f"{option}: a directory of its own is needed")
    return folder


def _plain(root: Path, path: str, option: str) -> str:
    """The path as the project sees it: POSIX, relative to its root."""
    verdict = jail(root, path)
    if isinstance(verdict, Refusal):
        raise UsageError(f"{option}: {verdict.reason}")
    # A list of outputs has commas between its paths; a path is no option.
    if "," in verdict.relative or verdict.relative.startswith("-"):
        raise UsageError(f"{option}: the path must not hold a comma or begin with a dash")
    return verdict.relative


def _patterns(options: TicketOptions) -> str:
    parts = [options.glob, *(f"--include {one}" for one in options.include)]
    return " ".join([*parts, *(f"--exclude {one}" for one in options.exclude)])


def _contents_to_write(read: LoadedTickets, only: str | None) -> list[str]:
    """The files to write, the PRD last: it is the one that a rollback never touches."""
    out, prd = read.options.out_dir, read.options.prd_path
    parts = {
        None: list(read.built.files),
        "index": [f"{out}/{names.INDEX}"],
        "actions": [f"{out}/{names.ACTIONS}", f"{out}/{names.ACTIONS_PAGE}"],
        "prd": [prd],
    }
    manifest = f"{out}/{names.MANIFEST}"
    chosen = dict.fromkeys([*parts[only], manifest])
    paths = [path for path in chosen if path != prd]
    return [*paths, prd] if prd in chosen else paths


def _place(root: Path, path: str) -> Path:
    verdict = jail(root, path)
    if isinstance(verdict, Refusal):
        raise UsageError(f"{path}: {verdict.reason}")
    return verdict.path


def _step(path: str) -> str:
    return path.rpartition("/")[2]


def _refuse_foreign_prd(
    request: TicketifyRequest, options: TicketOptions, differing: Sequence[str]
) -> None:
    prd = options.prd_path
    if prd not in differing or request.force:
        return
    there = files.read(request.root / prd)
    if there is not None and not is_ours(prd, there, manifest_of(request.root, options.out_dir)):
        raise InputError(
            f"{prd} was written or edited by another program or person",
            hint="move what is new into a ticket, then pass --force (a backup is kept), "
            "or choose another --prd-path",
        )


def _regenerated(request: TicketifyRequest, options: TicketOptions) -> tuple[str, ...]:
    """Move Task Master's results out of the way of new ones; nothing is deleted."""
    out = options.out_dir
    moves = [
        move_to_quarantine(request.root, request.root / out / FOLDER, "ticketify", step, 1, paths)
        for step, paths in (
            ("05", [names.TASKS, f"{out}/{names.TM_TASKS}"]),
            ("06", [f"{out}/{names.TM_COMPLEXITY}"]),
            ("07", [f"{out}/{names.TM_EXPANDED}"]),
            ("08", [f"{out}/{names.TM_CHECK}"]),
        )
    ]
    return tuple(move.target for group in moves for move in group)


def _backed_up_prd(request: TicketifyRequest, options: TicketOptions) -> tuple[str, ...]:
    """A copy of the PRD that `--force` is about to replace; it never goes away before that."""
    prd = options.prd_path
    there = files.read(request.root / prd)
    if there is None or is_ours(prd, there, manifest_of(request.root, options.out_dir)):
        return ()
    folder = request.root / options.out_dir / FOLDER / "ticketify" / "step-03"
    number = 1
    while (folder / str(number) / prd).exists():
        number += 1
    target = folder / str(number) / prd
    try:
        files.make_directories(target.parent)
        file_moves.copy(request.root / prd, target)
    except OSError as trouble:
        reason = trouble.strerror or type(trouble).__name__
        raise MachineError(
            f"{prd} cannot be copied to {target.relative_to(request.root)}: {reason}",
            hint="nothing was changed; --force replaces the PRD only once it is kept",
        ) from None
    return (target.relative_to(request.root).as_posix(),)


def _ordered(
    request: TicketifyRequest, options: TicketOptions, pieces: Sequence[FileWrite]
) -> list[FileWrite]:
    """All of them: the PRD late, and the manifest, which records the expected files, last.

    Killed in between, the PRD is what is wanted anyway; the other way round it would look edited.
    A rollback leaves it, too: people and Task Master read it, so nothing may move it away.
    """
    late = [options.prd_path, f"{options.out_dir}/{names.MANIFEST}"]
    places = [_place(request.root, path) for path in late]
    return sorted(
        pieces, key=lambda piece: places.index(piece.path) + 1 if piece.path in places else 0
    )
