"""What keeps `run` from starting: exit 2, nothing called, nothing written."""

from pathlib import Path

import pytest

from tests.e2e.program import tree
from tests.e2e.run.project import Project, Zygote, a_project, asking
from tests.packs import findings_of, pack_text

ASKS = "oracle -p why --write-output out/a.md"


@pytest.mark.parametrize(
    ("bash", "args", "reason"),
    [
        pytest.param(
            '# 01) a\noracle -p "What does `touch ran` break?" --write-output out/a.md',
            (),
            "pack.md:5:22 OP210 bash would run `touch ran` instead of sending the text",
            id="backquotes in a prompt",
        ),
        pytest.param(
            "# 01) a\noracle --write-output out/a.md # where\n  -p why",
            (),
            "pack.md:5:32 OP202 this comment ends the call in the middle (and 1 more)",
            id="a comment in a wrapped call",
        ),
        pytest.param(
            f"# 01) a\n{ASKS}",
            ("--strict",),
            "pack.md:3:1 OP110 1 step; --strict requires 20 (and 1 more)",
            id="a pack that is not strict",
        ),
    ],
)
def test_a_pack_that_is_refused(
    tmp_path: Path, zygote: Zygote, bash: str, args: tuple[str, ...], reason: str
) -> None:
    project = a_project(tmp_path, zygote, f"{bash}\n")
    before = tree(project.root)

    ran = project.run(*args)

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "INVALID_PACK")
    assert ran.envelope["error"]["message"] == reason
    assert project.oracle.calls == []
    assert tree(project.root) == before


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("run",), id="run"),
        pytest.param(("run", "--detach"), id="run --detach"),
        pytest.param(("run", "--dry-run"), id="run --dry-run"),
        pytest.param(("plan",), id="plan"),
        pytest.param(("pipeline",), id="pipeline"),
    ],
)
def test_a_pack_that_is_not_the_approved_one(
    tmp_path: Path, zygote: Zygote, words: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{asking(1)}")
    approved = project.start("list", "pack.md", "--json").wait().data["pack_hash"]
    project.write(f"mkdir -p out\n{asking(1, 'touch swapped; ')}")
    before = tree(project.root)

    ran = project.start(*words, "pack.md", "--json", "--expect-pack", approved).wait()

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "PACK_CHANGED")
    assert project.oracle.calls == []
    assert tree(project.root) == before


@pytest.mark.parametrize(
    ("bash", "rule"),
    [
        pytest.param(f"# 01) a\n{ASKS} -f lib/stok.py", "OP403", id="a missing attachment"),
        pytest.param("# 01) a\noracle -p why --write-output src", "OP507", id="a directory"),
        pytest.param(
            "# 01) a\noracle -p '<your question: why?>' --write-output a.md",
            "OP314",
            id="the question of a template",
        ),
    ],
)
def test_what_run_refuses_is_an_error_of_validate(
    tmp_path: Path, zygote: Zygote, bash: str, rule: str
) -> None:
    project = a_project(tmp_path, zygote, f"{bash}\n")
    (project.root / "src").mkdir()
    (project.root / "src/stok.py").touch()

    validated = project.start("validate", "pack.md", "--json").wait()
    ran = project.run()

    (error,) = [one for one in validated.data["findings"] if one["severity"] == "error"]
    assert (validated.code, ran.code, error["rule"]) == (2, 2, rule)
    assert rule != "OP403" or error["hint"] == "did you mean src/stok.py?"
    assert project.oracle.calls == []


def test_the_first_of_several_bash_blocks_runs(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\ntouch first\n")
    project.pack.write_text(f"{project.pack.read_text()}\n```bash\n# 01) b\ntouch second\n```\n")

    strict = project.run("--strict")
    ran = project.run()

    assert (strict.code, strict.envelope["error"]["code"]) == (2, "INVALID_PACK")
    assert (ran.code, ran.envelope["warnings"]) == (
        0,
        ["only the first bash block of pack.md runs, not the one at line 8"],
    )
    assert [path.name for path in project.root.glob("[fs]*")] == ["first"]


def test_the_approved_pack_runs(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{asking(1)}")
    approved = project.start("list", "pack.md", "--json").wait().data["pack_hash"]

    no_hash = project.run("--expect-pack", approved[:63])
    same = project.run("--expect-pack", approved.upper())

    assert (no_hash.code, no_hash.envelope["error"]["code"]) == (2, "USAGE")
    assert same.code == 0
    assert len(project.oracle.calls) == 1


def test_a_pack_that_is_not_strict_runs_without_the_flag(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{asking(1)}")

    assert project.run().code == 0


def test_the_pipeline_is_strict_as_well(tmp_path: Path, zygote: Zygote) -> None:
    project: Project = a_project(tmp_path, zygote, f"mkdir -p out\n{asking(1)}")

    ran = project.start("pipeline", "pack.md", "--strict", "--json").wait()

    assert ran.code == 2
    assert project.oracle.calls == []


def test_the_hint_about_a_missing_guard_can_be_followed_to_the_letter(
    tmp_path: Path, zygote: Zygote
) -> None:
    call = 'codex exec "Correct the test." -o out/codex.md'
    (found,) = findings_of(pack_text(f"# 01) a\n{call}\n"), select=("OP601",))
    guard = found.hint.removeprefix("put before it: ")
    text = f"# 01) a\n{guard}\n{call}\n"
    assert findings_of(pack_text(text), select=("OP601",)) == ()

    ran = a_project(tmp_path, zygote, text).run()

    assert (ran.code, ran.data["failed_step"]) == (0, None)
    assert ran.data["skipped_steps"] == ["01"]


LOSES = "# 01) a\ntouch ran\n# 02) b\noracle -p why -f src/lost.py --write-output out/b.md\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param((), 2, id="before the first step"),
        pytest.param(("--steps", "01"), 0, id="not for a step that does not run"),
        pytest.param(("--no-validate",), 0, id="--no-validate leaves it to the tool"),
    ],
)
def test_a_missing_attachment_stops_the_run(
    tmp_path: Path, zygote: Zygote, args: tuple[str, ...], code: int
) -> None:
    project = a_project(tmp_path, zygote, LOSES)

    ran = project.run(*args)

    assert ran.code == code
    assert (project.root / "ran").exists() == (code != 2)
    if code == 2:
        assert ran.envelope["error"]["message"] == (
            "step 02 (line 7) attaches src/lost.py, which does not exist and which nothing before "
            "it creates"
        )
        assert not (project.root / ".oraclepack").exists()
