"""The program on runs whose journal was damaged: what it tells, changes and asks again."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from oraclepack.journal.line_format import JournalContent, read_lines
from tests.e2e.program import Ran
from tests.e2e.run.project import Project
from tests.torture.checker import left, paid_twice, unverified
from tests.torture.ground import Ground
from tests.torture.journal_damage import Written, damages, finished, interrupted, written
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

EXISTING = "EXISTING_ANSWERS"
"""The journal alone knew the answer that its step had changed: a person decides."""
_NOTES = frozenset({"lock"})
"""Files that say only who was there."""

BrokenPromises = Iterator[tuple[Promise, str]]


class Case(msgspec.Struct, frozen=True):
    """A damaged journal in a copy of a project, and what there is to know about it."""

    ground: Ground
    damaged: bytes
    reading: JournalContent
    before: dict[str, bytes]

    @property
    def project(self) -> Project:
        return self.ground.project

    @property
    def known(self) -> int:
        return len(self.reading.events)

    @property
    def is_broken(self) -> bool:
        """It cannot be continued; the user must be informed."""
        return self.reading.damage is not None or self.known == 0

    @property
    def run_dir(self) -> Path:
        return self.project.run_dirs[0]

    def say(self, *args: str) -> Ran:
        return self.project.start(*args, "--json").wait()

    def changed(self) -> list[str]:
        now = tree(self.project.root)
        return sorted(name for name in self.before if now.get(name) != self.before[name])


def work_on_damaged(scene: Scene) -> Tally:
    """A sample of the same damage is given to `runs`, `why`, `runs repair` and `run`: each
    tells what is damaged, overwrites nothing that is intact, and no answer that the cache can still
    prove is paid for again.
    """
    chance = Random(scene.seed)
    broken: list[Broken] = []
    trials = 0
    for ground in (finished(scene), interrupted(scene)):
        kept = ground.copy(ground.folder.with_name("kept"))
        for name, damaged in _sample(written(ground), chance, scene.some(24)):
            trials += 1
            case = _case(ground, kept, damaged)
            found = [*_looked_at(case), *_rebuilt(case), *_continued(case)]
            about = f"{ground.folder.name} run, {name}"
            broken += [Broken(promise, f"{about}: {what}") for promise, what in found]
        kept.remove()
    return Tally(trials, broken=tuple(broken))


def _sample(journal: Written, chance: Random, count: int) -> list[tuple[str, bytes]]:
    """Damage of every kind: to bytes, to lines, at the ends."""
    kinds: dict[str, list[tuple[str, bytes]]] = {}
    for name, damaged in damages(journal, 7):
        kind = "".join(letter for letter in name if not letter.isdigit())
        kinds.setdefault(kind, []).append((name, damaged))
    rows = [chance.sample(kind, len(kind)) for kind in kinds.values()]
    chance.shuffle(rows)
    turns = (row[turn] for turn in range(count) for row in rows if turn < len(row))
    return [found for found, _ in zip(turns, range(count), strict=False)]


def _case(ground: Ground, kept: Ground, damaged: bytes) -> Case:
    """At the same place each time: the sessions of oracle name it."""
    ground.remove()
    kept.copy(ground.folder)
    (ground.project.run_dir / "journal.jsonl").write_bytes(damaged)
    return Case(ground, damaged, read_lines(damaged), tree(ground.root))


def tree(root: Path) -> dict[str, bytes]:
    """Every file of a project, git's own left out."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name not in _NOTES)
    return {
        name: path.read_bytes()
        for path in files
        if not (name := path.relative_to(root).as_posix()).startswith(".git/")
    }


def _looked_at(case: Case) -> BrokenPromises:
    """Commands that only look."""
    damage = case.reading.damage
    for words in (("runs", "list"), ("runs", "show", case.run_dir.name)):
        ran = case.say(*words)
        if ran.code != 0:
            yield Promise.ENDING, f"{' '.join(words)} ended with {ran.code}: {ran.out}{ran.err}"
            continue
        run = ran.data["run"] if "run" in ran.data else ran.data["runs"][0]
        if damage is not None and (run["damage"] or "").split(":")[0] != f"line {damage.line}":
            yield Promise.CORRUPT, f"{' '.join(words)} tells {run['damage']!r}"
        if damage is None and run["damage"] is not None:
            yield Promise.LOST, f"{' '.join(words)} tells damage of a torn line: {run['damage']}"
    why = case.say("why", "pack.md", "03")
    if why.code != (2 if case.is_broken else 0):
        yield Promise.ENDING, f"why ended with {why.code}: {why.out}{why.err}"
    if case.changed():
        yield Promise.CORRUPT, f"looking changed {case.changed()}"


def _rebuilt(case: Case) -> BrokenPromises:
    ran = case.say("doctor", "--rebuild")
    is_damaged = case.reading.damage is not None
    if ran.code != (2 if is_damaged else 0):
        yield Promise.ENDING, f"doctor --rebuild ended with {ran.code}: {ran.out}{ran.err}"
        return
    (report,) = ran.data["runs"]
    if report["events"] != case.known:
        yield Promise.LOST, f"doctor --rebuild counts {report['events']} of {case.known} events"
    owned = {"run.json", "steps.json", "pack.state.json", "pack.report.json"}
    wrong = [name for name in case.changed() if is_damaged or Path(name).name not in owned]
    if wrong:
        yield Promise.CORRUPT, f"doctor --rebuild changed {wrong}"


def _continued(case: Case) -> BrokenPromises:
    ran = case.project.run()
    if not case.is_broken and ran.code == 2 and EXISTING in ran.out:
        ran = case.project.run("--existing", "adopt")
    now = (case.run_dir / "journal.jsonl").read_bytes()
    if case.is_broken:
        if ran.code != 2 or "journal.jsonl" not in ran.out:
            yield Promise.ENDING, f"run ended with {ran.code}: {ran.out}{ran.err}"
        if now != case.damaged:
            yield Promise.CORRUPT, "run wrote to a damaged journal"
        ran = case.project.run("--new-run")
        if ran.code == 2 and EXISTING in ran.out:
            ran = case.project.run("--new-run", "--existing", "adopt")
    elif not now.startswith(case.damaged[: case.reading.good_bytes]):
        yield Promise.CORRUPT, "run overwrote intact lines"
    if case.reading.torn and not case.is_broken:
        kept = [path.read_bytes() for path in case.run_dir.glob("journal.jsonl.torn-*")]
        if case.reading.torn not in kept:
            yield Promise.LOST, "the torn line was not kept aside"
    if ran.code != 0:
        yield Promise.ENDING, f"the next run ended with {ran.code}: {ran.out}{ran.err}"
    yield from _answers(case)


def _answers(case: Case) -> BrokenPromises:
    """What was answered before is there as it was."""
    now = tree(case.project.root)
    for name, content in case.before.items():
        is_answer = name.startswith("out/") or "/outputs/" in name or "/cache/" in name
        is_answer &= not name.endswith(".asking")
        if is_answer and now.get(name) != content and content not in now.values():
            yield Promise.LOST, f"{name} is not what it was"
    ground = case.ground
    for broken in (*paid_twice(ground), *unverified(ground), *left(ground)):
        yield broken.promise, broken.what


ATTACKS: dict[str, Attack] = {"journal-continued": work_on_damaged}
