"""Kills every process that takes part in a call, at each moment of it; the next command ends it."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from oraclepack.shell.processes import ProcessInfo, all_processes, family
from tests.e2e.run.project import Program
from tests.torture.checker import alive, check, paid_twice
from tests.torture.ground import Ground
from tests.torture.kills import Site, last_words, placed
from tests.torture.shapes import SHAPES
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

MOMENTS = ("started", "asking", "billed", "logged", "completed", "written")
"""Of the scripted provider: it has just started, asks, was billed, and so on."""
_PATIENCE = 30.0
ENDED_BY_FORCE = "second payments after the tool itself was killed in its submit window"

Choose = Callable[[Ground, Program, int], list[int]]
"""Whom to kill, given the runner and the process id of the tool."""


def _runner(_ground: Ground, program: Program, _tool: int) -> list[int]:
    return [program.pid]


def _tool(_ground: Ground, _program: Program, tool: int) -> list[int]:
    return [tool]


def _shim(_ground: Ground, program: Program, _tool: int) -> list[int]:
    return [one.pid for one in _step(program) if _is_shim(one)]


def _shell(_ground: Ground, program: Program, _tool: int) -> list[int]:
    step = _step(program)
    # bash becomes the last command of a step instead of starting it.
    return [one.pid for one in step if not _is_shim(one)] or [one.pid for one in step]


def _whole_step(_ground: Ground, program: Program, _tool: int) -> list[int]:
    return [one.pid for one in _step(program)]


def _everything(ground: Ground, program: Program, _tool: int) -> list[int]:
    return [program.pid, *alive(ground)]


def _all_but_the_tool(_ground: Ground, program: Program, _tool: int) -> list[int]:
    return [program.pid, *(one.pid for one in _step(program))]


VICTIMS: dict[str, tuple[str, Choose]] = {
    "runner": ("The runner, with its call server, is killed", _runner),
    "shim": ("The shim that the step called is killed", _shim),
    "shell": ("The shell of the step is killed", _shell),
    "step": ("All processes of the step are killed", _whole_step),
    "tool": ("The tool is killed", _tool),
    "group": ("The runner and the step are killed, the tool is not", _all_but_the_tool),
    "everything": ("Everything is killed", _everything),
}


def kill_victims(scene: Scene, choose: Choose) -> Tally:
    names = [name for name in ("asking", "chunked", "parallel") if scene.share >= 1] or ["asking"]
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    again = trials = 0
    for name in names:
        place = scene.folder / name
        place.mkdir()
        site = Site.of(Scene(place, scene.zygote, scene.seed, scene.share), SHAPES[name])
        for index in site.moments(len(MOMENTS), len(MOMENTS)):
            moment = MOMENTS[index - 1]
            found, paid_again, is_dead = _trial(site, choose, moment)
            trials += 1
            again += paid_again
            where[moment] += is_dead
            broken += [placed(one, f"{name}, {moment}") for one in found]
    return Tally(trials, where.total(), tuple(broken), {ENDED_BY_FORCE: again}, +where)


def _trial(site: Site, choose: Choose, moment: str) -> tuple[list[Broken], int, bool]:
    """What is wrong after all, how many payments the submit window cost, and whether any died."""
    ground = site.template.copy(site.scene.folder / "k").knowing(PROVIDER_HOLD=moment)
    os.mkfifo(ground.provider / "gate")
    words = ("run", "pack.md", "--json", *site.shape.words)
    program = ground.project.start(*words)
    tool = held(ground)
    killed = choose(ground, program, tool)
    assert killed, f"nobody to kill at {moment}"
    dead = [pid for pid in killed if kill(pid)]
    opener = Thread(target=open_gate, args=(ground, tool))
    opener.start()
    program.wait()
    ran = ground.project.run(*last_words(site.shape))
    opener.join()
    found = check(ground, site.before, ran=ran, wanted=site.wanted)
    twice = paid_twice(ground, _cut_short(ground, dead))
    again = len(paid_twice(ground)) - len(twice)
    found = [one for one in found if one.promise is not Promise.PAID_TWICE] + twice
    if found:
        ground.folder.rename(ground.folder.with_name(f"broken-{moment}"))
    else:
        ground.remove()
    return found, again, bool(dead)


def _cut_short(ground: Ground, dead: list[int]) -> list[str]:
    """Prompts whose tool died after the bill and before it wrote down that it has the answer."""
    records = (ground.home / ".oracle" / "sessions").glob("*/meta.json")
    ended = {meta["pid"] for meta in map(_read, records) if meta["status"] == "completed"}
    return [bill["prompt"] for bill in ground.billed if bill["pid"] in set(dead) - ended]


def _read(path: Path) -> dict[str, Any]:
    meta: dict[str, Any] = json.loads(path.read_text())
    return meta


def kill(pid: int) -> bool:
    """Whether there was anybody to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def held(ground: Ground) -> int:
    """Wait until the first call has come to its moment; the process id of its tool."""
    mark = ground.provider / "held"
    deadline = monotonic() + _PATIENCE
    while not mark.is_symlink():
        assert monotonic() < deadline, "the tool was never called"
        sleep(0.005)
    return int(str(mark.readlink()))


def open_gate(ground: Ground, tool: int) -> None:
    """Let the tool go on, if it still lives."""
    gate = ground.provider / "gate"
    while True:
        try:
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            if not Path(f"/proc/{tool}").exists():
                return
            sleep(0.005)
        else:
            return


def _step(program: Program) -> list[ProcessInfo]:
    """The processes of the steps: what descends from the runner, but for the tools."""
    everyone = list(all_processes())
    tools = [one.pid for one in everyone if _called(one).endswith("-tools/oracle")]
    ours = family([program.pid], everyone) - family(tools, everyone) - {program.pid}
    return [one for one in everyone if one.pid in ours]


def _is_shim(process: ProcessInfo) -> bool:
    return _called(process).endswith("/bin/oracle")


def _called(process: ProcessInfo) -> str:
    """The script that an interpreter runs with its options; empty for other programs."""
    try:
        words = Path(f"/proc/{process.pid}/cmdline").read_text("utf-8", "replace").split("\0")
    except OSError:
        return ""
    return words[2] if len(words) > 2 else ""


def _attack(choose: Choose, what: str) -> Attack:
    def attack(scene: Scene) -> Tally:
        return kill_victims(scene, choose)

    attack.__doc__ = f"{what}, at each of {len(MOMENTS)} moments of a call."
    return attack


ATTACKS: dict[str, Attack] = {
    f"victim-{name}": _attack(choose, what) for name, (what, choose) in VICTIMS.items()
}
