"""The path jail against a disk that lies."""

import os
from pathlib import Path

import pytest

from oraclepack.errors import Refusal
from oraclepack.system.path_jail import AllowedPath, jail


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for directory in ("out", ".git", ".oraclepack/runs/x", ".oraclepack/cache", "gitdir"):
        (root / directory).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"")
    (root / "out" / "old.md").write_bytes(b"old")
    links = {
        "leaves": "../outside",
        "leaves-file": "../outside/file",
        "leaves-later": "../outside/not-there-yet",
        "stays": "out",
        "to-git": ".git",
        "to-runs": ".oraclepack/runs",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
        "absolute": str(tmp_path / "outside"),
        "dangling": "out/later.md",
        "no-text": os.fsdecode(b"out/\xff.md"),
        "through-no-text": os.fsdecode(b"\xff/../out/old.md"),
    }
    (root / os.fsdecode(b"\xff")).mkdir()
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "out" / "fifo")
    return root


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("a.md", "a.md"),
        ("out/new.md", "out/new.md"),
        ("out/old.md", "out/old.md"),
        ("not/yet/there.md", "not/yet/there.md"),
        ("stays/a.md", "out/a.md"),
        ("out/../b.md", "b.md"),
        ("dangling", "out/later.md"),
        (".oraclepack/ticketify/next.json", ".oraclepack/ticketify/next.json"),
        ("-x.md", "-x.md"),
        ("...", "..."),
    ],
)
def test_allowed(project: Path, path: str, relative: str) -> None:
    expected = AllowedPath(Path(os.path.realpath(project), relative), relative)

    assert jail(project, path) == expected


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "empty"),
        ("-", "standard output"),
        ("a\nb", "control"),
        ("a\0b", "control"),
        ("~/a.md", "expand"),
        ("out/", "directory"),
        ("out", "a directory has that name"),
        ("out/fifo", "not a regular file"),
        ("out/old.md/below.md", "a file where one of its directories"),
        ("../a.md", "leads out"),
        ("out/../../a.md", "leads out"),
        ("/etc/passwd", "leads out"),
        ("/proc/self/root/etc/x", "another place"),
        ("/proc/self/environ", "another place"),
        ("/dev/null", "leads out"),
        ("leaves/a.md", "leads out"),
        ("leaves-file", "leads out"),
        ("leaves-later", "leads out"),
        ("absolute/a.md", "leads out"),
        ("stays/../leaves/a.md", "leads out"),
        (".git/hooks/pre-commit", ".git"),
        (".GIT/config", ".git"),
        ("to-git/config", ".git"),
        ("sub/.git/config", ".git"),
        (".oraclepack/runs/x/journal.jsonl", ".oraclepack/runs"),
        (".oraclepack/cache/k.md", ".oraclepack/cache"),
        ("to-runs/x/a.md", ".oraclepack/runs"),
        ("loop-a", "cannot be looked at"),
        ("loop-a/x.md", "cannot be looked at"),
        ("x" * 300, "longer than"),
        (os.fsdecode(b"\xff.md"), "not valid UTF-8"),
        ("no-text", "not valid UTF-8"),
        ("through-no-text", "not valid UTF-8"),
    ],
)
def test_refused(project: Path, path: str, words: str) -> None:
    verdict = jail(project, path)

    assert isinstance(verdict, Refusal)
    assert words in verdict.reason


def test_a_step_that_changed_its_directory_is_read_from_there(project: Path) -> None:
    assert jail(project, "../a.md", base=project / "out") == jail(project, "a.md")
    assert isinstance(jail(project, "../../a.md", base=project / "out"), Refusal)
    assert isinstance(jail(project, "a.md", base=project / os.fsdecode(b"\xff")), Refusal)


def test_git_behind_a_link_is_still_git(project: Path) -> None:
    (project / ".git").rmdir()
    (project / ".git").symlink_to("gitdir")

    assert isinstance(jail(project, ".git/config"), Refusal)


def test_an_absolute_path_through_a_linked_root_is_inside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(project)

    assert jail(tmp_path / "alias", str(tmp_path / "alias" / "a.md")) == jail(project, "a.md")


def test_a_path_that_means_another_place_to_the_tool(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From where we stand it lies in the project; from where the tool stands it may not."""
    monkeypatch.chdir(project / "out")

    assert isinstance(jail(project, "/proc/self/cwd/../x.md"), Refusal)
