from pathlib import Path

import jsonschema
import pytest

from oraclepack.journal import events as j
from oraclepack.journal import journal_file
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Move, Status
from oraclepack.system import locks
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.e2e.program import Ran
from tests.events import a_step, created, session
from tests.packs import pack_text, some_steps
from tests.runs_from_events import RUN_ID, a_run

KEPT = f"docs/out/_failed/{RUN_ID}/step-02/1"


def kept_at(name: str, attempt: str = "1") -> str:
    return f"docs/out/_failed/{RUN_ID}/step-02/{attempt}/docs/out/{name}"


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def a_project(root: Path) -> RunDir:
    """A run whose step 02 failed; two of its outputs are in quarantine."""
    names = ("02-a.md", "02-b.md")
    for name in names:
        put(root, kept_at(name), f"old {name}")
    moves = tuple(Move(source=f"docs/out/{name}", target=kept_at(name)) for name in names)
    return a_run(
        root,
        created("01", "02"),
        session(),
        *a_step("02", Status.FAILED),
        j.SessionFinished(exit_code=3),
        session(),
        j.Quarantined(step="02", attempt=1, moves=moves),
        j.SessionFinished(exit_code=3),
    )


def ask(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> Ran:
    return answer(capsys, "step", *args, "--cwd", str(root))


def events_of(run: RunDir) -> tuple[object, ...]:
    return journal_file.load(run.journal).events


def test_nothing_in_quarantine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    got = ask(capsys, tmp_path, "quarantine")

    assert (got.code, got.out, got.err) == (0, "", "nothing is in quarantine\n")


def test_what_is_there_and_where_it_came_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    a_project(tmp_path)
    put(tmp_path, "docs/out/02-b.md", "new")

    got = ask(capsys, tmp_path, "quarantine")

    assert [line.split() for line in got.out.splitlines()[1:]] == [
        ["02", "1", "docs/out/02-a.md", "11", "B", "-", "failed", kept_at("02-a.md")],
        ["02", "1", "docs/out/02-b.md", "11", "B", "a", "file", "failed", kept_at("02-b.md")],
    ]


def test_the_list_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a_project(tmp_path)

    data = ask(capsys, tmp_path, "quarantine", "--json").envelope["data"]

    jsonschema.validate(data, schema_of("quarantine"))
    assert data["files"][0] == {
        "path": kept_at("02-a.md"),
        "original": "docs/out/02-a.md",
        "run_id": RUN_ID,
        "step_id": "02",
        "attempt": "1",
        "bytes": 11,
        "occupied": False,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("pack", "count"),
    [
        pytest.param("docs/pack.md", 2, id="the pack of the run, though it was edited since"),
        pytest.param("docs/other.md", 0, id="another pack with the same out_dir"),
    ],
)
def test_only_what_belongs_to_one_pack(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pack: str, count: int
) -> None:
    a_project(tmp_path)
    put(tmp_path, pack, pack_text("out_dir=docs/out\n" + some_steps(["true"])))

    data = ask(capsys, tmp_path, "quarantine", str(tmp_path / pack), "--json").envelope["data"]

    assert len(data["files"]) == count


def test_a_directory_of_a_run_that_is_gone_is_found_through_the_pack(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put(tmp_path, kept_at("02-a.md"), "old")
    put(tmp_path, "pack.md", pack_text("out_dir=docs/out\n" + some_steps(["true"])))

    data = ask(capsys, tmp_path, "quarantine", str(tmp_path / "pack.md"), "--json").envelope["data"]

    assert [one["original"] for one in data["files"]] == ["docs/out/02-a.md"]


@pytest.mark.parametrize(
    "named",
    [
        pytest.param([KEPT], id="the directory of an attempt"),
        pytest.param([kept_at("02-a.md"), kept_at("02-b.md")], id="each file"),
        pytest.param([kept_at("02-a.md"), KEPT], id="one of them twice"),
    ],
)
def test_files_come_back_and_the_journal_knows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, named: list[str]
) -> None:
    run = a_project(tmp_path)

    got = ask(capsys, tmp_path, "restore", *named, "--json")

    jsonschema.validate(got.envelope["data"], schema_of("quarantine-restore-report"))
    assert got.code == 0
    assert (tmp_path / "docs/out/02-a.md").read_text() == "old 02-a.md"
    assert (tmp_path / "docs/out/02-b.md").read_text() == "old 02-b.md"
    restored = [one for one in events_of(run) if isinstance(one, j.Restored)]
    assert [one.moves[0].target for one in restored] == ["docs/out/02-a.md", "docs/out/02-b.md"]


def test_a_file_that_stands_there_is_not_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_project(tmp_path)
    put(tmp_path, "docs/out/02-b.md", "new")
    before = run.journal.read_bytes()

    got = ask(capsys, tmp_path, "restore", KEPT)

    assert got.code == 2
    assert "there is a file at docs/out/02-b.md now; nothing was changed" in got.err
    assert not (tmp_path / "docs/out/02-a.md").exists()
    assert run.journal.read_bytes() == before


def test_by_force_the_two_change_places(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a_project(tmp_path)
    put(tmp_path, "docs/out/02-b.md", "new")

    got = ask(capsys, tmp_path, "restore", kept_at("02-b.md"), "--force")

    assert got.code == 0
    assert (tmp_path / "docs/out/02-b.md").read_text() == "old 02-b.md"
    assert (tmp_path / kept_at("02-b.md", "1-2")).read_text() == "new"
    assert got.out.splitlines() == [
        f"docs/out/02-b.md -> {kept_at('02-b.md', '1-2')}",
        f"{kept_at('02-b.md')} -> docs/out/02-b.md",
    ]


def test_two_files_for_one_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a_project(tmp_path)
    put(tmp_path, kept_at("02-a.md", "2"), "newer")

    got = ask(capsys, tmp_path, "restore", str(Path(KEPT).parent))

    assert got.code == 2
    assert "two of the files belong at docs/out/02-a.md" in got.err
    assert not (tmp_path / "docs/out/02-a.md").exists()


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        pytest.param("docs/out/nothing.md", "`oraclepack step quarantine` shows", id="unknown"),
        pytest.param("docs/out/02-a.md", "what came from there is ", id="where it came from"),
    ],
)
def test_a_path_that_is_not_in_quarantine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, named: str, hint: str
) -> None:
    a_project(tmp_path)

    got = ask(capsys, tmp_path, "restore", named)

    assert got.code == 2
    assert f"{named} is not in quarantine" in got.err
    assert hint in got.err


