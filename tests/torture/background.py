"""Questions that a provider computes in the background, while commands, steps and tools are killed.

The provider's log is the judge: a question whose id was printed is asked once. A POST whose id
nobody has printed is lost with the process that sent it, and may be repeated; those are counted
apart, by what the tools themselves have written down.
"""

import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from tests.e2e.run.project import Program, asking
from tests.provider import ENDED, Provider, Rule, serving
from tests.real.install import NotToBeHadError, real_programs
from tests.real.oracles import quick_start
from tests.torture.checker import alive, corrupt, left
from tests.torture.ground import Ground, a_ground
from tests.torture.outcome import differences, outcome
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

KILLS = 200
QUESTIONS = 12
UNPRINTED = "POSTs whose id was never printed"
RUN = ("run", "pack.md", "--json", "--keep-going")
VICTIMS = ("everything", "the runner", "the tools")
_SLOWER = 25.0
"""Seconds by which each answer takes longer than the one before, with all kills."""
_LONGEST = 4.0
"""Seconds from the start of a command to its kill, at most."""
_AFTER_A_REQUEST = 0.6
"""How many of the kills come only after the command, or its tool, has reached the provider."""
_ROUNDS = 40
"""Commands after the last kill, until all must be done."""
_ID = re.compile(r"resp_\d+_[0-9a-f]+")


def background_step(number: int, port: int, *more: str) -> str:
    """A step that asks a Pro model over Azure, which computes in the background."""
    words = (
        *("oracle", "--engine", "api", "--provider", "azure", "-m", "gpt-5.5-pro"),
        *("--azure-deployment", "gpt-5.5-pro", "--azure-endpoint", f"http://127.0.0.1:{port}"),
        *more,
    )
    return asking(number).replace("oracle ", f"{' '.join(words)} ", 1)


@dataclass(frozen=True)
class Laboratory:
    """A provider, a project whose pack asks it, and the same pack undisturbed."""

    provider: Provider
    ground: Ground
    undisturbed: Ground
    words: tuple[str, ...] = RUN

    def end(self) -> list[Broken]:
        """Give the command until it ends well: everything is answered by now."""
        self.provider.background_seconds = self.provider.slower = 0.0
        self.provider.release.set()
        for _ in range(_ROUNDS):
            ran = self.ground.project.start(*self.words).wait()
            if ran.code == 0:
                return []
        return [Broken(Promise.ENDING, f"it ended with {ran.code}: {ran.out}{ran.err}")]

    def judged(self) -> list[Broken]:
        """What is wrong in the end; what its provider gave up may have been asked again."""
        known = _printed(self.ground)
        often = Counter(
            one.prompt
            for one in self.provider.requests
            if one.response in known and one.fault not in ENDED
        )
        found = [
            Broken(Promise.PAID_TWICE, f"{count} times: {prompt.splitlines()[0]}")
            for prompt, count in often.items()
            if count > 1
        ]
        wanted = outcome(self.undisturbed)
        messages = differences(outcome(self.ground), wanted)
        found += [Broken(Promise.ENDING, one) for one in messages]
        return found + corrupt(self.ground) + left(self.ground)

    @property
    def unprinted(self) -> int:
        known = _printed(self.ground)
        return sum(one.response not in known for one in self.provider.requests)


@contextmanager
def a_laboratory(
    scene: Scene,
    questions: int,
    programs: Path | None,
    *more: str,
    words: tuple[str, ...] = RUN,
) -> Iterator[Laboratory]:
    """With the scripted tool, or the one among the programs."""
    with serving() as provider:
        steps = (background_step(one, provider.port, *more) for one in range(1, questions + 1))
        ground = a_ground(scene.folder / "g", scene.zygote, "mkdir -p out\n" + "".join(steps))
        ground = ground.knowing(AZURE_OPENAI_API_KEY="sk-of-nobody")
        if programs is not None:
            ground = replace(ground, tools=programs).knowing(**quick_start(programs))
        undisturbed = ground.copy(scene.folder / "u")
        ran = undisturbed.project.start(*words).wait()
        assert ran.code == 0, ran
        provider.requests.clear()
        yield Laboratory(provider, ground, undisturbed, words)


