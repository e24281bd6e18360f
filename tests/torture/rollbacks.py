"""Rollbacks that are killed, that meet a failing disk, or find changed files."""

import errno
import os
import random
import shutil
import signal
import stat
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.statuses import RollbackStatus
from tests.e2e.program import Ran
from tests.e2e.run.project import asking
from tests.torture.checker import corrupt, left, paid_twice
from tests.torture.ground import Ground, a_ground
from tests.torture.kills import TEARS
from tests.torture.shapes import OLDER, REPLACE
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

BASH = (
    "mkdir -p out\n"
    + asking(1)
    + asking(2)
    + "# 03) writes through a link\n# oraclepack: outputs=out/03.md\necho three >out/03.md\n"
    "# 04) puts a file where a link was\n# oraclepack: outputs=out/04.md\n"
    "rm out/04.md; echo four >out/04.md\n"
    "# 05) makes a file and another of its own\n# oraclepack: outputs=out/05.txt\n"
    "echo five >out/05.txt; echo scratch >out/scratch.txt\n"
    "# 06) fails\n"
    'eval "${MEANWHILE:-}"; test -e mended || exit 7\n'
)
PREPARE = (
    "mkdir out; printf 'an older answer\\n' >out/02-topic-2.md; chmod 640 out/02-topic-2.md;"
    "echo r3 >real-3.md; ln -s ../real-3.md out/03.md; ln -s ../real-4.md out/04.md;"
    "echo r4 >real-4.md; echo mine >out/mine.txt; touch -h -d 2020-02-02 out/* *.md"
)
MADE = {"01": "Question 1?", "02": "Question 2?", "03": "three\n", "04": "four\n", "05": "five\n"}
"""What each step makes: once its output is recorded, none of it may be lost."""
FOUND = (OLDER, "r3\n", "r4\n", "mine\n")
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE)
BACK = ("run", "pack.md", "--json", "--rollback-on-failure", *REPLACE)
NEXT = ("run", "pack.md", "--json", "--steps", "06", *REPLACE)


class Look(msgspec.Struct, frozen=True):
    """One path as it stands."""

    mode: int
    content: bytes
    moment: int = 0


def prepared(scene: Scene, name: str) -> Ground:
    """Six steps: new files, replaced ones, links, and a failure at the end."""
    ground = a_ground(scene.folder / name, scene.zygote, BASH)
    subprocess.run(["bash", "-ec", PREPARE], cwd=ground.root, check=True)
    return ground


