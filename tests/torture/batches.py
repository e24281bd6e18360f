"""Batches of questions, while the command that submits, polls and collects is killed.

The provider's rows are the judge: each question is in one batch, and every answer is at its path.
"""

from collections import Counter

from tests.batch_provider import BatchProvider, serving_batches
from tests.e2e.run.project import asking
from tests.provider import answer_to
from tests.torture.checker import corrupt, left
from tests.torture.ground import Ground, a_ground
from tests.torture.kills import clear, killed_at, noted, placed
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

WORDS = ("--engine", "batch")
_KEYS = {"OPENAI_API_KEY": "sk-of-nobody", "ANTHROPIC_API_KEY": "sk-of-nobody"}
_ROUNDS = 6
FAULTS = ("reply_lost", "half_expired", "twice", "busy", "rows_failed")


def _ground(scene: Scene, name: str, provider: BatchProvider, model: str) -> Ground:
    steps = (
        asking(number).replace("oracle ", f"oracle --engine api -m {model} ", 1)
        for number in (1, 2, 3)
    )
    ground = a_ground(scene.folder / name, scene.zygote, "mkdir -p out\n" + "".join(steps))
    addresses = {"OPENAI_BASE_URL": provider.address, "ANTHROPIC_BASE_URL": provider.address}
    return ground.knowing(**_KEYS, **addresses)


def _ended(ground: Ground) -> list[Broken]:
    """Give the command until all is answered."""
    ran = ground.project.run(*WORDS)
    for _ in range(_ROUNDS):
        if ran.code == 0:
            return []
        ran = ground.project.run(*WORDS)
    return [Broken(Promise.ENDING, f"it ended with {ran.code}: {ran.out}{ran.err}")]


def _judged(ground: Ground, provider: BatchProvider) -> list[Broken]:
    often = Counter(provider.billed)
    found = [
        Broken(Promise.PAID_TWICE, f"{count} times: {prompt.splitlines()[-1]}")
        for prompt, count in often.items()
        if count > 1
    ]
    for prompt in often:
        number = prompt.partition("Question ")[2][:1]
        place = ground.root / f"out/0{number}-topic-{number}.md"
        if not place.is_file() or place.read_text() != answer_to(prompt):
            found.append(Broken(Promise.LOST, f"{place.name} is not the answer"))
    return found + corrupt(ground) + left(ground)


def kill_batches(scene: Scene) -> Tally:
    """The command is killed before every operation on the disk while it submits three questions
    in a batch, or while it collects their answers; with OpenAI and Anthropic by turns."""
    where: Counter[str] = Counter()
    found: list[Broken] = []
    trials = 0
    for model in ("gpt-5.2", "claude-4.6-sonnet"):
        with serving_batches() as provider:
            template = _ground(scene, model[:3], provider, model)
            count = _operations(template, scene)
            wanted = scene.some(count)
            numbers = sorted({1 + at * count // wanted for at in range(wanted)})
            for number in numbers:
                provider.batches.clear()
                provider.files.clear()
                ground = template.copy(scene.folder / "k")
                _, place = killed_at(ground, WORDS, number)
                one = _ended(ground) + _judged(ground, provider)
                where[place] += bool(place)
                trials += 1
                found += [placed(each, f"{model} killed at {number} ({place})") for each in one]
                clear(ground, one, f"{model}-{number}")
            template.remove()
    return Tally(trials, where.total(), tuple(found), {}, +where)


def _operations(template: Ground, scene: Scene) -> int:
    """How many operations the two commands have that submit and collect, undisturbed."""
    ground, seen = template.copy(scene.folder / "u"), scene.folder / "seen"
    ground.project.run(*WORDS, fault={"notes": str(seen)})
    ran = ground.project.run(*WORDS)
    assert ran.code == 0, ran
    ground.remove()
    return len(noted(seen))


def bad_batches(scene: Scene) -> Tally:
    """A create whose reply is lost, rows that fail, expire, come twice or were asked by nobody,
    and a provider that is busy: right rows are kept, and only the others are asked again."""
    found: list[Broken] = []
    for fault in FAULTS:
        with serving_batches() as provider:
            ground = _ground(scene, fault, provider, "gpt-5.2")
            provider.fault = fault
            ground.project.run(*WORDS)
            ground.project.run(*WORDS)
            provider.fault = ""
            one = _ended(ground)
            often = Counter(text for batch in provider.batches for text in batch.rows.values())
            if fault in {"reply_lost", "twice", "busy"}:
                one += _judged(ground, provider)
            elif fault == "half_expired" and sorted(often.values()) != [1, 1, 2]:
                one.append(Broken(Promise.PAID_TWICE, f"asked {sorted(often.values())} times"))
            found += [placed(each, fault) for each in one]
            clear(ground, one, fault)
    return Tally(len(FAULTS), 0, tuple(found))


ATTACKS: dict[str, Attack] = {"batch-kills": kill_batches, "batch-faults": bad_batches}
