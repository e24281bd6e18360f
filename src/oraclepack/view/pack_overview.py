"""The packs of a project, each with its newest run and what its runs cost."""

from functools import reduce
from pathlib import Path

import msgspec

from oraclepack.errors import InputError
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.pack.pack_files import find_packs
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.environment import has_runs
from oraclepack.view.past_runs import RunListEntry, list_runs


class PackEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A pack of a project at a glance."""

    path: str
    """As it was found: the folder that was searched, and the path below it."""
    name: str
    """Relative to the project root, where it lies in the project."""
    last_run: RunListEntry | None = None
    """The newest run; a rehearsal only where there is no other."""
    runs: int = 0
    """Without rehearsals."""
    cost: CostTotal = NO_COST
    """Of all its runs."""


def list_packs(folder: str, settings: Settings | None = None) -> tuple[PackEntry, ...]:
    """The packs below a folder, or the one pack that is named; none is no error."""
    root = Path((settings or load_settings(folder)).root)
    try:
        packs = find_packs((folder,))
    except InputError:
        packs = ()
    runs = list_runs(root).runs if has_runs(root) else ()
    return tuple(_entry(path, root, runs) for path in packs)


def _entry(path: Path, root: Path, runs: tuple[RunListEntry, ...]) -> PackEntry:
    place = path.resolve()
    name = place.relative_to(root).as_posix() if place.is_relative_to(root) else path.as_posix()
    own = [run for run in runs if run.pack_path == name]
    real = [run for run in own if not run.rehearsal]
    return PackEntry(
        path=path.as_posix(),
        name=name,
        last_run=next(iter(real or own), None),
        runs=len(real),
        cost=reduce(CostTotal.plus, (run.cost for run in real), NO_COST),
    )
