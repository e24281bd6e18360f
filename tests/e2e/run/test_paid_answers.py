"""Answers that were paid for stay: corrected, accepted or put back, and not asked for again."""

import itertools
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import ANSWER_FORMAT

ANSWER = "out/01-a.md"
SHORT = f"Why? [[fault=short]]\n\n{ANSWER_FORMAT}"
WHOLE = f"Why?\n\n{ANSWER_FORMAT}"
CHUNKS = ("direct-answer", "risks-unknowns", "next-experiment", "missing-evidence")


def asks(path: str, prompt: str) -> str:
    return f"oracle --write-output {path} -p '{prompt}'\n"


def one_step(prompt: str, after: str = "") -> str:
    return f"mkdir -p out\n# 01) ask\n{asks(ANSWER, prompt)}{after}"


def a_short_project(tmp_path: Path, zygote: Zygote, after: str = "") -> Project:
    """Its only answer has no heading for the risks, and was asked for once."""
    project = a_project(tmp_path, zygote, one_step(SHORT, after))
    assert project.run().code == 3
    assert len(project.oracle.calls) == 1
    return project


def correct(project: Project, path: str = ANSWER) -> str:
    file = project.root / path
    file.write_text(file.read_text().replace("## Worries", "## Risks/unknowns"))
    return file.read_text()


def command(project: Project, *words: str) -> Ran:
    return project.start(*words, "--json").wait()


def data(ran: Ran) -> dict[str, Any]:
    reply: dict[str, Any] = ran.envelope["data"]
    return reply


