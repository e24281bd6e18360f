"""Where a rehearsal works: in a throw-away copy of the project, without access to a provider."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.errors import InputError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.pack.model import Pack
from oraclepack.run.planning.plan import Plan
from oraclepack.run.project_copy import CopyPlan, environment_in, make_copy, plan_copy
from oraclepack.run.recover import end_processes
from oraclepack.run.step_outputs import declared_paths
from oraclepack.shell.attempt import StopLevel
from oraclepack.system import environment, locks
from oraclepack.system.path_jail import REHEARSALS, content_at
from oraclepack.tools.oracle_config import KEYS, gives_access, read_dotenv

if TYPE_CHECKING:
    from oraclepack.run.request import RunRequest
    from oraclepack.run.run import Run

_FOLDER = "copy"
"""In the private directory of the command."""
_FAILED = ".oraclepack/_failed"
"""The quarantine, in the copy."""
_USERS_OWN = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Directories beside the home, where programs keep logins too."""
_STAYING = (
    ("ASDF_DATA_DIR", ".asdf"),
    ("CARGO_HOME", ".cargo"),
    ("GIT_CONFIG_GLOBAL", ".gitconfig"),
    ("GOPATH", "go"),
    ("NVM_DIR", ".nvm"),
    ("PYENV_ROOT", ".pyenv"),
    ("PYTHONUSERBASE", ".local"),
    ("RUSTUP_HOME", ".rustup"),
    ("VOLTA_HOME", ".volta"),
)
"""Where ordinary programs of steps have their own files, by variable and place in the home."""


def plan_workplace(request: RunRequest, planned: Plan) -> CopyPlan | None:
    """What a rehearsal copies; None where it is to run in the project itself.

    Raises why it cannot begin. Changes nothing.
    """
    if request.arguments.in_place:
        _refuse_replacing(request, planned)
        return None
    _refuse_place_named(request.pack, request.root)
    return plan_copy(
        request.root,
        environment.environment(),
        also=_files(request),
        folders=_folders(request.pack),
    )


def enter_workplace(run: Run, plan: CopyPlan | None) -> None:
    """Let the steps of a command run in a copy, made now, with an environment without keys.

    Without a plan they run in the project; what fails there goes into the rehearsal's own
    quarantine, since that of the pack is for what real runs left.
    """
    if plan is None:
        run.failed = run.dir.failed
    else:
        _enter_copy(run, plan)
    home = run.private / "home"
    home.mkdir(0o700)
    run.user_environment = run.environment
    run.environment = without_access(run.environment, home)
    if plan is None:
        # No `.env` of the project overrides what is set, even if it is empty.
        run.environment |= dict.fromkeys(KEYS, "")


