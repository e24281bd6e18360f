"""Several packs in one command: one after another, one summary, the worst exit code."""

from pathlib import Path

import pytest

from oraclepack.errors import ExitCode
from oraclepack.run.run_packs import worst
from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import pack_text

GOOD = "# 01) good\necho done\n"
BAD = "# 01) bad\necho broken >&2; exit 4\n"
CALL = 'oracle -e api -m gpt-5.2 --max-output 1000 -p "{0}?" --write-output out/{0}.md'


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote, GOOD)
    folder = made.root / "packs"
    folder.mkdir()
    (folder / "a.md").write_text(pack_text(GOOD))
    (folder / "b.md").write_text(pack_text(BAD))
    (folder / "c.md").write_text(pack_text("# 01) last\necho last\n"))
    return made


@pytest.mark.parametrize(
    ("words", "code", "codes"),
    [
        pytest.param(("packs",), 3, [0, 3, None], id="a directory stops at the first failure"),
        pytest.param(("packs", "--keep-going"), 3, [0, 3, 0], id="or keeps going"),
        pytest.param(("packs/c.md", "packs/a.md"), 0, [0, 0], id="files run as they are named"),
    ],
)
def test_packs_run_in_order_and_the_worst_decides(
    project: Project, words: tuple[str, ...], code: int, codes: list[int | None]
) -> None:
    ran = project.start("run", "--json", "--no-validate", *words).wait()

    assert ran.code == code, ran.err
    assert [one["exit_code"] for one in ran.data["packs"]] == codes
    assert ran.data["totals"] == {
        "packs": len(codes),
        "ok": codes.count(0),
        "failed": codes.count(3),
        "not_begun": codes.count(None),
    }


@pytest.mark.parametrize(
    "flags",
    [
        ("--steps", "01"),
        ("--rerun", "01"),
        ("--run-id", "x"),
        ("--resume-from", "01"),
        ("--detach",),
    ],
    ids=" ".join,
)
def test_what_is_about_one_pack_is_refused(project: Project, flags: tuple[str, ...]) -> None:
    ran = project.start("run", "packs", *flags).wait()

    assert ran.code == 2
    assert f"{flags[0]}" in ran.err
    assert "only with one pack" in ran.err
    assert not project.run_dirs


def test_nothing_begins_while_one_pack_is_invalid(project: Project) -> None:
    (project.root / "packs/c.md").write_text(pack_text("# 01) open\nif true; then\n"))

    ran = project.start("run", "packs/a.md", "packs/c.md", "--json").wait()

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "INVALID_PACK")
    assert not project.run_dirs


def test_the_summary_tells_each_pack_and_how_to_continue(project: Project) -> None:
    ran = project.start("run", "packs", "--no-validate", "--rerun", "all").wait()

    assert ran.code == 3
    table = ran.out[ran.out.index("pack  ") :]
    assert table == (
        "pack        exit code  result\n"
        "packs/a.md  0          1 ok\n"
        "packs/b.md  3          1 failed\n"
        "packs/c.md             not begun\n"
    )
    assert "to continue: oraclepack run packs/b.md --no-validate --rerun 01\n" in ran.out
    assert "--  pack 2 of 3: packs/b.md\n" in ran.err
    assert "error: 1 of 3 packs did not end well: packs/b.md; 1 not begun\n" in ran.err


def test_the_packs_share_the_budget_of_the_command(project: Project) -> None:
    project.variables.update({"ORACLEPACK_PRICES": "gpt-5.2=0/1000", "OPENAI_API_KEY": "k"})
    for name in ("a", "b"):
        calls = "\n".join(CALL.format(f"{name}{number}") for number in (1, 2))
        (project.root / f"packs/{name}.md").write_text(pack_text(f"# 01) {name}\n{calls}\n"))

    words = ("run", "--no-validate", "packs/a.md", "packs/b.md", "--max-calls", "3")
    ran = project.start(*words, "--json").wait()

    assert ran.code == 7, ran.err
    assert project.oracle.prompts == ["a1?", "a2?", "b1?"]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], ExitCode.DONE),
        ([0, 0], ExitCode.DONE),
        ([0, 5], ExitCode.POLICY),
        ([5, 8], ExitCode.DECISION),
        ([8, 6], ExitCode.LOCKED),
        ([6, 2], ExitCode.INVALID),
        ([2, 3], ExitCode.STEP_FAILED),
        ([3, 7], ExitCode.BUDGET),
        ([7, 130], ExitCode.INTERRUPTED),
    ],
)
def test_the_worst_of_exit_codes(codes: list[int], expected: ExitCode) -> None:
    assert worst(codes) is expected
    assert worst(codes[::-1]) is expected
