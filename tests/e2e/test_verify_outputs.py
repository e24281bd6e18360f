"""`verify-outputs` as people start it: on a finished run of the example pack, and without one."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.pack.answer_sections import NOTICE, Section
from tests.e2e.program import Ran, oraclepack, tree
from tests.packs import ANSWER_FORMAT, pack_text
from tests.scripted import scripted_tool

ROOT = Path(__file__).parents[2]
REVIEW = "examples/codebase-review.md"
FIRST = "docs/oracle-answers/01-exit-codes.md"
TRAPPED = ("bash", "sh", "env", "git", "node", "npx", "oracle", "codex", "python3", "shellcheck")
WATCHED = """\
import os, runpy, sys
marks = sys.argv.pop(1)
def watch(event, args):
    if event.startswith(("subprocess.", "os.posix_spawn", "os.exec", "os.fork", "os.spawn",
                         "os.system", "os.startfile", "pty.spawn", "socket.connect")):
        with open(marks, "a") as file:
            file.write(event + "\\n")
sys.addaudithook(watch)
runpy.run_module("oraclepack", run_name="__main__", alter_sys=True)
"""


SHARED_KEY = "5" * 64


@pytest.fixture(autouse=True)
def _one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the run, which was made in another home."""
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", SHARED_KEY)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example pack, answered by a scripted oracle in a copy of what it asks about."""
    root = tmp_path_factory.mktemp("review")
    (root / ".git").mkdir()
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("src", "docs", "examples"):
        shutil.copytree(ROOT / name, root / name, ignore=skipped)
    home = str(tmp_path_factory.mktemp("home"))
    tools = scripted_tool(tmp_path_factory.mktemp("tools"))
    own = {
        "HOME": home,
        "ORACLEPACK_TRUST_KEY": SHARED_KEY,
        "PATH": f"{tools.folder}:{os.environ['PATH']}",
        "ORACLEPACK_LOGIN": "once",
    }
    ran = oraclepack(root, "run", REVIEW, **own)
    assert ran.code == 0, ran.err
    return root


@pytest.fixture
def one_section_less(finished: Path) -> Iterator[Path]:
    """The same run after a section was deleted of its first answer."""
    answer = finished / FIRST
    before = answer.read_text(encoding="utf-8")
    start, end = before.index("## Risks and unknowns"), before.index("## Next exp")
    answer.write_text(before[:start] + before[end:], encoding="utf-8")
    yield finished
    answer.write_text(before, encoding="utf-8")


