"""A clone that brings everything hostile at once, and every command of the program run in it.

Whatever is run: no program of the repository starts, nothing outside of the project and nothing in
`.git` changes, nothing foreign is served, acted upon or changed, no key is read or sent elsewhere,
and what is printed steers no terminal. `strace` watches every program that starts, where there is
one; the programs of the repository leave a marker in any case.

Most commands are answered by a fork of a process that has loaded the program already, itself under
`strace`: that takes a fifth of the time. What happens while the program loads does not depend on
the command, and is watched by the tests that start it for each command line. A recipe is run in
the clone and in the archive where that makes a difference; the archive has all that a clone has,
except that git tracks its records, and `.git/config` of its owner.
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
OURS = (".local/state/oraclepack", ".local/share/oraclepack")
"""In the user's home: records and answers, the only places outside of the project written to."""
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
Read = dict[str, tuple[tuple[int, ...], tuple[int, bytes]]]
"""What was read, with the state of the file then."""


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
    places: tuple[str, ...] = ("clone", "archive")
    """Where it is run: the costly ones only where they come furthest."""
    asks: bool = False
    """In a clone and, with `archive=0`, in an archive it asks the three questions of the pack."""

    @property
    def command(self) -> str:
        """Its name in the manifest."""
        first, *rest = self.words.split()
        return f"{first} {rest[0]}" if first in GROUPS else first


