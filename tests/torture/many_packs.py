"""Ten thousand steps over five hundred packs of one project: all run, continued, listed."""

from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import msgspec

from oraclepack.journal.events import StepFinished, StepStarted
from oraclepack.journal.journal_file import load
from oraclepack.journal.statuses import Status
from tests.e2e.program import Ran
from tests.e2e.run.project import Program
from tests.packs import pack_text
from tests.torture.checker import left, paid_twice
from tests.torture.ground import Ground, a_ground
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

PACKS = 500
SIZES = (10, 20, 30, 20, 20)
"""Steps per pack, in turn: a hundred in five packs."""
ASKING = 10
"""Every tenth step asks."""
SHARED = 3
"""Of five questions two were asked by another pack before."""
AT_ONCE = 2
MANIFESTS = (".state.json", ".report.json", "run.json", "steps.json", ".tmp")
"""Written again every now and then, so how often depends on the time: not counted."""
GROWTH = 1.1


class Cost(msgspec.Struct, frozen=True):
    """What a command on one pack did."""

    steps: int
    writes: int
    """Operations that change something on the disk."""
    reads: int
    """Files opened to be read, and folders listed."""


def size_of(number: int) -> int:
    return SIZES[number % len(SIZES)]


def bash_of(number: int) -> str:
    """The pack's steps; most do next to nothing."""
    asked = number * 2
    parts = []
    for step in range(1, size_of(number) + 1):
        parts.append(f"# {step:02}) step {step}\n")
        if step % ASKING:
            parts.append(f": {number} {step}\n")
            continue
        topic = asked // 2 if asked % 5 < SHARED - 1 else asked
        asked += 1
        parts.append(f'oracle --write-output "out/{number}/{step}.md" -p "Question {topic}?"\n')
    return "".join(parts)


def ten_thousand_steps(scene: Scene) -> Tally:
    """Five hundred packs of one project, ten thousand steps, two packs at a time, a tenth of the
    steps asking: every step runs once, every question is paid for once, continuing runs nothing,
    all is listed, and the last packs cost no more operations than the first, nor a step of a long
    pack more than one of a short.
    """
    count = max(len(SIZES), scene.some(PACKS))
    ground = a_ground(scene.folder / "many", scene.zygote, bash_of(0))
    for number in range(count):
        (ground.root / f"p{number}.md").write_text(pack_text(bash_of(number)))
    broken: list[Broken] = []
    first = _all(ground, count, broken)
    billed = len(ground.billed)
    broken += [*_not_once(ground, count), *_unanswered(ground, count), *paid_twice(ground)]
    second = _all(ground, count, broken)
    if len(ground.billed) != billed:
        broken.append(Broken(Promise.PAID_TWICE, "continuing asked again"))
    broken += [
        *_unlisted(ground, count, billed),
        *_grown(first, "run"),
        *_grown(second, "continue"),
    ]
    broken += left(ground)
    facts = {
        "packs": count,
        "steps": sum(cost.steps for cost in first),
        "paid": billed,
        "operations per 100 steps": round(100 * _per_step(first)),
    }
    return Tally(count, broken=tuple(broken), facts=facts)


def _all(ground: Ground, count: int, broken: list[Broken]) -> list[Cost]:
    """Run every pack, a few at a time; what each cost."""
    costs: list[Cost] = []
    at_work: deque[tuple[int, Program]] = deque()
    for number in range(count + AT_ONCE):
        if len(at_work) == AT_ONCE or number >= count:
            if not at_work:
                break
            done, program = at_work.popleft()
            ran = program.wait()
            if ran.code != 0:
                broken.append(Broken(Promise.ENDING, f"p{done}: {ran.code} {ran.out}{ran.err}"))
            costs.append(_cost(ground, done))
            program.out.unlink()
            program.err.unlink()
        if number < count:
            at_work.append((number, _start(ground, number)))
    return costs


def _start(ground: Ground, number: int) -> Program:
    for kind in ("writes", "reads"):
        (ground.folder / f"{number}.{kind}").unlink(missing_ok=True)
    return ground.project.start(
        *("run", f"p{number}.md", "--json"),
        fault={"notes": str(ground.folder / f"{number}.writes")},
        inside={
            "tests.torture.inside:count_reads": {"notes": str(ground.folder / f"{number}.reads")}
        },
    )


def _cost(ground: Ground, number: int) -> Cost:
    writes = (ground.folder / f"{number}.writes").read_text().splitlines()
    counted = sum(not line.endswith(MANIFESTS) for line in writes)
    reads = (ground.folder / f"{number}.reads").stat().st_size
    return Cost(size_of(number), counted, reads)


