"""Commands that write files or take changes back, killed at every operation on the disk."""

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.e2e.run.project import asking
from tests.torture.ground import Ground, a_ground
from tests.torture.kills import TEARS, named
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

TICKET = "---\nid: {id}\n---\n# {id} mends a thing\n\n- [ ] write {id}\n- [x] read {id}\n"
BASH = (
    "mkdir -p out\n"
    + asking(1)
    + asking(2)
    + "# 03) changes the work tree\n# oraclepack: policy=mutates\n"
    "echo more >>src/a.py; echo new >src/new.py; rm src/b.py; chmod +x src/c.py\n"
)
FILES = {
    ".tickets/a.md": TICKET.format(id="A-1"),
    ".tickets/b.md": TICKET.format(id="B-2"),
    "src/a.py": "import b\n\n\ndef main() -> None:\n    b.call()\n",
    "src/b.py": "def call() -> None: ...\n",
    "src/c.py": "LIMIT = 3\n",
    "README.md": "# Shop\n\nSells things.\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "loose.md": "# P\n\n```bash\n# 01) one\noracle -p a\n  --write-output out/1.md\n```\n",
}
_MINE = re.compile(r"(?<=<!-- keep: notes -->\n)")
_CHANGING = re.compile(
    r"\.git/|\.oraclepack/(runs/[^/]+/(?!actionizer/)|cache)|.*\.(state|report)\.json$"
)
_TEMPORARY = re.compile(r"(.*/)?\.oraclepack-\d+-\d+\.tmp$")


class Work(msgspec.Struct, frozen=True):
    """A command that changes files of the user or our own, and what stands there before."""

    words: tuple[str, ...]
    before: Callable[[Ground], None] = lambda _: None
    ends: frozenset[int] = frozenset({0})
    """How it may end when it is given again."""
    then: tuple[str, ...] = ()
    """A command after it, which clears away what it had no business with any more."""


def _answered(ground: Ground) -> None:
    assert ground.project.run().code == 0


def _done(*words: str) -> Callable[[Ground], None]:
    def done(ground: Ground) -> None:
        ran = ground.project.start(*_filled(ground, words)).wait()
        assert ran.code == 0, ran

    return done


def _actionized(ground: Ground) -> None:
    """Once before; then a person wrote into the backlog, and an answer changed."""
    _answered(ground)
    _done(*ACTIONIZE)(ground)
    (backlog,) = ground.root.glob(".oraclepack/runs/*/actionizer/backlog.md")
    text = backlog.read_text()
    assert _MINE.search(text), text[:2000]
    backlog.write_text(_MINE.sub("my own words\n", text, count=1))
    for answer in ground.root.glob(".oraclepack/runs/*/outputs/01-*.md"):
        answer.write_text(answer.read_text().replace("one failing test", "two failing tests"))


def _ticketified(ground: Ground) -> None:
    _done(*TICKETIFY)(ground)
    (ground.root / ".tickets/a.md").write_text(TICKET.format(id="A-1").replace("write", "erase"))


def _coded(ground: Ground) -> None:
    """Two packages with something to ask about."""
    for kind, package in (("library", "ledger"), ("service", "parcels")):
        shutil.copytree(REPOSITORIES / kind / package, ground.root / "src" / package)


def _forgotten(ground: Ground) -> None:
    """A skill of an older version stands there."""
    _done(*SKILLS)(ground)
    for skill in ground.root.glob(".claude/skills/*/SKILL.md"):
        skill.write_text("somebody changed it\n")


REPOSITORIES = Path(__file__).parent.parent / "data/repositories"
ACTIONIZE = ("actionize", "--run-dir", "RUN", "--export", "github,taskmaster", "--json")
TICKETIFY = ("ticketify", "--json")
SKILLS = ("skills", "install", "codex", "gemini", "claude", "--force", "--json")
WORKS = {
    "actionize": Work(ACTIONIZE, _answered),
    "actionize again": Work(ACTIONIZE, _actionized),
    "ticketify": Work(TICKETIFY),
    "ticketify again": Work(TICKETIFY, _ticketified),
    "generate": Work(("generate", "--out", "docs/p.md", "--force", "--json"), _coded),
    "generate --group": Work(("generate", "--group", "subdir", "--force", "--json"), _coded),
    "skills install": Work(SKILLS),
    "skills install again": Work(SKILLS, _forgotten),
    "validate --fix": Work(("validate", "loose.md", "--fix", "--json")),
    # What is taken back already cannot be taken back again: it says so, and changes nothing.
    "undo": Work(
        ("undo", "pack.md", "03", "--json"),
        _answered,
        frozenset({0, 2}),
        ("run", "pack.md", "--steps", "01", "--json"),
    ),
}


