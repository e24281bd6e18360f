"""The last word of a run, for people."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from oraclepack.cli.outcome import RunLocation, plan_text, run_text
from oraclepack.cli.reply import Styled
from oraclepack.run.policy import CompletionReport
from oraclepack.run.run_report import RunReport, StepReport
from tests.cli.answers import answer
from tests.e2e.program import Ran
from tests.packs import pack_text

REPORT = RunReport(
    run_id="r",
    run_dir=".oraclepack/runs/r",
    continued=False,
    reason="there is no run of this pack yet",
    status="failed",
    completed_steps=("01",),
    done_steps=(),
    failed_step="02",
    failed_steps=("02", "03"),
    skipped_steps=(),
    resume_from="02",
    rollback_status="not_attempted",
    rollback_error=None,
    completion=CompletionReport(ok=1, to_run=3, ratio=0.33, required=1.0, self_skipped=()),
    steps=tuple(
        StepReport(
            step_id=one,
            decision="run",
            reason="it has not run yet",
            status="ok" if one == "01" else "failed",
            attempts=1,
            duration_ms=1500,
            error=None if one == "01" else "EXIT_CODE",
            message=None if one == "01" else "exit code 7",
            stdout_log=f"logs/{one}.1.stdout.log",
            stderr_log=f"logs/{one}.1.stderr.log",
        )
        for one in ("01", "02", "03")
    ),
)


def plain(text: Sequence[str | Styled]) -> str:
    return "".join(piece.text if isinstance(piece, Styled) else piece for piece in text)


def logs(root: Path) -> Path:
    folder = root / REPORT.run_dir / "logs"
    folder.mkdir(parents=True)
    return folder


def test_after_a_failure_the_log_and_the_way_on_are_reported(tmp_path: Path) -> None:
    folder = logs(tmp_path)
    (folder / "02.1.stderr.log").write_text("".join(f"line {n}\n" for n in range(30)))
    (folder / "03.1.stdout.log").write_text("out\n")

    text = plain(
        run_text(REPORT, RunLocation(tmp_path, tmp_path, "my pack.md"), "oraclepack run pack.md")
    )

    tail = "".join(f"  | line {n}\n" for n in range(20, 30))
    assert text == (
        "step 02 failed (EXIT_CODE): exit code 7\n"
        f"the end of .oraclepack/runs/r/logs/02.1.stderr.log:\n{tail}"
        "step 03 failed (EXIT_CODE): exit code 7\n"
        "  log: .oraclepack/runs/r/logs/03.1.stdout.log\n"
        "1 ok, 2 failed (1.5s of work)\n"
        "run directory: .oraclepack/runs/r\n"
        "to continue: oraclepack run pack.md\n"
    )


def test_paths_work_from_where_the_user_stands(tmp_path: Path) -> None:
    logs(tmp_path)

    text = plain(run_text(REPORT, RunLocation(tmp_path, tmp_path / "src", "my pack.md"), None))

    assert f"its logs are empty: {tmp_path}/.oraclepack/runs/r/logs/02.1.stderr.log\n" in text
    assert "to continue" not in text


def test_a_line_without_an_end_does_not_flood_the_screen(tmp_path: Path) -> None:
    (logs(tmp_path) / "02.1.stderr.log").write_text("x" * 5000)

    text = plain(run_text(REPORT, RunLocation(tmp_path, tmp_path, "my pack.md"), None))

    assert f"  | {'x' * 300}… (5000 characters)\n" in text


def test_a_failed_prelude_shows_its_last_log(tmp_path: Path) -> None:
    folder = logs(tmp_path)
    for number in (2, 10):
        (folder / f"prelude.{number}.stderr.log").write_text(f"attempt {number}\n")
        (folder / f"prelude.{number}.stdout.log").write_text("")
    report = msgspec.structs.replace(
        REPORT,
        completed_steps=(),
        failed_step="prelude",
        failed_steps=(),
        prelude_error="it left",
        prelude_stdout_log="logs/prelude.10.stdout.log",
        prelude_stderr_log="logs/prelude.10.stderr.log",
    )

    text = plain(run_text(report, RunLocation(tmp_path, tmp_path, "my pack.md"), None))

    assert text.startswith(
        "the prelude failed: it left\nthe end of .oraclepack/runs/r/logs/prelude.10."
    )
    assert "  | attempt 10\nno step ran\n" in text


@pytest.mark.parametrize("failed", [True, False])
def test_what_a_step_changed_is_shown_and_how_it_runs_again(
    tmp_path: Path, *, failed: bool
) -> None:
    changed = tuple(f"{number}.txt" for number in range(10))
    step = msgspec.structs.replace(REPORT.steps[0], step_id="05", changed_files=changed)
    report = msgspec.structs.replace(
        REPORT,
        steps=(step,),
        completed_steps=() if failed else ("05",),
        failed_steps=("05",) if failed else (),
    )

    text = plain(run_text(report, RunLocation(tmp_path, tmp_path, "my pack.md"), None))

    listed = "0.txt, 1.txt, 2.txt, 3.txt, 4.txt, 5.txt, 6.txt, 7.txt, …"
    assert f"step 05 changed 10 files: {listed}\n" in text
    assert ("before it runs again: oraclepack step undo 'my pack.md' 05" in text) is failed


def test_a_rollback_and_nothing_to_do() -> None:
    report = msgspec.structs.replace(
        REPORT,
        completed_steps=(),
        failed_step=None,
        failed_steps=(),
        resume_from=None,
        rollback_status="failed",
        rollback_error="disk full",
    )

    text = plain(run_text(report, RunLocation(Path(), Path(), "pack.md"), None))

    assert text == (
        "nothing to do\nrollback failed: disk full\nrun directory: .oraclepack/runs/r\n"
    )


def test_a_plan_is_a_table() -> None:
    text = plan_text(REPORT)

    assert text.splitlines()[0] == "run r (new: there is no run of this pack yet)"
    assert text.splitlines()[-1].split() == [
        "03",
        "run",
        "failed",
        "it",
        "has",
        "not",
        "run",
        "yet",
    ]


PACK = pack_text("# 01) first\necho hello\n# 02) second\nexit 7\n")


def in_project(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> Ran:
    (root / "pack.md").write_text(PACK)
    return answer(capsys, "run", str(root / "pack.md"), "--cwd", str(root), "--quiet", *args)


LOUD = pack_text("# 01) first\necho hello\n# 02) second\necho the disk is full >&2; exit 7\n")
LINES = (
    "--  run RUN: 0 of 2 steps already done\n"
    "01  started: it has not run yet\n"
    "01  ok in TIME [1/2]\n"
    "02  started: it has not run yet\n"
    "02  failed in TIME (EXIT_CODE)\n"
)


@pytest.mark.parametrize(("display", "lines"), [("plain", LINES), ("quiet", "")])
def test_a_failure_is_reported_once(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    display: str,
    lines: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pack.md").write_text(LOUD)

    got = answer(capsys, "run", "pack.md", "--cwd", ".", "--display", display)

    assert got.code == 3
    run = next(Path(".oraclepack/runs").iterdir()).name
    text = re.sub(r"\b\d+\.\ds\b", "TIME", (got.err + got.out).replace(run, "RUN"))
    assert text == lines + (
        "error: step 02 failed: EXIT_CODE: exit code 7: the disk is full\n"
        f"  hint: to continue: oraclepack run pack.md --cwd . --display {display}\n"
        "log: .oraclepack/runs/RUN/logs/02.1.stderr.log\n"
        "1 ok, 1 failed (TIME of work)\n"
        "run directory: .oraclepack/runs/RUN\n"
    )


def test_on_github_the_summary_page_gets_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))

    got = in_project(capsys, tmp_path)

    assert got.code == 3
    assert page.read_text().startswith("before\n### oraclepack: ")
    assert "| 02 | second | ❌ failed |" in page.read_text()


def test_a_page_that_cannot_be_written_is_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))

    got = in_project(capsys, tmp_path)

    assert got.code == 3
    assert "warning: GITHUB_STEP_SUMMARY: cannot write to" in got.err


def test_the_envelope_has_the_command_that_continues(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    got = in_project(capsys, tmp_path, "--json")

    suggestion = got.envelope["error"]["suggestion"]
    assert suggestion.startswith("to continue: oraclepack run ")
    assert suggestion.endswith("--quiet --json")


def test_the_first_line_names_the_directory_of_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pack.md").write_text(LOUD)
    flags = ("--cwd", ".", "--display", "plain", "--new-run")

    answer(capsys, "run", "pack.md", *flags)
    (first,) = Path(".oraclepack/runs").iterdir()
    again = answer(capsys, "run", "pack.md", *flags)

    assert f"--  run {first.name}__2: 0 of 2 steps already done\n" in again.err