def trapped(cwd: Path, marks: Path, *args: str) -> Ran:
    """The program with nothing but traps on its PATH, and a watch on every way to start one."""
    traps = marks.parent / "traps"
    traps.mkdir()
    for name in TRAPPED:
        (traps / name).write_text(f"#!/bin/sh\necho {name} >> {marks}\n", encoding="utf-8")
        (traps / name).chmod(0o755)
    watched = marks.parent / "watched.py"
    watched.write_text(WATCHED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(watched), str(marks), *args],
        cwd=cwd,
        env=os.environ | {"PATH": str(traps)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_finished_run_meets_its_contracts(finished: Path) -> None:
    (run_dir,) = (finished / ".oraclepack/runs").iterdir()

    for args in ([REVIEW], [REVIEW, "--strict"], ["--run-dir", str(run_dir)]):
        ran = oraclepack(finished, "verify-outputs", *args)
        assert (ran.code, ran.err) == (0, "next: oraclepack actionize\n")
        assert ran.out == (
            "totals: steps=20 outputs=20 ok=20 failed=0 doubtful=0 unresolved=0 skipped=0\n"
        )


def test_a_deleted_section_is_named_with_its_step_and_file(one_section_less: Path) -> None:
    ran = oraclepack(one_section_less, "verify-outputs", REVIEW)

    assert ran.code == 4
    assert ran.out.splitlines() == [
        f"{REVIEW}: step 01: {FIRST}: missing sections: risks-unknowns",
        "totals: steps=20 outputs=20 ok=19 failed=1 doubtful=0 unresolved=0 skipped=0",
    ]
    assert "1 of 20 outputs lack what was asked for" in ran.err
    assert f"`oraclepack step accept {REVIEW} NN`" in ran.err


def test_the_same_as_json(one_section_less: Path) -> None:
    ran = oraclepack(one_section_less, "verify-outputs", "--json", REVIEW)

    assert (ran.code, ran.envelope["ok"], ran.envelope["error"]["code"]) == (4, False, "CONTRACT")
    assert ran.data["failures"] == [
        {
            "step_id": "01",
            "path": FIRST,
            "contract": "all-sections",
            "missing_sections": ["risks-unknowns"],
            "io_error": None,
            "reason": "sections",
        }
    ]
    assert (ran.data["totals"]["failed"], ran.data["totals"]["outputs"]) == (1, 20)


@pytest.mark.parametrize("args", [[REVIEW], ["examples"], ["--strict", "--json", REVIEW]])
def test_nothing_is_spawned(one_section_less: Path, tmp_path: Path, args: list[str]) -> None:
    marks = tmp_path / "marks"
    before = tree(one_section_less / "docs", one_section_less / ".oraclepack")

    ran = trapped(one_section_less, marks, "verify-outputs", *args)

    assert ran.code == 4, ran.err
    assert not marks.exists(), marks.read_text(encoding="utf-8")
    assert tree(one_section_less / "docs", one_section_less / ".oraclepack") == before


def test_the_traps_catch_what_spawns(finished: Path, tmp_path: Path) -> None:
    marks = tmp_path / "marks"

    trapped(finished, marks, "validate", REVIEW)

    assert "subprocess.Popen" in marks.read_text(encoding="utf-8")


def a_project(tmp_path: Path, bash: str) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pack.md").write_text(pack_text(bash), encoding="utf-8")
    return tmp_path


FORMAT = ANSWER_FORMAT.replace("'", "")
CUT = "Direct answer: a\nRisks/unknowns: b\nNext experiment: c\nMissing evidence: the file of the"
DOUBT = (
    "pack.md: step 01: out/01.md:4: needs a look: it ends in the middle of a sentence: "
    "…Missing evidence: the file of the"
)
TWO = (
    f"# 01) one\noracle --write-output out/01.md -p '{FORMAT}'\n"
    '# 02) two\noracle --write-output "$OUT/02.md" -p "Why?"\n'
)


@pytest.mark.parametrize(
    ("answer", "args", "code", "lines"),
    [
        pytest.param(None, [], 4, ["pack.md: step 01: out/01.md: file missing"], id="no file"),
        pytest.param(" ", [], 4, ["pack.md: step 01: out/01.md: file empty"], id="an empty file"),
        pytest.param(
            CUT,
            [],
            0,
            [DOUBT],
            id="a doubt is a warning",
        ),
        pytest.param(
            CUT,
            ["--strict"],
            4,
            [DOUBT],
            id="and an error with --strict",
        ),
    ],
)
def test_without_a_run(
    tmp_path: Path, answer: str | None, args: list[str], code: int, lines: list[str]
) -> None:
    root = a_project(tmp_path, TWO)
    if answer is not None:
        (root / "out").mkdir()
        (root / "out/01.md").write_text(answer, encoding="utf-8")

    ran = oraclepack(root, "verify-outputs", "pack.md", *args)

    output = ran.out.splitlines()
    unresolved = "pack.md: step 02: $OUT/02.md: unresolved, no run has recorded it"
    assert (ran.code, output[:-1]) == (code, [*lines, unresolved])
    assert output[-1].endswith("unresolved=1 skipped=0")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param([], "name a pack, or a run with --run-dir", id="nothing is named"),
        pytest.param(["none.md"], "none.md", id="no such pack"),
        pytest.param(["--run-dir", "out"], "is not a run directory", id="no run"),
        pytest.param(["--run-dir", "broken"], "cannot be read", id="a broken run.json"),
        pytest.param(["--run-dir", "x", "a.md", "b.md"], "at most one pack", id="two packs"),
        pytest.param(["--output-contract=half", "pack.md"], "is not one of 'auto'", id="bad value"),
    ],
)
def test_bad_input_ends_with_2(tmp_path: Path, args: list[str], expected: str) -> None:
    root = a_project(tmp_path, TWO)
    (root / "broken").mkdir()
    (root / "broken/run.json").write_text("{", encoding="utf-8")

    ran = oraclepack(root, "verify-outputs", *args)

    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err


def test_a_run_that_was_moved_elsewhere_is_refused(finished: Path, tmp_path: Path) -> None:
    (run_dir,) = (finished / ".oraclepack/runs").iterdir()
    shutil.copy(run_dir / "run.json", tmp_path / "run.json")

    ran = oraclepack(finished, "verify-outputs", "--run-dir", str(tmp_path))

    assert ran.code == 2
    assert "is not inside a project's .oraclepack/runs" in ran.err


def test_a_pack_that_changed_since_its_run_is_reported(finished: Path) -> None:
    (run_dir,) = (finished / ".oraclepack/runs").iterdir()
    manifest = json.loads((run_dir / "run.json").read_bytes())
    pack = finished / manifest["pack_path"]
    text = pack.read_text(encoding="utf-8")
    pack.write_text(f"{text}\nMore.\n", encoding="utf-8")

    ran = oraclepack(finished, "verify-outputs", "--run-dir", str(run_dir))
    pack.write_text(text, encoding="utf-8")

    assert ran.code == 0
    assert "is not the text this run was made from" in ran.err


