"""The work tree as git trees: what a step did is known exactly and undone exactly."""

import shlex
from pathlib import Path

import pytest

from oraclepack.run.worktree import WorktreeError
from tests.run.trees import a_repository, bash, picture, recorded, taken_back, watched

UNLIKELY_TASTE = {
    "diff.noprefix": "true",
    "diff.context": "0",
    "color.ui": "always",
    "apply.whitespace": "error",
    "core.quotePath": "true",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "project")


@pytest.mark.parametrize("settings", [{}, UNLIKELY_TASTE], ids=["plain", "with odd settings"])
@pytest.mark.parametrize(
    ("script", "touched"),
    [
        ("echo two >>a.txt; echo more >>b.txt", ("a.txt", "b.txt")),
        (
            "mv a.txt z.txt; git mv sub/s.txt sub/t.txt",
            ("a.txt", "sub/s.txt", "sub/t.txt", "z.txt"),
        ),
        ("chmod +x a.txt", ("a.txt",)),
        (r"printf '\0\2' >c.bin; printf 'no line end' >d", ("c.bin", "d")),
        ("rm link; ln -s a.txt link; ln -s nowhere dangling", ("dangling", "link")),
        ("rm a.txt; mkdir a.txt; echo x >a.txt/x; rm -r sub", ("a.txt", "a.txt/x", "sub/s.txt")),
        ("mkdir 'dé r'; echo x >'dé r/ü \"q\"[1].txt'", ('dé r/ü "q"[1].txt',)),
        (r"printf 'l1\r\nl2  \r\n' >>a.txt", ("a.txt",)),
        ("echo x >>a.txt; git commit -qam step", ("a.txt",)),
        ("rm untracked.txt; echo other >staged.txt", ("staged.txt", "untracked.txt")),
    ],
)
def test_what_a_step_did_is_taken_back(
    root: Path, settings: dict[str, str], script: str, touched: tuple[str, ...]
) -> None:
    for name, value in settings.items():
        bash(root, f"git config {name} {value}")
    tree, before = watched(root), picture(root)

    files, patch = recorded(tree, script)

    assert files == touched
    assert tree.contains_changes(patch)
    taken_back(tree, patch)
    assert picture(root) == before


def test_neither_index_nor_objects_of_the_user_are_touched(root: Path) -> None:
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}

    recorded(watched(root), "echo two >>a.txt; echo n >new.txt")

    assert {path: path.read_bytes() for path in before} == before
    assert len([path for path in (root / ".git").rglob("*") if path.is_file()]) == len(before)


@pytest.mark.parametrize("ignored", ["", ".oraclepack/", "*.state.json", ".oraclepack*\n/[p]ack*"])
@pytest.mark.parametrize("state", ["pack.state.json", "[p]ack *?\\.state.json"])
def test_our_own_files_are_no_part_of_it(root: Path, ignored: str, state: str) -> None:
    """Nor do they hinder where the user has git ignore them."""
    (root / ".gitignore").write_text(f"{ignored}\n")
    (root / state).write_text("before\n")
    tree = watched(root, state)

    touched, _ = recorded(
        tree,
        f"echo {{}} >{shlex.quote(state)}; echo >sub/.oraclepack-1-1.tmp; echo >.oraclepack/x;"
        "touch n",
    )

    assert touched == ("n",)


def test_a_project_below_the_top_names_its_files_from_the_top(root: Path) -> None:
    tree = watched(root / "sub", "pack.state.json")

    touched, _ = recorded(tree, "echo {} >sub/pack.state.json; echo {} >pack.state.json")

    assert touched == ("pack.state.json",)


@pytest.mark.parametrize(
    "script",
    [
        "git init -q nested; echo x >nested/f",
        "git clone -q . nested",
        "git -c protocol.file.allow=always submodule --quiet add ./ nested; git commit -qm sub",
    ],
    ids=["without a commit", "a clone", "a submodule"],
)
def test_a_repository_within_is_named_and_left_out(root: Path, script: str) -> None:
    bash(root, script)
    tree = watched(root)

    touched, patch = recorded(
        tree,
        "echo two >>a.txt; cd nested; echo more >>f; git add f; git commit -qm nested",
    )

    assert touched == ("a.txt",)
    assert tree.repositories() == ("nested",)
    assert tree.contains_changes(patch)


def test_files_may_be_left_out_of_taking_back(root: Path) -> None:
    tree = watched(root)
    _, patch = recorded(tree, "echo two >>a.txt; echo answer >'out[1].md'")
    (root / "out[1].md").unlink()

    assert not tree.contains_changes(patch)
    assert tree.contains_changes(patch, ["out[1].md"])
    taken_back(tree, patch, "out[1].md")
    assert (root / "a.txt").read_text() == "one\n"
    assert not tree.contains_changes(patch, ["out[1].md"])


def test_what_git_says_against_it_is_the_error(root: Path) -> None:
    tree = watched(root)

    with pytest.raises(WorktreeError, match=r"bad object|bad tree|unable"):
        tree.changed_paths("0" * 40, "1" * 40)


@pytest.mark.parametrize("tree", ["--output=stolen", "HEAD", "", "1" * 39])
def test_a_tree_is_an_object_id(tmp_path: Path, tree: str) -> None:
    watching = watched(a_repository(tmp_path / "r"))
    before = watching.snapshot()

    with pytest.raises(WorktreeError, match="is not an object id"):
        watching.difference(before, tree)
    with pytest.raises(WorktreeError, match="is not an object id"):
        watching.changed_paths(tree, before)
