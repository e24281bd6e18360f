"""Two to sixteen runners at once: on one run, on packs that ask the same, in many projects."""

import itertools
import json
import os
import re
import select
import shutil
import signal
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random

from oraclepack.system.locks import holder_of
from tests.e2e.program import Ran
from tests.e2e.run.project import Program, Project, asking
from tests.packs import pack_text
from tests.torture.checker import Snapshot, check, corrupt, left
from tests.torture.ground import Ground, a_ground
from tests.torture.store_grounds import left_in_store
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

SIZES = (3, 2, 16, 8, 5, 12)
PATIENCE = 120.0
LOCKED = 6
HELD = "until [[ -e go ]]; do sleep 0.02; done\n"
_NUMBERS = itertools.count(1)
_HOLDER = re.compile(r"in use by process (\d+) on (\S+) since (\S+)")


def ended(programs: Sequence[Program], count: int) -> list[Program]:
    """Wait until so many have ended; which, in their order."""
    poll = select.poll()
    descriptors = {os.pidfd_open(program.pid): program for program in programs}
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    over: list[Program] = []
    while len(over) < count and (ready := poll.poll(PATIENCE * 1000)):
        for descriptor, _ in ready:
            over.append(descriptors[descriptor])
            poll.unregister(descriptor)
    for descriptor in descriptors:
        os.close(descriptor)
    return over


def all_ended(programs: Sequence[Program]) -> list[Ran]:
    """How each ended; what hangs is killed, which no caller takes for a good end."""
    hanging = set(map(id, programs)) - set(map(id, ended(programs, len(programs))))
    for program in programs:
        if id(program) in hanging:
            program.signal(signal.SIGKILL)
    return [program.wait() for program in programs]


def on_one_run(scene: Scene) -> Tally:
    """Up to sixteen runners start on the same pack at once: one works, the others end at once with
    exit code 6 and name it. Then that one is killed with kill -9, and as many start again.
    """
    broken: list[Broken] = []
    runners = kills = trials = 0
    for size in _sizes(scene):
        bash = "mkdir -p out\n" + asking(1) + asking(2, before=HELD)
        ground = a_ground(scene.folder / f"r{size}", scene.zygote, bash)
        before = Snapshot.of(ground, r"project/go$")
        first, found = _one_works(ground, size)
        if first is not None:
            first.signal(signal.SIGKILL)
            first.wait()
            kills += 1
        second, more = _one_works(ground, size)
        (ground.root / "go").touch()
        if second is not None:
            (ran,) = all_ended([second])
            more += check(ground, before, ran=ran)
        trials += 2
        runners += 2 * size
        broken += [Broken(b.promise, f"{size} runners: {b.what}") for b in (*found, *more)]
        broken += list(_still_held(ground, ground.root))
        ground.remove()
    return Tally(trials, kills, tuple(broken), {"runners": runners})


def _sizes(scene: Scene) -> tuple[int, ...]:
    """From two to sixteen; of a small share the first ones."""
    return SIZES[: scene.some(len(SIZES))]


def _one_works(ground: Ground, size: int) -> tuple[Program | None, list[Broken]]:
    """Start them all; who works, and what the others got wrong."""
    programs = [ground.project.start("run", "pack.md", "--json") for _ in range(size)]
    over = ended(programs, size - 1)
    working = [program for program in programs if program not in over]
    if len(working) != 1:
        (ground.root / "go").touch()
        all_ended(programs)
        return None, [Broken(Promise.ENDING, f"{len(working)} runners work on one run")]
    return working[0], [one for program in over for one in _refused(program, working[0])]


def _refused(program: Program, worker: Program) -> Iterator[Broken]:
    ran = program.wait()
    if ran.code != LOCKED:
        yield Broken(Promise.ENDING, f"a second runner ended with {ran.code}: {ran.out}{ran.err}")
        return
    message = ran.envelope["error"]["message"]
    named = _HOLDER.search(message)
    if named is None or (named[1], named[2]) != (str(worker.pid), socket.gethostname()):
        yield Broken(Promise.ENDING, f"process {worker.pid} works, but: {message}")


def _still_held(ground: Ground, root: Path) -> Iterator[Broken]:
    """Locks that would never be released, and claims on questions that were answered."""
    for run_dir in sorted((root / ".oraclepack/runs").glob("*")):
        holder = holder_of(run_dir)
        if holder is not None:
            yield Broken(Promise.ENDING, f"{run_dir.name} is still held by {holder}")
    for what in left_in_store(ground.folder):
        yield Broken(Promise.CORRUPT, what)


def same_questions(scene: Scene) -> Tally:
    """Up to sixteen packs of one project ask the same questions at once, in different order, while
    some of their runners die at a random operation; then all are run again. Every question is paid
    for once, and every pack has all its answers.
    """
    chance = Random(scene.seed)
    broken: list[Broken] = []
    runners = kills = trials = 0
    for size in _sizes(scene):
        for _ in range(scene.some(3)):
            trials += 1
            runners += 2 * size
            ground = _packs(scene, size)
            before = Snapshot.of(ground, r"project/p\d+\.(state|report)\.json$")
            died = all_ended(_started(ground, size, chance))
            kills += sum(ran.code == -signal.SIGKILL for ran in died)
            found = [one for ran in died if ran.code not in {0, -9} for one in [_ended(ran)]]
            found += corrupt(ground, settled=False)
            again = all_ended(_started(ground, size))
            found += [_ended(ran) for ran in again if ran.code != 0]
            found += [
                *check(ground, before),
                *_unanswered(ground, size),
                *_still_held(ground, ground.root),
            ]
            broken += [Broken(b.promise, f"{size} packs: {b.what}") for b in found]
            ground.remove()
    return Tally(trials, kills, tuple(broken), {"runners": runners})


