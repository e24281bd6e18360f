import re
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status
from oraclepack.system import locks
from oraclepack.system.printable import visible
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.e2e.program import Ran, oraclepack
from tests.events import at, created, finished, session, started
from tests.packs import a_pack, pack_text, some_steps
from tests.runs_from_events import RUN_ID, a_run, a_run_of, an_ended_run

NOTHING = {
    "cost": None,
    "source": "unknown",
    "calls": 0,
    "unknown_calls": 0,
    "input_tokens": None,
    "output_tokens": None,
    "reasoning_tokens": None,
    "saved": None,
    "saved_calls": 0,
}
"""The cost of a run that made no call."""


def in_project(capsys: pytest.CaptureFixture[str], root: Path, *args: str, schema: str = "") -> Ran:
    got = answer(capsys, *args, "--cwd", str(root))
    if schema:
        jsonschema.validate(got.envelope["data"], schema_of(schema))
    return got


def damage(run: RunDir, line: int) -> None:
    lines = run.journal.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b"0", b"1")
    run.journal.write_bytes(b"".join(lines))


def test_no_runs_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    got = in_project(capsys, tmp_path, "runs", "list")

    assert (got.code, got.out) == (0, "")
    assert got.err == f"there are no runs in {tmp_path}\n"


def test_runs_are_listed_the_newest_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    an_ended_run(tmp_path)
    an_ended_run(tmp_path, "2026-02-01__nogit__55555555", git_sha=None, at="2026-04-01T00:00:00Z")

    got = in_project(capsys, tmp_path, "runs", "list")

    rows = [line.split() for line in got.out.splitlines()]
    assert rows[0] == ["run", "pack", "commit", "status", "ok", "created", "worked", "cost", "note"]
    assert rows[1][:5] == ["2026-02-01__nogit__55555555", "docs/pack.md", "-", "failed", "1/3"]
    assert rows[2] == [
        *(RUN_ID, "docs/pack.md", "aaaaaaa", "failed", "1/3"),
        *("2026-03-01", "10:00", "6.0s", "-"),
    ]


def test_the_list_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    an_ended_run(tmp_path)

    got = in_project(capsys, tmp_path, "runs", "list", "--json", schema="runs")

    assert got.envelope["data"]["runs"] == [
        {
            "run_id": RUN_ID,
            "pack_path": "docs/pack.md",
            "git_sha": "a" * 40,
            "status": "failed",
            "ok": 1,
            "total": 3,
            "created_at": at(1),
            "finished_at": None,
            "duration_ms": 6000,
            "holder": None,
            "damage": None,
            "foreign": None,
            "rehearsal": False,
            "run_dir": f".oraclepack/runs/{RUN_ID}",
            "accepted": 0,
            "cost": NOTHING,
        }
    ]


def test_a_damaged_run_is_listed_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    damage(an_ended_run(tmp_path), 4)

    got = in_project(capsys, tmp_path, "runs", "list")

    assert got.code == 0
    assert "damaged" in got.out
    assert "line 4: the checksum does not fit" in got.out


def test_a_journal_that_cannot_be_read_is_damage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    RunDir(tmp_path, RUN_ID).journal.mkdir(parents=True)

    data = in_project(capsys, tmp_path, "runs", "list", "--json", schema="runs").envelope["data"]

    assert data["runs"][0]["status"] == "damaged"
    assert "Is a directory" in data["runs"][0]["damage"]


def test_live_and_killed_owners_of_a_run_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_run(tmp_path, created("01"), session(), started("01"))
    a_run(tmp_path, run_id="2026-01-01__nogit__55555555")

    killed = in_project(capsys, tmp_path, "runs", "list", "--json").envelope["data"]["runs"]
    shown = in_project(capsys, tmp_path, "runs", "show", "2026-03").out
    newest = in_project(capsys, tmp_path, "runs", "show").out
    held = locks.acquire(run.path, locks.Holder(pid=7, host="box", started_at="now", command="run"))
    assert isinstance(held, locks.RunLock)
    with held:
        held_run = in_project(capsys, tmp_path, "runs", "show", RUN_ID)

    assert [one["status"] for one in killed] == ["interrupted", "empty"]
    assert "01    interrupted" in shown
    assert newest.startswith("run 2026-01-01__nogit__55555555: empty")
    assert "in use by process 7 on box since now (run)" in held_run.out
    assert "01    running" in held_run.out


