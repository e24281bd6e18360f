"""Paths that lead out, block, or cannot be written down: nothing outside of ours is touched."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

from tests.e2e.program import Ran, tree
from tests.e2e.run.project import Program, asking
from tests.packs import pack_text
from tests.torture.checker import Snapshot, corrupt, left, touched
from tests.torture.ground import Ground, a_ground
from tests.torture.shapes import OLDER, REPLACE
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

PATIENCE = 30.0
BASH = (
    "mkdir -p out\n"
    + asking(1)
    + "# 02) two\n# oraclepack: outputs=out/2.md\n[ -p out/2.md ] || echo 2 >out/2.md\n"
)
FINE = frozenset({0, 2, 3})
"""Done, refused, or a step failed: always with a reason, never an internal error."""

MEANWHILE = {
    "links its folder out of the project": 'rm -r out; ln -s "$OUTSIDE" out',
    "links its folder out and fails": 'rm -r out; ln -s "$OUTSIDE" out; echo ERROR: reset; exit 1',
    "links its output out": 'ln -sf "$OUTSIDE/1.md" out/1.md',
    "links its output out and fails": 'ln -sf "$OUTSIDE/1.md" out/1.md; exit 1',
    "gives a file outside a second name": 'ln "$OUTSIDE/1.md" out/1.md',
    "leaves a pipe": "mkfifo out/1.md",
    "leaves a folder": "mkdir -p out/1.md/deep; echo x >out/1.md/deep/x",
    "leaves a link to a device": "ln -s /dev/zero out/1.md",
    "leaves a link to itself": "ln -s 1.md out/1.md",
    "leaves a link to nothing and fails": "ln -s nowhere out/1.md; exit 1",
    "leaves a link into git": "ln -s ../.git/config out/1.md; exit 1",
    "takes the folder away": "rm -r out",
    "puts a file in the folder's place": "rm -r out; echo x >out",
    "puts a pipe in the folder's place": "rm -r out; mkfifo out",
}
"""What the tool does while it is called; its own writes are its own, what we do after is ours."""

OUTPUTS = {
    "a pipe": "mkfifo out/2.md",
    "a folder": "mkdir out/2.md",
    "a device": "ln -s /dev/zero out/2.md",
    "a link out": 'ln -s "$OUTSIDE/1.md" out/2.md',
    "a link in a circle": "ln -s 2.md out/2.md",
    "a second name of a file outside": 'ln "$OUTSIDE/1.md" out/01-topic-1.md',
    "no folder": "rmdir out; echo x >out",
    "an endless attachment": "ln -s /dev/zero out/attached",
    "an attached pipe": "mkfifo out/attached",
    "an attached folder": "mkdir out/attached",
    "an attached socket": "python3 -c 'import socket; socket.socket(1).bind(\"out/attached\")'",
    "an attached link out": 'ln -s "$OUTSIDE/1.md" out/attached',
}
"""What stands there before the command."""

FOLDERS = (
    *("with blanks ", " led by one", 'it\'s "quoted"', "back\\slash", "new\nline", "tab\tbed"),
    *(
        "-dash",
        "--json",
        "$HOME",
        "`id`",
        "$(id)",
        "semi;colon",
        "co:lon",
        "per%cent",
        "~",
        "*?[a]",
    ),
    *("ünïcödé-🧿", "e\u0301", "bytes-\udcff\udcfe", "\x1b[31mred", "x" * 200, "#hash", "a=b"),
)
PACKS = (
    *("with blanks .md", 'it\'s "quoted".md', "new\nline.md", "-dash.md", "--json.md", "$HOME.md"),
    *("ünïcödé.md", "bytes-\udcff.md", "\x1b[31m.md", "x" * 246 + ".md", ".md", "a.b.md", "a:b.md"),
    *("pack.MD", "no ending", "*.md", "deep/pack.md", "state.json.md"),
)
PLACES = (
    "",
    "missing",
    "file",
    "with blanks",
    "co:lon",
    "new\nline",
    "relative",
    "x" * 120,
    "locked",
)


def ended(program: Program) -> Ran | None:
    """How a command ended; None when it had to be killed."""
    deadline = monotonic() + PATIENCE
    while monotonic() < deadline:
        state = Path(f"/proc/{program.pid}/stat").read_text().rpartition(") ")[2]
        if state.startswith("Z"):
            return program.wait()
        sleep(0.01)
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    return None


class _Trials:
    """Trials of one attack, each in a copy of the same ground, with a place outside."""

    def __init__(self, scene: Scene, bash: str = BASH) -> None:
        self.scene = scene
        self.template = a_ground(scene.folder / "t", scene.zygote, bash)
        (self.template.root / "out").mkdir()
        self.broken: list[Broken] = []
        self.count = 0

    def run(
        self,
        what: str,
        *words: str,
        folder: str = "g",
        prepare: Callable[[Ground, Path], Ground] = lambda ground, _: ground,
        fine: Iterable[int] = FINE,
    ) -> None:
        """One command line, and another after it; then look at everything."""
        self.count += 1
        place = self.scene.folder / f"n{self.count}"
        outside = self.scene.folder / f"o{self.count}"
        outside.mkdir()
        (outside / "1.md").write_text("not yours\n")
        place.mkdir()
        ground = prepare(self.template.copy(place / folder), outside)
        ground = ground.knowing(OUTSIDE=str(outside))
        # The state and report of a pack carry its name.
        pattern = r"project/[^/]*\.(state|report)\.json$"
        before, was = Snapshot.of(ground, pattern), tree(outside)
        for given in (words, ("run", "pack.md", "--json")):
            ran = ended(ground.project.start(*given))
            if ran is None:
                self._say(Promise.ENDING, f"{what}: {given[0]} hangs")
            elif ran.code not in fine:
                self._say(
                    Promise.ENDING, f"{what}: {given}: {ran.code} {ran.out[-300:]}{ran.err[-300:]}"
                )
        if tree(outside) != was:
            self._say(Promise.TOUCHED, f"{what}: {was} became {tree(outside)}")
        found = [*touched(ground, before), *corrupt(ground)]
        found += left(ground) if folder.isprintable() else []  # its mark has to be looked for
        self.broken += [Broken(one.promise, f"{what}: {one.what[:300]}") for one in found]
        shutil.rmtree(place)

    def _say(self, promise: Promise, what: str) -> None:
        self.broken.append(Broken(promise, what))

    def tally(self) -> Tally:
        return Tally(self.count, 0, tuple(self.broken))


RUN = ("run", "pack.md", "--json")
BACK = (*RUN, "--rollback-on-failure")


def during_the_call(scene: Scene) -> Tally:
    """While a tool is called, it or another process replaces its output or the folder by links
    that lead out, pipes, devices, folders; we neither hang nor follow, and nothing outside
    changes."""
    bash = "mkdir -p out\n# 01) one\noracle -p 'Why?' --write-output out/1.md\n# 02) two\nfalse\n"
    trials = _Trials(scene, bash)
    for number, (what, does) in enumerate(list(MEANWHILE.items())[: scene.some(len(MEANWHILE))]):

        def prepared(ground: Ground, outside: Path, does: str = does) -> Ground:
            tools = outside.with_name(f"{outside.name}-tools")
            tools.mkdir()
            program = tools / "oracle"
            program.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exit\n{does}\n')
            program.chmod(0o755)
            (ground.root / "out/1.md").write_text(OLDER)
            return replace(ground, tools=tools)

        words = (RUN, BACK, (*RUN, "--keep-going"))[number % 3]
        trials.run(f"the tool {what}", *words, *REPLACE, prepare=prepared)
    return trials.tally()


def in_the_way(scene: Scene) -> Tally:
    """Where an output or an attachment should be stands a pipe, a device, a folder or a link that
    leads out: `run`, `verify-outputs` and `pipeline` say so and end."""
    bash = BASH.replace("-p ", "-f out/attached -p ", 1)
    trials = _Trials(scene, bash)
    commands = (BACK, ("verify-outputs", "pack.md", "--json"), ("pipeline", "pack.md", "--json"))
    for number, (what, does) in enumerate(list(OUTPUTS.items())[: scene.some(len(OUTPUTS))]):

        def prepared(ground: Ground, outside: Path, does: str = does) -> Ground:
            own = os.environ | {"OUTSIDE": str(outside)}
            subprocess.run(["bash", "-ec", does], cwd=ground.root, check=True, env=own)
            return ground

        words = commands[number % 3]
        trials.run(what, *words, prepare=prepared, fine=FINE | {4, 5})
    return trials.tally()


def odd_roots(scene: Scene) -> Tally:
    """Projects in folders with blanks, quotes, line ends, leading dashes, colons, controls, no
    UTF-8 or 200 characters in their names: packs run, go on and are taken back as anywhere."""
    trials = _Trials(scene)
    for number, name in enumerate(FOLDERS[: scene.some(len(FOLDERS))]):
        words = (RUN, (*RUN, "--rerun", "all"), ("pipeline", "pack.md", "--json"))[number % 3]
        trials.run(repr(name[:30]), *words, folder=name, fine={0})
    return trials.tally()


def odd_packs(scene: Scene) -> Tally:
    """Packs whose own names hold blanks, quotes, line ends, controls, dashes, no UTF-8, or are as
    long as a name can be: they run, or are refused with a reason."""
    trials = _Trials(scene)
    for number, name in enumerate(PACKS[: scene.some(len(PACKS))]):

        def prepared(ground: Ground, _: Path, name: str = name) -> Ground:
            place = ground.root / name
            place.parent.mkdir(exist_ok=True)
            place.write_text(pack_text(BASH))
            return ground

        words = ("run", f"./{name}", "--json", "--no-legacy-files" if number % 2 else "--quiet")
        trials.run(repr(name[:30]), *words, prepare=prepared, fine={0, 2})
    return trials.tally()


def odd_homes(scene: Scene) -> Tally:
    """TMPDIR and HOME are missing, files, read-only (unless run by root), relative, too long, or
    hold colons and line ends: the pack runs nevertheless, or is refused with a reason."""
    trials = _Trials(scene)
    for variable in ("TMPDIR", "HOME"):
        for name in PLACES[: scene.some(len(PLACES))]:
            if name == "locked" and os.geteuid() == 0:
                continue  # no mode keeps root out

            def prepared(
                ground: Ground, outside: Path, name: str = name, variable: str = variable
            ) -> Ground:
                place = outside.with_name(f"{outside.name}-{name}")
                if name == "file":
                    place = outside / "1.md"
                elif name not in {"", "missing", "relative"}:
                    place.mkdir(mode=0o500 if name == "locked" else 0o700)
                value = name if name in {"", "relative"} else str(place)
                state = {"XDG_STATE_HOME": ""} if variable == "HOME" else {}
                return ground.knowing(**{variable: value}, **state)

            trials.run(f"{variable}={name[:20]!r}", *RUN, prepare=prepared, fine={0, 2, 3})
    return trials.tally()


ATTACKS: dict[str, Attack] = {
    "paths-during-a-call": during_the_call,
    "paths-in-the-way": in_the_way,
    "paths-of-projects": odd_roots,
    "paths-of-packs": odd_packs,
    "paths-of-homes": odd_homes,
}
