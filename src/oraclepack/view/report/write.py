"""`report`: find the run that is meant, gather it, render it, write the file."""

from enum import StrEnum
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir, hash_in
from oraclepack.pack.pack_files import read_pack
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.system import files
from oraclepack.system.environment import project_of, refuse_to_write_out
from oraclepack.view.past_runs import age, listing_of, named_run
from oraclepack.view.report.data import Report, redacted_data
from oraclepack.view.report.gather import gather_report
from oraclepack.view.report.markdown import MARK, markdown_report
from oraclepack.view.report.page import run_page
from oraclepack.view.report.trace import trace_report
from oraclepack.view.run import read_view

STDOUT = "-"
GENERATOR = "oraclepack"
_BEGINNING = 4_000
"""Bytes in which a report says that it is one."""


class ReportFormat(StrEnum):
    """The forms of a report."""

    HTML = "html"
    MARKDOWN = "md"
    TRACE = "trace"


NAMES = {
    ReportFormat.HTML: "report.html",
    ReportFormat.MARKDOWN: "report.md",
    ReportFormat.TRACE: "trace.json",
}
"""The default file of each form, in the run directory."""
_MARKS = {
    ReportFormat.HTML: b'<meta name="generator" content="oraclepack">',
    ReportFormat.MARKDOWN: MARK.encode(),
    ReportFormat.TRACE: b'"generator": "oraclepack',
}


class ReportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A report that was written."""

    run_id: str
    run_dir: str
    """Relative to the project root."""
    format: ReportFormat
    path: str
    """Where it was written; `-` for standard output."""
    bytes: int
    changed: bool
    """It was not there before, or was different."""
    status: str
    """Of the run."""
    questions: int
    answered: int
    tasks: int
    attention: int
    """How many things need a person."""
    redacted: bool
    quoted_lines: int
    """Lines of source code in the file."""


class ReportOutcome(msgspec.Struct, frozen=True):
    """A report, and its text where it goes to standard output."""

    report: ReportFile
    text: str = ""
    warnings: tuple[str, ...] = ()


def write_report(
    root: Path,
    target: str = "",
    *,
    out: str = "",
    form: str = ReportFormat.HTML,
    redact: bool = False,
    cwd: str = "",
) -> ReportOutcome:
    """Write the report of a run: of the one that is named, of a pack's newest, or of the newest."""
    chosen = ReportFormat(form)
    run = find_run(root, target)
    data = gather_report(run)
    published = redacted_data(data) if redact else data
    text = render_report(published, chosen)
    payload = text.encode()
    is_stdout = out == STDOUT
    place = Path(out) if out else _default_place(run, chosen, data)
    changed = False if is_stdout else write_page(place, payload, chosen, own=not out, cwd=cwd)
    return ReportOutcome(
        report=ReportFile(
            run_id=run.run_id,
            run_dir=run.relative,
            format=chosen,
            path=STDOUT if is_stdout else place.as_posix(),
            bytes=len(payload),
            changed=changed,
            status=data.run.status,
            questions=len(data.steps),
            answered=data.answered,
            tasks=data.tasks,
            attention=len(data.attention),
            redacted=redact,
            quoted_lines=published.quoted_lines if chosen is ReportFormat.HTML else 0,
        ),
        text=text if is_stdout else "",
    )


def render_report(data: Report, form: ReportFormat) -> str:
    """A report in one of its forms."""
    match form:
        case ReportFormat.MARKDOWN:
            return markdown_report(data)
        case ReportFormat.TRACE:
            return trace_report(data)
        case _:
            return run_page(data)


def read_run(target: str = "", settings: Settings | None = None) -> Report:
    """Everything about a run that a report shows; `target` as for `write_report`."""
    return gather_report(find_run(Path((settings or load_settings()).root), target))


def find_run(root: Path, target: str) -> RunDir:
    """The run that a word means: a run directory, a pack, a run's name, or nothing."""
    if not target:
        return _newest(run_dir.every_run(root), f"there are no runs in {root}")
    place = Path(target)
    if place.is_dir():
        return _at(place)
    if place.is_file():
        return _of_pack(root, place)
    return named_run(root, target)


def _at(directory: Path) -> RunDir:
    """A run directory that was named by its path."""
    project = project_of(directory)
    if project is None:
        raise UsageError(
            f"{directory} is not a run directory of a project",
            hint="runs lie in .oraclepack/runs; `oraclepack runs list` shows them",
        )
    resolved = directory.resolve()
    return RunDir(project, resolved.name, resolved.parent.relative_to(project).as_posix())


def _of_pack(root: Path, path: Path) -> RunDir:
    """The newest run of a pack as it is; else the newest of any version of it."""
    pack = read_pack(path)
    every = run_dir.every_run(root)
    same = [run for run in every if hash_in(run.run_id) == pack.pack_hash[:8]]
    if same:
        return _newest(same, "")
    written = path.resolve()
    earlier = [run for run in every if _ran(run, root, written)]
    hint = f"oraclepack run {path}"
    return _newest(earlier, f"there is no run of {path}", hint)


def _ran(run: RunDir, root: Path, written: Path) -> bool:
    created = read_view(run).state.created
    return created is not None and (root / created.pack_path).resolve() == written


def _newest(runs: tuple[RunDir, ...] | list[RunDir], none: str, hint: str = "") -> RunDir:
    """The newest real run; a rehearsal only where there is no other."""
    if not runs:
        raise InputError(none, hint=hint or "`oraclepack run PACK` makes one")
    if len(runs) == 1:
        return runs[0]
    listed = [(listing_of(read_view(run)), run) for run in runs]
    return max(listed, key=lambda pair: (not pair[0].rehearsal, age(pair[0])))[1]


def _default_place(run: RunDir, form: ReportFormat, data: Report) -> Path:
    if data.run.foreign is not None:
        raise InputError(
            f"run {run.name} is foreign, and nothing is written into it: {data.run.foreign}",
            hint=f"name a file: --out {NAMES[form]}",
        )
    return run.path / NAMES[form]


def write_page(
    place: Path, payload: bytes, form: ReportFormat, *, own: bool = False, cwd: str = ""
) -> bool:
    """Write a report where nothing but an earlier report stands; whether it was different."""
    refuse_to_write_out(place, cwd)
    existing = files.read(place)
    if existing == payload:
        return False
    if existing is not None and _MARKS[form] not in existing[:_BEGINNING]:
        raise UsageError(
            f"{place} exists and is not a report of oraclepack",
            hint="choose another --out, or move the file away",
        )
    files.make_directories(place.absolute().parent)
    mode = files.PRIVATE_FILE if own else files.PUBLIC_FILE
    files.write_atomic(place.absolute(), payload, mode=mode)
    return True