def test_a_run_in_use_keeps_its_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = a_project(tmp_path)
    held = locks.acquire(run.path, locks.Holder(pid=7, host="box"))
    assert isinstance(held, locks.RunLock)

    with held:
        got = ask(capsys, tmp_path, "restore", KEPT)

    assert got.code == 6
    assert "in use by process 7 on box" in got.err
    assert not (tmp_path / "docs/out/02-a.md").exists()


def test_a_damaged_journal_is_no_obstacle_but_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_project(tmp_path)
    run.journal.write_bytes(run.journal.read_bytes() + b"garbage\n{}\n")
    before = run.journal.read_bytes()

    got = ask(capsys, tmp_path, "restore", KEPT)

    assert got.code == 0
    assert "warning: restored, but not written down" in got.err
    assert (tmp_path / "docs/out/02-a.md").exists()
    assert run.journal.read_bytes() == before


def test_nothing_leaves_the_project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = tmp_path / "project"
    outside = tmp_path / "outside"
    outside.mkdir()
    a_project(root)
    put(root, f"docs/out/_failed/{RUN_ID}/step-02/1/link/x.md", "old")
    (root / "link").symlink_to(outside)

    got = ask(capsys, root, "restore", f"docs/out/_failed/{RUN_ID}/step-02/1/link/x.md")

    assert got.code == 2
    assert "leads out of the project root" in got.err
    assert list(outside.iterdir()) == []
