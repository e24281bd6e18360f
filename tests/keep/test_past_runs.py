"""Run directories of earlier versions load for ever: looked at, continued, rebuilt, verified."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from oraclepack import __version__
from oraclepack.journal.journal_file import load
from oraclepack.system.machine import MACHINE_VARIABLE
from tests.authoring.repositories import a_repository
from tests.e2e.run.project import Project, Zygote
from tests.keep.past_runs import HOST, KEPT, PACK, SHAPES
from tests.keep.schemas import kept
from tests.scripted import scripted_tool

VERSIONS = sorted(path.name for path in KEPT.iterdir())
EVERY = sorted(f"{one.parent.name}/{one.name}" for one in KEPT.glob("*/*"))
RUNS = [one for one in EVERY if any((KEPT / one).glob("project/.oraclepack/runs/*/journal.jsonl"))]


@dataclass(frozen=True)
class Past:
    """What a shape of run is today: how it shows itself and how it goes on."""

    status: str
    done: tuple[str, ...]
    """Steps that stay done."""
    runs: tuple[str, ...] = ()
    """Steps that run when it is continued; no question is ever asked again."""
    quarantined: int = 0
    verified: int = 0
    """The exit code of `verify-outputs`."""


PAST = {
    "finished": Past("ok", ("01", "02")),
    "failed": Past("failed", ("01",), ("02",), quarantined=1),
    "interrupted": Past("interrupted", ("01",), ("02",)),
    "chunked": Past("ok", ("01",)),
    "rolled-back": Past("incomplete", (), ("01", "02"), quarantined=2, verified=4),
    "from-the-cache": Past("ok", ("01", "02")),
    "changed-the-work-tree": Past("failed", ("01",), ("02",)),
}


def test_this_version_has_left_its_runs() -> None:
    assert __version__ in VERSIONS, "run `python -m tests.keep.past_runs` once for this version"
    assert {one.partition("/")[2] for one in EVERY if one.startswith(__version__)} == set(SHAPES)


def test_every_shape_is_asked_for() -> None:
    assert {one.partition("/")[2] for one in RUNS} == set(PAST)


@pytest.mark.parametrize("name", EVERY)
def test_a_kept_run_tells_of_no_machine(name: str) -> None:
    texts = {path: path.read_bytes() for path in (KEPT / name).rglob("*") if path.is_file()}

    for path, text in texts.items():
        assert not any(word in text for word in (b"/tmp/", b"/home/", b"/root")), path
    hosts = {
        event.host
        for path in texts
        if path.name == "journal.jsonl"
        for event in load(path).events
        if hasattr(event, "host")
    }
    assert hosts <= {HOST}


class Kept(NamedTuple):
    """A copy of a kept run, and what it should be."""

    project: Project
    past: Past

    def ask(self, *words: str, code: int = 0) -> dict[str, Any]:
        ran = self.project.start(*words, "--json").wait()
        assert ran.code == code, ran.out + ran.err
        return ran.data

    @property
    def run_dir(self) -> Path:
        """The newest one."""
        return max(self.project.run_dirs, key=lambda path: (len(path.name), path.name))


def a_copy(name: str, place: Path, home: Path, zygote: Zygote) -> Project:
    """A kept project, in a repository like the one it was made in."""
    root = place / "project"
    committed = KEPT / name / "committed"
    if committed.exists():
        files = [path for path in committed.rglob("*") if path.is_file()]
        a_repository(root, {str(one.relative_to(committed)): one.read_bytes() for one in files})
    shutil.copytree(KEPT / name / "project", root, dirs_exist_ok=True)
    oracle = scripted_tool(place / "tools")
    scripted_tool(place / "tools", "codex")
    (home / ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    # The machine of the records, started again since.
    return Project(root, zygote, oracle, {MACHINE_VARIABLE: f"{HOST}/now"})


@pytest.fixture(params=RUNS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path, home: Path, zygote: Zygote) -> Kept:
    """As the version left it: oraclepack 0.1.0 signed nothing."""
    past = PAST[request.param.partition("/")[2]]
    return Kept(a_copy(request.param, tmp_path, home, zygote), past)


@pytest.fixture
def old(foreign: Kept) -> Kept:
    """The same after its user has taken it over, once."""
    take_over(foreign.project)
    return foreign


def take_over(project: Project) -> None:
    for words in (["--cache"], *([run_dir.name] for run_dir in project.run_dirs)):
        ran = project.start("trust", *words, "--yes", "--json").wait()
        assert ran.code == 0, ran.out + ran.err


def test_it_is_shown_as_foreign_and_stops_a_run_that_would_pay_again(foreign: Kept) -> None:
    before = tree_of(foreign.project.root)

    listed = foreign.ask("runs", "list")["runs"]
    shown = foreign.ask("runs", "show", foreign.run_dir.name)
    ran = foreign.project.start("run", PACK, "--json").wait()

    assert {one["status"] for one in listed} == {"foreign"}
    assert shown["manifest"]["pack_path"] == PACK
    error = ran.envelope["error"]
    assert (ran.code, error["code"]) == (2, "FOREIGN")
    assert "oraclepack runs trust" in error["suggestion"]
    assert foreign.project.oracle.calls == []
    assert tree_of(foreign.project.root) == before


def tree_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def test_it_can_be_looked_at(old: Kept) -> None:
    listed = old.ask("runs", "list")["runs"]
    shown = old.ask("runs", "show", old.run_dir.name)
    replies = [old.ask("why", PACK, step) for step in (*old.past.done, *old.past.runs)]
    quarantined = old.ask("quarantine", "list")

    assert [one["run_id"] for one in listed] == [one.name for one in old.project.run_dirs[::-1]]
    assert shown["run"]["status"] == old.past.status
    assert [one["decision"] for one in replies] == (
        ["done"] * len(old.past.done) + ["run"] * len(old.past.runs)
    )
    assert len(quarantined["files"]) == old.past.quarantined


def test_its_files_are_computed_again_as_they_were(old: Kept) -> None:
    names = ("run.json", "steps.json")
    is_cut_off = old.past.status == "interrupted"
    # A run that was killed need not have written them yet.
    before = [] if is_cut_off else [_loaded(old.run_dir / name) for name in names]

    old.ask("doctor", "--rebuild")

    after = [_loaded(old.run_dir / name) for name in names]
    assert is_cut_off or _as_far_as(before, after) == before
    for name, content in zip(("run", "steps"), after, strict=True):
        jsonschema.validate(content, kept(name, content["schema_version"]) or False)


def _loaded(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _as_far_as(known: object, now: object) -> object:
    """What there is now, without what has come since: fields, and values that were null."""
    if known is None:
        return None
    if isinstance(known, dict) and isinstance(now, dict):
        return {key: _as_far_as(known[key], now[key]) for key in now if key in known}
    if isinstance(known, list) and isinstance(now, list) and len(known) == len(now):
        return [_as_far_as(one, other) for one, other in zip(known, now, strict=True)]
    return now


def test_its_outputs_are_verified(old: Kept) -> None:
    old.ask("verify-outputs", PACK, code=old.past.verified)


def test_it_goes_on_and_nothing_is_paid_for_again(old: Kept) -> None:
    (old.project.root / "go").touch()

    ran = old.ask("run", PACK, "--allow-dirty-rerun")
    again = old.ask("run", PACK)
    anew = old.ask("run", PACK, "--new-run", "--allow-dirty-rerun")

    every = [*old.past.done, *old.past.runs]
    assert (ran["done_steps"], ran["completed_steps"]) == (
        list(old.past.done),
        list(old.past.runs),
    )
    assert (again["done_steps"], again["completed_steps"]) == (every, [])
    assert anew["completed_steps"] == every
    assert old.project.oracle.calls == []


def test_what_it_changed_can_be_taken_back(tmp_path: Path, home: Path, zygote: Zygote) -> None:
    for version in VERSIONS:
        project = a_copy(f"{version}/changed-the-work-tree", tmp_path / version, home, zygote)
        take_over(project)

        ran = project.start("undo", PACK, "02", "--json").wait()

        assert ran.code == 0, ran.err
        assert (project.root / "src/b.py").read_text() == "price = 2\n"


def test_its_backlog_is_made_again_and_its_tickets_stay_as_they_are(
    tmp_path: Path, home: Path, zygote: Zygote
) -> None:
    for version in VERSIONS:
        finished = a_copy(f"{version}/finished", tmp_path / version, home, zygote)
        tickets = a_copy(f"{version}/tickets", tmp_path / f"{version}-tickets", home, zygote)
        take_over(finished)
        run_dir = finished.run_dir.relative_to(finished.root).as_posix()
        work = finished.run_dir / "actionizer"
        before = {path.name for path in work.iterdir()}

        words = ("actionize", "--run-dir", run_dir, "--export", "github,taskmaster", "--json")
        made = finished.start(*words).wait()
        checked = tickets.start("ticketify", "--top-n", "5", "--check", "--json").wait()

        assert (made.code, checked.code) == (0, 0), made.err + checked.out
        first = {path.name: path.read_bytes() for path in work.iterdir()}
        assert first.keys() == before
        assert all(b'"schema_version":3' in line for line in first["normalized.jsonl"].splitlines())
        assert finished.start(*words).wait().code == 0
        assert {path.name: path.read_bytes() for path in work.iterdir()} == first


def test_a_run_that_no_longer_loads_is_noticed(tmp_path: Path, home: Path, zygote: Zygote) -> None:
    project = a_copy(f"{VERSIONS[0]}/finished", tmp_path, home, zygote)
    journal = project.run_dir / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"01"', b'"10"'))

    with pytest.raises(AssertionError):
        Kept(project, PAST["finished"]).ask("run", PACK)
