"""`report --site`: a page for every run of one or several projects, and an index with the trend.

Pages of unchanged runs are not written again. What the
index needs of each run is remembered in `site.json`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path

import msgspec

from oraclepack import __version__
from oraclepack.errors import InputError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.answer_sections import normalise
from oraclepack.system import files
from oraclepack.system.digests import canonical_file, sha256_text
from oraclepack.system.environment import refuse_to_write_out
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.view.past_runs import RunListEntry, age
from oraclepack.view.report.data import redacted_data
from oraclepack.view.report.gather import gather_report
from oraclepack.view.report.page import render, run_page

STATE, INDEX, PAGES = "site.json", "index.html", "runs"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_GATHERED = ("journal.jsonl", "actionizer/backlog.md", "outputs")


class SitePage(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a run's page."""

    key: str
    """Changes with the run and with the format of its page."""
    project: str
    page: str
    """Relative to the site."""
    run: RunListEntry
    models: tuple[str, ...] = ()
    questions: int = 0
    answered: int = 0
    attention: int = 0
    tasks: tuple[str, ...] = ()
    """Of each task a short digest of its title, so that runs can be compared."""
    ticked: tuple[str, ...] = ()
    """Those that a person ticked."""


class SiteState(msgspec.Struct, frozen=True, kw_only=True):
    """`site.json`: the pages of a site."""

    generator: str = "oraclepack"
    schema_version: int = 2
    pages: tuple[SitePage, ...] = ()


class SiteReport(msgspec.Struct, frozen=True, kw_only=True):
    """A site that was written."""

    site: str
    index: str
    projects: tuple[str, ...]
    runs: int
    written: int
    """Pages that are new or changed."""
    unchanged: int
    skipped: tuple[str, ...] = ()
    """Runs that could not be shown, each with the reason."""


def write_site(
    root: Path, directory: str, projects: Sequence[str] = (), *, redact: bool = False, cwd: str = ""
) -> SiteReport:
    """Write the pages and the index; `projects` are directories, by default the project at hand."""
    site = Path(directory)
    refuse_to_write_out(site, cwd)
    known = {one.page: one for one in _remembered(site)}
    for one in projects:
        if not Path(one).is_dir():
            raise UsageError(
                f"{one}: no such directory", hint="--site takes directories of projects"
            )
    roots = [Path(one).resolve() for one in projects] or [root]
    names = _names(roots)
    pages: list[SitePage] = []
    written, skipped = 0, []
    for place, name in zip(roots, names, strict=True):
        for run in run_dir.every_run(place):
            if run.folder == REHEARSALS:
                continue  # it says nothing about the project
            page = f"{PAGES}/{name}/{run.run_id}.html"
            key = _key(run, redact=redact)
            if page in known and known[page].key == key and (site / page).is_file():
                pages.append(known[page])
                continue
            try:
                pages.append(_write_page(run, site, page, name, key, redact=redact))
            except (InputError, UsageError) as trouble:
                skipped.append(f"{run.name}: {trouble.message}")
                continue
            written += 1
    _write(site / INDEX, site_page(pages).encode())
    _write(site / STATE, canonical_file(SiteState(pages=tuple(pages))))
    return SiteReport(
        site=site.as_posix(),
        index=(site / INDEX).as_posix(),
        projects=tuple(names),
        runs=len(pages),
        written=written,
        unchanged=len(pages) - written,
        skipped=tuple(skipped),
    )


def site_page(pages: Iterable[SitePage]) -> str:
    """The index of a site: runs by pack, the pack with the newest run first."""
    groups: dict[tuple[str, str | None], list[SitePage]] = {}
    newest_first = sorted(pages, key=lambda one: age(one.run), reverse=True)
    for one in newest_first:
        groups.setdefault((one.project, one.run.pack_path), []).append(one)
    return render(
        "site.html",
        title="Runs – oraclepack",
        packs={key: list(with_trend(members)) for key, members in groups.items()},
        runs=len(newest_first),
        cost=reduce(CostTotal.plus, (one.run.cost for one in newest_first), NO_COST),
        several=len({one.project for one in newest_first}) > 1,
    )


def with_trend(runs: Sequence[SitePage]) -> Iterator[tuple[SitePage, int, int]]:
    """Each run of a pack, the newest first, with how many tasks it opened and closed.

    Opened are those that the run before did not have; closed those that are gone, and those that
    a person ticked.
    """
    for one, before in zip(runs, (*runs[1:], None), strict=True):
        known = set(before.tasks) if before else set()
        yield one, len({*one.tasks} - known), len(known - {*one.tasks}) + len(one.ticked)


def _write_page(
    run: RunDir, site: Path, page: str, project: str, key: str, *, redact: bool
) -> SitePage:
    data = gather_report(run)
    _write(site / page, run_page(redacted_data(data) if redact else data).encode())
    tasks = {
        sha256_text(normalise(record.title))[:12]: record.task_id
        for record in data.records
        if record.is_work
    }
    return SitePage(
        key=key,
        project=project,
        page=page,
        run=data.run,
        models=tuple(data.by_model),
        questions=len(data.steps),
        answered=data.answered,
        attention=len(data.attention),
        tasks=tuple(sorted(tasks)),
        ticked=tuple(sorted(name for name, task in tasks.items() if task in data.ticked)),
    )


def _remembered(site: Path) -> tuple[SitePage, ...]:
    """What an earlier command remembered; a directory of something else is refused."""
    data = files.read(site / STATE)
    if data is None:
        if (site / INDEX).exists():
            raise UsageError(
                f"{site} holds a site that is not oraclepack's", hint="choose another directory"
            )
        return ()
    try:
        return msgspec.json.decode(data, type=SiteState).pages
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # every page is written again


def _names(roots: Sequence[Path]) -> list[str]:
    """A name for each project, no two the same."""
    names: list[str] = []
    for root in roots:
        base = _NOT_IN_NAMES.sub("-", root.resolve().name).strip(".-") or "project"
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base}-{number}"
        names.append(name)
    return names


def _key(run: RunDir, *, redact: bool) -> str:
    """Changes with the journal, the answers and the backlog of a run, and with the program."""
    stamps = [__version__, str(redact)]
    for name in _GATHERED:
        try:
            status = (run.path / name).stat()
        except OSError:
            stamps.append("-")
        else:
            stamps.append(f"{status.st_size}.{status.st_mtime_ns}")
    return sha256_text("\n".join(stamps))


def _write(place: Path, data: bytes) -> None:
    if files.read(place) != data:
        files.make_directories(place.absolute().parent)
        files.write_atomic(place.absolute(), data, mode=files.PUBLIC_FILE)
