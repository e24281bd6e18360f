"""Verify outputs later, without running anything: no process is started, neither bash nor git.

Git is started only where its index contains `.oraclepack`, see `system/ownership.py`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.answers.verification import VerifyPacksReport, VerifyReport
from oraclepack.answers.verify_pack import RecordedOutputs, VerifyOptions, summed, verify_pack
from oraclepack.errors import InputError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import directed, find_packs, read_pack_text
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.settings import run_settings as rs
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, STRICT, Settings
from oraclepack.system import files
from oraclepack.system.environment import project_of, project_root
from oraclepack.system.files import Content
from oraclepack.system.path_jail import REHEARSALS, RUNS, content_at
from oraclepack.view.manifests import RunManifest
from oraclepack.view.past_runs import summaries


def verify_outputs(
    packs: str | Sequence[str] = (), settings: Settings | None = None, run_dir: str | None = None
) -> VerifyReport | VerifyPacksReport:
    """Check the outputs of packs, or of one run, against their contracts. Starts no process."""
    paths = (packs,) if isinstance(packs, str) else packs
    settings = settings or load_settings(paths[0] if paths else None)
    if run_dir is not None and len(paths) > 1:
        raise UsageError("--run-dir is one run: name at most one pack with it")
    if run_dir is not None:
        return _of_run(Path(run_dir), paths, settings)
    if not paths:
        raise UsageError("name a pack, or a run with --run-dir")
    reports = tuple(_of_pack(path, settings) for path in find_packs(paths))
    if len(reports) == 1:
        return reports[0]
    return VerifyPacksReport(packs=reports, totals=summed(pack.totals for pack in reports))


def verify_options(settings: Settings) -> VerifyOptions:
    return VerifyOptions(
        chunks=ChunkMode(settings[rs.OUTPUT_CHUNK_MODE]),
        mode=ContractMode(settings[rs.OUTPUT_CONTRACT]),
        require_headings=settings[rs.OUTPUT_REQUIRE_HEADINGS],
        strict=settings[STRICT],
    )


def _of_run(directory: Path, paths: Sequence[str], settings: Settings) -> VerifyReport:
    """One run: its pack is the one it was made from, unless another is named."""
    data = files.read(directory / "run.json")
    if data is None:
        raise InputError(
            f"{directory} is not a run directory: it has no run.json",
            hint="`oraclepack runs list` shows the runs; `oraclepack runs repair` fixes one",
        )
    try:
        manifest = msgspec.json.decode(data, type=RunManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{directory / 'run.json'} cannot be read: {error}",
            hint="`oraclepack runs repair` rebuilds it from the journal",
        ) from None
    place = directory.resolve()
    root = _project_of(place)
    path = Path(paths[0]) if paths else root / manifest.pack_path
    pack_path = paths[0] if paths else manifest.pack_path
    pack = _read(path, pack_path)
    run = RunDir(root, place.name, place.parent.relative_to(root).as_posix())
    report = _checked(pack, root, run, settings)
    if pack.pack_hash == manifest.pack_hash:
        return report
    note = f"{pack_path} is not the text this run was made from; its contracts are those of today"
    return replace(report, warnings=(note,))


def _project_of(run_dir: Path) -> Path:
    root = project_of(run_dir)
    if root is None:
        raise InputError(
            f"{run_dir} is not inside a project's {RUNS}",
            hint="outputs are looked for in the project: keep run directories where they are",
        )
    return root


def _of_pack(path: Path, settings: Settings) -> VerifyReport:
    pack = _read(path, path.as_posix())
    root = project_root(path.as_posix(), settings[CWD])
    return _checked(pack, root, _newest_run(root, pack.pack_hash), settings)


def _read(path: Path, name: str) -> Pack:
    """A pack; what has no steps promises no outputs, and must not pass for verified."""
    pack = parse_pack(read_pack_text(path), name)
    if pack.block is None:
        others = [one for one in pack.fences if one.marker]
        mark = f"marked `{others[0].language}`" if others and others[0].language else "not marked"
        named = f"; the block on line {others[0].span.line} is {mark}" if others else ""
        raise InputError(
            f"{name} is not a pack: it has no bash block{named}",
            hint="mark the block of the steps with ```bash",
        )
    if not pack.steps:
        raise InputError(
            f"{name} is not a pack: its bash block has no steps",
            hint="a step begins with a comment such as `# 01) title`; see `oraclepack validate`",
        )
    return pack


def _checked(pack: Pack, root: Path, run: RunDir | None, settings: Settings) -> VerifyReport:
    recorded, sent = _recorded(run) if run else (None, "")
    given = settings[rs.OUT_DIR]
    where = settings.origin(rs.OUT_DIR).where if given else "the out_dir of the last command"
    if given or sent:
        pack = directed(pack, root, given or sent, where, None).pack
    read: Callable[[str], Content] = partial(content_at, root)
    if run is not None and run.folder == REHEARSALS:
        read = _reader_of(run)
    return verify_pack(pack, read, verify_options(settings), recorded)


def _reader_of(rehearsal: RunDir) -> Callable[[str], Content]:
    """Reads the answers of a rehearsal where they are: nothing of it is in the project."""
    steps = run_dir.examine(rehearsal).state.steps.values()
    copies = {out.declared_path: out.path for step in steps for out in step.outputs}

    def read(name: str) -> Content:
        if name not in copies:
            return Content(trouble="missing")
        return content_at(rehearsal.path, copies[name])

    return read


def _newest_run(root: Path, pack_hash: str) -> RunDir | None:
    runs = sorted(summaries(root, pack_hash), key=lambda run: run.age)
    good = [run for run in runs if run.pack_hash == pack_hash and not (run.damage or run.foreign)]
    # The rehearsal of an earlier version counts less than any real run.
    whole = [run for run in good if not run.rehearsal] or good
    return RunDir(root, whole[-1].run_id) if whole else None


def _recorded(run: RunDir) -> tuple[RecordedOutputs, str]:
    """What a run knows of its outputs, and the --out-dir of its last command."""
    state = run_dir.examine(run).own_state()
    steps = state.steps
    recorded = RecordedOutputs(
        run.run_id,
        paths={step_id: tuple(step.declared) for step_id, step in steps.items()},
        accepted={step_id: step.accepted_at for step_id, step in steps.items()},
        skipped=frozenset(name for name, step in steps.items() if step.status is Status.SKIPPED),
    )
    return recorded, state.out_dir
