"""`followup`: which questions are asked again, with which files, and the loop as a whole."""

import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from oraclepack.authoring.answer_contract import answer_format
from oraclepack.errors import UsageError
from oraclepack.pipeline.run_followup import followup_run, match_evidence, usable_paths
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.e2e.program import oraclepack
from tests.events import write_journal
from tests.packs import pack_text
from tests.scripted import scripted_tool
from tests.work.answers import direct
from tests.work.project import FIX, Project, a_question

PATHS = ["README.md", "deploy/prod.yaml", "src/a.py", "src/jobs/b.py", "src/jobs/c.py", ".env"]

MATCHES = [
    pytest.param("src/a.py", ["src/a.py"], id="a file"),
    pytest.param("./src/a.py:12", ["src/a.py"], id="a line of a file"),
    pytest.param("src/jobs/", ["src/jobs/b.py", "src/jobs/c.py"], id="a directory"),
    pytest.param("src/**/*.py", ["src/a.py", "src/jobs/b.py", "src/jobs/c.py"], id="a pattern"),
    pytest.param("prod.yaml", ["deploy/prod.yaml"], id="a name without its directory"),
    pytest.param("../other/a.py", [], id="a path that leads out"),
    pytest.param("the deployment", [], id="words"),
]


@pytest.mark.parametrize(("pattern", "files"), MATCHES)
def test_what_missing_evidence_means(pattern: str, files: list[str]) -> None:
    found = match_evidence([pattern], PATHS, lambda _: 10)

    assert (list(found.files), found.unmatched) == (files, () if files else (pattern,))


def test_secrets_and_huge_files_are_refused() -> None:
    sizes = {"README.md": 5_000_000}

    found = match_evidence([".env", "README.md"], PATHS, lambda path: sizes.get(path, 10))

    assert (found.files, found.refused) == ((), (".env", "README.md"))


def test_what_no_pack_attaches() -> None:
    hostile = ["-rf", "a\nb", "data/x,/etc/passwd", "src/*", "a?", "[id].py", "{a}", "!a", "d/b!"]
    paths = ["node_modules/x.js", ".oraclepack/runs/x", *hostile, "src/a.py"]

    assert usable_paths(paths) == ["src/a.py"]