def without_access(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """An environment in which no tool finds a key, an endpoint or a login; `home` is empty.

    Without a key oracle takes the browser, with the login that it finds in the home.
    """
    users = environment.get("HOME", "")
    hidden = {name for name in environment if gives_access(name) or name in _USERS_OWN}
    kept = {name: value for name, value in environment.items() if name not in hidden}
    staying = {
        name: f"{users}/{place}"
        for name, place in _STAYING
        if name not in kept and os.path.exists(f"{users}/{place}")
    }
    return {**kept, **staying, "HOME": str(home), "ORACLE_HOME_DIR": str(home / ".oracle")}


def _enter_copy(run: Run, plan: CopyPlan) -> None:
    # Its own name: a step may ask for the name of the directory it runs in.
    place = run.private / _FOLDER / (plan.top.name or "project")
    copied = make_copy(plan, place, lambda: run.stop.level is not StopLevel.NONE)
    run.root = copied.root
    run.environment = environment_in(copied, plan, run.environment)
    run.failed = copied.root / _FAILED
    for path in copied.left_out:
        message = f"{path} is not in the copy: it is a link to a directory outside of the project"
        run.warn(message, "rehearsal")
    run.dotenv = partial(_dotenv, copied.top, plan.top)


def _dotenv(copy: Path, top: Path, cwd: str) -> dict[str, str]:
    """What the `.env` of the project would give to a call in this directory of the copy."""
    if not Path(cwd).is_relative_to(copy):
        return {}
    try:
        return read_dotenv(top / Path(cwd).relative_to(copy))
    except InputError:
        return {}


def start_over(run: RunDir) -> None:
    """Remove an earlier rehearsal and what killed ones left. Needs the lock of the run."""
    end_killed(run.root, run.run_id)
    _end_leftovers(_state(run))
    run.clear()


def end_killed(root: Path, but: str = "") -> None:
    """Remove what killed rehearsals of a project left outside of it, but for one of them."""
    for other in run_dir.run_ids(root, REHEARSALS):
        if other != but:
            _tidy(RunDir(root, other, REHEARSALS))


def _tidy(run: RunDir) -> None:
    """End what a killed rehearsal left; one that is in use is left alone."""
    state = _state(run)
    if not state.is_open or locks.holder_of(run.path) is not None:
        return
    _end_leftovers(state)


def _end_leftovers(state: RunState) -> None:
    if state.is_open:
        end_processes(state)
    if state.sessions:
        environment.forget_private(state.sessions[-1].started.private or "")


def _state(run: RunDir) -> RunState:
    """What is known of a rehearsal of ours; of a damaged one what is before the damage."""
    try:
        examined = run_dir.examine(run)
    except InputError:
        return EMPTY
    return examined.state if examined.foreign is None else EMPTY


def _files(request: RunRequest) -> Iterator[str]:
    """What the pack names itself: it is copied even where git ignores it."""
    root, pack = Path(os.path.realpath(request.root)), request.pack
    place = os.path.realpath(pack.path)
    if place.startswith(f"{root}/"):
        yield os.path.relpath(place, root)
    calls = (call for step in pack.steps for call in step.calls)
    for value in {one.value for call in calls for one in call.attachments}:
        if not value.startswith("/") and (root / value).is_file():
            yield value


def _folders(pack: Pack) -> Iterator[str]:
    """Where steps write: such a directory may be there and be empty, or be ignored."""
    if pack.out_dir:
        yield pack.out_dir
    for step in pack.steps:
        for path in (*declared_paths(step), *step.writes):
            yield path.rpartition("/")[0] or "."


def _refuse_replacing(request: RunRequest, planned: Plan) -> None:
    """In the project itself a rehearsal must not take the place of a real answer."""
    for one in planned.to_run:
        step = request.pack.step(one.step_id)
        for path in declared_paths(step) if step is not None else ():
            data = content_at(request.root, path).data
            if data is not None and not is_rehearsed(data.decode("utf-8", "replace")):
                raise InputError(
                    f"{path} is there and is not a rehearsed answer; step {one.step_id} would "
                    "replace it",
                    hint="leave --in-place out, or move the file away",
                )


def _refuse_place_named(pack: Pack, root: Path) -> None:
    """A command that names the project by its place would leave the copy."""
    if pack.block is None:
        return
    pattern = _spellings(root)
    for number, line in enumerate(pack.block.content.splitlines(), start=pack.block.content_line):
        match = pattern.search(line)
        if match is not None:
            raise InputError(
                f"{pack.path}:{number} names the project by its place ({match[0]}), so that its "
                "steps would leave the copy in which a rehearsal runs",
                hint="write paths relative to the project root; --in-place rehearses in the "
                "project itself, where the steps change real files",
            )


def _spellings(root: Path) -> re.Pattern[str]:
    """The project root as a script may spell it."""
    places = {str(root), os.path.realpath(root)} - {"/"}
    home = environment.environment().get("HOME", "").rstrip("/")
    below = {place.removeprefix(home) for place in places if home and place.startswith(f"{home}/")}
    spelled = places | {f"{start}{rest}" for rest in below for start in ("~", "$HOME", "${HOME}")}
    listed = "|".join(map(re.escape, sorted(spelled))) or "(?!)"
    return re.compile(rf"(?<![\w./-])(?:{listed})(?![\w.-])")
