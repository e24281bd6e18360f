"""The ground of an `undo` that is disturbed, and what must be true after it."""

import os
import stat
from pathlib import Path

from oraclepack.journal import events as j
from tests.e2e.program import Ran
from tests.run.trees import bash
from tests.torture.checker import corrupt, left
from tests.torture.ground import a_ground
from tests.torture.kills import noted
from tests.torture.rollbacks import output_tail
from tests.torture.tally import Broken, Promise, Scene

PREPARE = r"""
mkdir -p sub/deep bin
for n in edited removed replaced; do seq 300 >$n.txt; done
echo deep >sub/deep/file.txt; echo run >bin/tool; chmod +x bin/tool; echo plain >bin/plain
printf '\0\1\2' >data.bin; ln -s edited.txt link; ln -s sub folder; echo turned >turned.txt
git add -A; git commit -qm all
echo mine >>edited.txt; echo mine >>removed.txt; echo mine >>sub/deep/file.txt
echo mine >>bin/tool; echo new >untracked.txt; echo staged >staged.txt; git add staged.txt
printf '\0mine' >>data.bin; ln -sfn edited.txt untracked-link
"""
"""Committed files of every kind, and the user's work over them that stands nowhere else."""
STEP = r"""
[[ -e ../mended ]] && exit 0
sed -i 's/^1$/one/' edited.txt; echo theirs >>staged.txt; echo theirs >>untracked.txt
rm removed.txt sub/deep/file.txt; rmdir sub/deep; rm replaced.txt; ln -s data.bin replaced.txt
rm link; echo no link >link; ln -sfn bin folder; ln -sfn nowhere untracked-link
rm turned.txt; mkdir turned.txt; echo in >turned.txt/in; chmod -x bin/tool; chmod +x bin/plain
printf '\3\4' >data.bin; mkdir -p made/here; seq 300 >made/here/new.txt; echo x >made/x
chmod +x made/x; ln -s here made/link
exit 7
"""
"""It changes, removes and adds files, links and modes, and fails."""
BASH = f"# 01) changes the work tree\n# oraclepack: policy=mutates\n{STEP}"
UNDO = ("undo", "pack.md", "01", "--json")

_OURS = (".state.json", ".report.json", ".tmp")
_Face = tuple[int, bool, bytes]


def faces(root: Path) -> dict[str, _Face]:
    """Every file that is not ours: its kind, whether it is a program, what it holds."""
    found = {}
    for path in sorted(root.rglob("*")):
        name, mode = path.relative_to(root).as_posix(), path.lstat().st_mode
        if name.startswith((".git/", ".oraclepack/")) or name.endswith(_OURS):
            continue
        if not stat.S_ISDIR(mode):
            held = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes()
            found[name] = (stat.S_IFMT(mode), bool(mode & stat.S_IXUSR), held)
    return found


class Site:
    """A project in which a step has changed much and failed."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.template = a_ground(scene.folder / "undo", scene.zygote, BASH)
        bash(self.template.root, PREPARE)
        self.before = faces(self.template.root)
        ran = self.template.project.run()
        assert ran.code == 3, ran
        self.changed = faces(self.template.root)
        counted = Trial(self, "counted")
        notes = scene.folder / "undo.notes"
        assert counted.undo(notes=str(notes)).code == 0
        self.operations = noted(notes)
        counted.settle(0)
        assert not counted.end(), counted.broken


class Trial:
    """One undo that was disturbed, and the commands after it."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.name = name
        self.ground = site.template.copy(site.scene.folder / name.replace(" ", "-"))
        self.broken: list[Broken] = []

    def say(self, promise: Promise, what: str) -> None:
        self.broken.append(Broken(promise, f"{self.name}: {what}"))

    def undo(self, **fault: object) -> Ran:
        given = {"notes": os.devnull} | fault
        return self.ground.project.start(*UNDO, fault=given).wait()

    @property
    def is_done(self) -> bool:
        """As the journal tells."""
        events = self.ground.project.journal.events
        return any(isinstance(event, j.ChangeUndone) for event in events)

    @property
    def copies(self) -> list[Path]:
        return sorted(self.ground.project.run_dir.glob("steps/*/*.undo*"))

    @property
    def is_begun(self) -> bool:
        return not self.is_done and any(path.suffix == ".undo" for path in self.copies)

    def settle(self, index: int) -> None:
        """Look at what was left, let the next commands end it, and look again."""
        self._halves()
        if index % 2 == 0 and not self.is_done:
            self._refused()
        if index % 5 == 2 and self.is_begun:
            self._edited()
        ran = self.undo()
        done = "left no recorded change" in ran.out
        if ran.code != (2 if done else 0) or not self.is_done:
            return self.say(Promise.ENDING, f"the next undo: {ran.code} {output_tail(ran)}")
        self._is_back()
        if done or index % 3 == 0:
            (self.ground.folder / "mended").touch()
            last = self.ground.project.run()
            if last.code:
                self.say(Promise.ENDING, f"the run after it: {last.code} {output_tail(last)}")
            self._is_back()
        for path in self.copies:
            self.say(Promise.ENDING, f"{path.name} is left")
        return None

    def _halves(self) -> None:
        """Each file is as it was before the undo, or before the step."""
        for one in corrupt(self.ground, settled=False):
            self.say(one.promise, one.what)
        before, changed, now = self.site.before, self.site.changed, faces(self.ground.root)
        for path in sorted(before.keys() | changed.keys() | now.keys()):
            known = {before.get(path), changed.get(path)}
            if now.get(path) not in known:
                self.say(Promise.LOST, f"{path} is {now.get(path)}"[:300])

    def _refused(self) -> None:
        """`run` does nothing; over half of a change not even if it is allowed to."""
        was = faces(self.ground.root)
        ran = self.ground.project.run(*(["--allow-dirty-rerun"] if self.is_begun else []))
        if ran.code != 2 or ran.envelope["error"]["code"] != "DIRTY_RERUN":
            self.say(Promise.ENDING, f"run was not refused: {ran.code} {output_tail(ran)}")
        if faces(self.ground.root) != was:
            self.say(Promise.TOUCHED, "by a run that was refused")

    def _edited(self) -> None:
        """An edited file is reported and left; once restored, the undo goes on."""
        place = self.ground.root / "edited.txt"
        held = place.read_bytes()
        place.write_bytes(b"somebody's\n")
        was = faces(self.ground.root)
        ran = self.undo()
        if ran.code != 2 or "edited.txt" not in ran.envelope["error"]["message"]:
            self.say(Promise.ENDING, f"an edit was not reported: {ran.code} {output_tail(ran)}")
        if faces(self.ground.root) != was:
            self.say(Promise.TOUCHED, "by an undo that was refused")
        place.write_bytes(held)

    def _is_back(self) -> None:
        before, now = self.site.before, faces(self.ground.root)
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) != now.get(path):
                what = f"{path} is {now.get(path)}, was {before.get(path)}"
                self.say(Promise.LOST if path in before else Promise.ENDING, what[:300])

    def end(self) -> list[Broken]:
        for one in (*corrupt(self.ground), *left(self.ground)):
            self.say(one.promise, one.what)
        if not self.broken:
            self.ground.remove()
        return self.broken
