"""Damaged run directories, full disks, read-only places: no corrupt file, and a way on."""

import errno
import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.program import tree
from tests.e2e.run.afterwards import broken_files, copy_of, ran_again
from tests.e2e.run.project import Project, Zygote, a_project, asking


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Three questions; the last one fails until it is let go."""
    return three(tmp_path, zygote)


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Project:
    """The same, after a run that ended at the last one."""
    made = three(tmp_path_factory.mktemp("stopped"), zygote)
    # Made in another home than that of the tests, which all have one key.
    made = replace(made, variables={"ORACLEPACK_TRUST_KEY": "5" * 64})
    assert made.run().code == 3
    return made


@pytest.fixture
def stopped(tmp_path: Path, home: Path, stopped_once: Project) -> Project:
    """A copy of that, to do harm to."""
    root = tmp_path / "project"
    shutil.copytree(stopped_once.root, root, symlinks=True)
    (home / ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    return replace(stopped_once, root=root)


def three(place: Path, zygote: Zygote) -> Project:
    last = asking(3, before="[[ -e go ]] || exit 1\n")
    return a_project(place, zygote, "mkdir -p out\n" + asking(1) + asking(2) + last)


def lines_of(project: Project) -> list[bytes]:
    return (project.run_dir / "journal.jsonl").read_bytes().splitlines(keepends=True)


def edited(lines: list[bytes]) -> list[bytes]:
    place = next(i for i, line in enumerate(lines) if b'"step_finished"' in line)
    return [*lines[:place], lines[place].replace(b'"ok"', b'"no"'), *lines[place + 1 :]]


def without_a_step(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"step":"02"' not in line]


def newer(lines: list[bytes]) -> list[bytes]:
    first = json.loads(lines[0])["e"] | {"schema_version": 9}
    payload = json.dumps(first, sort_keys=True, separators=(",", ":")).encode()
    return [b'{"crc":"%08x","e":%s}\n' % (zlib.crc32(payload), payload), *lines[1:]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(edited, "the checksum does not fit", id="an edited line"),
        pytest.param(without_a_step, "the checksum does not fit", id="a step is missing"),
        pytest.param(newer, "it is written in format 9", id="a newer schema"),
    ],
)
def test_a_damaged_journal_is_reported_and_left_alone(
    stopped: Project, damage: object, message: str
) -> None:
    assert callable(damage)
    journal = stopped.run_dir / "journal.jsonl"
    journal.write_bytes(b"".join(damage(lines_of(stopped))))
    (stopped.root / "go").touch()
    before = tree(stopped.root)

    ran = stopped.run()
    error = ran.envelope["error"]

    assert (ran.code, error["code"]) == (2, "INVALID_INPUT")
    assert message in error["message"]
    assert str(journal.relative_to(stopped.root)) in error["message"]
    assert "--new-run" in error["suggestion"]
    assert tree(stopped.root) == before
    assert stopped.run("--new-run").code == 0
    assert tree(stopped.run_dirs[0]) == {
        path: content for path, content in before.items() if str(stopped.run_dirs[0]) + "/" in path
    }


@pytest.mark.parametrize("lost", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_lost_journal_is_reported_and_nothing_overwritten(
    stopped: Project, lost: Callable[[Path], object]
) -> None:
    lost(stopped.run_dir / "journal.jsonl")
    before = tree(stopped.root)

    ran = stopped.run()

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "INVALID_INPUT")
    assert "journal.jsonl is empty or gone" in ran.envelope["error"]["message"]
    assert tree(stopped.root) == before


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_torn_journal_goes_on(stopped: Project, cut: int) -> None:
    journal = stopped.run_dir / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-cut])
    (stopped.root / "go").touch()

    ran = stopped.run()

    assert ran.code == 0
    assert ran.data["done_steps"] == ["01", "02"]
    assert stopped.journal.damage is None
    torn = next(stopped.run_dir.glob("journal.jsonl.torn-1"))
    assert whole[:-cut].endswith(torn.read_bytes())


@pytest.mark.parametrize("name", ["run.json", "steps.json", "../../../pack.state.json"])
@pytest.mark.parametrize("content", [b"", b"{", b'{"steps": []}'])
def test_manifests_are_folds_and_come_back(stopped: Project, name: str, content: bytes) -> None:
    file = stopped.run_dir / name
    file.write_bytes(content)
    (stopped.root / "go").touch()

    assert stopped.run().code == 0
    assert len(file.read_bytes()) > 100
    assert broken_files(stopped.root) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
def test_a_disk_that_takes_no_more(tmp_path: Path, project: Project, code: int) -> None:
    (project.root / "go").touch()
    counted = copy_of(project, "counted")
    assert counted.run(fault={"notes": str(tmp_path / "count")}).code == 0
    total = len((tmp_path / "count").read_text().splitlines())
    first = 1 if code == errno.ENOSPC else 5
    for number in range(first, total, total // 4):
        again, notes = copy_of(project, f"at-{number}"), tmp_path / f"notes-{number}"

        full = again.run(fault={"notes": str(notes), "fail": number, "code": code})

        if len(notes.read_text().splitlines()) < number:
            continue  # how many there are depends on when the manifests were written
        assert full.code in {2, 3}, (number, full)
        assert full.envelope["error"]["code"] in {"ENVIRONMENT", "PARTIAL_FAILURE"}, (number, full)
        assert broken_files(again.root) == []
        after = again.run()
        assert after.code == 0, (number, after)
        assert ran_again(again) == []
        assert again.statuses() == ["ok"] * 3


def test_a_full_disk_is_named_with_a_way_on(project: Project, tmp_path: Path) -> None:
    fault: dict[str, object] = {
        "notes": str(tmp_path / "notes"),
        "fail": 5,
        "path": "journal.jsonl",
    }

    ran = project.run(fault=fault)
    error = ran.envelope["error"]

    assert (ran.code, error["code"]) == (3, "ENVIRONMENT")
    assert "No space left on device" in error["message"]
    assert "the same command continues" in error["suggestion"]


def test_a_run_directory_that_cannot_be_made(project: Project, tmp_path: Path) -> None:
    fault: dict[str, object] = {
        "notes": str(tmp_path / "notes"),
        "fail": 1,
        "path": ".oraclepack",
        "code": errno.EROFS,
    }
    before = tree(project.root)

    ran = project.run(fault=fault)

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "ENVIRONMENT")
    assert "Read-only file system" in ran.envelope["error"]["message"]
    assert tree(project.root) == before


@pytest.mark.parametrize("name", ["pack.state.json", "pack.report.json"])
@pytest.mark.parametrize("words", [("run",), ("run", "--dry-run"), ("pipeline",)], ids=" ".join)
def test_a_directory_in_the_place_of_our_file_is_reported_before_asking(
    project: Project, name: str, words: tuple[str, ...]
) -> None:
    (project.root / name).mkdir()
    command, *flags = words
    before = tree(project.root)

    ran = project.start(command, "pack.md", "--json", *flags).wait()

    error = ran.envelope["error"]
    assert (ran.code, error["code"]) == (2, "INVALID_INPUT")
    assert error["message"].startswith(f"{name} is a directory")
    assert "--no-legacy-files" in error["suggestion"]
    assert (tree(project.root), len(project.oracle.calls)) == (before, 0)


def test_a_directory_where_no_file_of_ours_is_written_is_left_alone(project: Project) -> None:
    (project.root / "pack.state.json").mkdir()

    assert project.run("--no-legacy-files").data["completed_steps"] == ["01", "02"]
    assert (project.root / "pack.state.json").is_dir()