def test_a_corrected_answer_is_accepted_without_asking_again(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_short_project(tmp_path, zygote)
    given = (project.root / ANSWER).read_text()
    text = correct(project)

    ran = project.run()

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert data(ran)["steps"][0]["decision"] == "recheck"
    step = project.steps()["01"]
    assert (step["status"], step["verification"]["passed"], step["attempts"]) == ("ok", True, 1)
    assert (project.run_dir / step["output_path"]).read_text() == text
    assert given in [path.read_text() for path in project.run_dir.glob("blobs/*")]
    assert (project.run().code, len(project.oracle.calls)) == (0, 1)


@pytest.mark.parametrize("args", [[], ["--rerun", "failed"], ["--rerun", "01"]])
def test_an_answer_that_still_misses_its_contract_is_not_asked_for_again(
    tmp_path: Path, zygote: Zygote, args: list[str]
) -> None:
    project = a_short_project(tmp_path, zygote)
    before = (project.root / ANSWER).read_bytes()

    ran = project.run(*args)

    assert (ran.code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == before
    assert data(ran)["failed_steps"] == ["01"]
    (lack,) = data(ran)["output_failures"]
    assert (lack["path"], lack["missing_sections"]) == (ANSWER, ["risks-unknowns"])
    suggestion = ran.envelope["error"]["suggestion"]
    assert "pack.md 01 --reason" in suggestion
    assert "pack.md --rerun 01 --refresh" in suggestion


def test_the_ways_to_continue_are_printed_and_shown_by_why(tmp_path: Path, zygote: Zygote) -> None:
    project = a_short_project(tmp_path, zygote)

    ran = project.start("run", "pack.md").wait()
    why = project.start("why", "pack.md", "01").wait()

    assert f"step 01: {ANSWER}: missing sections: risks-unknowns" in ran.out
    assert "not asked again, because it was paid for" in ran.out
    assert "`oraclepack step accept pack.md 01 --reason …` takes the answer" in ran.err
    assert (ran.out + ran.err).count("correct the file and run again") == 1
    assert f"step 01 is held: {ANSWER} lacks risks-unknowns; it was paid for" in why.out


def test_the_ways_to_continue_are_printed_although_another_step_failed_too(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_short_project(tmp_path, zygote)
    text = project.pack.read_text().rstrip().removesuffix("```")
    project.pack.write_text(f"{text}\n# 02) fails\nfalse\n```\n")

    ran = project.start("run", "pack.md", "--keep-going", "--new-run").wait()

    assert ran.code == 3
    assert "to continue: " in ran.err
    assert (ran.out + ran.err).count("`oraclepack step accept pack.md 01 --reason …` takes") == 1


def test_refresh_asks_again_and_the_first_answer_goes_to_quarantine(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_short_project(tmp_path, zygote)

    ran = project.run("--rerun", "01", "--refresh")

    assert (ran.code, len(project.oracle.calls)) == (3, 2)
    listed = data(command(project, "quarantine", "list"))["files"]
    assert [one["original"] for one in listed] == [ANSWER]


def test_an_answer_that_was_cut_off_is_asked_for_again(tmp_path: Path, zygote: Zygote) -> None:
    prompt = f"Why? [[fault=cut first=1]]\n\n{ANSWER_FORMAT}"
    project = a_project(tmp_path, zygote, one_step(prompt))

    codes = [project.run().code for _ in range(2)]

    assert (codes, len(project.oracle.calls)) == ([3, 0], 2)


@pytest.mark.parametrize("gone", ["removed", "emptied"])
def test_an_answer_that_is_gone_is_put_back_and_not_asked_for_again(
    tmp_path: Path, zygote: Zygote, gone: str
) -> None:
    project = a_short_project(tmp_path, zygote)
    before = (project.root / ANSWER).read_bytes()
    (project.root / ANSWER).unlink()
    if gone == "emptied":
        (project.root / ANSWER).touch()

    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == before


@pytest.mark.parametrize("args", [[], ["--rerun", "01"]])
def test_a_placeholder_in_place_of_an_answer_does_not_ask_again(
    tmp_path: Path, zygote: Zygote, args: list[str]
) -> None:
    project = a_short_project(tmp_path, zygote)
    before = (project.root / ANSWER).read_bytes()
    (project.root / ANSWER).write_text("# Answer\n\nTODO\n")

    assert (project.run(*args).code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == before
    kept = [path.read_text() for path in project.run_dir.glob("blobs/*")]
    assert "# Answer\n\nTODO\n" in kept


def test_another_out_dir_does_not_ask_again(tmp_path: Path, zygote: Zygote) -> None:
    path = '"$out_dir/01-a.md"'
    bash = f'out_dir=out\nmkdir -p "$out_dir"\n# 01) ask\n{asks(path, SHORT)}'
    project = a_project(tmp_path, zygote, bash)
    assert project.run().code == 3
    before = (project.root / ANSWER).read_bytes()
    other = project.root / "other/01-a.md"
    other.parent.mkdir()
    other.write_text("## Direct answer\nA file of somebody else.\n")

    ran = project.run("--out-dir", "other")

    assert (ran.code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == other.read_bytes() == before


def test_a_rehearsed_file_does_not_replace_a_paid_answer(tmp_path: Path, zygote: Zygote) -> None:
    project = a_short_project(tmp_path, zygote)
    run = project.run_dir
    before = (project.root / ANSWER).read_bytes()
    (project.root / ANSWER).unlink()
    assert project.run("--engine", "rehearsal", "--in-place").code == 0
    assert (project.root / ANSWER).read_bytes() != before

    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == before
    assert [path.read_bytes() for path in run.glob("outputs/*")] == [before]


def test_the_rest_of_a_step_runs_once_its_answer_is_corrected(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_short_project(tmp_path, zygote, after="test $? = 0 || exit 1\ntouch after\n")
    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
    correct(project)

    assert (project.run().code, len(project.oracle.calls)) == (0, 1)
    assert (project.root / "after").exists()


def chunked(bad: str) -> str:
    """Four calls, of which one answers too short; the next ones come only after a good one."""
    calls = "".join(
        asks(f"out/01-x-{name}.md", SHORT if name == bad else f"{name}?\n\n{ANSWER_FORMAT}")
        for name in CHUNKS
    )
    return f"mkdir -p out\n# 01) ask\nset -e\n{calls}"


def test_the_chunks_before_and_after_a_short_one_are_asked_for_once(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, chunked("risks-unknowns"))
    assert (project.run().code, len(project.oracle.calls)) == (3, 2)
    assert (project.run().code, len(project.oracle.calls)) == (3, 2)

    correct(project, "out/01-x-risks-unknowns.md")

    assert (project.run().code, len(project.oracle.calls)) == (0, 4)
    assert project.statuses() == ["ok"]


def test_an_accepted_chunk_is_not_asked_for_again(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, chunked("risks-unknowns"))
    project.run()

    report = data(command(project, "accept", "pack.md", "01", "--reason", "fine"))

    assert report["status"] == "failed"
    assert [one["path"] for one in report["outputs"]] == ["out/01-x-risks-unknowns.md"]
    assert len(report["failures"]) == 2
    assert (project.run().code, len(project.oracle.calls)) == (0, 4)
    assert project.steps()["01"]["accepted"][0]["reason"] == "fine"


def test_after_a_rollback_the_answer_comes_back_from_quarantine(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, one_step(SHORT))
    project.run("--rollback-on-failure")
    assert not (project.root / ANSWER).exists()

    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
    assert "## Worries" in (project.root / ANSWER).read_text()
    correct(project)
    assert (project.run().code, len(project.oracle.calls)) == (0, 1)


@pytest.mark.parametrize(
    ("args", "later"),
    [
        pytest.param([], [True, False, False], id="a held step stops what comes after it"),
        pytest.param(["--keep-going"], [True, True, False], id="but for what goes on without it"),
    ],
)
def test_what_runs_beside_a_held_step(
    tmp_path: Path, zygote: Zygote, args: list[str], later: list[bool]
) -> None:
    steps = (
        f"mkdir -p out\n# 01) first\n[[ -e go ]]; touch first\n# 02) ask\n{asks(ANSWER, SHORT)}"
        f"# 03) free\ntouch free\n# 04) needs it\ncat {ANSWER} >needs\n"
    )
    project = a_project(tmp_path, zygote, steps)
    project.run("--steps", "02")

    ran = project.run(*args)

    assert (ran.code, len(project.oracle.calls)) == (3, 1)
    made = [(project.root / name).exists() for name in ("first", "free", "needs")]
    assert made == later
    assert data(ran)["held_steps"] == ["02"]


def test_without_checks_the_answer_will_do(tmp_path: Path, zygote: Zygote) -> None:
    project = a_short_project(tmp_path, zygote)

    assert (project.run("--output-verify=false").code, len(project.oracle.calls)) == (0, 1)


def test_an_accepted_answer_is_ok_and_shown_as_accepted(tmp_path: Path, zygote: Zygote) -> None:
    project = a_short_project(tmp_path, zygote)

    accepted = command(project, "accept", "pack.md", "1", "--reason", "no risks at all")
    ran = project.run()

    assert (accepted.code, ran.code, len(project.oracle.calls)) == (0, 0, 1)
    assert data(accepted)["status"] == "accepted"
    assert "it was accepted as it is: no risks at all" in data(ran)["steps"][0]["reason"]
    entry = project.steps()["01"]
    assert entry["status"] == "ok"
    (taken,) = entry["accepted"]
    assert (taken["path"], taken["missing_sections"]) == (ANSWER, ["risks-unknowns"])
    assert (taken["reason"], taken["sha256"]) == ("no risks at all", entry["output_hash"])
    report = json.loads((project.root / "pack.report.json").read_bytes())
    assert report["steps"][0]["accepted"] == [ANSWER]
    shown = [
        project.start("list", "pack.md").wait().out,
        project.start("runs", "show", project.run_dir.name).wait().out,
        project.start("why", "pack.md", "01").wait().out,
        project.start("verify-outputs", "pack.md").wait().out,
        project.start("runs", "list").wait().out,
        project.start("run", "pack.md", "--quiet").wait().out,
    ]
    assert ["accepted" in text for text in shown] == [True] * 6
    verified = command(project, "verify-outputs", "pack.md")
    assert (verified.code, data(verified)["totals"]["accepted"]) == (0, 1)
    command(project, "actionize", "--run-dir", str(project.run_dir))
    records = (project.run_dir / "actionizer/normalized.jsonl").read_text().splitlines()
    remarks = [json.loads(line)["remarks"][0] for line in records]
    assert set(remarks) == {
        "The answer was accepted by hand although it lacks risks-unknowns: no risks at all"
    }


def test_accepted_no_longer_once_the_file_is_another(tmp_path: Path, zygote: Zygote) -> None:
    project = a_short_project(tmp_path, zygote)
    command(project, "accept", "pack.md", "01")
    (project.root / ANSWER).write_text("## Direct answer\nAnother one.\n")

    assert command(project, "verify-outputs", "pack.md").code == 4


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        pytest.param("unlink", 2, "missing", id="a missing file"),
        pytest.param("empty", 2, "it is empty", id="an empty file"),
        pytest.param("rehearsal", 2, "it is a rehearsal", id="a rehearsed answer"),
        pytest.param("good", 2, "there is nothing to accept", id="a good answer"),
    ],
)
def test_what_is_never_accepted(
    tmp_path: Path, zygote: Zygote, what: str, code: int, message: str
) -> None:
    project = a_short_project(tmp_path, zygote)
    file = project.root / ANSWER
    if what == "unlink":
        file.unlink()
    elif what == "empty":
        file.write_text(" \n")
    elif what == "rehearsal":
        file.write_text("This is a rehearsal: no model was asked, and nothing here is an answer.\n")
    else:
        correct(project)
        project.run()

    refused = command(project, "accept", "pack.md", "01")

    assert refused.code == code
    assert message in refused.envelope["error"]["message"]
    assert project.steps()["01"]["accepted"] == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(("9",), "there is no step 9", id="no such step"),
        pytest.param(("02",), "step 02 has not run yet", id="a step that never ran"),
        pytest.param(("01", "--file", "out/x.md"), "is no output of step 01", id="no such file"),
    ],
)
def test_what_accept_refuses(
    tmp_path: Path, zygote: Zygote, args: tuple[str, ...], message: str
) -> None:
    project = a_project(tmp_path, zygote, f"{one_step(SHORT)}# 02) later\ntrue\n")
    project.run()

    refused = command(project, "accept", "pack.md", *args)

    assert refused.code == 2
    assert message in refused.envelope["error"]["message"]


def test_a_pack_that_never_ran_has_nothing_to_accept(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, one_step(WHOLE))

    assert command(project, "accept", "pack.md", "01").code == 2
    assert not project.run_dirs


def an_answered_project(tmp_path: Path, zygote: Zygote) -> Project:
    project = a_project(tmp_path, zygote, one_step(WHOLE))
    assert project.run("--no-cache").code == 0
    assert len(project.oracle.calls) == 1
    return project


EDIT = "my own words\n"
BETTER = "\n## Added by hand\n\nSee the runbook.\n"


def edited(project: Project) -> None:
    (project.root / ANSWER).write_text(EDIT)


def improved(project: Project) -> bytes:
    """A person adds to the answer, which still meets its contract."""
    file = project.root / ANSWER
    file.write_text(file.read_text() + BETTER)
    return file.read_bytes()


def test_an_edit_that_meets_the_contract_stays_and_the_step_is_ok(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = an_answered_project(tmp_path, zygote)
    recorded = project.steps()["01"]
    answer = (project.root / ANSWER).read_bytes()
    mine = improved(project)

    first = project.start("run", "pack.md", "--no-cache").wait()
    second = project.run("--no-cache")

    assert (first.code, second.code, len(project.oracle.calls)) == (0, 0, 1)
    assert (project.root / ANSWER).read_bytes() == mine
    assert f"{ANSWER} was edited after it was recorded: it stays as it is" in first.err
    assert second.data["steps"][0]["decision"] == "done"
    step = project.steps()["01"]
    assert (step["status"], step["edited"], step["outputs"][0]["edited"]) == ("ok", True, True)
    assert step["output_hash"] == recorded["output_hash"]
    assert (project.run_dir / step["output_path"]).read_bytes() == answer
    assert data(command(project, "quarantine", "list"))["files"] == []


def test_an_edit_that_is_taken_back_leaves_no_mark(tmp_path: Path, zygote: Zygote) -> None:
    project = an_answered_project(tmp_path, zygote)
    answer = (project.root / ANSWER).read_bytes()
    improved(project)
    project.run("--no-cache")
    (project.root / ANSWER).write_bytes(answer)

    assert project.run("--no-cache").code == 0

    assert project.steps()["01"]["edited"] is False


def test_stage_3_reads_an_edited_answer_as_it_is(tmp_path: Path, zygote: Zygote) -> None:
    project = an_answered_project(tmp_path, zygote)
    file = project.root / ANSWER
    file.write_text(file.read_text().replace("Direct answer", "Direct answer\n\nFix the lock.", 1))

    made = command(project, "actionize", "--run-dir", str(project.run_dir))

    assert made.code == 0
    assert "Fix the lock" in (project.run_dir / "actionizer/normalized.jsonl").read_text()


@pytest.mark.parametrize("way", ["accept", "restore", "correct"])
def test_an_edit_that_misses_the_contract_fails_with_both_ways_on(
    tmp_path: Path, zygote: Zygote, way: str
) -> None:
    project = an_answered_project(tmp_path, zygote)
    answer = (project.root / ANSWER).read_bytes()
    edited(project)

    ran = project.start("run", "pack.md", "--no-cache").wait()

    assert (ran.code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_text() == EDIT
    failed = project.steps()["01"]
    assert (failed["status"], failed["edited"]) == ("failed", True)
    assert "oraclepack step accept" in ran.err
    assert "puts the recorded answer back" in ran.err
    match way:
        case "accept":
            assert command(project, "accept", "pack.md", "01").code == 0
        case "restore":
            (project.root / ANSWER).unlink()
        case _:
            (project.root / ANSWER).write_bytes(answer + BETTER.encode())
    again = project.run("--no-cache")
    step = project.steps()["01"]
    assert (again.code, len(project.oracle.calls), step["status"]) == (0, 1, "ok")
    now = (project.root / ANSWER).read_bytes()
    assert (now == answer) == (way == "restore")
    assert step["edited"] is (way == "correct")
    kept = [path.read_bytes() for path in project.run_dir.rglob("*.md")]
    assert answer in kept


def test_an_edited_artifact_of_another_tool_stays(tmp_path: Path, zygote: Zygote) -> None:
    writes = "# 01) write\n# oraclepack: outputs=PR.md\necho draft > PR.md\n"
    project = a_project(tmp_path, zygote, writes)
    assert project.run().code == 0
    (project.root / "PR.md").write_text("reworded\n")

    again = project.run()

    assert (again.code, again.data["completed_steps"]) == (0, [])
    assert (project.root / "PR.md").read_text() == "reworded\n"
    assert (project.run_dir / "outputs/01-pr.md").read_text() == "draft\n"
    assert project.steps()["01"]["edited"] is True


def test_what_a_later_step_adds_to_an_answer_stays(tmp_path: Path, zygote: Zygote) -> None:
    later = f"# 02) sign\necho signed >> {ANSWER}\n"
    project = a_project(tmp_path, zygote, one_step(WHOLE) + later)
    assert project.run("--no-cache").code == 0
    signed = (project.root / ANSWER).read_bytes()

    again = project.run("--no-cache")

    assert (again.code, again.data["completed_steps"], len(project.oracle.calls)) == (0, [], 1)
    assert (project.root / ANSWER).read_bytes() == signed


@pytest.mark.parametrize(
    ("words", "times"),
    [
        pytest.param(["run"], 1, id="lines"),
        pytest.param(["run", "--quiet"], 1, id="quiet"),
        pytest.param(["pipeline", "--quiet"], 1, id="a quiet pipeline"),
        pytest.param(["run", "--quiet", "--json"], 0, id="JSON"),
        pytest.param(["pipeline", "--json-log", "--json"], 1, id="JSON lines"),
    ],
)
def test_a_warning_of_a_run_is_shown_once_and_always_in_json(
    tmp_path: Path, zygote: Zygote, words: list[str], times: int
) -> None:
    project = an_answered_project(tmp_path, zygote)
    improved(project)

    ran = project.start(words[0], "pack.md", *words[1:]).wait()

    assert ran.err.count(f"{ANSWER} was edited after it was recorded") == times
    if "--json" in words:
        said = f"step 01: {ANSWER} was edited after it was recorded"
        assert sum(one.startswith(said) for one in ran.envelope["warnings"]) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0" * 4096, id="zeros, as a power cut leaves them"),
    ],
)
def test_a_file_that_holds_nothing_is_replaced_by_the_recorded_answer(
    tmp_path: Path, zygote: Zygote, content: bytes
) -> None:
    project = an_answered_project(tmp_path, zygote)
    file = project.root / ANSWER
    answer = file.read_bytes()
    file.write_bytes(content)

    ran = project.start("run", "pack.md", "--no-cache").wait()

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert file.read_bytes() == answer
    assert "edited" not in ran.err


def test_an_answer_without_what_its_step_added_is_no_edit(tmp_path: Path, zygote: Zygote) -> None:
    """As a power cut leaves it: bash does not sync what it appends."""
    project = a_project(tmp_path, zygote, one_step(WHOLE, f"echo '## Notes' >>{ANSWER}"))
    assert project.run().code == 0
    file = project.root / ANSWER
    whole = file.read_text()
    file.write_text(whole.removesuffix("## Notes\n"))

    ran = project.run()

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert data(ran)["steps"][0]["decision"] == "restore"
    assert file.read_text() == whole


def test_accept_makes_the_edited_version_the_recorded_one(tmp_path: Path, zygote: Zygote) -> None:
    project = an_answered_project(tmp_path, zygote)
    answer = (project.root / ANSWER).read_bytes()
    edited(project)

    accepted = command(project, "accept", "pack.md", "01", "--reason", "better so")
    again = project.run("--no-cache")

    assert (accepted.code, again.code, len(project.oracle.calls)) == (0, 0, 1)
    step = project.steps()["01"]
    assert (project.run_dir / step["output_path"]).read_text() == EDIT
    assert step["edited"] is False
    assert answer in [path.read_bytes() for path in project.run_dir.glob("blobs/*")]


def test_a_directory_in_place_of_an_output_is_not_touched(tmp_path: Path, zygote: Zygote) -> None:
    project = an_answered_project(tmp_path, zygote)
    (project.root / ANSWER).unlink()
    (project.root / ANSWER / "inside").mkdir(parents=True)

    ran = project.run()

    assert (ran.code, len(project.oracle.calls)) == (2, 1)
    assert "a directory has that name" in ran.envelope["error"]["message"]


def removed(project: Project) -> None:
    (project.root / ANSWER).unlink()


def copy_removed(project: Project) -> None:
    (project.run_dir / "outputs/01-a.md").unlink()


class Saved:
    """A project as it was before a command that is to be killed, to be had again and again."""

    def __init__(self, project: Project, harm: Callable[[Project], None]) -> None:
        self.answer = (project.root / ANSWER).read_bytes()
        harm(project)
        self._project = project
        self._copy = project.root.with_name("saved")
        shutil.copytree(project.root, self._copy, symlinks=True)

    def deaths(self, *words: str) -> Iterator[Ran]:
        """Let a command die before its first change of the disk, its second, and so on."""
        notes = str(self._copy.with_name("notes"))
        for number in itertools.count(1):
            shutil.rmtree(self._project.root)
            shutil.copytree(self._copy, self._project.root, symlinks=True)
            ran = self._project.start(*words, fault={"kill": number, "notes": notes}).wait()
            yield ran
            if ran.code >= 0:
                return


@pytest.mark.slow
@pytest.mark.parametrize("harm", [edited, removed, copy_removed])
def test_killed_at_any_change_of_the_disk_nothing_is_lost(
    tmp_path: Path, zygote: Zygote, harm: Callable[[Project], None]
) -> None:
    project = an_answered_project(tmp_path, zygote)
    saved = Saved(project, harm)
    for _ in saved.deaths("run", "pack.md", "--no-cache", "--no-legacy-files"):
        again = project.run("--no-cache")

        assert (again.code, len(project.oracle.calls)) == (3 if harm is edited else 0, 1)
        now = (project.root / ANSWER).read_bytes()
        assert now == (EDIT.encode() if harm is edited else saved.answer)
        assert (project.run_dir / "outputs/01-a.md").read_bytes() == saved.answer


@pytest.mark.slow
def test_killed_at_any_change_of_the_disk_an_acceptance_is_whole_or_none(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = an_answered_project(tmp_path, zygote)
    saved = Saved(project, edited)
    for first in saved.deaths("accept", "pack.md", "01"):
        again = project.run("--no-cache")

        step = project.steps()["01"]
        assert (again.code, len(project.oracle.calls)) == (0 if step["accepted"] else 3, 1)
        assert (project.root / ANSWER).read_text() == EDIT
        everywhere = [path.read_bytes() for path in project.root.rglob("*") if path.is_file()]
        assert {saved.answer, EDIT.encode()} <= set(everywhere)
        copy = (project.run_dir / "outputs/01-a.md").read_bytes()
        assert copy == (EDIT.encode() if step["accepted"] else saved.answer)
        assert first.code != 0 or step["accepted"]


def test_a_rerun_does_not_replace_what_was_accepted(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, one_step(WHOLE))
    project.run()
    edited(project)
    command(project, "accept", "pack.md", "01")

    assert project.run("--rerun", "01").code == 0

    assert (project.root / ANSWER).read_text() == EDIT
    assert len(project.steps()["01"]["accepted"]) == 1


@pytest.mark.parametrize("number", range(76, 120, 3))
def test_a_kill_around_a_short_answer_never_pays_twice(
    tmp_path: Path, zygote: Zygote, number: int
) -> None:
    """The scripted oracle keeps no session records: only the file speaks for the answer."""
    project = a_project(tmp_path, zygote, one_step(SHORT))
    killed = project.run(fault={"notes": str(tmp_path / "notes"), "kill": number})
    assert killed.code == -signal.SIGKILL

    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
