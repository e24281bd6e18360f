"""`followup` as a whole: read a run, write the pack that asks its open questions again."""

from pathlib import Path

import msgspec

from oraclepack.errors import AlreadyExistsError, NotFoundError, UsageError
from oraclepack.pipeline.followup_pack import (
    FollowupQuestion,
    plan_questions,
    usable_paths,
    write_followup,
)
from oraclepack.system import environment as env
from oraclepack.system import files, git
from oraclepack.system.path_jail import inside
from oraclepack.system.secrets import Redactor
from oraclepack.work.load_answers import from_run, newest_run, refuse_foreign
from oraclepack.work.records import actionize


class FollowupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `followup` wrote; `pack` is empty where nothing is open."""

    run_dir: str
    pack: str
    changed: bool
    questions: tuple[FollowupQuestion, ...]


class FollowupResult(msgspec.Struct, frozen=True):
    """The report, with warnings."""

    report: FollowupReport
    warnings: tuple[str, ...] = ()


def followup_run(run_dir: str, root: Path, out: str = "", *, force: bool = False) -> FollowupResult:
    """Write a pack of the cut-off, blocked and conflicting questions of a run, or the newest."""
    place = Path(run_dir) if run_dir else newest_run(root)
    if not place.is_dir():
        raise NotFoundError(f"--run-dir {place}: no such directory")
    refuse_foreign(place)
    project = (env.project_of(place) or root).resolve()
    loaded = from_run(place, project)
    if loaded.answers.rehearsal:
        raise UsageError(
            "these answers come from a rehearsal, in which no model was asked",
            hint="run the pack with a real engine first",
        )
    target = Path(out) if out else project / _default_name(loaded.answers.pack_name)
    relative = inside(str(project), str(target.absolute()))
    if relative is None:
        raise UsageError(
            f"--out {out}: lies outside of the project", hint=f"name a file below {project}"
        )
    env.refuse_to_write_out(target.parent)
    out_dir = f"{relative.removesuffix('.md')}-answers"
    paths = usable_paths(_paths(project))

    def size_of(path: str) -> int | None:
        there = project / path
        return there.stat().st_size if there.is_file() and not there.is_symlink() else None

    planned = plan_questions(
        loaded.answers, actionize(loaded.answers).issues, paths, size_of, out_dir
    )
    questions = tuple(one for _, one in planned)
    if not planned:
        report = FollowupReport(run_dir=run_dir, pack="", changed=False, questions=())
        return FollowupResult(report, loaded.warnings)
    text = Redactor.of(env.environment()).clean(write_followup(loaded.answers, planned, out_dir))
    changed = _write(target, text.encode(), force=force)
    report = FollowupReport(
        run_dir=run_dir, pack=target.as_posix(), changed=changed, questions=questions
    )
    return FollowupResult(report, loaded.warnings)


def _default_name(pack_name: str) -> str:
    return f"{pack_name.removesuffix('.md') or 'pack'}-followup.md"


def _paths(project: Path) -> list[str]:
    """What git tracks, or every file where there is no repository."""
    tracked = git.tracked(project, env.environment(), ".")
    if tracked is not None:
        return list(tracked)
    return [
        (Path(parent) / name).relative_to(project).as_posix()
        for parent, _, names in files.walk(project)
        for name in names
    ]


def _write(target: Path, data: bytes, *, force: bool) -> bool:
    existing = files.read(target)
    if existing == data:
        return False
    if existing is not None and not force:
        raise AlreadyExistsError(f"{target} exists", hint="pass --force, or choose another --out")
    files.make_directories(target.absolute().parent)
    files.write_atomic(target.absolute(), data, mode=files.PUBLIC_FILE)
    return True