def look(root: Path) -> dict[str, tuple[int, bytes]]:
    """Modes and contents of everything that does not tell times."""
    return {
        name: (path.stat().st_mode, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _CHANGING.match(name := path.relative_to(root).as_posix())
    }


def killed_while_writing(scene: Scene) -> Tally:
    """actionize, ticketify, generate, skills install, validate --fix and undo are killed before
    every operation: each file is the old or the new one, whole, and the same command again ends
    as if nothing had happened."""
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    trials = 0
    chosen = list(WORKS.items())[: scene.some(len(WORKS))]
    for number, (what, work) in enumerate(chosen):
        template = a_ground(scene.folder / f"w{number}", scene.zygote, BASH, FILES)
        work.before(template)
        if what != "undo":
            _commit(template)
        before = look(template.root)
        notes = scene.folder / f"w{number}.notes"
        whole = template.copy(scene.folder / "whole")
        ran = whole.project.start(*_filled(whole, work.words), fault={"notes": str(notes)}).wait()
        assert ran.code == 0, (what, ran)
        names = notes.read_text().splitlines()
        assert names, what
        wanted = look(whole.root)
        whole.remove()
        count = scene.some(min(25, len(names)))
        for moment in sorted({1 + index * len(names) // count for index in range(count)}):
            trials += 1
            ground = template.copy(scene.folder / "killed")
            is_dead, found = _kill(ground, work, moment, before, wanted)
            broken += [Broken(one.promise, f"{what} at {moment}: {one.what}") for one in found]
            where[named(names[moment - 1]).split()[0]] += is_dead
            ground.remove()
        template.remove()
    return Tally(trials, where.total(), tuple(broken), {"commands": len(chosen)}, +where)


def _kill(
    ground: Ground,
    work: Work,
    moment: int,
    before: dict[str, tuple[int, bytes]],
    wanted: dict[str, tuple[int, bytes]],
) -> tuple[bool, list[Broken]]:
    """Whether it died at that moment, and what is wrong."""
    words = _filled(ground, work.words)
    notes = str(ground.folder / "notes")
    fault: dict[str, object] = {"notes": notes, "kill": moment, "torn": TEARS[moment % 4]}
    killed = ground.project.start(*words, fault=fault).wait()
    found = []
    is_dead = killed.code == -signal.SIGKILL
    if not is_dead:
        found.append(Broken(Promise.ENDING, f"ended with {killed.code}: {killed.err[-200:]}"))
    for name, stands in look(ground.root).items():
        if stands not in (before.get(name), wanted.get(name)) and not _TEMPORARY.match(name):
            found.append(Broken(Promise.CORRUPT, f"{name}: {stands[1][:60]!r}"))
    gone = (before.keys() & wanted.keys()) - look(ground.root).keys()
    found += [Broken(Promise.LOST, name) for name in sorted(gone)]
    again = ground.project.start(*words).wait()
    if again.code not in work.ends:
        found.append(Broken(Promise.ENDING, f"again: {again.code} {again.out[-200:]}"))
    if work.then:
        ground.project.start(*work.then).wait()
    now = look(ground.root)
    for name in sorted(now.keys() | wanted.keys()):
        if now.get(name) != wanted.get(name):
            known = Promise.CORRUPT if name in wanted else Promise.TOUCHED
            found.append(Broken(known, f"afterwards {name} is {now.get(name, (0, b''))[1][:60]!r}"))
    return is_dead, found


def _filled(ground: Ground, words: tuple[str, ...]) -> tuple[str, ...]:
    run = next(iter(ground.project.run_dirs), Path())
    return tuple(str(run.relative_to(ground.root)) if one == "RUN" else one for one in words)


def _commit(ground: Ground) -> None:
    """What `generate` reads is committed, and what was prepared is no surprise to git."""
    for words in (("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "prepared")):
        git = ("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run([*git, *words], cwd=ground.root, check=True)


ATTACKS: dict[str, Attack] = {"writes-killed": killed_while_writing}
