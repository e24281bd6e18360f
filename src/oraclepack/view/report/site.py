"""`report --site`: a page for every run of one or several projects, and an index with the trend.

Pages of unchanged runs are not written again. What the
index needs of each run is remembered in `site.json`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from oraclepack import __version__
from oraclepack.errors import InputError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.system import files
from oraclepack.system.digests import canonical_file, sha256_text
from oraclepack.system.environment import refuse_to_write_out
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.view.report.data import redacted_data
from oraclepack.view.report.gather import gather_report
from oraclepack.view.report.html_page import render, run_page, safe_drawing
from oraclepack.view.report.trend import RunRow, row_of, site_data, sparks_of

STATE, INDEX, PAGES = "site.json", "index.html", "runs"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_GATHERED = ("journal.jsonl", "actionizer/backlog.md", "outputs")


class SitePage(msgspec.Struct, frozen=True):
    """What is remembered of a run's page."""

    key: str
    """Changes with the run and with the format of its page."""
    row: RunRow


class SiteState(msgspec.Struct, frozen=True, kw_only=True):
    """`site.json`: the pages of a site."""

    generator: str = "oraclepack"
    schema_version: int = 1
    pages: dict[str, SitePage] = {}
    """By the path of the page."""


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
    state = _earlier(site)
    roots = [_project(one) for one in projects] or [root]
    names = _names(roots)
    pages: dict[str, SitePage] = {}
    written, skipped = 0, []
    for place, name in zip(roots, names, strict=True):
        for run in _runs(place):
            page = f"{PAGES}/{name}/{run.run_id}.html"
            key = _key(run, redact=redact)
            known = state.pages.get(page)
            if known is not None and known.key == key and (site / page).is_file():
                pages[page] = known
                continue
            try:
                row = _write_page(run, site, page, name, redact=redact)
            except (InputError, UsageError) as trouble:
                skipped.append(f"{run.name}: {trouble.message}")
                continue
            pages[page] = SitePage(key, row)
            written += 1
    _write(site / INDEX, site_page([one.row for one in pages.values()]).encode())
    _write(site / STATE, canonical_file(SiteState(pages=pages)))
    return SiteReport(
        site=site.as_posix(),
        index=(site / INDEX).as_posix(),
        projects=tuple(names),
        runs=len(pages),
        written=written,
        unchanged=len(pages) - written,
        skipped=tuple(skipped),
    )


def site_page(rows: Sequence[RunRow]) -> str:
    """The index of a site."""
    data = site_data(rows)
    sparks = [sparks_of(pack) for pack in data.packs]
    return render(
        "site.html",
        title="Runs – oraclepack",
        data=data,
        packs=list(zip(data.packs, sparks, strict=True)),
        drawing=safe_drawing,
        several=len({row.project for row in rows}) > 1,
    )


def _write_page(run: RunDir, site: Path, page: str, project: str, *, redact: bool) -> RunRow:
    data = gather_report(run)
    published = redacted_data(data) if redact else data
    _write(site / page, run_page(published).encode())
    return row_of(data, project, page)


def _earlier(site: Path) -> SiteState:
    """What an earlier command remembered; a directory of something else is refused."""
    data = files.read(site / STATE)
    if data is None:
        if (site / INDEX).exists():
            raise UsageError(
                f"{site} holds a site that is not oraclepack's", hint="choose another directory"
            )
        return SiteState()
    try:
        return msgspec.json.decode(data, type=SiteState)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return SiteState()  # every page is written again


def _project(place: str) -> Path:
    root = Path(place)
    if not root.is_dir():
        raise UsageError(f"{place}: no such directory", hint="--site takes directories of projects")
    return root.resolve()


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


def _runs(root: Path) -> Iterator[RunDir]:
    """The runs of a project; rehearsals say nothing about it."""
    return (run for run in run_dir.every_run(root) if run.folder != REHEARSALS)


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
