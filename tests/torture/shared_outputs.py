"""Packs of one project that run at once and write to the same files, while their runners die."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread
from time import monotonic, sleep

from oraclepack.calls.file_store import project_cache
from oraclepack.engines.try_folder import TryFolder
from oraclepack.journal.events import InvocationIntent, OutputRecorded, RunCreated
from oraclepack.journal.journal_file import load
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import AllowedPath, read_content
from tests.e2e.program import Ran
from tests.e2e.run.project import Program
from tests.packs import ANSWER_FORMAT, pack_text
from tests.torture.checker import Snapshot, corrupt, left, paid_twice, touched
from tests.torture.crowds import all_ended
from tests.torture.ground import Ground, a_ground
from tests.torture.kills import clear, placed
from tests.torture.power import Inside
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally
from tests.torture.victims import held, open_gate

FULL = 60
"""Trials with kills."""
MOST_ROUNDS = 8
SHARED = ("out/shared-1.md", "out/shared-2.md", "out/shared-3.md")
_PATIENCE = 60.0
_OWNED = r"project/p\d\.(state|report)\.json$"
_NUMBERS = itertools.count(1)


def share_outputs(scene: Scene, bug: Inside | None = None) -> Tally:
    """Two or three packs of one project run at once; they ask different questions and write the
    answers to the same files, in different order. In one trial a tool has written its answer and
    goes on while another pack starts; in the others runners are killed at a random operation, or
    while their tools ask, and started again, and sometimes one tool ends long after its runner.
    Every question is paid for once, every run and the cache have the answer to their own question,
    every run ends with all steps ok, a file has the whole answer to one of its questions, and no
    lock stays."""
    chance = Random(scene.seed)
    inside = bug or {}
    broken = [*_meeting(scene, inside)]
    kills = runners = 0
    trials = scene.some(FULL)
    for trial in range(trials):
        size = chance.choice((2, 3))
        ground = _packs(scene, size, chance)
        before = Snapshot.of(ground, _OWNED)
        dead, started, found = _disturbed(ground, size, chance, inside)
        kills += dead
        runners += started
        found += _judged(ground, before, size)
        broken += [placed(one, f"trial {trial}, {size} packs") for one in found]
        clear(ground, found, str(trial))
    return Tally(1 + trials, kills, tuple(broken), {"runners": runners + 2})


def share_folders() -> None:
    """Tools write to the declared paths, which another run may use just now."""

    def place(self: TryFolder, output: AllowedPath) -> Path:
        assert self.name
        return output.path

    def read(self: TryFolder, output: AllowedPath) -> bytes | None:
        return read_content(self.place(output)).data

    TryFolder.place = place  # type: ignore[method-assign]
    TryFolder.read = read  # type: ignore[method-assign]


def two_packs(scene: Scene, bug: Inside) -> list[Broken]:
    few = Scene(scene.folder, scene.zygote, scene.seed, min(scene.share, 0.02))
    return list(share_outputs(few, bug).broken)


def _packs(scene: Scene, size: int, chance: Random) -> Ground:
    """Each asks a question for every shared file, in an order of its own, and one for its own."""
    ground = a_ground(scene.folder / f"s{next(_NUMBERS)}", scene.zygote, "# 01) a\ntrue\n")
    for number in range(size):
        places = [*chance.sample(SHARED, len(SHARED)), f"out/own-{number}.md"]
        (ground.root / f"p{number}.md").write_text(pack_text(_bash(number, places, chance)))
    return ground


def _bash(number: int, places: list[str], chance: Random) -> str:
    """Two steps of one call, then one of two."""
    calls = [_call(number, place, chance.choice(("", "", " [[fault=slow]]"))) for place in places]
    return (
        f"mkdir -p out\n# 01) first\n{calls[0]}# 02) second\n{calls[1]}"
        f"# 03) third\n{calls[2]}{calls[3]}"
    )


def _call(number: int, place: str, fault: str) -> str:
    prompt = f"Question of pack {number} for {place}?{fault}\n\n{ANSWER_FORMAT}"
    return f'oracle -e api --write-output "{place}" -p "{prompt}"\n'


def _disturbed(
    ground: Ground, size: int, chance: Random, inside: Inside
) -> tuple[int, int, list[Broken]]:
    """Run all packs until each has ended well: how many runners died, how many were started."""
    found: list[Broken] = []
    dead = started = 0
    waiting = set(range(size))
    for round_number in range(MOST_ROUNDS):
        is_deadly = round_number < 3
        if chance.random() < 0.3 and round_number == 0:
            ended = _late_tool(ground, size, chance, inside)
        elif is_deadly and chance.random() < 0.4:
            ended = _killed_while_asking(ground, waiting, chance, inside)
        else:
            programs = {
                number: _start(ground, number, inside, _fault(chance) if is_deadly else None)
                for number in sorted(waiting)
            }
            ended = dict(zip(programs, all_ended(list(programs.values())), strict=True))
        started += len(ended)
        dead += sum(ran.code == -signal.SIGKILL for ran in ended.values())
        found += [_ending(ran) for ran in ended.values() if ran.code not in {0, -signal.SIGKILL}]
        found += corrupt(ground, settled=False)
        waiting -= {number for number, ran in ended.items() if ran.code == 0}
        if not waiting:
            return dead, started, found
    found.append(Broken(Promise.ENDING, f"{len(waiting)} packs never ended"))
    return dead, started, found


def _start(
    ground: Ground, number: int, inside: Inside, fault: dict[str, object] | None = None
) -> Program:
    words = ("run", f"p{number}.md", "--json", "--take-over")
    return ground.project.start(*words, fault=fault, inside=inside)


def _fault(chance: Random) -> dict[str, object] | None:
    """Two of three die somewhere on their way."""
    if chance.random() > 2 / 3:
        return None
    torn = chance.choice((None, 0, 30))
    return {"notes": os.devnull, "kill": chance.randrange(20, 240), "torn": torn}


def _killed_while_asking(
    ground: Ground, waiting: set[int], chance: Random, inside: Inside
) -> dict[int, Ran]:
    """Some die right after so many more questions have reached the provider."""
    asked = len(ground.asked) + chance.randrange(1, 5)
    programs = {number: _start(ground, number, inside) for number in sorted(waiting)}
    deadline = monotonic() + _PATIENCE
    while len(ground.asked) < asked and monotonic() < deadline and _is_any_alive(programs):
        sleep(0.005)
    for number in chance.sample(sorted(programs), chance.randrange(1, len(programs) + 1)):
        programs[number].signal(signal.SIGKILL)
    return dict(zip(programs, all_ended(list(programs.values())), strict=True))


def _is_any_alive(programs: dict[int, Program]) -> bool:
    states = (Path(f"/proc/{program.pid}/stat").read_text() for program in programs.values())
    return any(state.rpartition(")")[2].split()[0] != "Z" for state in states)


def _late_tool(ground: Ground, size: int, chance: Random, inside: Inside) -> dict[int, Ran]:
    """The first runner dies while its tool asks or writes; the tool goes on when others wait."""
    moment = chance.choice(("asking", "billed", "completed", "written"))
    os.mkfifo(ground.provider / "gate")
    first = _start(ground.knowing(PROVIDER_HOLD=moment), 0, inside)
    tool = held(ground)
    first.signal(signal.SIGKILL)
    others = [_start(ground, number, inside) for number in range(1, size)]
    deadline = monotonic() + chance.choice((0.0, 0.5, 1.5))
    while monotonic() < deadline and _is_any_alive(dict(enumerate(others))):
        sleep(0.005)
    opener = Thread(target=open_gate, args=(ground, tool))
    opener.start()
    ended = all_ended([first, *others])
    opener.join()
    return dict(enumerate(ended))


def _meeting(scene: Scene, inside: Inside) -> Iterator[Broken]:
    """The tool of one pack has written its answer and goes on, while another pack starts."""
    ground = a_ground(scene.folder / f"m{next(_NUMBERS)}", scene.zygote, "# 01) a\ntrue\n")
    for number in range(2):
        calls = [_call(number, place, "") for place in (*SHARED, f"out/own-{number}.md")]
        steps = "".join(f"# {at:02}) ask\n{call}" for at, call in enumerate(calls, 1))
        (ground.root / f"p{number}.md").write_text(pack_text(f"mkdir -p out\n{steps}"))
    before = Snapshot.of(ground, _OWNED)
    os.mkfifo(ground.provider / "gate")
    first = _start(ground.knowing(PROVIDER_HOLD="written"), 0, inside)
    tool = held(ground)
    second = _start(ground, 1, inside)
    deadline = monotonic() + _PATIENCE
    while not _has_met(ground) and monotonic() < deadline and _is_any_alive({1: second}):
        sleep(0.005)
    opener = Thread(target=open_gate, args=(ground, tool))
    opener.start()
    ended = all_ended([first, second])
    opener.join()
    yield from (_ending(ran) for ran in ended if ran.code != 0)
    yield from _judged(ground, before, 2)
    ground.remove()


def _has_met(ground: Ground) -> bool:
    """Whether the second pack waits for a file, or has asked for all of its own."""
    if sum("pack 1" in bill["prompt"] for bill in ground.billed) == len(SHARED) + 1:
        return True
    journals = ground.root.glob(".oraclepack/runs/*/journal.jsonl")
    return any(b"same_output" in path.read_bytes() for path in journals)


def _ending(ran: Ran) -> Broken:
    return Broken(Promise.ENDING, f"a runner ended with {ran.code}: {ran.out}{ran.err}")


def _judged(ground: Ground, before: Snapshot, size: int) -> list[Broken]:
    """Every promise that does not hold, after each pack has ended well."""
    pruned = ground.project.start("runs", "prune", "--keep", "99", "--json").wait()
    found = [] if pruned.code == 0 else [_ending(pruned)]
    paid = {bill["prompt"]: bill["answer"].encode() for bill in ground.billed if bill["good"]}
    found += [*_wrong_runs(ground, size, paid), *_wrong_files(ground, size, paid)]
    found += paid_twice(ground) + corrupt(ground) + left(ground) + touched(ground, before)
    locks = sorted((ground.home / ".local/state/oraclepack/outputs").glob("*"))
    return found + [Broken(Promise.CORRUPT, f"the lock {path.name} stays") for path in locks]


def _wrong_runs(ground: Ground, size: int, paid: dict[str, bytes]) -> Iterator[Broken]:
    """What runs recorded, and the cache has, that is not the answer to their own question."""
    packs = set()
    cache = project_cache(ground.root)
    for run_dir in ground.project.run_dirs:
        events = load(run_dir / "journal.jsonl").events
        (pack,) = (one.pack_path for one in events if isinstance(one, RunCreated))
        packs.add(pack)
        steps = json.loads((run_dir / "steps.json").read_bytes())["steps"]
        if not steps or any(step["status"] != "ok" for step in steps):
            yield Broken(Promise.ENDING, f"{pack} has not ended all steps well")
        for event in events:
            if isinstance(event, OutputRecorded) and event.declared_path is not None:
                answer = paid.get(_prompt_of(ground, pack, event.declared_path), b"")
                if event.sha256 != sha256_bytes(answer):
                    data = _content(run_dir / event.path)
                    yield Broken(
                        Promise.UNVERIFIED, f"{pack} recorded {data[-60:]!r} as {event.path}"
                    )
            if isinstance(event, InvocationIntent) and event.key and event.output_path:
                stored = cache.get(event.key)
                answer = paid.get(_prompt_of(ground, pack, event.output_path), b"")
                if stored is not None and stored.data != answer:
                    yield Broken(
                        Promise.UNVERIFIED, f"the cache has {stored.data[-60:]!r} for {pack}"
                    )
    if len(packs) != size or len(ground.project.run_dirs) != size:
        yield Broken(Promise.ENDING, f"{len(ground.project.run_dirs)} runs of {size} packs")


def _prompt_of(ground: Ground, pack: str, place: str) -> str:
    """The question of a pack whose answer belongs at a path."""
    for line in (ground.root / pack).read_text().split("oracle -e api")[1:]:
        _, written, _, prompt, _ = line.split('"', 4)
        if written == place:
            return prompt
    raise AssertionError(f"{pack} asks nothing for {place}")


def _wrong_files(ground: Ground, size: int, paid: dict[str, bytes]) -> Iterator[Broken]:
    """Files that do not have the whole answer to one of their questions."""
    packs = [f"p{number}.md" for number in range(size)]
    for place in SHARED:
        there = _content(ground.root / place)
        if there not in [paid.get(_prompt_of(ground, pack, place)) for pack in packs]:
            yield Broken(Promise.LOST, f"{place} has {there[-80:]!r}")
    for number, pack in enumerate(packs):
        own = f"out/own-{number}.md"
        if _content(ground.root / own) != paid.get(_prompt_of(ground, pack, own)):
            yield Broken(Promise.LOST, f"{own} is not its answer")


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


ATTACKS: dict[str, Attack] = {"shared-outputs": share_outputs}