def test_a_rehearsal_is_no_answer(tmp_path: Path) -> None:
    root = a_project(tmp_path, TWO)
    ran = oraclepack(root, "run", "pack.md", "--engine", "rehearsal", OUT="out")
    assert ran.code == 0, ran.err
    (rehearsal,) = (root / ".oraclepack/rehearsals").iterdir()

    for args in ([], ["--strict"]):
        result = oraclepack(root, "verify-outputs", "--json", "--run-dir", str(rehearsal), *args)
        failures = [(one["step_id"], one["reason"]) for one in result.data["failures"]]
        assert (result.code, failures) == (4, [("01", "rehearsal"), ("02", "rehearsal")])
        assert result.data["totals"]["rehearsed"] == 2

    said = oraclepack(root, "verify-outputs", "--run-dir", str(rehearsal))
    assert "step 01: out/01.md: a rehearsed answer: no model was asked\n" in said.out
    assert "without --engine rehearsal" in said.err


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param("{NOTICE}\n\n{SECTIONS}", 4, id="as 0.1.0 wrote it into the project"),
        pytest.param("# Title\n\n{NOTICE}\n\n{SECTIONS}", 4, id="below a title"),
        pytest.param("{SECTIONS}\n```text\n{NOTICE}\n```\n", 0, id="an answer that quotes it"),
        pytest.param("{SECTIONS}\nIt says: {NOTICE}\n", 0, id="an answer that speaks of it"),
    ],
)
def test_a_rehearsed_file_in_the_project_fails(tmp_path: Path, answer: str, code: int) -> None:
    root = a_project(tmp_path, TWO)
    (root / "out").mkdir()
    sections = "".join(f"## {one.heading}\n\n- Yes.\n\n" for one in Section)
    text = answer.replace("{NOTICE}", NOTICE).replace("{SECTIONS}", sections)
    (root / "out/01.md").write_text(text, encoding="utf-8")

    ran = oraclepack(root, "verify-outputs", "--json", "pack.md")

    assert ran.code == code
    assert [one["reason"] for one in ran.data["failures"]] == ["rehearsal"] * (code == 4)


def test_several_packs_are_reported_together(tmp_path: Path) -> None:
    root = a_project(tmp_path, TWO)
    (root / "other.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")

    ran = oraclepack(root, "verify-outputs", "--json", ".")

    assert ran.code == 4
    assert [(one["path"], one["ok"]) for one in ran.data["packs"]] == [
        ("other.md", True),
        ("pack.md", False),
    ]
    assert ran.data["totals"]["steps"] == 3


STEP = "# 01) ask\noracle --write-output a.md -p 'Why?'\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("# Notes\n\nNothing here.\n", "it has no bash block", id="prose"),
        pytest.param("", "it has no bash block", id="an empty file"),
        pytest.param(
            f"x\n\n```sh\n{STEP}```\n",
            "the block on line 3 is marked `sh`",
            id="another fence",
        ),
        pytest.param(f"```\n{STEP}```\n", "the block on line 1 is not marked", id="a bare fence"),
        pytest.param("```bash\necho hi\n```\n", "has no steps", id="a script without steps"),
        pytest.param(
            "```bash\n# 1) ask\noracle --write-output a.md -p x\n```\n",
            "has no steps",
            id="headers that are none",
        ),
    ],
)
def test_what_is_not_a_pack_is_not_verified(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "note.md").write_text(text)

    ran = oraclepack(tmp_path, "verify-outputs", "note.md")

    assert ran.code == 2
    assert "note.md is not a pack: " in ran.err
    assert word in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("args", "variables", "code"),
    [
        pytest.param(["--output-verify"], {}, 4, id="the flag"),
        pytest.param(["--output-verify=true"], {}, 4, id="the flag with a value"),
        pytest.param([], {"ORACLEPACK_OUTPUT_VERIFY": "0"}, 4, id="the variable changes nothing"),
        pytest.param(
            *(["--output-verify"], {"ORACLEPACK_OUTPUT_VERIFY": "0"}, 4), id="flag and variable"
        ),
        pytest.param(["--output-verify=false"], {}, 2, id="a contradiction"),
        pytest.param(["--no-output-verify"], {}, 2, id="the same in other words"),
    ],
)
def test_this_command_always_verifies(
    tmp_path: Path, args: list[str], variables: dict[str, str], code: int
) -> None:
    (tmp_path / "pack.md").write_text(f"```bash\n{STEP}```\n")

    ran = oraclepack(tmp_path, "verify-outputs", "pack.md", *args, **variables)

    assert ran.code == code, ran.err
