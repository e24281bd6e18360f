"""The policy of `--ci`, and what runs side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.run.project import Zygote, a_project, asking

NINE = "mkdir -p out\n" + "\n".join(
    "# 07) other\nexit 1\n" if number == 7 else asking(number) for number in range(1, 11)
)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(["--ci", "--keep-going"], 5, id="the policy wants all"),
        pytest.param(["--ci", "--keep-going", "--min-completion", "0.9"], 0, id="0.9 is enough"),
        pytest.param(["--keep-going"], 3, id="no policy"),
        pytest.param(
            ["--ci", "--keep-going", "--min-completion", "0.9", "--rollback-on-failure"],
            3,
            id="a rollback is never a success",
        ),
    ],
)
def test_nine_of_ten(tmp_path: Path, zygote: Zygote, args: list[str], code: int) -> None:
    project = a_project(tmp_path, zygote, NINE)

    ran = project.run(*args, "--max-parallel", "4")

    assert ran.code == code
    assert ran.envelope["ok"] is (code == 0)
    assert ran.data["failed_steps"] == ["07"]
    assert (ran.data["completion"]["ok"], ran.data["completion"]["to_run"]) == (9, 10)
    assert len(project.oracle.calls) == 9
    if "--ci" in args:
        kinds = [json.loads(line)["kind"] for line in ran.err.splitlines()]
        assert kinds[0] == "run_created"
        assert kinds.count("step_finished") == 10


@pytest.mark.parametrize(
    ("words", "variables", "last"),
    [
        pytest.param(("run", "pack.md", "--ci"), {}, "POLICY", id="a failed run"),
        pytest.param(("run", "none.md", "--json-log"), {}, "NOT_FOUND", id="no such pack"),
        pytest.param(("run", "pack.md", "--ci", "--none"), {}, "USAGE", id="a wrong flag"),
        pytest.param(("run", "none.md"), {"ORACLEPACK_CI": "1"}, "NOT_FOUND", id="a variable"),
        pytest.param(("pipeline", "pack.md", "--ci"), {}, "POLICY", id="pipeline"),
        pytest.param(("actionize", "--ci"), {}, "INVALID_INPUT", id="actionize"),
    ],
)
def test_stderr_holds_json_lines_only(
    tmp_path: Path, zygote: Zygote, words: tuple[str, ...], variables: dict[str, Any], last: str
) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\nexit 1\n")

    ran = project.start(*words, **variables).wait()

    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert (lines[-1]["kind"], lines[-1]["code"]) == ("error", last)
    assert lines[-1]["suggestion"]


def test_warnings_are_json_lines_too(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\ntrue\n")
    (project.root / "oraclepack.toml").write_text('oracle_bin = "x"\n')

    ran = project.start("run", "pack.md", "--ci").wait()

    kinds = [json.loads(line)["kind"] for line in ran.err.splitlines()]
    assert (ran.code, kinds[-1]) == (0, "warning")


@pytest.mark.parametrize(
    ("args", "variables", "ran_all"),
    [
        pytest.param(["--ci", "--min-completion", "0.5"], {}, True, id="it implies --keep-going"),
        pytest.param(["--min-completion", "0.5"], {}, True, id="also without --ci"),
        pytest.param(
            ["--ci", "--min-completion", "0.5", "--stop-on-fail"], {}, False, id="unless denied"
        ),
        pytest.param(
            ["--ci"], {"ORACLEPACK_MIN_COMPLETION": "0.5"}, True, id="from the environment"
        ),
        pytest.param([], {"ORACLEPACK_MIN_COMPLETION": "0.5"}, False, id="which is about CI alone"),
    ],
)
def test_a_share_that_suffices(
    tmp_path: Path, zygote: Zygote, args: list[str], variables: dict[str, Any], ran_all: bool
) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\nfalse\n# 02) b\ntrue\n")

    project.run(*args, **variables)

    assert project.statuses() == ["failed", "ok" if ran_all else "pending"]


def test_steps_side_by_side_do_what_they_do_in_order(tmp_path: Path, zygote: Zygote) -> None:
    bash = "".join(
        f"# {n:02}) {n}\ncat out-{n - 1}.txt >out-{n}.txt\necho {n} >>out-{n}.txt\n"
        if n % 3 == 0
        else f"# {n:02}) {n}\necho {n} >out-{n}.txt\n"
        for n in range(1, 13)
    )
    answers = []
    for limit in ("1", "4"):
        project = a_project(tmp_path, zygote, bash, name=f"limit-{limit}")
        assert project.run("--max-parallel", limit).code == 0
        answers.append([(project.root / f"out-{n}.txt").read_text() for n in range(1, 13)])

    assert answers[0] == answers[1]


def test_what_needs_a_failed_step_does_not_run(tmp_path: Path, zygote: Zygote) -> None:
    bash = "# 01) writes\nfalse >a.txt\n# 02) reads\ncat a.txt >b.txt\n# 03) other\necho >c.txt\n"
    project = a_project(tmp_path, zygote, bash)

    ran = project.run("--keep-going", "--max-parallel", "2")

    assert ran.code == 3
    assert project.statuses() == ["failed", "pending", "ok"]
    assert ran.data["resume_from"] == "01"


def test_a_missing_tool_and_a_step_that_skips_itself(tmp_path: Path, zygote: Zygote) -> None:
    bash = (
        '# 01) calls\ncodex exec "do it"\n# 02) skips\necho "SKIP: nothing to do here"\n'
        "# 03) works\ntrue\n"
    )
    project = a_project(tmp_path, zygote, bash)

    ran = project.run()

    assert (ran.code, ran.data["skipped_steps"]) == (0, ["01", "02"])
    reasons = [project.steps()[step]["skip_reason"] for step in ("01", "02")]
    assert reasons == ["tool_missing: codex", "SKIP: nothing to do here"]
