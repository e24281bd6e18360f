"""A clone that brings everything hostile at once, and every command of the program run in it.

Whatever is run: no program of the repository starts, nothing outside of the project and nothing in
`.git` changes, nothing foreign is served, acted upon or changed, no key is read or sent elsewhere,
and what is printed steers no terminal. `strace` watches every program that starts, where there is
one; the programs of the repository leave a marker in any case.

Most commands are answered by a fork of a process that has loaded the program already, itself under
`strace`: that takes a third of the time. What happens while the program loads does not depend on
the command, and is watched by the tests that start it for each command line.
"""

import itertools
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from tests.e2e.hostile_repository import FORGED, USER, HostileRepository
from tests.e2e.program import Ran, oraclepack
from tests.e2e.run.project import Zygote
from tests.e2e.test_hostile_settings import FLAGS
from tests.scripted import scripted_tool

SECRET = "S3CRET-of-the-user"
PROGRAM = Path(sys.executable).with_name("oraclepack")
STATE = (".local", ".local/state", ".local/state/oraclepack")
"""In the user's home: the only place outside of the project that is written to."""
FOREIGN = (".git/", ".oraclepack/cache/", ".oraclepack/runs/2026-03-", "docs/bare/", "evil-config")
"""What no command changes, wherever it may write."""
TAKEN_OVER = ("/journal.jsonl", "/lock", ".json", ".asking")
"""What `trust --yes` signs, since the user says so: in an archive, never in a clone."""
STEERING_FLAGS = {flag.partition("=")[0] for flag in FLAGS}
TRACED = "trace=execve,execveat,connect"
TRACER = ("strace", "-f", "-qq", "-s", "4096", "--seccomp-bpf", "-e", TRACED)
_STARTED = re.compile(r'execve(?:at)?\((?:[\w-]+, )?"((?:[^"\\]|\\.)*)"')
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Listing = dict[str, tuple[int, bytes]]
"""Paths; for each its kind and rights, and what it holds or where it leads."""


@dataclass(frozen=True)
class Recipe:
    """A command line, and with which exit code it ends in a clone and in an archive."""

    words: str
    clone: int = 0
    archive: int = 0
    writes: tuple[str, ...] = ()
    """Where it may write in the project."""
    first: tuple[str, ...] = ()
    """What the user has done before; these may write where it may."""
    stdin: str = ""

    @property
    def command(self) -> str:
        """Its name in the manifest."""
        first, *rest = self.words.split()
        return f"{first} {rest[0]}" if first in GROUPS else first