def _not_once(ground: Ground, count: int) -> Iterator[Broken]:
    """Steps that did not run, or more than once."""
    run_dirs = ground.project.run_dirs
    if len(run_dirs) != count:
        yield Broken(Promise.ENDING, f"{len(run_dirs)} runs of {count} packs")
    started: Counter[tuple[str, str]] = Counter()
    ok: Counter[tuple[str, str]] = Counter()
    for run_dir in run_dirs:
        for event in load(run_dir / "journal.jsonl").events:
            if isinstance(event, StepStarted):
                started[run_dir.name, event.step] += 1
            elif isinstance(event, StepFinished) and event.status is Status.OK:
                ok[run_dir.name, event.step] += 1
    wanted = sum(map(size_of, range(count)))
    for what, often in (("started", started), ("ended well", ok)):
        if len(often) != wanted:
            yield Broken(Promise.ENDING, f"{len(often)} of {wanted} steps {what}")
        for (run, step), times in sorted(often.items()):
            if times != 1:
                yield Broken(Promise.ENDING, f"step {step} of {run} {what} {times} times")


def _unanswered(ground: Ground, count: int) -> Iterator[Broken]:
    """Questions that were never asked, and answers that are not where they belong."""
    asked = {prompt for number in range(count) for prompt in _prompts(number)}
    paid = {bill["prompt"]: bill["answer"].encode() for bill in ground.billed if bill["good"]}
    if paid.keys() != asked:
        yield Broken(Promise.LOST, f"{len(asked - paid.keys())} questions were never asked")
    for number in range(count):
        steps = range(ASKING, size_of(number) + 1, ASKING)
        for step, prompt in zip(steps, _prompts(number), strict=True):
            place = ground.root / f"out/{number}/{step}.md"
            if not place.is_file() or place.read_bytes() != paid.get(prompt):
                yield Broken(Promise.LOST, f"p{number} has no answer of step {step}")


def _prompts(number: int) -> Iterator[str]:
    for line in bash_of(number).splitlines():
        if line.startswith("oracle"):
            yield line.split('"')[3]


def _unlisted(ground: Ground, count: int, billed: int) -> Iterator[Broken]:
    """What the commands that list everything leave out; each file may be read but once or so."""
    for words, wanted in (
        (("runs", "list"), count),
        (("cache", "list"), billed),
        (("list", f"p{count - 1}.md"), size_of(count - 1)),
    ):
        notes = ground.folder / "listed"
        notes.unlink(missing_ok=True)
        ran, reads = _listed(ground, words, notes)
        if ran.code != 0 or max(map(_length, ran.data.values())) != wanted:
            yield Broken(Promise.LOST, f"{' '.join(words)} does not tell all {wanted}")
        if reads > 300 + 3 * wanted:
            yield Broken(Promise.ENDING, f"{' '.join(words)} reads {reads} files")


def _listed(ground: Ground, words: tuple[str, ...], notes: Path) -> tuple[Ran, int]:
    inside: dict[str, dict[str, object]] = {
        "tests.torture.inside:count_reads": {"notes": str(notes)}
    }
    ran = ground.project.start(*words, "--json", inside=inside).wait()
    return ran, notes.stat().st_size


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _grown(costs: list[Cost], what: str) -> Iterator[Broken]:
    """Whether late packs cost more than early ones, or a step of a long pack more."""
    fifth = len(costs) // 5 // len(SIZES) * len(SIZES) or len(SIZES)
    for kind in ("writes", "reads"):
        early, late = (
            fmean(getattr(cost, kind) for cost in part) for part in (costs[:fifth], costs[-fifth:])
        )
        if late > GROWTH * early:
            yield Broken(Promise.ENDING, f"{what}: {kind} grew from {early:.1f} to {late:.1f}")
        short, middle, long = (
            fmean(getattr(cost, kind) for cost in costs if cost.steps == size)
            for size in (10, 20, 30)
        )
        if long - middle > GROWTH * (middle - short) + 1:
            figures = f"{short:.1f}, {middle:.1f}, {long:.1f}"
            yield Broken(Promise.ENDING, f"{what}: {kind} of 10, 20 and 30 steps: {figures}")


def _per_step(costs: list[Cost]) -> float:
    short, long = (fmean(cost.writes for cost in costs if cost.steps == size) for size in (10, 30))
    return (long - short) / 20


ATTACKS: dict[str, Attack] = {"many-packs": ten_thousand_steps}
