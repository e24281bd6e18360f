"""Makes the run directories that must load for ever: `python -m tests.keep.past_runs`.

Run by hand once for each version, never by the tests; what it writes to `tests/data/past_runs` is
kept as it is. Every shape is a project as a user of that version would have it on disk. Nothing in
it describes the machine: the program gets another host name before it starts, and the only files
that hold a path, the logs of steps, get another one. Checksums are the program's own.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oraclepack import __version__
from oraclepack.system import environment
from oraclepack.system.machine import MACHINE_VARIABLE
from tests.authoring.repositories import a_repository, write
from tests.e2e.run.project import Project, Zygote
from tests.packs import pack_text
from tests.scripted import scripted_tool

KEPT = Path(__file__).parent.parent / "data/past_runs"
PACK = "pack-2026-01-05.md"
"""With a day in its name, so that the run is named by that day."""
HOST = "a-machine"
SECTIONS = ("direct-answer", "risks-unknowns", "next-experiment", "missing-evidence")


def asks(number: int, after: str = "") -> str:
    """A step with one question about one file."""
    name = f"topic-{number}"
    sections = "1) Direct answer 2) Risks/unknowns 3) Next experiment 4) Missing evidence"
    return (
        f"# {number:02}) ROI={9 - number} impact=5 confidence=0.8 effort=2 horizon=Immediate"
        f" category=invariants reference=src/a.py\n"
        f'oracle -p "What about {name}? Answer format: {sections}" -f src/a.py'
        f" --write-output out/{number:02}-{name}.md\n{after}"
    )


CHUNKS = "".join(
    f'oracle -p "Return only: {name.replace("-", " ")}" --write-output out/01-whole-{name}.md\n'
    for name in SECTIONS
)
UNTIL_GO = "[[ -e go ]] || exit 1\n"
TICKET = "---\nid: T-1\n---\n# Count again\n\n## Acceptance Criteria\n\n- [ ] it counts\n"


@dataclass(frozen=True)
class Shape:
    """One kind of run: its pack, and the commands of its past."""

    bash: str
    commands: tuple[tuple[str, ...], ...] = (("run", PACK),)
    fault: Mapping[str, object] = field(default_factory=dict)
    """What the disk does to the last of them."""
    in_git: bool = False


SHAPES = {
    "finished": Shape(
        "mkdir -p out\n" + asks(1) + asks(2),
        (("run", PACK), ("actionize", "--run-dir", "RUN", "--export", "github,taskmaster")),
    ),
    "failed": Shape("mkdir -p out\n" + asks(1) + asks(2, after=UNTIL_GO), (("run", PACK),) * 2),
    "interrupted": Shape(
        "mkdir -p out\n" + asks(1) + asks(2),
        fault={"path": "journal.jsonl", "kill": 42, "torn": 40},
    ),
    "chunked": Shape("mkdir -p out\n# 01) whole\n" + CHUNKS),
    "rolled-back": Shape(
        "mkdir -p out\n" + asks(1) + asks(2, after=UNTIL_GO),
        (("run", PACK, "--rollback-on-failure"),),
    ),
    "from-the-cache": Shape(
        "mkdir -p out\n" + asks(1) + asks(2), (("run", PACK), ("run", PACK, "--new-run"))
    ),
    "changed-the-work-tree": Shape(
        "mkdir -p out\n" + asks(1) + "# 02) works\necho more >>src/b.py\n"
        'codex exec -o out/02-work.md "Do it."\n' + UNTIL_GO,
        in_git=True,
    ),
    "tickets": Shape(
        "mkdir -p out\n" + asks(1), (("ticketify", "--top-n", "5"), ("ticketify", "--check"))
    ),
}


def be_somebody_else() -> None:
    """Called inside the program: it runs on no machine in particular."""
    environment.host = lambda: HOST


def make(shape: Shape, place: Path, zygote: Zygote) -> Path:
    """The project of a shape, as its commands left it."""
    files = {
        PACK: pack_text(shape.bash),
        "src/a.py": "quantity = 1\n",
        "src/b.py": "price = 2\n",
        ".tickets/T-1.md": TICKET,
    }
    root = place / "project"
    if shape.in_git:
        a_repository(root, files)
        write(place / "committed", files)
    write(root, files)
    oracle = scripted_tool(place / "tools")
    scripted_tool(place / "tools", "codex")
    Path(os.environ["HOME"], ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    # Neither names this machine, nor a place on it: a journal is signed and cannot be edited later.
    nowhere = {MACHINE_VARIABLE: f"{HOST}/then", "TMPDIR": "/dev/shm"}
    project = Project(root, zygote, oracle, nowhere)
    for number, words in enumerate(shape.commands, 1):
        runs = sorted((root / ".oraclepack/runs").glob("*"))
        given = [runs[0].relative_to(root).as_posix() if word == "RUN" else word for word in words]
        last = number == len(shape.commands)
        fault = {**shape.fault, "notes": str(place / "notes")} if last and shape.fault else None
        inside: dict[str, dict[str, object]] = {"tests.keep.past_runs:be_somebody_else": {}}
        project.start(*given, fault=fault, inside=inside).wait()
    return root


def keep(root: Path, place: Path, target: Path) -> None:
    """Copy a project to where it is kept, without its repository and this machine's paths."""
    shutil.copytree(root, target / "project", ignore=shutil.ignore_patterns(".git"))
    committed = place / "committed"
    if committed.exists():
        shutil.copytree(committed, target / "committed")
    for log in target.rglob("*.log"):
        log.write_text(log.read_text().replace(str(root), "/project"))


def main() -> int:
    target = KEPT / __version__
    if target.exists():
        sys.stderr.write(f"the runs of {__version__} are there; they are never made again\n")
        return 1
    zygote = Zygote()
    for name, shape in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = folder
            place = Path(folder)
            keep(make(shape, place, zygote), place, target / name)
    zygote.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