GROUPS = (
    "cache",
    "config",
    "fleet",
    "prices",
    "publish",
    "quarantine",
    "runs",
    "skills",
    "tickets",
)
OWN_RUN = "run pack.md --new-run --on-unknown retry"
REHEARSAL = (".oraclepack/rehearsals/",)
RUN = (".oraclepack/", "out/", "pack.state.json", "pack.report.json")
DESK = "ticketify --exclude key.md --prd-path prd.md"
TICKETS = (".oraclepack/ticketify/", "prd.md")
PICKED = """{"ticket_id": "../x", "action_ids": ["$(touch ran-by-a-shell)"], "reason": "\x1b[2J"}"""
RECIPES = (
    Recipe("validate pack.md old.md"),
    Recipe("validate --strict --fix pack.md", 2, 2),
    Recipe("explain OP201"),
    Recipe("list pack.md"),
    Recipe("list --contracts old.md"),
    Recipe("prices list"),
    Recipe("fleet run tickets", 2, 2),
    Recipe("fleet status", 2, 2),
    Recipe("fleet collect", 2, 2),
    Recipe("fleet watch", 2, 2),
    Recipe("fleet stop", 2, 2),
    Recipe("fleet worker --job 0123456789abcdef", 2, 2),
    Recipe("fleet unknown", 2, 2),
    Recipe("fleet bury here --because gone", 2, 2),
    Recipe("fleet limits", 2, 2),
    Recipe("fleet init", 2, 2),
    Recipe("fleet doctor", 2, 2),
    Recipe("prices show gpt-5.2"),
    Recipe("plan pack.md", archive=2, writes=REHEARSAL),
    Recipe("plan pack.md --new-run --format github", writes=REHEARSAL),
    Recipe("run pack.md --dry-run", archive=2),
    Recipe("run pack.md --dry-run --new-run"),
    Recipe("run pack.md", archive=2, writes=RUN),
    Recipe("run pack.md --new-run", archive=3, writes=RUN),
    Recipe(OWN_RUN, writes=RUN, first=(OWN_RUN,)),
    Recipe("run pack.md --engine rehearsal", writes=REHEARSAL),
    Recipe("run pack.md --engine rehearsal --in-place", 2, 2),
    Recipe("run pack.md --engine rehearsal --rollback-on-failure", writes=REHEARSAL),
    Recipe("run pack.md --run-id {run}", 2, 2),
    Recipe("run pack.md --import-state evil-config", 2, 2),
    Recipe(
        "run generated.md --engine rehearsal",
        writes=(*REHEARSAL, "generated.md"),
        first=("generate --out generated.md",),
    ),
    Recipe(
        "run .oraclepack/ticketify/ticket-action-pack.md --engine rehearsal",
        3,  # its step 05 wants tasks, which no rehearsal makes
        3,
        writes=(*REHEARSAL, *TICKETS),
        first=(DESK,),
    ),
    Recipe("mcp --root ."),
    Recipe("mcp install cursor --print"),
    Recipe("call -p Why -f src/a.py --preflight", writes=RUN),
    Recipe("call -p Why -f src/a.py", writes=RUN),
    Recipe("call -p Why -f src/key.py", 3, 3, writes=RUN),
    Recipe("call -p Why --write-output docs/out/answer.md", 2, 2, writes=RUN),
    Recipe("why pack.md 01", archive=2),
    Recipe("why pack.md 01", writes=RUN, first=(OWN_RUN,)),
    Recipe("verify-outputs pack.md"),
    Recipe("verify-outputs --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe("actionize --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe(
        "actionize --answers answers --pack pack.md --export github,taskmaster",
        writes=("answers/actionizer/",),
    ),
    Recipe("actionize --answers linked-answers --pack pack.md", 2, 2),
    Recipe("pipeline pack.md --junit junit.xml", archive=2, writes=(*RUN, "junit.xml")),
    Recipe("pipeline pack.md --new-run --on-unknown retry --export github", writes=RUN),
    Recipe("followup --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe("followup --run-dir answers", 2, 2),
    Recipe("publish github --repo octo/shop --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe("publish github --repo octo/shop --dry-run", 2, 2),
    Recipe("report {run}", 2, 2),
    Recipe("report {run} --out page.html", writes=("page.html",)),
    Recipe("report --out docs/out/report.html", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("report", writes=RUN, first=(OWN_RUN,)),
    Recipe("runs list"),
    Recipe("runs show {run}"),
    Recipe("runs answer {run} 01 retry", 2, 2),
    Recipe("runs logs {run}", 2, 2),
    Recipe("runs pause {run}", 2, 2),
    Recipe("runs resume {run}", 2, 2),
    Recipe("runs set {run} max_parallel=2", 2, 2),
    Recipe("runs stop {run}", 2, 2),
    Recipe("runs watch {run}", 3, 3),
    Recipe("runs prune --keep 0"),
    Recipe("runs prune --keep 0", writes=RUN, first=(OWN_RUN,)),
    Recipe("quarantine list"),
    Recipe("quarantine restore --force out/_failed/{run}", 2, 2),
    Recipe("generate --out generated.md", writes=("generated.md",)),
    Recipe("generate --out docs/out/generated.md", 2, 2),
    Recipe("new fresh.md", writes=("fresh.md",)),
    Recipe("new docs/out/fresh.md", 2, 2),
    Recipe("upgrade old.md", 2, 2),
    Recipe("upgrade --write old.md", 2, 2, writes=("old.md",)),
    Recipe("skills show codex"),
    Recipe("skills install codex", 2, 2),
    Recipe("skills install claude --force", 2, 2),
    Recipe("skills install gemini", 2, 2),
    Recipe("skills check"),
    Recipe("ticketify", 2, 2, writes=TICKETS),
    Recipe(DESK, writes=TICKETS),
    Recipe("tickets prompt implement", writes=TICKETS, first=(DESK,)),
    Recipe("tickets take select", 2, 2, writes=TICKETS, first=(DESK,), stdin=PICKED),
    Recipe("tickets tasks found", writes=TICKETS, first=(DESK,)),
    Recipe("tickets tasks check", 2, 2, writes=TICKETS, first=(DESK,)),
    Recipe("tickets report changes", writes=TICKETS, first=(DESK,)),
    Recipe("tickets report audit", writes=TICKETS, first=(DESK,)),
    Recipe("tickets report close-out", writes=TICKETS, first=(DESK,)),
    Recipe("accept pack.md 01", 2, 2),
    Recipe("accept pack.md 01", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("undo pack.md 01", 2, 2),
    Recipe("undo pack.md 01 --run-id {run}", 2, 2),
    Recipe("undo pack.md 01", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("trust {run}", 2, 2),
    Recipe("trust {run} --yes", 2, 0),
    Recipe("trust --cache", archive=2),
    Recipe("trust --cache --yes"),
    Recipe("cache list"),
    Recipe("cache show {key}"),
    Recipe("cache explain 01", 2, 2),
    Recipe("cache explain 01", writes=RUN, first=(OWN_RUN,)),
    Recipe("cache prune --older-than 0s --max-size 0"),
    Recipe("cache prune --older-than 0s --max-size 0", writes=RUN, first=(OWN_RUN,)),
    Recipe("doctor"),
    Recipe("doctor --rebuild", 2, 2),
    Recipe("doctor --rebuild", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("config show"),
    Recipe("schema envelope"),
    Recipe("manifest"),
    Recipe("completion bash"),
)


IN_TURN = tuple(
    max((one for one in RECIPES if one.command == name), key=lambda one: len(one.writes))
    for name in dict.fromkeys(one.command for one in RECIPES)
)
"""For each command the recipe that may write most."""


class Victim:
    """A user with keys, neighbours and programs of their own, and the project they were given."""

    def __init__(self, place: Path, repository: HostileRepository, *, is_archive: bool) -> None:
        self.repository = repository
        self.root = (repository.unpack if is_archive else repository.clone)(place / "project")
        self._home, self._neighbour, self._temporary = (
            place / name for name in ("home", "neighbour", "tmp")
        )
        for path, text in {
            "home/.ssh/id_rsa": f"{SECRET}\n",
            "home/.aws/credentials": f"{SECRET}\n",
            "home/.bash_profile": "PATH=$TOOLS:$PATH\n",
            "home/.gitconfig": "[user]\n\tname = me\n\temail = me@example.invalid\n",
            "neighbour/notes.txt": "mine\n",
            "neighbour/01-topic-1.md": "mine\n",
            "tmp/mine": "",
        }.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        self.oracle = scripted_tool(place / "tools")
        self.codex = scripted_tool(place / "tools", "codex")
        self._place = place
        self.trace = place / "trace"

    @property
    def environment(self) -> dict[str, str]:
        tools = str(self.oracle.folder)
        return {
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PATH": f"{tools}:{os.environ['PATH']}",
            "TMPDIR": str(self._temporary),
            "TOOLS": tools,
            **USER,
        }

    def words(self, recipe: Recipe) -> list[str]:
        known = {"run": self.repository.run_id, "key": self.repository.keys[0]}
        return [word.format(**known) for word in recipe.words.split()]

    def run(self, recipe: Recipe, without: tuple[str, ...] = ()) -> Ran:
        """One command line as a process of its own, watched where that can be."""
        watch = [*TRACER, "-o", str(self.trace)] if can_trace() else []
        env = {name: value for name, value in self.environment.items() if name not in without}
        done = subprocess.run(
            [*watch, str(PROGRAM), *self.words(recipe)],
            cwd=self.root,
            env=env,
            input=recipe.stdin.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def run_forked(self, recipe: Recipe, tracing: "Tracing") -> Ran:
        """The same without loading the program anew."""
        given, out, err = (self._place / name for name in ("given", "out", "err"))
        given.write_text(recipe.stdin)
        out.unlink(missing_ok=True)
        err.unlink(missing_ok=True)
        request = {"cwd": str(self.root), "env": self.environment, "args": self.words(recipe)}
        files = {"stdin": str(given), "out": str(out), "err": str(err)}
        code, seen = tracing.run(**request, **files)
        if seen:
            self.trace.write_text(seen)
        return Ran(code, out.read_text(), err.read_text())

    def run_unwatched(self, recipe: Recipe, **variables: str) -> Ran:
        """The same in a tenth of the time."""
        no_others = dict.fromkeys((f"XDG_{name}_HOME" for name in XDG), "")
        env = {**self.environment, **no_others, **variables}
        return oraclepack(self.root, *self.words(recipe), **env)

    def snapshot(self) -> "Snapshot":
        """Everything in the project, and everything of the user's around it."""
        ours = {str(self._home / path) for path in STATE}
        around = listing(self._home) | listing(self._neighbour) | listing(self._temporary)
        outside = {
            path: told
            for path, told in around.items()
            if path not in ours and not path.startswith(f"{self._home / STATE[-1]}/")
        }
        inside = {
            os.path.relpath(path, self.root): told for path, told in listing(self.root).items()
        }
        return Snapshot(inside, outside)


XDG = ("CACHE", "CONFIG", "DATA", "STATE")


@dataclass(frozen=True)
class Snapshot:
    """What there is at one moment."""

    inside: Listing
    outside: Listing


def listing(folder: Path) -> Listing:
    """Every entry below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path)] = (mode, os.fsencode(path.readlink()))
        else:
            found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


@cache
def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    probe = [*TRACER, "-o", os.devnull, "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


class Tracing:
    """A process that forks the program for each command line, under a tracer where there is one."""

    def __init__(self, place: Path) -> None:
        self._trace = place / "trace"
        self._trace.touch()
        self._zygote = Zygote(*([*TRACER, "-o", str(self._trace)] if can_trace() else []))
        self._end = 0

    def run(self, **request: object) -> tuple[int, str]:
        """The exit code of a command line, and what was traced of it behind the first start.

        That start is the process's own, so a trace without it is none.
        """
        code = self._zygote.ask(do="wait", pid=self._zygote.ask(do="start", **request))
        seen = self._trace.read_text(errors="replace")
        begun, self._end = self._end, len(seen)
        return code, seen.partition("\n")[0] + "\n" + seen[begun:] if seen else ""

    def close(self) -> str:
        """End it; what was traced since the last command line ended."""
        self._zygote.close()
        return self._trace.read_text(errors="replace")[self._end :]


class Stage:
    """Victims as a recipe finds them. What they did before is done once, and copied from then on.

    The copy always stands at the same place: records tell paths.
    """

    def __init__(self, place: Path, repository: HostileRepository, tracing: Tracing) -> None:
        self._place = place
        self._repository = repository
        self._tracing = tracing
        self._numbers = itertools.count(1)
        self._known: dict[tuple[bool, tuple[str, ...]], tuple[Path, Victim, Snapshot]] = {}

    def victim(self, recipe: Recipe, *, is_archive: bool) -> tuple[Victim, Snapshot]:
        """A victim that has done what comes before the recipe, and how all was before that."""
        key = (is_archive, recipe.first)
        if key in self._known:
            place, victim, before = self._known[key]
            shutil.rmtree(place / "now")
            subprocess.run(["cp", "-a", place / "then", place / "now"], check=True)
            return victim, before
        place = self._place / str(next(self._numbers))
        (place / "now").mkdir(parents=True)
        victim = Victim(place / "now", self._repository, is_archive=is_archive)
        before = victim.snapshot()
        for words in recipe.first:
            ran = victim.run_forked(Recipe(words), self._tracing)
            check_harmless(victim, recipe, ran, before)
        subprocess.run(["cp", "-a", place / "now", place / "then"], check=True)
        self._known[key] = place, victim, before
        return victim, before


def traced_harm(victim: Victim) -> list[str]:
    """What the tracer saw of the repository's programs, and of connections."""
    if not victim.trace.exists():
        return []
    seen = victim.trace.read_text(errors="replace").splitlines()
    started = [(line, found[1]) for line in seen if (found := _STARTED.search(line))]
    assert started, "the tracer saw nothing at all"
    theirs = (str(victim.root), str(victim.repository.program))
    # A rehearsal works in a copy of the project, with the programs of the repository in it.
    harm = [
        line
        for line, path in started
        if not path.startswith("/") or path.startswith(theirs) or "/copy/" in path
    ]
    harm += [line for line in seen if str(victim.repository.program) in line]
    return harm + [line for line in seen if "connect(" in line and "AF_INET" in line]


@pytest.fixture(scope="module")
def other_host() -> Iterator[socket.socket]:
    """Where the repository would have keys sent to; nobody may ever connect."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture(scope="module")
def repository(
    tmp_path_factory: pytest.TempPathFactory, other_host: socket.socket
) -> HostileRepository:
    return HostileRepository(tmp_path_factory.mktemp("t"), other_host.getsockname()[1])


@pytest.fixture(scope="module")
def tracing(
    tmp_path_factory: pytest.TempPathFactory, repository: HostileRepository
) -> Iterator[Tracing]:
    made = Tracing(tmp_path_factory.mktemp("tracing"))
    yield made
    assert str(repository.program) not in made.close()


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, repository: HostileRepository, tracing: Tracing
) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"), repository, tracing)


def check_harmless(victim: Victim, recipe: Recipe, ran: Ran, before: Snapshot) -> None:
    """Fail if a command did anything that it must not."""
    said = ran.out + ran.err
    assert ran.code not in {1, 99}, said
    assert "Traceback" not in said
    assert not victim.repository.marker.exists(), victim.repository.marker.read_text()
    assert traced_harm(victim) == []
    now = victim.snapshot()
    assert now.outside == before.outside
    is_taken = recipe.command == "trust" and "--yes" in recipe.words
    taken = {path for path in now.inside if is_taken and path.endswith(TAKEN_OVER)}
    changed = {
        path
        for path in {*before.inside, *now.inside} - taken
        if before.inside.get(path) != now.inside.get(path)
    }
    assert {path for path in changed if not f"{path}/".startswith(recipe.writes or "//")} == set()
    foreign = {path for path in changed & before.inside.keys() if path.startswith(FOREIGN)}
    assert {path for path in foreign if not is_set_aside(path, before, now)} == set()
    new = now.inside.keys() - before.inside.keys()
    assert {path for path in new if "ran-by-a-shell" in path} == set()
    assert {path for path, (_, data) in now.inside.items() if SECRET.encode() in data} == set()
    assert SECRET not in said
    assert not [name for name in ("OPENAI_API_KEY", "GH_TOKEN") if USER[name] in said]
    assert _STEERING.findall(said) == []
    for call in (*victim.oracle.calls, *victim.codex.calls):
        named = {word.partition("=")[0] for word in call["argv"]} & STEERING_FLAGS
        assert named <= ({"--file"} if recipe.command == "call" else set())
        assert "id_rsa" not in str(call["argv"])
        assert call["hosts"] == {"OPENAI_BASE_URL": USER["OPENAI_BASE_URL"]}
        assert SECRET not in str(call)


def is_set_aside(path: str, before: Snapshot, now: Snapshot) -> bool:
    """Whether a foreign answer or claim was only given another name, for one of the user's own."""
    name, _, ending = path.rpartition(".")
    places = (f"{name}.foreign-1.{ending}", f"{path}.foreign-1")
    aside = next((now.inside[place] for place in places if place in now.inside), (0, b""))
    return aside[1].startswith(before.inside[path][1])


def test_every_command_has_a_recipe(tmp_path: Path) -> None:
    told = oraclepack(tmp_path, "manifest", "--json").data["commands"]

    assert {one.command for one in RECIPES} == {one["name"] for one in told}


def test_the_traps_work(tmp_path: Path, repository: HostileRepository) -> None:
    """Git itself falls for them, and the tracer sees it."""
    victim = Victim(tmp_path, repository, is_archive=True)
    watch = [*TRACER, "-o", str(victim.trace)] if can_trace() else []
    subprocess.run(
        [*watch, "git", "status"],
        cwd=victim.root,
        env=victim.environment,
        capture_output=True,
        check=False,
    )

    assert repository.marker.exists()
    repository.marker.unlink()
    if not can_trace():
        pytest.skip("there is no strace that works here: only the markers were proven")
    assert traced_harm(victim)


@pytest.mark.parametrize("is_archive", [False, True], ids=["clone", "archive"])
@pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda one: f"{one.words}{' later' if one.first else ''}"
)
def test_no_command_does_what_the_repository_wants(
    stage: Stage, tracing: Tracing, other_host: socket.socket, recipe: Recipe, *, is_archive: bool
) -> None:
    victim, before = stage.victim(recipe, is_archive=is_archive)

    ran = victim.run_forked(recipe, tracing)

    check_harmless(victim, recipe, ran, before)
    assert ran.code == (recipe.archive if is_archive else recipe.clone), ran.out + ran.err
    with pytest.raises(BlockingIOError):
        other_host.accept()


STARTED = (
    *("validate pack.md", "list pack.md", "explain OP201", "doctor", "runs list", "config show"),
    *("cache list", "quarantine list", "verify-outputs pack.md", "run pack.md --dry-run --new-run"),
)


@pytest.mark.parametrize("is_archive", [False, True], ids=["clone", "archive"])
def test_the_program_loads_nothing_of_the_repository(
    tmp_path: Path, repository: HostileRepository, *, is_archive: bool
) -> None:
    victim = Victim(tmp_path, repository, is_archive=is_archive)
    before = victim.snapshot()

    for words in STARTED:
        ran = victim.run(Recipe(words))

        check_harmless(victim, Recipe(words), ran, before)
        assert ran.code == 0, ran.err


def test_the_tracer_sees_what_a_fork_starts(stage: Stage, tracing: Tracing) -> None:
    if not can_trace():
        pytest.skip("there is no strace that works here")
    recipe = Recipe(OWN_RUN)
    victim, _ = stage.victim(recipe, is_archive=False)

    assert victim.run_forked(recipe, tracing).code == 0

    started = _STARTED.findall(victim.trace.read_text())
    assert str(victim.oracle.program) in started
    assert victim.run_forked(Recipe("manifest"), tracing).code == 0
    assert len(_STARTED.findall(victim.trace.read_text())) == 1, "only the process itself"


@pytest.mark.parametrize(
    ("words", "is_archive"),
    [
        pytest.param("run pack.md", False, id="clone"),
        pytest.param(OWN_RUN, True, id="archive"),
        pytest.param("pipeline pack.md", False, id="clone, pipeline"),
    ],
)
def test_every_question_is_asked_although_the_repository_has_answers(
    tmp_path: Path, repository: HostileRepository, words: str, *, is_archive: bool
) -> None:
    victim = Victim(tmp_path, repository, is_archive=is_archive)

    ran = victim.run(Recipe(words))

    assert ran.code == 0, ran.err
    assert [prompt.partition("?")[0] for prompt in victim.oracle.prompts] == [
        f"Question {number}" for number in (1, 2, 3)
    ]
    answers = [*victim.root.glob("out/*.md"), *victim.root.glob(".oraclepack/runs/*/outputs/*.md")]
    mine = [path for path in answers if "/2026-03-0" not in str(path)]
    assert len(mine) == 6
    assert not [path for path in mine if FORGED in path.read_text()]


@pytest.mark.parametrize("is_archive", [False, True], ids=["clone", "archive"])
def test_no_key_goes_to_a_host_that_the_repository_names(
    tmp_path: Path,
    repository: HostileRepository,
    other_host: socket.socket,
    *,
    is_archive: bool,
) -> None:
    """Where the user names no host, oracle would take the one in `.env`: it is not called."""
    victim = Victim(tmp_path, repository, is_archive=is_archive)

    ran = victim.run(Recipe(OWN_RUN), without=("OPENAI_BASE_URL",))

    assert ran.code == 3
    assert "PROJECT_ENV" in ran.err
    assert victim.oracle.calls == []
    with pytest.raises(BlockingIOError):
        other_host.accept()


def link(place: str, target: str) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        make_room(root / place).symlink_to(target)

    return plant


def pipe(place: str) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        os.mkfifo(make_room(root / place))

    return plant


def make_room(path: Path) -> Path:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(link(".oraclepack", "../neighbour"), id="our folder is a link"),
        pytest.param(link(".oraclepack/cache", "../../neighbour"), id="the cache is a link"),
        pytest.param(link(".oraclepack/runs", "../../neighbour"), id="the runs are a link"),
        pytest.param(link(".oraclepack/rehearsals", "../../neighbour"), id="rehearsals are a link"),
        pytest.param(link(".oraclepack/ticketify", "../../neighbour"), id="tickets are a link"),
        pytest.param(
            link(".oraclepack/cache/lock", "../../../neighbour/notes.txt"), id="a lock is a link"
        ),
        pytest.param(link("out", "../neighbour"), id="the answers are a link"),
        pytest.param(link("out/_failed", "../../neighbour"), id="the quarantine is a link"),
        pytest.param(link("oraclepack.toml", "/dev/zero"), id="settings without an end"),
        pytest.param(pipe(".env"), id="a pipe for variables"),
        pytest.param(pipe(".oraclepack/cache/lock"), id="a pipe for a lock"),
    ],
)
def test_every_command_in_turn_where_a_link_or_a_pipe_stands_in_the_way(
    tmp_path: Path, repository: HostileRepository, plant: Callable[[Path], None]
) -> None:
    victim = Victim(tmp_path, repository, is_archive=False)
    plant(victim.root)
    before = victim.snapshot()

    for recipe in IN_TURN:
        ran = victim.run_unwatched(recipe)

        check_harmless(victim, replace(recipe, writes=("",)), ran, before)


def test_every_command_in_turn_with_directories_of_the_repository_on_path(
    tmp_path: Path, repository: HostileRepository
) -> None:
    victim = Victim(tmp_path, repository, is_archive=False)
    before = victim.snapshot()
    path = f":.:node_modules/.bin:{victim.environment['PATH']}:bin"

    for recipe in IN_TURN:
        ran = victim.run_unwatched(recipe, PATH=path)

        check_harmless(victim, replace(recipe, writes=("",)), ran, before)
    assert len(victim.oracle.calls) == 3