GROUPS = (
    "cache",
    "config",
    "fleet",
    "publish",
    "runs",
    "skills",
    "step",
    "tickets",
)
OWN_RUN = "run pack.md --new-run --on-unknown retry --existing replace"
REHEARSAL = (".oraclepack/rehearsals/",)
RUN = (".oraclepack/", "out/", "pack.state.json", "pack.report.json")
DESK = "tickets build --exclude key.md --prd-path prd.md"
TICKETS = (".oraclepack/ticketify/", "prd.md")
PICKED = """{"ticket_id": "../x", "action_ids": ["$(touch ran-by-a-shell)"], "reason": "\x1b[2J"}"""
CLONE, ARCHIVE = ("clone",), ("archive",)
RECIPES = (
    Recipe("validate pack.md old.md"),
    Recipe("validate --strict --fix pack.md", 2, 2),
    Recipe("explain OP201"),
    Recipe("list pack.md"),
    Recipe("list --contracts old.md"),
    Recipe("config prices"),
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
    Recipe("tui", 2, 2),
    Recipe("config prices gpt-5.2"),
    Recipe("plan pack.md", archive=2, writes=REHEARSAL),
    Recipe("plan pack.md --new-run --format github", writes=REHEARSAL, places=ARCHIVE),
    Recipe("run pack.md --dry-run", archive=2),
    Recipe("run pack.md --dry-run --new-run"),
    Recipe("run pack.md", 2, 2),
    Recipe("run pack.md --existing adopt", archive=2, writes=RUN),
    Recipe("run pack.md --existing replace", archive=2, writes=RUN, asks=True),
    Recipe("run pack.md --new-run --existing replace", archive=3, writes=RUN, places=ARCHIVE),
    Recipe(OWN_RUN, writes=RUN, first=(OWN_RUN,), places=ARCHIVE),
    Recipe("run pack.md --engine rehearsal", writes=REHEARSAL, places=CLONE),
    Recipe("run pack.md --engine rehearsal --in-place", 2, 2),
    Recipe(
        "run pack.md --engine rehearsal --rollback-on-failure", writes=REHEARSAL, places=ARCHIVE
    ),
    Recipe("run pack.md --run-id {run}", 2, 2),
    Recipe("run pack.md --import-state evil-config", 2, 2),
    Recipe(
        "run generated.md --engine rehearsal",
        writes=(*REHEARSAL, "generated.md"),
        first=("generate --out generated.md",),
        places=ARCHIVE,
    ),
    Recipe(
        "run .oraclepack/ticketify/ticket-action-pack.md --engine rehearsal",
        3,  # its step 05 wants tasks, which no rehearsal makes
        3,
        writes=(*REHEARSAL, *TICKETS),
        first=(DESK,),
        places=ARCHIVE,
    ),
    Recipe("mcp --root ."),
    Recipe("mcp install cursor --print"),
    Recipe("ask -p Why -f src/a.py --preflight", writes=RUN),
    Recipe("ask -p Why -f src/a.py", writes=RUN),
    Recipe("ask -p Why -f src/key.py", 3, 3, writes=RUN),
    Recipe("ask -p Why --write-output docs/out/answer.md", 2, 2, writes=RUN),
    Recipe("step why pack.md 01", archive=2),
    Recipe("step why pack.md 01", writes=RUN, first=(OWN_RUN,)),
    Recipe("verify-outputs pack.md"),
    Recipe("verify-outputs --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe("actionize --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe(
        "actionize --answers answers --pack pack.md --export github,taskmaster",
        writes=("answers/actionizer/",),
    ),
    Recipe("actionize --answers linked-answers --pack pack.md", 2, 2),
    Recipe(
        "pipeline pack.md --existing replace --junit junit.xml",
        archive=2,
        writes=(*RUN, "junit.xml"),
        asks=True,
    ),
    Recipe(
        "pipeline pack.md --new-run --on-unknown retry --existing replace --export github",
        writes=RUN,
        places=ARCHIVE,
        asks=True,
    ),
    Recipe("new --from-run .oraclepack/runs/{run}", 2, 2),
    Recipe("new --from-run answers", 2, 2),
    Recipe("publish github --repo octo/shop --run-dir .oraclepack/runs/{run}", 2, 2),
    Recipe("publish github --repo octo/shop --dry-run", 2, 2),
    Recipe("report {run}", 2, 2),
    Recipe("report {run} --out page.html", writes=("page.html",)),
    Recipe("report --out docs/out/report.html", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("report", writes=RUN, first=(OWN_RUN,)),
    Recipe("runs list"),
    Recipe("runs show {run}"),
    Recipe("runs diff {run} {run}"),
    Recipe("runs diff {run} pack.md --html docs/out/diff.html", 2, 2),
    Recipe("runs answer {run} 01 retry", 2, 2),
    Recipe("runs logs {run}", 2, 2),
    Recipe("runs pause {run}", 2, 2),
    Recipe("runs resume {run}", 2, 2),
    Recipe("runs set {run} max_parallel=2", 2, 2),
    Recipe("runs stop {run}", 2, 2),
    Recipe("runs watch {run}", 3, 3),
    Recipe("runs prune --keep 0"),
    Recipe("runs prune --keep 0", writes=RUN, first=(OWN_RUN,)),
    Recipe("step quarantine"),
    Recipe("step restore --force out/_failed/{run}", 2, 2),
    Recipe("generate --out generated.md", writes=("generated.md",)),
    Recipe("generate --out docs/out/generated.md", 2, 2),
    Recipe("new fresh.md", writes=("fresh.md",)),
    Recipe("new docs/out/fresh.md", 2, 2),
    Recipe("upgrade old.md", 2, 2),
    Recipe("upgrade --write old.md", 2, 2, writes=("old.md",)),
    Recipe("tui", 2, 2),
    Recipe("skills show codex"),
    Recipe("skills install codex", 2, 2),
    Recipe("skills install claude --force", 2, 2),
    Recipe("skills install gemini", 2, 2),
    Recipe("skills check"),
    Recipe("tickets build", 2, 2, writes=TICKETS),
    Recipe(DESK, writes=TICKETS),
    Recipe("tickets prompt implement", writes=TICKETS, first=(DESK,)),
    Recipe("tickets take select", 2, 2, writes=TICKETS, first=(DESK,), stdin=PICKED),
    Recipe("tickets tasks found", writes=TICKETS, first=(DESK,)),
    Recipe("tickets tasks check", 2, 2, writes=TICKETS, first=(DESK,)),
    Recipe("tickets report changes", writes=TICKETS, first=(DESK,)),
    Recipe("tickets report audit", writes=TICKETS, first=(DESK,)),
    Recipe("tickets report close-out", writes=TICKETS, first=(DESK,)),
    Recipe("step accept pack.md 01", 2, 2),
    Recipe("step accept pack.md 01", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("step undo pack.md 01", 2, 2),
    Recipe("step undo pack.md 01 --run-id {run}", 2, 2),
    Recipe("step undo pack.md 01", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("runs trust {run}", 2, 2),
    Recipe("runs trust {run} --yes", 2, 0),
    Recipe("runs trust --cache", archive=2),
    Recipe("runs trust --cache --yes"),
    Recipe("cache list"),
    Recipe("cache show {key}"),
    Recipe("cache explain 01", 2, 2),
    Recipe("cache explain 01", writes=RUN, first=(OWN_RUN,)),
    Recipe("cache prune --older-than 0s --max-size 0"),
    Recipe("cache prune --older-than 0s --max-size 0", writes=RUN, first=(OWN_RUN,)),
    Recipe("doctor"),
    Recipe("runs repair", 2, 2),
    Recipe("runs repair", 2, 2, writes=RUN, first=(OWN_RUN,)),
    Recipe("config show"),
    Recipe("config trust", 2, 2),
    Recipe("config trust --yes"),
    Recipe("survey"),
    Recipe("config schema envelope"),
    Recipe("config manifest"),
    Recipe("config completion bash"),
)


IN_TURN = tuple(
    max((one for one in RECIPES if one.command == name), key=lambda one: len(one.writes))
    for name in dict.fromkeys(one.command for one in RECIPES)
)
"""For each command the recipe that may write most."""
APART = ("completion", "explain", "fleet", "manifest", "prices", "schema", "skills show")
IN_PROJECT = tuple(one for one in IN_TURN if not one.command.startswith(APART))
"""Those that look for records or answers in the project."""


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
        self._read: Read = {}
        self.trace = place / "trace"

    @property
    def environment(self) -> dict[str, str]:
        tools = str(self.oracle.folder)
        return {
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PATH": f":.:node_modules/.bin:{tools}:{os.environ['PATH']}:bin",
            "TMPDIR": str(self._temporary),
            "TOOLS": tools,
            **USER,
        }

    def words(self, recipe: Recipe) -> list[str]:
        known = {"run": self.repository.run_id, "key": self.repository.keys[0]}
        return [word.format(**known) for word in recipe.words.split()]

    def run(self, recipe: Recipe) -> Ran:
        """One command line as a process of its own, watched where that can be."""
        watch = [*TRACER, "-o", str(self.trace)] if can_trace() else []
        done = subprocess.run(
            [*watch, str(PROGRAM), *self.words(recipe)],
            cwd=self.root,
            env=self.environment,
            input=recipe.stdin.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def run_forked(self, recipe: Recipe, forking: "Forking", without: tuple[str, ...] = ()) -> Ran:
        """The same without loading the program anew."""
        env = {name: value for name, value in self.environment.items() if name not in without}
        given, out, err = (self._place / name for name in ("given", "out", "err"))
        given.write_text(recipe.stdin)
        out.unlink(missing_ok=True)
        err.unlink(missing_ok=True)
        request = {"cwd": str(self.root), "env": env, "args": self.words(recipe)}
        files = {"stdin": str(given), "out": str(out), "err": str(err)}
        code, traced = forking.run(**request, **files)
        if traced:
            self.trace.write_text(traced)
        return Ran(code, out.read_text(), err.read_text())

    def snapshot(self) -> "Snapshot":
        """Everything in the project, and everything of the user's around it."""
        ours = {str(self._home / path) for path in OURS}
        above = {str(Path(path).parent) for path in ours} | {str(self._home / ".local")}
        around: Listing = {}
        for folder in (self._home, self._neighbour, self._temporary):
            around |= listing(folder, self._read)
        outside = {
            path: entry
            for path, entry in around.items()
            if path not in ours | above
            and not path.startswith(tuple(f"{folder}/" for folder in ours))
        }
        inside = {
            path.removeprefix(f"{self.root}/"): entry
            for path, entry in listing(self.root, self._read).items()
        }
        return Snapshot(inside, outside)


@dataclass(frozen=True)
class Snapshot:
    """What there is at one moment."""

    inside: Listing
    outside: Listing


def listing(folder: Path, read: Read) -> Listing:
    """Every entry below a folder; a file is read again only if it has changed."""
    entries: Listing = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(base, name)
            now = os.lstat(path)
            state = (now.st_mode, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
            if path not in read or read[path][0] != state:
                read[path] = state, (now.st_mode, content(path, now.st_mode))
            entries[path] = read[path][1]
    return entries


def content(path: str, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return os.fsencode(Path(path).readlink())
    return Path(path).read_bytes() if stat.S_ISREG(mode) else b""


@cache
def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    probe = [*TRACER, "-o", os.devnull, "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


class Forking:
    """A process that has loaded the whole program and forks it for each command line."""

    def __init__(self, trace: Path | None = None) -> None:
        """With a file for its trace it runs under a tracer."""
        self._trace = trace
        self._zygote = Zygote(*([*TRACER, "-o", str(trace)] if trace else []))
        self._zygote.ask(do="load")
        self._end = 0

    def run(self, **request: object) -> tuple[int, str]:
        """The exit code of a command line, and what was traced of it behind the first start.

        That start is the process's own, so a trace without it is none.
        """
        code = self._zygote.ask(do="wait", pid=self._zygote.ask(do="start", **request))
        traced = self._read()
        begun, self._end = self._end, len(traced)
        return code, traced.partition("\n")[0] + "\n" + traced[begun:] if traced else ""

    def close(self) -> str:
        """End it; what was traced since the last command line ended."""
        self._zygote.close()
        return self._read()[self._end :]

    def _read(self) -> str:
        return self._trace.read_text(errors="replace") if self._trace else ""


class Stage:
    """Victims as a recipe finds them. What they did before is done once, and copied from then on.

    The copy always stands at the same place, since records contain paths. It is made anew after a
    recipe that may write; after the others the check has shown that nothing changed.
    """

    def __init__(self, place: Path, repository: HostileRepository, tracing: Forking) -> None:
        self._place = place
        self._repository = repository
        self._tracing = tracing
        self._numbers = itertools.count(1)
        self._known: dict[tuple[bool, tuple[str, ...]], tuple[Path, Victim, Snapshot]] = {}
        self._used: set[tuple[bool, tuple[str, ...]]] = set()

    def victim(self, recipe: Recipe, *, is_archive: bool) -> tuple[Victim, Snapshot]:
        """A victim that has done what comes before the recipe, and how all was before that."""
        key = (is_archive, recipe.first)
        if key in self._known:
            place, victim, before = self._known[key]
            if key in self._used:
                shutil.rmtree(place / "now")
                subprocess.run(["cp", "-a", place / "then", place / "now"], check=True)
            self._used.add(key)
            return victim, before
        place = self._place / str(next(self._numbers))
        (place / "now").mkdir(parents=True)
        victim = Victim(place / "now", self._repository, is_archive=is_archive)
        before = victim.snapshot()
        for words in recipe.first:
            ran = victim.run_forked(Recipe(words), self._tracing)
            check_harmless(victim, recipe, ran, before)
        if recipe.first == (OWN_RUN,):
            check_every_question_is_asked(victim)
        subprocess.run(["cp", "-a", place / "now", place / "then"], check=True)
        self._known[key] = place, victim, before
        self._used.add(key)
        return victim, before

    def keep(self, recipe: Recipe, *, is_archive: bool) -> None:
        """Let the next recipe have the same victim: this one has changed nothing."""
        if not recipe.writes and recipe.command != "runs trust":
            self._used.discard((is_archive, recipe.first))


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
    """Where the repository would have keys sent to; no connection may ever arrive."""
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
) -> Iterator[Forking]:
    made = Forking(tmp_path_factory.mktemp("tracing") / "trace" if can_trace() else None)
    yield made
    assert str(repository.program) not in made.close()


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    """Without a tracer: the markers alone say whether a program of the repository ran."""
    made = Forking()
    yield made
    made.close()


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, repository: HostileRepository, tracing: Forking
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
    is_taken = recipe.command == "runs trust" and "--yes" in recipe.words
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
        assert named <= ({"--file"} if recipe.command == "ask" else set())
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
    commands = oraclepack(tmp_path, "config", "manifest", "--json").data["commands"]

    assert {one.command for one in RECIPES} == {one["name"] for one in commands}


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


@pytest.mark.parametrize(
    ("recipe", "is_archive"),
    [
        pytest.param(
            one,
            place == "archive",
            id=f"{one.words}{' later' if one.first else ''}-{place}",
            marks=[pytest.mark.slow] if place == "archive" and not one.asks else [],
        )
        for place in ("clone", "archive")  # so that two workers rarely prepare the same victim
        for one in RECIPES
        if place in one.places
    ],
)
def test_no_command_does_what_the_repository_wants(
    stage: Stage, tracing: Forking, other_host: socket.socket, recipe: Recipe, *, is_archive: bool
) -> None:
    victim, before = stage.victim(recipe, is_archive=is_archive)

    ran = victim.run_forked(recipe, tracing)

    check_harmless(victim, recipe, ran, before)
    code = recipe.archive if is_archive else recipe.clone
    assert ran.code == code, ran.out + ran.err
    if recipe.asks and code == 0:
        check_every_question_is_asked(victim)
    with pytest.raises(BlockingIOError):
        other_host.accept()
    stage.keep(recipe, is_archive=is_archive)


def check_every_question_is_asked(victim: Victim) -> None:
    """Fail if an answer of the repository was served, or if the tracer missed a tool."""
    if can_trace():
        assert str(victim.oracle.program) in _STARTED.findall(victim.trace.read_text())
    # The steps only ask, so they run at the same time.
    assert sorted(prompt.partition("?")[0] for prompt in victim.oracle.prompts) == [
        f"Question {number}" for number in (1, 2, 3)
    ]
    answers = [*victim.root.glob("out/*.md"), *victim.root.glob(".oraclepack/runs/*/outputs/*.md")]
    mine = [path for path in answers if "/2026-03-0" not in str(path)]
    assert len(mine) == 6
    assert not [path for path in mine if FORGED in path.read_text()]


STARTED = (
    ("validate pack.md", "explain OP201", "runs list", "cache list", "verify-outputs pack.md"),
    ("list pack.md", "doctor", "config show", "quarantine list", "run pack.md --dry-run --new-run"),
)
"""In the clone, and in the archive: the modules of the repository are the same in both."""


@pytest.mark.parametrize("is_archive", [False, True], ids=["clone", "archive"])
def test_the_program_loads_nothing_of_the_repository(
    tmp_path: Path, repository: HostileRepository, *, is_archive: bool
) -> None:
    victim = Victim(tmp_path, repository, is_archive=is_archive)
    before = victim.snapshot()

    for words in STARTED[is_archive]:
        ran = victim.run(Recipe(words))

        check_harmless(victim, Recipe(words), ran, before)
        assert ran.code == 0, ran.err


def test_the_trace_of_a_fork_is_its_own(stage: Stage, tracing: Forking) -> None:
    """What it starts is in it: `check_every_question_is_asked` sees oracle there."""
    if not can_trace():
        pytest.skip("there is no strace that works here")
    victim, _ = stage.victim(Recipe("manifest"), is_archive=False)

    assert victim.run_forked(Recipe("manifest"), tracing).code == 0
    assert len(_STARTED.findall(victim.trace.read_text())) == 1, "only the process itself"


def test_no_key_goes_to_a_host_that_the_repository_names(
    tmp_path: Path,
    repository: HostileRepository,
    tracing: Forking,
    other_host: socket.socket,
) -> None:
    """Where the user names no host, oracle would take the one in `.env`: it is not called."""
    victim = Victim(tmp_path, repository, is_archive=True)

    ran = victim.run_forked(Recipe(OWN_RUN), tracing, without=("OPENAI_BASE_URL",))

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
    ("recipes", "plants"),
    [
        pytest.param(IN_TURN, [link(".oraclepack", "../neighbour")], id="our folder is a link"),
        pytest.param(
            IN_PROJECT, [link(".oraclepack/cache", "../../neighbour")], id="the cache is a link"
        ),
        pytest.param(
            IN_PROJECT, [link(".oraclepack/runs", "../../neighbour")], id="the runs are a link"
        ),
        pytest.param(
            IN_PROJECT,
            [link(".oraclepack/rehearsals", "../../neighbour")],
            id="rehearsals are a link",
        ),
        pytest.param(
            IN_PROJECT, [link(".oraclepack/ticketify", "../../neighbour")], id="tickets are a link"
        ),
        pytest.param(
            IN_PROJECT,
            [
                link(".oraclepack/cache/lock", "../../../neighbour/notes.txt"),
                link("out/_failed", "../../neighbour"),
            ],
            id="a lock and the quarantine are links",
        ),
        pytest.param(
            IN_PROJECT,
            [pipe(".oraclepack/cache/lock"), link("out", "../neighbour")],
            id="a pipe for a lock, and the answers are a link",
        ),
        pytest.param(IN_TURN, [link("oraclepack.toml", "/dev/zero")], id="settings without an end"),
        pytest.param(IN_TURN, [pipe(".env")], id="a pipe for variables"),
    ],
)
def test_every_command_in_turn_where_a_link_or_a_pipe_stands_in_the_way(
    tmp_path: Path,
    repository: HostileRepository,
    forking: Forking,
    recipes: tuple[Recipe, ...],
    plants: list[Callable[[Path], None]],
) -> None:
    victim = Victim(tmp_path, repository, is_archive=False)
    for plant in plants:
        plant(victim.root)
    before = victim.snapshot()

    for recipe in recipes:
        ran = victim.run_forked(recipe, forking)

        check_harmless(victim, replace(recipe, writes=("",)), ran, before)