QUESTIONS = (1, 2, 3)


def _packs(scene: Scene, size: int) -> Ground:
    """Packs with the same questions in turn, each with answers in a folder of its own."""
    ground = a_ground(scene.folder / f"same{next(_NUMBERS)}", scene.zygote, asking(1))
    for number in range(size):
        at = number % len(QUESTIONS)
        turned = (*QUESTIONS[at:], *QUESTIONS[:at])
        steps = [
            asking(step).replace(f"# {step:02})", f"# {n:02})") for n, step in enumerate(turned, 1)
        ]
        bash = "".join(steps).replace('"out/', f'"out/p{number}/')
        (ground.root / f"p{number}.md").write_text(pack_text(bash))
    return ground


def _started(ground: Ground, size: int, chance: Random | None = None) -> list[Program]:
    """All at once; with chance, a third of them die somewhere on their way."""
    programs = []
    for number in range(size):
        fault: dict[str, object] | None = None
        if chance is not None and (number == 0 or chance.random() < 1 / 3):
            kill = chance.randrange(20, 160)
            fault = {"notes": os.devnull, "kill": kill, "torn": chance.choice((None, 0, 30))}
        programs.append(ground.project.start("run", f"p{number}.md", "--json", fault=fault))
    return programs


def _ended(ran: Ran) -> Broken:
    return Broken(Promise.ENDING, f"a runner ended with {ran.code}: {ran.out}{ran.err}")


def _unanswered(ground: Ground, size: int) -> Iterator[Broken]:
    answers = {bill["answer"].encode() for bill in ground.billed if bill["good"]}
    for number in range(size):
        for question in QUESTIONS:
            path = ground.root / f"out/p{number}/{question:02}-topic-{question}.md"
            if not path.is_file() or path.read_bytes() not in answers:
                yield Broken(Promise.LOST, f"{path.parent.name} has no answer {question}")


def many_projects(scene: Scene) -> Tally:
    """Up to sixteen projects of one user ask at once, some the same; the user allows two calls at a
    time. Some runners die at a random operation. No project pays twice, never are there more than
    two calls at a time (calls that outlive a killed runner are not counted), no slot stays taken,
    and every project has its answers and whole files."""
    chance = Random(scene.seed)
    broken: list[Broken] = []
    facts: Counter[str] = Counter()
    sizes = _sizes(scene)
    for size in sizes:
        ground = a_ground(scene.folder / f"many{size}", scene.zygote, _slow())
        (ground.root / "oraclepack.toml").write_text("[providers.openai]\nmax_concurrent = 2\n")
        projects = _copies(ground, size)
        died = all_ended([_maybe_dying(project, chance) for project in projects])
        dead = sum(ran.code == -signal.SIGKILL for ran in died)
        again = all_ended([project.start("run", "pack.md", "--json") for project in projects])
        found = [_ended(ran) for ran in again if ran.code != 0]
        found += [*_paid_twice_in_a_project(ground), *left(ground)]
        for project in projects:
            found += [*_still_held(ground, project.root), *corrupt(ground, project=project)]
            found += _without_answers(ground, project)
        most = _at_once(ground)
        if most > 2 + dead:
            found.append(Broken(Promise.CAP, f"{most} calls at once, {dead} runners killed"))
        facts += Counter({"runners": 2 * size, "kills": dead})
        broken += [Broken(b.promise, f"{size} projects: {b.what}") for b in found]
        ground.remove()
    return Tally(len(sizes), facts.pop("kills", 0), tuple(broken), dict(facts))


def _without_answers(ground: Ground, project: Project) -> Iterator[Broken]:
    """Answers that the project does not have; the projects of a user have theirs in common."""
    paid = {bill["answer"].encode() for bill in ground.billed}
    for name in ("shared", "own"):
        place = project.root / f"out/{name}.md"
        if not place.is_file() or place.read_bytes() not in paid:
            yield Broken(Promise.LOST, f"{project.root.name} has no answer {name}")


def _slow() -> str:
    """A question that every project asks and one of the project's own, each slow to answer."""
    ask = "oracle -e api --write-output out/{0}.md -p '{1} [[fault=slow]]'\n"
    own = ask.format("own", "'\"$PWD\"'")
    return f"# 01) shared\n{ask.format('shared', 'Everybody asks this')}# 02) own\n{own}"


def _copies(ground: Ground, size: int) -> list[Project]:
    places = [ground.folder / f"project{number}" for number in range(size)]
    for place in places:
        shutil.copytree(ground.root, place, symlinks=True)
    return [replace(ground.project, root=place) for place in places]


def _maybe_dying(project: Project, chance: Random) -> Program:
    fault: dict[str, object] | None = None
    if chance.random() < 1 / 4:
        fault = {"notes": os.devnull, "kill": chance.randrange(20, 120)}
    return project.start("run", "pack.md", "--json", fault=fault)


def _paid_twice_in_a_project(ground: Ground) -> list[Broken]:
    often = Counter((bill["cwd"], bill["prompt"]) for bill in ground.billed)
    return [
        Broken(Promise.PAID_TWICE, f"{count} times in {Path(where).name}: {prompt}")
        for (where, prompt), count in sorted(often.items())
        if count > 1
    ]


def _at_once(ground: Ground) -> int:
    """The most sessions that were open at the same moment."""
    moments: list[tuple[float, int]] = []
    for path in ground.home.glob(".oracle/sessions/*/meta.json"):
        began = datetime.fromisoformat(json.loads(path.read_bytes())["startedAt"]).timestamp()
        moments += [(began, 1), (path.stat().st_mtime, -1)]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


ATTACKS: dict[str, Attack] = {
    "crowd-one-run": on_one_run,
    "crowd-same-questions": same_questions,
    "crowd-projects": many_projects,
}
