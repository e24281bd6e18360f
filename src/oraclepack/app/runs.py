"""Looking at runs: all of a project, one in full, and how the steps of a pack stand."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from oraclepack.app.run.opening import mutates
from oraclepack.core.past_run import (
    RunListed,
    RunShown,
    RunsListed,
    age,
    listed,
    shown,
    step_word,
)
from oraclepack.errors import InputError, OraclePackError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.line_format import Reading
from oraclepack.journal.run_dir import RunDir, choose_run, hash_in
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import read_pack
from oraclepack.system import environment, git, locks
from oraclepack.system.ownership import Foreign


class Looked(msgspec.Struct, frozen=True):
    """A run as its journal tells it, as far as that can be believed."""

    run: RunDir
    state: RunState = EMPTY
    damage: str | None = None
    events: int = 0
    foreign: Foreign | None = None


def look_at(run: RunDir) -> Looked:
    """Read a run; whatever is wrong with it is told, not raised."""
    try:
        examined = run_dir.examine(run)
    except InputError as trouble:
        return Looked(run, damage=trouble.message)
    reading = examined.reading
    state = fold(reading.events)
    return Looked(run, state, _damage(reading), len(reading.events), examined.foreign)


def _damage(reading: Reading) -> str | None:
    damage = reading.damage
    return None if damage is None else f"line {damage.line}: {damage.reason}"


def list_runs(root: Path) -> RunsListed:
    """Every run and rehearsal of the project, the newest first."""
    found = [listing_of(look_at(run)) for run in run_dir.every_run(root)]
    return RunsListed(runs=tuple(sorted(found, key=age, reverse=True)))


def show_run(root: Path, name: str) -> RunShown:
    """One run in full; damaged ones too, up to where they can be believed."""
    looked = look_at(named_run(root, name))
    created = looked.state.created
    pack = pack_of(root, created.pack_path, created.pack_hash) if created else None
    return shown(listing_of(looked), looked.state, pack)


def named_run(root: Path, name: str) -> RunDir:
    """The run with this name, or the only one whose name begins so.

    A rehearsal is `rehearsals/ID`, or just its id where no real run has that.
    """
    known = run_dir.every_run(root)
    for fitting in (
        [run for run in known if run.name == name],
        [run for run in known if name and run.name.startswith(name)],
        [run for run in known if name and run.run_id.startswith(name)],
    ):
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise UsageError(
                f"{name} is the beginning of {len(fitting)} runs",
                hint=f"one of {', '.join(run.name for run in fitting)}",
            )
    raise UsageError(
        f"there is no run {name}", hint=f"`oraclepack runs list` shows them ({len(known)} here)"
    )


def pack_of(root: Path, path: str, pack_hash: str) -> Pack | None:
    """The pack of a run, if it is still there with the same content."""
    try:
        pack = read_pack(root / path)
    except OraclePackError:
        return None
    return pack if pack.pack_hash == pack_hash else None


def last_statuses(root: Path, pack: Pack) -> tuple[str | None, Mapping[str, str]]:
    """How each step stands in the run that a command would continue; its name, if there is one.

    Asks git only when a run of this pack exists and the files alone do not tell the commit.
    """
    ids = [one for one in run_dir.run_ids(root) if hash_in(one) == pack.pack_hash[:8]]
    if not ids:
        return None, {}
    sha = git.peek(root) or git.look(root, environment.environment()).sha
    runs = (run for run in run_dir.summaries(root, pack.pack_hash) if run.foreign is None)
    # A rehearsal settles nothing: what was only rehearsed has not been answered.
    choice = choose_run(runs, pack.pack_hash, sha, mutating=mutates(pack), rehearsal=False)
    if choice.run is None:
        return None, {}
    looked = look_at(RunDir(root, choice.run.run_id))
    held = locks.holder_of(looked.run.path) is not None
    words = {str(step.id): step_word(looked.state, step.id, held=held) for step in pack.steps}
    return choice.run.run_id, words


def listing_of(looked: Looked) -> RunListed:
    """A run as `runs list` tells it."""
    # Nobody of ours works on a foreign run; what its lock says is not asked.
    holder = locks.holder_of(looked.run.path) if looked.foreign is None else None
    told = None if holder is None else str(holder)
    return listed(
        looked.run.run_id, looked.run.relative, looked.state, told, looked.damage, looked.foreign
    )
