"""A rehearsal touches no file of the project and no real run, and starts no tool."""

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import read_pack_text
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.tool_call import AttachmentKind
from tests.e2e.program import oraclepack
from tests.e2e.run.project import GIT, Zygote, a_project
from tests.trap_tools import trap_tools

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.md"))
REAL = sorted((ROOT.parent / "shared/packs").glob("*.md"))
REHEARSAL = ("--engine", "rehearsal")
OURS = (".oraclepack", ".oraclepack/.gitignore")
"""What the first rehearsal in a project makes besides its own directory."""


def tree_of(root: Path) -> dict[str, str]:
    """Every entry of a project but its rehearsals: kind, mode, and content or target."""
    found = {}
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        if below == ".oraclepack":
            folders[:] = [name for name in folders if name != "rehearsals"]
        for name in (*folders, *names):
            path = Path(folder, name)
            found[os.path.normpath(f"{below}/{name}")] = _described(path)
    return {name: description for name, description in found.items() if name not in OURS}


def _described(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link {path.readlink()}"
    content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""
    return f"{mode:o} {content}"


def a_checkout(root: Path, pack: Path) -> Pack:
    """A repository with a pack, whatever it attaches, and answers that were paid for."""
    root.mkdir()
    shutil.copy(pack, root / pack.name)
    (root / pack.name).chmod(0o644)
    parsed = parse_pack(read_pack_text(root / pack.name), pack.name)
    attached = {
        one.value
        for step in parsed.steps
        for call in step.calls
        for one in call.attachments
        if one.kind is AttachmentKind.LITERAL and not one.value.startswith("/")
    }
    attached |= set(parsed.parsed_args.get("ticket_paths", "").split(",")) - {""}
    for name in (*sorted(attached), "build/kept", "src/main.py"):
        _put(root, name, f"# {name}\n\n- [ ] work\n")
    outputs = [out.path.value for step in parsed.steps for out in step.outputs if out.path.value]
    for name in outputs[::2]:
        _put(root, name, "an answer that was paid for\n")
    _put(root, ".oraclepack/runs/2026-01-01__nogit__00000000/outputs/01-a.md", "paid for\n")
    (root / "link").symlink_to("src/main.py")
    (root / ".gitignore").write_text(".oraclepack/\nbuild/\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "all")):
        subprocess.run([*GIT, *words], cwd=root, check=True)
    _put(root, "not-added.txt", "untracked\n")
    return parsed


def _put(root: Path, name: str, text: str) -> None:
    place = root / name
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def harmless(tmp_path: Path, pack: Path) -> None:
    root, traps = tmp_path / "project", tmp_path / "traps"
    parsed = a_checkout(root, pack)
    marks = trap_tools(traps, root / "src/main.py")
    before = tree_of(root)
    path = f"{traps}:{os.environ['PATH']}"

    for command in ("run", "pipeline"):
        words = (command, pack.name, *REHEARSAL, "--no-validate", "--keep-going", "--quiet")
        ran = oraclepack(root, *words, "--json", PATH=path, ORACLEPACK_LOGIN="once")
        assert ran.code in {0, 3}, ran.err

        assert tree_of(root) == before
        assert not marks.exists(), marks.read_text()
    assert len(parsed.steps) == len(ran.data["run"]["steps"])


@pytest.mark.parametrize("pack", EXAMPLES, ids=lambda pack: pack.stem)
def test_the_example_packs_do_no_harm(tmp_path: Path, pack: Path) -> None:
    harmless(tmp_path, pack)


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="no ../shared/packs beside us")
@pytest.mark.parametrize("pack", REAL, ids=lambda pack: pack.stem)
def test_the_real_packs_do_no_harm(tmp_path: Path, pack: Path) -> None:
    harmless(tmp_path, pack)


AGENTS = """\
# 01) codex
codex exec -s workspace-write -o out/1.md "Change src/main.py: what does `rm -rf build` break?"
# 02) gemini
gemini -p "Change it." --approval-mode yolo > out/2.md
# 03) tasks
tm parse-prd prd.md --output out/tasks.json; task-master expand --all
# 04) through npx
npx -y @openai/codex exec x; npx task-master-ai list; npx -y @google/gemini-cli -p x
# 05) oracle
oracle -p "What does `rm -rf build` break?" --write-output out/5.md
# 06) by hand
rm -rf build src .git not-added.txt; echo gone > README.md; chmod -R 000 .
"""


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_the_traps_and_the_hashes_notice_a_tool_that_starts(tmp_path: Path, number: int) -> None:
    """The same without a rehearsal: so the tests here can fail."""
    root, traps = tmp_path / "project", tmp_path / "traps"
    step = AGENTS.split("# 0")[number].replace("`rm -rf build`", "it")
    pack = tmp_path / "real.md"
    pack.write_text(f"# Real\n\n```bash\nmkdir -p out\n# 0{step}```\n")
    a_checkout(root, pack)
    marks = trap_tools(traps, root / "src/main.py")
    (Path(os.environ["HOME"]) / ".bash_profile").write_text(f"PATH={traps}:$PATH\n")
    before = tree_of(root)

    words = ("run", pack.name, "--no-validate", "--allow-dirty-rerun", "--existing", "replace")
    oraclepack(root, *words, PATH=f"{traps}:{os.environ['PATH']}")

    after = tree_of(root)
    assert marks.exists()
    assert after["src/main.py"] != before["src/main.py"]


def test_a_pack_that_does_its_worst_does_no_harm(tmp_path: Path) -> None:
    pack = tmp_path / "worst.md"
    pack.write_text(f"# Worst\n\n```bash\nmkdir -p out\n{AGENTS}```\n")

    harmless(tmp_path, pack)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("run",), id="a rehearsal"),
        pytest.param(
            ("run", "--rerun", "all", "--refresh"), id="of everything", marks=pytest.mark.slow
        ),
        pytest.param(("run", "--new-run"), id="as a new run", marks=pytest.mark.slow),
        pytest.param(("pipeline", "--rollback-on-failure"), id="of the pipeline"),
        pytest.param(("run", "--dry-run"), id="of a rehearsal"),
    ],
)
def test_paid_answers_and_their_run_stay_as_they_are(
    tmp_path: Path, zygote: Zygote, words: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote)
    assert project.run().code == 0
    assert len(list((project.root / "out").glob("*.md"))) == 20
    before = tree_of(project.root)

    command, *flags = words
    ran = project.start(command, "pack.md", *flags, *REHEARSAL, "--max-parallel", "4").wait()

    assert ran.code == 0, ran.err
    assert tree_of(project.root) == before
    assert len(project.oracle.calls) == 20
    again = project.run()
    assert (again.code, again.data["completed_steps"]) == (0, [])
