"""The files of a run that are computed from its journal: manifests and legacy files."""

from collections.abc import Iterator
from pathlib import Path

from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import Pack
from oraclepack.system import files
from oraclepack.system.digests import canonical_file
from oraclepack.system.secrets import NOTHING_SECRET, Redactor
from oraclepack.view.legacy_files import legacy_report, legacy_state, may_replace, names_for
from oraclepack.view.manifests import run_manifest, steps_manifest


def write_manifests(
    run: RunDir,
    pack: Pack | None,
    state: RunState,
    *,
    legacy: bool,
    durable: bool = True,
    redactor: Redactor = NOTHING_SECRET,
) -> None:
    """Update the files that are computed from the journal.

    While a run goes on they need not be `durable`: after a power cut the journal
    still knows everything, and the next command writes them again.
    """
    manifests = tuple(_manifests(run, pack, state, redactor, legacy=legacy))
    if durable:
        files.write_together(manifests)
        return
    for path, content, mode in manifests:
        files.write_atomic(path, content, mode=mode, durable=False)


def refresh_manifests(run: RunDir, pack: Pack | None, state: RunState, *, legacy: bool) -> None:
    """The same for a command that began nothing: what is as it should be is left alone."""
    manifests = _manifests(run, pack, state, NOTHING_SECRET, legacy=legacy)
    files.write_together(
        [one for one in manifests if one[0].is_symlink() or files.read(one[0]) != one[1]]
    )


def _manifests(
    run: RunDir, pack: Pack | None, state: RunState, redactor: Redactor, *, legacy: bool
) -> Iterator[tuple[Path, bytes, int]]:
    """Each file with its content and its mode, which the umask does not change."""
    # Only now: steps start sooner without them.
    steps = redactor.clean_record(steps_manifest(pack, state))
    about_run = run_manifest(state)
    if about_run is not None:
        content = canonical_file(redactor.clean_record(about_run))
        yield run.path / "run.json", content, files.PRIVATE_FILE
    yield run.path / "steps.json", canonical_file(steps), files.PRIVATE_FILE
    if legacy and state.created is not None:
        documents = (
            (legacy_state(steps, state, run.relative), files.PRIVATE_FILE),
            (legacy_report(steps, state, run.relative), files.PUBLIC_FILE),
        )
        names = names_for(run.root, state.created.pack_path)
        for name, (record, mode) in zip(names, documents, strict=True):
            if may_replace(run.root, name):
                yield run.root / name, canonical_file(record), mode
