"""Asking again when a whole answer misses its contract."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import ANSWER_FORMAT


def a_cut_project(tmp_path: Path, zygote: Zygote, cut: int, **variables: str) -> Project:
    """One question whose first answers lack the last sections."""
    prompt = f"Why? [[fault=cut first={cut}]]\n\n{ANSWER_FORMAT}"
    step = f"mkdir -p out\n# 01) ask\noracle --write-output out/01-a.md -p '{prompt}'\n"
    return replace(a_project(tmp_path, zygote, step), variables=variables)


def verification(project: Project) -> Any:
    return project.steps()["01"]["verification"]


@pytest.mark.parametrize(
    ("cut", "args", "variables", "code", "calls"),
    [
        pytest.param(1, [], {}, 3, 1, id="by default nothing is asked again"),
        pytest.param(1, ["--output-retries", "1"], {}, 0, 2, id="once more is enough"),
        pytest.param(2, ["--output-retries", "1"], {}, 3, 2, id="once more is not enough"),
        pytest.param(2, ["--output-retries=2"], {}, 0, 3, id="twice more"),
        pytest.param(0, ["--output-retries", "5"], {}, 0, 1, id="a whole answer is enough"),
        pytest.param(1, [], {"ORACLEPACK_OUTPUT_RETRIES": "1"}, 0, 2, id="by a variable"),
        pytest.param(
            *(1, ["--output-retries", "0"], {"ORACLEPACK_OUTPUT_RETRIES": "1"}, 3, 1),
            id="the flag beats the variable",
        ),
        pytest.param(1, ["--output-verify=false"], {}, 0, 1, id="nothing is checked"),
        pytest.param(
            *(1, ["--output-verify=0", "--output-retries", "1"], {}, 0, 1),
            id="what is not checked is not asked again",
        ),
        pytest.param(
            *(1, ["--output-verify"], {"ORACLEPACK_OUTPUT_VERIFY": "off"}, 3, 1),
            id="the flag beats the variable for checking too",
        ),
    ],
)
def test_a_whole_answer_without_its_sections_is_asked_for_again(
    tmp_path: Path,
    zygote: Zygote,
    cut: int,
    args: list[str],
    variables: dict[str, str],
    code: int,
    calls: int,
) -> None:
    project = a_cut_project(tmp_path, zygote, cut, **variables)

    ran = project.run(*args)

    assert ran.code == code, ran.err
    assert len(project.oracle.calls) == calls
    (invocation,) = project.steps()["01"]["invocations"]
    assert invocation["attempts"] == calls


def test_an_earlier_answer_is_kept_and_the_good_one_verified(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_cut_project(tmp_path, zygote, 1)

    project.run("--output-retries", "1")

    assert verification(project) == {"passed": True, "checked": 1, "failures": [], "doubts": []}
    kept = [path.read_text() for path in project.run_dir.glob("blobs/*")]
    assert len(kept) == 2  # the cut one, and the good one
    assert sum("Missing evidence" in text for text in kept) == 1
    assert "Missing evidence" in (project.root / "out/01-a.md").read_text()
    report = json.loads((project.root / "pack.report.json").read_bytes())
    assert report["steps"][0]["verification"]["passed"] is True


def test_a_paid_answer_stays_where_the_pack_wants_it(tmp_path: Path, zygote: Zygote) -> None:
    project = a_cut_project(tmp_path, zygote, 9)

    ran = project.run("--output-retries", "1")

    assert ran.code == 3
    assert "next-experiment, missing-evidence" in ran.data["steps"][0]["message"]
    assert "Direct answer" in (project.root / "out/01-a.md").read_text()
    unmet = {
        "path": "out/01-a.md",
        "contract": "all-sections",
        "missing_sections": ["next-experiment", "missing-evidence"],
        "io_error": None,
        "reason": "sections",
    }
    seen = verification(project)
    assert (seen["passed"], seen["checked"], seen["failures"]) == (False, 1, [unmet])
    assert [doubt["code"] for doubt in seen["doubts"]] == ["cut_off"]
    state = json.loads((project.root / "pack.state.json").read_bytes())
    assert state["steps"]["01"]["verification"] == verification(project)
    assert ran.data["output_failures"] == [{"step_id": "01", **unmet}]


LACK = "out/01-a.md: missing sections: next-experiment, missing-evidence"


@pytest.mark.parametrize(
    ("prompt", "lack"),
    [
        pytest.param("[[fault=cut]]", LACK, id="an answer without its sections"),
        pytest.param("[[fault=nowrite]]", "out/01-a.md: file missing", id="no file at all"),
    ],
)
@pytest.mark.parametrize("rollback", [False, True])
def test_a_failed_check_names_step_file_and_what_is_missing(
    tmp_path: Path, zygote: Zygote, prompt: str, lack: str, *, rollback: bool
) -> None:
    step = f"mkdir -p out\n# 01) ask\noracle --write-output out/01-a.md -p 'Why? {prompt}\n\n"
    project = a_project(tmp_path, zygote, f"{step}{ANSWER_FORMAT}'\n")
    flags = ["--rollback-on-failure"] if rollback else []

    ran = project.start("run", "pack.md", *flags).wait()

    assert ran.code == 3
    assert f"step 01: {lack}" in ran.out.splitlines()


def test_chunks_are_named_one_by_one(tmp_path: Path, zygote: Zygote) -> None:
    words = "Answer format: [[fault=cut]]"
    chunks = "\n".join(
        f"oracle --write-output out/01-{part}.md -p '{words} {part}' || true"
        for part in ("direct-answer", "missing-evidence")
    )
    project = a_project(tmp_path, zygote, f"mkdir -p out\n# 01) ask\n{chunks}\n")

    ran = project.run()

    assert [one["path"] for one in ran.data["output_failures"]] == ["out/01-missing-evidence.md"]
    assert ran.data["steps"][0]["message"] == (
        "out/01-missing-evidence.md: missing sections: missing-evidence"
    )


def test_a_cached_answer_that_misses_its_contract_is_not_served(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_cut_project(tmp_path, zygote, 1)
    project.run("--output-verify=false")

    ran = project.run("--rerun", "all", "--output-retries", "1")

    assert (ran.code, len(project.oracle.calls)) == (0, 2)
    assert verification(project)["passed"] is True


def test_verify_later(tmp_path: Path, zygote: Zygote) -> None:
    project = a_cut_project(tmp_path, zygote, 1, ORACLEPACK_OUTPUT_VERIFY="0")
    assert project.run().code == 0

    later = project.start("verify-outputs", "pack.md").wait()

    assert later.code == 4
    place = "pack.md: step 01: out/01-a.md"
    cut = "it ends in the middle of a sentence: …Nobody has run `README.md` with a"
    assert later.out.splitlines() == [
        f"{place}: missing sections: next-experiment, missing-evidence",
        f"{place}:4: needs a look: {cut}",
        "totals: steps=1 outputs=1 ok=0 failed=1 doubtful=1 unresolved=0 skipped=0",
    ]