def kill_at_random(
    scene: Scene, programs: Path | None = None, words: tuple[str, ...] = RUN
) -> Tally:
    """Commands, steps and tools are killed again and again, at random, over a pack of questions
    that are computed in the background, each longer than the one before."""
    wanted = scene.some(KILLS)
    questions = min(QUESTIONS, max(2, wanted))
    chance = random.Random(scene.seed)
    where: Counter[str] = Counter()
    with a_laboratory(scene, questions, programs, words=words) as lab:
        lab.provider.slower = _SLOWER * wanted / KILLS
        while where.total() < wanted:
            program = lab.ground.project.start(*words)
            if chance.random() < _AFTER_A_REQUEST:
                _await_a_request(lab.provider)
            if _is_over(program, chance.uniform(0.05, _LONGEST)):
                break
            who = chance.choice(VICTIMS)
            _kill(lab.ground, program, who)
            where[who] += 1
            if who == "the tools" and not _is_over(program, chance.uniform(0.05, _LONGEST)):
                _kill(lab.ground, program, "everything")
                where["everything"] += 1
            program.wait()
        found = lab.end() + lab.judged()
        facts = {"POSTs": len(lab.provider.requests), UNPRINTED: lab.unprinted}
        facts |= {"questions": questions, "polls": len(lab.provider.polls)}
        repeated = len(lab.provider.requests) - lab.unprinted
        if repeated != questions:
            found.append(Broken(Promise.PAID_TWICE, f"{repeated} POSTs for {questions} questions"))
    return Tally(where.total(), where.total(), tuple(found), facts, +where)


def lose_everything_else(scene: Scene, programs: Path | None = None) -> Tally:
    """Polls are lost, the tool gives up before its answer is there, and a response fails: it is
    asked again only after its provider has said so."""
    with a_laboratory(scene, 3, programs, *(("--timeout", "2") if programs else ())) as lab:
        faults = {1: "lost_poll", 2: "failed", 3: "slow_answer"}
        lab.provider.rules += [
            Rule(f"Question {number}?", fault, first=1) for number, fault in faults.items()
        ]
        lab.provider.background_seconds = 4.0
        lab.ground.project.start(*RUN, "--call-timeout", "1s").wait()
        found = lab.end() + lab.judged()
        often = Counter(one.prompt.split("?")[0] for one in lab.provider.requests)
        expected = {"Question 1": 1, "Question 2": 2, "Question 3": 1}
        if often != expected:
            found.append(Broken(Promise.PAID_TWICE, f"{dict(often)} instead of {expected}"))
        # It was called with another limit of time than the undisturbed one.
        found = [one for one in found if not one.what.startswith("outcome.parts[0].settings")]
    return Tally(len(faults), 0, tuple(found), {"POSTs": often.total()})


def _await_a_request(provider: Provider) -> None:
    """Until one more request has come: a question, or a poll of a tool or of ours."""
    with provider.arrived:
        before = len(provider.requests) + len(provider.polls)
        provider.arrived.wait_for(
            lambda: len(provider.requests) + len(provider.polls) > before, timeout=20
        )


def _is_over(program: Program, seconds: float) -> bool:
    """Whether a command ends by itself within a time."""
    deadline = monotonic() + seconds
    stat = Path(f"/proc/{program.pid}/stat")
    while monotonic() < deadline:
        with suppress(OSError):
            if stat.read_text().rpartition(") ")[2].startswith("Z"):
                return True
        sleep(0.01)
    return False


def _kill(ground: Ground, program: Program, who: str) -> None:
    pids = [program.pid]
    if who == "everything":
        pids += alive(ground)
    elif who == "the tools":
        pids = [pid for pid in alive(ground) if _is_tool(ground, pid)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _is_tool(ground: Ground, pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
    except OSError:
        return False
    ours = "oraclepack.engines.ask_direct"
    return any(word in {f"{ground.tools}/oracle", ours} for word in words)


def _printed(ground: Ground) -> set[str]:
    """The ids that a tool has printed, by its own records and by ours."""
    logs = [*ground.home.glob(".oracle/sessions/*/output.log"), ground.provider / "printed"]
    logs += ground.root.glob(".oraclepack/runs/*/journal.jsonl")
    logs += ground.root.glob(".oraclepack/runs/*/calls/*/stdout")
    return {one for path in logs if path.is_file() for one in _ID.findall(path.read_text())}


def _with_the_real_one(attack: Attack) -> Attack:
    def attacked(scene: Scene) -> Tally:
        try:
            programs = real_programs()
        except NotToBeHadError as reason:
            return Tally(0, not_played=str(reason))
        return attack(scene, programs)  # type: ignore[call-arg]

    attacked.__doc__ = f"{attack.__doc__} With the real oracle."
    return attacked


def kill_direct_calls(scene: Scene) -> Tally:
    """The same with `--engine direct`: the questions are asked over HTTP by a program of ours."""
    return kill_at_random(scene, words=(*RUN, "--engine", "direct"))


ATTACKS: dict[str, Attack] = {
    "direct-kills": kill_direct_calls,
    "background-kills": kill_at_random,
    "background-faults": lose_everything_else,
    "real-background-kills": _with_the_real_one(kill_at_random),
    "real-background-faults": _with_the_real_one(lose_everything_else),
}
