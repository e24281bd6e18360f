"""`run.json` and `steps.json`: the results of a run for other programs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import Pack
from oraclepack.system import files
from oraclepack.system.digests import canonical_file
from oraclepack.system.files import HOME
from oraclepack.system.secrets import NOTHING_SECRET, Redactor
from oraclepack.tools.usage import Usage
from oraclepack.view.legacy_files import legacy_report, legacy_state, may_replace, names_for
from oraclepack.view.run import Notice, RunView, SessionEntry
from oraclepack.view.step import StepEntry, shaped

SCHEMA_VERSION = 1

Setting: TypeAlias = j.Setting


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`."""

    schema_version: int
    pack_id: str
    pack_path: str
    pack_hash: str
    git_sha: str | None
    git_dirty: bool | None
    heads: tuple[str, ...]
    oraclepack_version: str | None
    oracle_version: str | None
    created_at: str
    finished_at: str | None
    status: str
    engine: str | None
    settings: dict[str, Setting]
    models: tuple[str, ...]
    providers: tuple[str, ...]
    usage: Usage
    sessions: tuple[SessionEntry, ...]
    warnings: tuple[Notice, ...]
    cost: CostTotal = NO_COST
    """What all calls of the run cost, as far as it is known."""


class StepsManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`steps.json`."""

    schema_version: int
    pack_id: str
    steps: tuple[StepEntry, ...]


def run_manifest(view: RunView) -> RunManifest | None:
    """`run.json` of a run; None as long as the journal does not say which run it is."""
    if view.created is None:
        return None
    return shaped(
        RunManifest,
        view,
        view.created,
        schema_version=SCHEMA_VERSION,
        status=view.state.status,
    )


def steps_manifest(view: RunView) -> StepsManifest:
    """`steps.json`; without the pack only what the journal knows of each step."""
    return StepsManifest(
        schema_version=SCHEMA_VERSION,
        pack_id=view.created.pack_id if view.created else "",
        steps=tuple(shaped(StepEntry, step) for step in view.steps),
    )


def write_manifests(
    run: RunDir,
    pack: Pack | None,
    state: RunState,
    *,
    legacy: bool | None,
    durable: bool = True,
    redactor: Redactor = NOTHING_SECRET,
) -> None:
    """Update the files that are computed from the journal.

    `legacy`: the state and report files lie where the Go tool writes them, else in `.oraclepack`;
    None leaves them alone.

    While a run goes on they need not be `durable`: after a power cut the journal
    still knows everything, and the next command writes them again.
    """
    manifests = tuple(_manifests(run, pack, state, redactor, legacy=legacy))
    if durable:
        files.write_together(manifests)
        return
    for path, content, mode in manifests:
        files.write_atomic(path, content, mode=mode, durable=False)


def refresh_manifests(
    run: RunDir, pack: Pack | None, state: RunState, *, legacy: bool | None
) -> None:
    """The same for a command that began nothing: what is as it should be is left alone."""
    manifests = _manifests(run, pack, state, NOTHING_SECRET, legacy=legacy)
    files.write_together(
        [one for one in manifests if one[0].is_symlink() or files.read(one[0]) != one[1]]
    )


def _manifests(
    run: RunDir, pack: Pack | None, state: RunState, redactor: Redactor, *, legacy: bool | None
) -> Iterator[tuple[Path, bytes, int]]:
    """Each file with its content and its mode, which the umask does not change."""
    view = RunView(state=state, pack=pack, run=run)
    documents: list[tuple[Path, msgspec.Struct | None, int]] = [
        (run.path / "run.json", run_manifest(view), files.PRIVATE_FILE),
        (run.path / "steps.json", steps_manifest(view), files.PRIVATE_FILE),
    ]
    if legacy is not None and view.created is not None:
        names = names_for(run.root, view.created.pack_path, "" if legacy else HOME)
        made = ((legacy_state(view), files.PRIVATE_FILE), (legacy_report(view), files.PUBLIC_FILE))
        documents += [
            (run.root / name, record, mode)
            for name, (record, mode) in zip(names, made, strict=True)
            if may_replace(run.root, name)
        ]
    for path, record, mode in documents:
        if record is not None:
            yield path, canonical_file(redactor.clean_record(record)), mode