def test_one_run_in_full(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    an_ended_run(tmp_path)

    got = in_project(capsys, tmp_path, "runs", "show", "2026-03")

    assert got.out.splitlines() == [
        f"run {RUN_ID}: failed",
        f"pack docs/pack.md, commit {'a' * 40}",
        f"created {at(1)}, worked on for 6.0s",
        f"  {at(2)}  run pack.md: exit code 3",
        f"directory .oraclepack/runs/{RUN_ID}",
        "",
        "step  status   attempts  time  cost  output                title",
        "01    ok       1         0.0s  -     outputs/01-answer.md  -",
        "02    failed   1         0.0s  -     -                     -",
        "03    pending  0         -     -     -                     -",
        "",
        "step 02: EXIT: it ended with 1",
        f"  log: .oraclepack/runs/{RUN_ID}/logs/02.1.stderr.log",
    ]


def test_one_run_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    an_ended_run(tmp_path)

    got = in_project(capsys, tmp_path, "runs", "show", RUN_ID, "--json", schema="run-details")

    data = got.envelope["data"]
    assert data["manifest"]["pack_hash"] == "5" * 64
    assert [step["state"] for step in data["steps"]] == ["ok", "failed", "pending"]


def test_what_stands_before_the_damage_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    damage(an_ended_run(tmp_path), 6)

    got = in_project(capsys, tmp_path, "runs", "show", RUN_ID)

    assert got.code == 0
    assert "damaged: line 6: the checksum does not fit" in got.out
    assert "01    ok" in got.out
    assert "02    pending" in got.out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("2027", "there is no run 2027", id="unknown"),
        pytest.param("2026", "2026 is the beginning of 2 runs", id="not the only one"),
        pytest.param("../x", "there is no run ../x", id="a path"),
        pytest.param("", "there is no run ", id="nothing at all"),
    ],
)
def test_a_name_that_fits_no_run_or_several(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, message: str
) -> None:
    an_ended_run(tmp_path)
    an_ended_run(tmp_path, f"{RUN_ID}__2")

    got = in_project(capsys, tmp_path, "runs", "show", name)

    assert got.code == 2
    assert f"error: {message}" in got.err


def test_a_whole_name_wins_over_one_that_begins_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    an_ended_run(tmp_path)
    an_ended_run(tmp_path, f"{RUN_ID}__2")

    assert in_project(capsys, tmp_path, "runs", "show", RUN_ID).code == 0


BASH = some_steps(["true", "false", "true"])


def listed_statuses(capsys: pytest.CaptureFixture[str], root: Path) -> list[str | None]:
    (root / "pack.md").write_text(pack_text(BASH))
    got = in_project(
        capsys, root, "list", str(root / "pack.md"), "--json", schema="listing"
    ).envelope["data"]
    return [step["status"] for step in got["steps"]]


def test_list_tells_the_last_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert listed_statuses(capsys, tmp_path) == [None, None, None]

    an_ended_run(tmp_path)
    assert listed_statuses(capsys, tmp_path) == [None, None, None], "a run of another pack"

    a_run_of(tmp_path, a_pack(BASH), ("01", Status.OK), ("02", Status.FAILED))
    assert listed_statuses(capsys, tmp_path) == ["ok", "failed", "pending"]


def test_list_shows_a_dash_where_nothing_ran(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pack.md").write_text(pack_text(BASH))

    got = in_project(capsys, tmp_path, "list", str(tmp_path / "pack.md"))

    assert [line.split()[1] for line in got.out.splitlines()] == ["status", "-", "-", "-"]


def test_a_forged_journal_adds_no_lines_and_steers_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evil = "x\nwarning: forged\r\x1b[2J\x9b2J\u202egnp\u2028y"
    error = StepError(code="EXIT", message=evil)
    a_run(
        tmp_path,
        created("01", pack_path=evil),
        session(),
        started("01"),
        replace(finished("01", Status.FAILED), error=error),
        j.WarningRecorded(message=evil),
    )

    shown = in_project(capsys, tmp_path, "runs", "show", RUN_ID)
    data = in_project(capsys, tmp_path, "runs", "show", RUN_ID, "--json")

    assert not [line for line in shown.out.splitlines() if line.startswith("warning: forged")]
    assert not re.search("[\r\x1b\x9b\u202e\u2028]", shown.out + data.out)
    assert data.envelope["data"]["steps"][0]["last_error"]["message"] == visible(evil)


def test_a_step_without_a_title_is_shown_by_its_question(tmp_path: Path) -> None:
    meta = "[oraclepack-meta]\nQuestionId: two-copies\n[/oraclepack-meta]\nWhy two?"
    asking = f"# 01) ROI=1\noracle -p '{meta}' --write-output b.md\n"
    (tmp_path / "pack.md").write_text(pack_text(asking))
    oraclepack(tmp_path, "run", "pack.md", "--engine", "rehearsal")

    lines = oraclepack(tmp_path, "runs", "show").out.splitlines()

    (shown,) = [line for line in lines if line.startswith("01 ") and ".md" in line]
    assert shown.endswith("  two-copies")