BLOCKED = (
    "## Direct answer\n\nCannot tell from the attached file.\n\n"
    "## Risks/unknowns\n\n- It may say\nPROMPT\n- and end with ``` there.\n\n"
    "## Missing evidence\n\n- `src/b.py`\n- `.env`\n- `gone/*.py`\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, "".join(map(a_question, (1, 2, 3))))
    (tmp_path / "src/b.py").write_text("b = 1\n")
    (tmp_path / ".env").write_text("TOKEN=x\n")
    made.answer("01", FIX)
    made.answer("02", BLOCKED)
    write_journal(made.run, *made.events)
    return made


def test_open_questions_are_asked_again_with_what_was_missing(project: Project) -> None:
    report = followup_run("", project.root).report  # the newest run

    assert [(one.original_step, one.reasons[-1]) for one in report.questions] == [
        ("02", "blocked"),
        ("03", "blocked"),
    ]
    first = report.questions[0]
    assert first.files[:2] == ("src/a.py", "src/b.py")
    assert (first.refused, first.unmatched) == ((".env",), ("gone/*.py",))
    text = Path(report.pack).read_text()
    assert '-f "src/b.py"' in text
    assert '-f ".env"' not in text
    assert text.count("\n```\n") == 1
    assert text.count("\nPROMPT\n") == 2


def test_the_pack_is_valid_and_written_once(
    capsys: pytest.CaptureFixture[str], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)

    result = answer(capsys, "followup", "--run-dir", str(project.run), "--json")
    again = answer(capsys, "followup", "--run-dir", str(project.run))
    checked = answer(capsys, "validate", "pack-followup.md")

    jsonschema.validate(result.envelope["data"], schema_of("new-pack"))
    assert (result.code, result.envelope["data"]["changed"]) == (0, True)
    assert again.out.splitlines()[-1] == "pack-followup.md unchanged"
    assert checked.code == 0, checked.out
    (project.root / "pack-followup.md").write_text("mine\n")
    assert answer(capsys, "followup", "--run-dir", str(project.run)).code == 2


INJECTION = """\
## Direct answer

Cannot tell `touch ran-by-a-shell` from $(touch ran-by-a-shell).

## Risks/unknowns

- It may say
PROMPT
touch ran-by-a-shell
"; touch ran-by-a-shell; '; touch ran-by-a-shell #

## Missing evidence

- `src/b.py`
- `$(touch ran-by-a-shell).py`
- `x"; touch ran-by-a-shell; ".py`
"""


def test_text_of_an_answer_is_not_run_by_the_pack(
    capsys: pytest.CaptureFixture[str], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    (project.root / "$(touch ran-by-a-shell).py").write_text("x = 1\n")
    project.answer("02", INJECTION)
    write_journal(project.run, *project.events)

    assert answer(capsys, "followup", "--run-dir", str(project.run)).code == 0
    flags = ("--engine", "rehearsal", "--in-place", "--no-validate")
    ran = answer(capsys, "run", "pack-followup.md", *flags)

    assert ran.code == 0, ran.err
    assert "touch ran-by-a-shell" in (project.root / "pack-followup.md").read_text()
    assert not list(project.root.rglob("ran-by-a-shell"))


def test_nothing_open_gives_no_pack(project: Project) -> None:
    project.answer("02", direct("Add a lock to `src/a.py:3`."))
    project.answer("03", direct("Add a test of `main`."))
    write_journal(project.run, *project.events)

    assert followup_run(str(project.run), project.root).report.pack == ""
    assert not (project.root / "pack-followup.md").exists()


def test_a_pack_outside_of_the_project_is_refused(project: Project, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="outside of the project"):
        followup_run(str(project.run), project.root, str(tmp_path.parent / "next.md"))


ASKING = f"""\
# 01) ROI=4 effort=1 category=invariants reference=src/a.py
IFS= read -r -d '' prompt <<'PROMPT' || true
Question:
Is the book in src/a.py sound?

[[fault=cut]]

Answer format:
{answer_format()}
PROMPT
oracle -f src/a.py --write-output "out/01-q.md" -p "$prompt"
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
def test_the_loop_ends_with_an_answer(tmp_path: Path) -> None:
    """Run, actionize, followup, run: the question that was cut off is answered."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a = 1\n")
    (root / "pack.md").write_text(pack_text("mkdir -p out\n" + ASKING))
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=root, check=True)
    tool = scripted_tool(tmp_path / "bin")
    own = {"PATH": f"{tool.folder}:/usr/bin:/bin"}

    assert oraclepack(root, "run", "pack.md", "--quiet", **own).code in {3, 4}
    (run_dir,) = (root / ".oraclepack/runs").iterdir()
    assert oraclepack(root, "actionize", "--run-dir", str(run_dir), **own).code == 0
    made = oraclepack(root, "followup", "--run-dir", str(run_dir), "--json", **own)
    assert made.data["questions"][0]["files"] == ["src/a.py"]
    assert "cut off" in made.data["questions"][0]["reasons"]

    assert oraclepack(root, "validate", "pack-followup.md", **own).code == 0
    ran = oraclepack(root, "run", "pack-followup.md", "--json", **own)

    assert ran.code == 0, ran.out
    assert "Is the book in src/a.py sound?" in tool.prompts[-1]
    (second,) = set((root / ".oraclepack/runs").iterdir()) - {run_dir}
    assert oraclepack(root, "actionize", "--run-dir", str(second), **own).code == 0
    assert (
        oraclepack(root, "followup", "--run-dir", str(second), "--json", **own).data["questions"]
        == []
    )