def look(root: Path) -> dict[str, Look]:
    """The user's files and owned artifacts, without quarantine and what tells the state of runs."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        ours = name.startswith((".oraclepack/", ".git/", "out/_failed/", "mended"))
        if ours or name.endswith((".state.json", ".report.json", "scratch.txt")):
            continue
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[name] = Look(status.st_mode, os.fsencode(path.readlink()))
        elif stat.S_ISREG(status.st_mode):
            found[name] = Look(status.st_mode, path.read_bytes(), status.st_mtime_ns)
        elif not stat.S_ISDIR(status.st_mode):
            found[name] = Look(status.st_mode, b"")
    return found


def lost(root: Path, texts: Iterable[str]) -> list[str]:
    """Which texts no file of the project holds, quarantine and run directory included."""
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    held = [path.read_bytes() for path in files]
    return [text for text in texts if not any(text.encode() in data for data in held)]


def rolled_back(ground: Ground) -> RollbackStatus | None:
    """How far the last rollback came, as the journal tells."""
    status: RollbackStatus | None = None
    for event in ground.project.journal.events:
        if isinstance(event, j.RollbackStarted):
            status = RollbackStatus.STARTED
        elif isinstance(event, j.RollbackFinished):
            status = event.status
    return status


def recorded(ground: Ground) -> set[str]:
    """The steps with a recorded output."""
    events = ground.project.journal.events
    return {event.step for event in events if isinstance(event, j.OutputRecorded)}


def operations(scene: Scene, template: Ground) -> tuple[int, int, list[str]]:
    """The number of the first operation of the rollback, that of the last, and all by name."""
    counted = []
    for name, after in (("all", ""), ("later", "_failed")):
        ground = template.copy(scene.folder / f"counted-{name}")
        notes = scene.folder / f"counted-{name}.notes"
        fault: dict[str, object] = {"notes": str(notes), "after": after}
        assert ground.project.start(*BACK, fault=fault).wait().code == 3
        counted.append(notes.read_text().splitlines())
        ground.remove()
    everything, later = counted
    # Before it touches quarantine it writes down that it begins: three operations.
    return len(everything) - len(later) - 4, len(everything), everything


def spread(first: int, last: int, count: int) -> list[int]:
    """So many numbers from first to last, evenly."""
    of = last - first + 1
    return sorted({first + index * of // count for index in range(min(count, of))})


class _Trial:
    """One rollback that was disturbed, and the commands after it."""

    def __init__(self, scene: Scene, template: Ground, name: str) -> None:
        self.ground = template.copy(scene.folder / name)
        self.name = name
        self.before = look(self.ground.root)
        self.broken: list[Broken] = []

    def say(self, promise: Promise, what: str) -> None:
        self.broken.append(Broken(promise, f"{self.name}: {what}"))

    def mend_and_check(self, number: int) -> None:
        """The next command finishes what was begun; of every third all steps run, for nothing."""
        root = self.ground.root
        begun = rolled_back(self.ground)
        self._whole()
        (root / "mended").touch()
        after = self.ground.project.start(*NEXT).wait()
        if after.code:
            return self.say(Promise.ENDING, f"the next command: {after.code} {output_tail(after)}")
        if begun in {RollbackStatus.STARTED, RollbackStatus.COMPLETED}:
            self._is_back()
        self._whole()
        if number % 3 == 0:
            last = self.ground.project.run(*REPLACE)
            if last.code:
                self.say(Promise.ENDING, f"running all: {last.code} {output_tail(last)}")
        return None

    def _is_back(self) -> None:
        now = look(self.ground.root)
        for path in sorted(self.before.keys() | now.keys()):
            if self.before.get(path) != now.get(path):
                what = f"{path} is {now.get(path)}, was {self.before.get(path)}"
                known = path in self.before
                self.say(Promise.TOUCHED if known else Promise.ENDING, what[:300])

    def _whole(self) -> None:
        for one in corrupt(self.ground, settled=False):
            self.say(one.promise, one.what)
        # A kill can come before the last step has written: a busy machine shifts the operations.
        made = [MADE[step] for step in sorted(recorded(self.ground) & MADE.keys())]
        for text in lost(self.ground.root, (*FOUND, *made)):
            self.say(Promise.LOST, repr(text))

    def end(self) -> list[Broken]:
        for one in (*corrupt(self.ground), *paid_twice(self.ground), *left(self.ground)):
            self.say(one.promise, one.what)
        if not self.broken:
            self.ground.remove()
        return self.broken


def output_tail(ran: Ran) -> str:
    return f"{ran.out[-300:]} {ran.err[-300:]}"


def rollback_killed(scene: Scene) -> Tally:
    """A rollback is killed before each of its operations on the disk, and every fourth time the
    command that finishes it is killed too; the one after it brings every file back."""
    template = prepared(scene, "rollback")
    first, last, names = operations(scene, template)
    chance = random.Random(scene.seed)
    broken: list[Broken] = []
    where: Counter[str] = Counter()
    numbers = spread(first, last, scene.some(last - first + 1))
    kills = 0
    for index, number in enumerate(numbers):
        trial = _Trial(scene, template, f"rollback-killed-{number}")
        notes = str(scene.folder / "killed.notes")
        kill: dict[str, object] = {"notes": notes, "kill": number, "torn": TEARS[index % 4]}
        killed = trial.ground.project.start(*BACK, fault=kill).wait()
        kills += killed.code == -signal.SIGKILL
        where[names[number - 1].split()[0]] += 1
        if index % 4 == 0:
            again: dict[str, object] = {"notes": notes, "kill": chance.randint(1, 60)}
            kills += trial.ground.project.start(*NEXT, fault=again).wait().code == -signal.SIGKILL
        trial.mend_and_check(index)
        broken += trial.end()
    return Tally(len(numbers), kills, tuple(broken), {"operations": last - first + 1}, dict(where))


def disk_fails_in_rollback(scene: Scene) -> Tally:
    """From some operation of a rollback on, the disk refuses everything (full, broken, read-only,
    too many files): what was not rolled back is reported, nothing is lost, and the next command
    finishes it."""
    template = prepared(scene, "failing")
    first, last, _ = operations(scene, template)
    numbers = spread(first, last, scene.some(40))
    broken: list[Broken] = []
    reported = 0
    for index, number in enumerate(numbers):
        code = CODES[index % len(CODES)]
        trial = _Trial(scene, template, f"rollback-{errno.errorcode[code]}-{number}")
        fault: dict[str, object] = {"notes": os.devnull, "fail": number, "code": code}
        ran = trial.ground.project.start(*BACK, fault=fault).wait()
        if ran.code not in {1, 2, 3}:
            trial.say(Promise.ENDING, f"ended with {ran.code}: {output_tail(ran)}")
        reported += ran.code == 3
        trial.mend_and_check(index)
        broken += trial.end()
    return Tally(len(numbers), 0, tuple(broken), {"reported as a failed rollback": reported})


MEANWHILE = {
    "edits an answer": "echo edited >>out/01-topic-1.md",
    "removes an answer": "rm out/01-topic-1.md",
    "removes a replaced file": "rm out/02-topic-2.md",
    "edits through a link": "echo edited >>out/03.md",
    "removes what a link leads to": "rm real-3.md",
    "makes a directory of an answer": "rm out/05.txt; mkdir out/05.txt; echo in >out/05.txt/in",
    "makes a pipe of an answer": "rm out/05.txt; mkfifo out/05.txt",
    "makes a link out of an answer": "ln -sf $OUTSIDE/05.txt out/05.txt",
    "makes a dangling link of an answer": "ln -sf nowhere out/05.txt",
    "makes a link in a circle": "ln -sf 05.txt out/05.txt",
    "gives an answer a second name": "ln out/05.txt second.txt",
    "takes the folder away": "mv out away",
    "puts a link out of the project in the folder's place": "mv out away; ln -s $OUTSIDE out",
    "takes the copies away": "rm -r .oraclepack/runs/*/blobs",
    "spoils a copy": "for blob in .oraclepack/runs/*/blobs/*; do echo spoiled >$blob; done",
    "fills quarantine's place": "mkdir -p out; echo x >out/_failed",
    "leads quarantine out of the project": "ln -s $OUTSIDE out/_failed",
}


def changed_meanwhile(scene: Scene) -> Tally:
    """Before a rollback, files of the run are edited, removed or replaced: by directories,
    pipes, links that lead out. Nothing they wrote is lost, nothing outside is touched, nothing
    hangs, and what could not be rolled back is reported."""
    template = prepared(scene, "meanwhile")
    broken: list[Broken] = []
    failed = 0
    chosen = list(MEANWHILE.items())[: scene.some(len(MEANWHILE))]
    for number, (what, does) in enumerate(chosen):
        trial = _Trial(scene, template, f"meanwhile-{number}")
        outside = scene.folder / f"outside-{number}"
        outside.mkdir()
        (outside / "05.txt").write_text("not yours\n")
        (outside / "01-topic-1.md").symlink_to("05.txt")
        was = look(outside)
        ran = trial.ground.project.start(*BACK, MEANWHILE=does, OUTSIDE=str(outside)).wait()
        status = ran.data["rollback_status"] if ran.code == 3 else None
        failed += status == "failed"
        if ran.code != 3 or (status == "failed") != bool(ran.data["rollback_error"]):
            trial.say(Promise.ENDING, f"{what}: {ran.code} {output_tail(ran)}")
        if look(outside) != was:
            trial.say(Promise.TOUCHED, f"{what}: {look(outside)}")
        kept = [text for text in (*FOUND, "edited\n") if text.strip() in does or text in FOUND]
        # Of what a step replaced there is only the copy that they take away or spoil.
        spoiled = {OLDER, "r3\n"} if "blobs" in does else set()
        for text in lost(trial.ground.root, set(kept) - spoiled):
            trial.say(Promise.LOST, f"{what}: {text!r}")
        if what == "spoils a copy" and status != "failed":
            trial.say(Promise.CORRUPT, f"{what}: restored as if it were the older file")
        broken += trial.end()
        shutil.rmtree(outside)
    return Tally(len(chosen), 0, tuple(broken), {"reported as a failed rollback": failed})


ATTACKS: dict[str, Attack] = {
    "rollback-killed": rollback_killed,
    "rollback-failing-disk": disk_fails_in_rollback,
    "rollback-changed-meanwhile": changed_meanwhile,
}
