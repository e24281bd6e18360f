"""The first events of a run, and those of every command that works on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack import __version__
from oraclepack.app.run.opening import Found, mutates
from oraclepack.app.run.recorder import Recorder
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import summaries, without_suffix
from oraclepack.system import environment
from oraclepack.tools.tool_names import ORACLE

if TYPE_CHECKING:
    from oraclepack.app.run.command import RunRequest


def begin(request: RunRequest, found: Found, record: Recorder) -> None:
    """The first event of a run; a run killed before it gets it now."""
    if record.state.created is not None:
        return
    runs = summaries(request.root, request.pack.pack_hash)
    known = (run.number for run in runs if run.foreign is None)
    record.append(
        j.RunCreated(
            schema_version=j.SCHEMA_VERSION,
            pack_id=without_suffix(found.run.run_id),
            pack_path=path_in_project(request.pack.path, request.root),
            pack_hash=request.pack.pack_hash,
            git_sha=found.tree.sha,
            git_dirty=found.tree.dirty,
            oraclepack_version=__version__,
            oracle_version=_oracle_version(request),
            engine=request.options.engine,
            settings=dict(request.settings),
            steps=tuple(step.id for step in request.pack.steps),
            mutating=mutates(request.pack),
            number=1 + max(known, default=0),
        )
    )


def _oracle_version(request: RunRequest) -> str | None:
    """Which oracle answers; not asked for where none is called, or we answer ourselves."""
    called = any(call.tool == ORACLE for step in request.pack.steps for call in step.calls)
    if not called or ORACLE in request.options.answered:
        return None
    from oraclepack.tools.oracle_config import version_of_oracle  # noqa: PLC0415 - once a run

    return version_of_oracle(request.options.oracle_bin)


def enter(request: RunRequest, found: Found, record: Recorder, private: str) -> None:
    """A command goes to work on the run; the commit it finds is one of the run's."""
    record.append(
        j.SessionStarted(
            pid=environment.process_id(),
            host=environment.host(),
            command=request.command,
            argv=request.argv,
            oraclepack_version=__version__,
            settings=dict(request.settings),
            private=private,
        )
    )
    if found.tree.sha is not None and found.tree.sha not in record.state.heads:
        record.append(j.HeadSeen(sha=found.tree.sha, dirty=found.tree.dirty))


def path_in_project(path: str, root: Path) -> str:
    """The path of a pack as runs record it: relative to the project, if it lies inside."""
    absolute = Path(path).resolve()
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else path
