"""Where a call may write is decided when it is made: nothing ever leaves the project."""

import os
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from tests.e2e.calls.office import outcomes, step
from tests.e2e.program import tree
from tests.e2e.run.project import Project, Zygote, a_project
from tests.scripted import scripted_tool

HOSTILE = (
    '"../x.md"',
    '"../../x.md"',
    '"out/../../x.md"',
    '"out/../../project-beside/x.md"',
    '"./.././x.md"',
    '"$PWD/../x.md"',
    '"$up/x.md"',
    '"${up}/x.md"',
    '"$OUTSIDE/x.md"',
    '"$OUTSIDE/./deep/../x.md"',
    '"//$OUTSIDE/x.md"',
    '"$HOME/x.md"',
    "~/x.md",
    '"~/../../x.md"/../../../../x.md',
    '"/x.md"',
    '"/dev/null"',
    '"/dev/stdout"',
    '"/dev/fd/1"',
    '"/proc/self/cwd/../x.md"',
    '"/proc/self/root$OUTSIDE/x.md"',
    '"/proc/$$/fd/1"',
    '"away/x.md"',
    '"away/deep/x.md"',
    '"away/../x.md"',
    '"out/away.md"',
    '"out/new.md"',
    '"circle/x.md"',
    '"chain/x.md"',
    "\"$(printf '../x\\ny.md')\"",
    "\"$(printf 'out/a\\n/../../../x.md')\"",
    "$'..\\x2fx.md'",
    '".git/config"',
    '".git/hooks/post-commit"',
    '"out/../.git/x.md"',
    '"metadata/x.md"',
    '".oraclepack/runs/x.md"',
    '".oraclepack/cache/x.md"',
    '".oraclepack/cache/../runs/x.md"',
    '"out"',
    '"."',
    '""',
    '"out/pipe"',
)
CALLS = (
    *(f"oracle -p 'Why?' --write-output {path}" for path in HOSTILE),
    'oracle -p "Why?" --write-output=../x.md',
    'oracle --write-output ok.md -p "Why?" --write-output "../x.md"',
    '(cd .. && oracle -p "Why?" --write-output x.md)',
    '(cd "$OUTSIDE" && oracle -p "Why?" --write-output deep/x.md)',
    '(cd away && oracle -p "Why?" --write-output x.md)',
    "bash -lc 'cd .. && oracle -p \"Why?\" --write-output x.md'",
    "env -C / oracle -p 'Why?' --write-output x.md",
    "npx -y @steipete/oracle -p 'Why?' --write-output ../x.md",
    "codex exec -o ../x.md 'Why?'",
    "codex exec --output-last-message=$OUTSIDE/x.md 'Why?'",
    "task-master analyze-complexity --output ../x.md",
    "tm analyze-complexity --output=$OUTSIDE/x.md",
)


def prepared(tmp_path: Path, zygote: Zygote) -> Project:
    """A project full of ways out."""
    lines = [f"{call} || echo refused >>out/refused" for call in CALLS]
    project = a_project(tmp_path, zygote, step(1, "up=..", *lines))
    root, outside = project.root, tmp_path / "outside"
    for folder in (outside / "deep", root / "out", tmp_path / "project-beside"):
        folder.mkdir(parents=True)
    (outside / "file.md").write_text("not yours\n")
    for link, target in (
        ("away", outside),
        ("out/away.md", outside / "file.md"),
        ("out/new.md", outside / "new.md"),
        ("circle", root / "circle"),
        ("chain", root / "away"),
        ("metadata", root / ".git"),
    ):
        (root / link).symlink_to(target)
    os.mkfifo(root / "out/pipe")
    for tool in ("codex", "task-master", "tm", "npx"):
        scripted_tool(project.oracle.folder, tool)
    project.variables["OUTSIDE"] = str(outside)
    return project


def test_no_hostile_path_leaves_the_project(tmp_path: Path, zygote: Zygote) -> None:
    project = prepared(tmp_path, zygote)
    guarded = (tmp_path / "outside", project.root / ".git/hooks", tmp_path / "project-beside")
    config = (project.root / ".git/config").read_bytes()
    before, beside = tree(*guarded), set(tmp_path.iterdir())
    home = set(Path(os.environ["HOME"]).rglob("*.md"))

    ran = project.run("--no-validate")

    codes = [one.error.code if one.error else None for one in outcomes(project)]
    assert codes == ["OUTPUT_PATH"] * len(CALLS), ran.err
    assert (project.root / "out/refused").read_text().count("refused") == len(CALLS)
    assert project.oracle.calls == []
    assert tree(*guarded) == before
    assert (project.root / ".git/config").read_bytes() == config
    assert list((project.root / ".git").rglob("*.md")) == []
    assert {path for path in tmp_path.iterdir() if path.suffix == ".md"} == set()
    assert set(tmp_path.iterdir()) - beside <= set(tmp_path.glob("project.*.[oe]"))
    assert set(Path(os.environ["HOME"]).rglob("*.md")) == home
    assert not Path("/x.md").exists()


def test_names_that_only_look_strange_are_fine(tmp_path: Path, zygote: Zygote) -> None:
    names = [
        '"out/a b.md"',
        '"out/..md"',
        '"out/-.md"',
        '"$PWD/out/abs.md"',
        '"out/ä\U0001f9ff.md"',
    ]
    calls = [f"oracle -p 'No {n}?' --write-output {name}" for n, name in enumerate(names)]
    project = a_project(tmp_path, zygote, step(1, "set -e", *calls))

    assert project.run("--no-validate").code == 0
    assert [one.output_path for one in outcomes(project)] == [
        "out/a b.md",
        "out/..md",
        "out/-.md",
        "out/abs.md",
        "out/ä\U0001f9ff.md",
    ]


def test_an_answer_from_the_cache_is_held_back_too(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, "oracle -p 'Why?' --write-output out/1.md")
    bash += step(2, 'up=$(printf ..); oracle -p "Why?" --write-output "$up/x.md"')
    project = a_project(tmp_path, zygote, bash)

    ran = project.run()

    assert ran.data["steps"][1]["error"] == "OUTPUT_PATH"
    assert not (tmp_path / "x.md").exists()


def test_a_swapped_link_is_not_followed_where_we_write(tmp_path: Path, zygote: Zygote) -> None:
    """The link is made after the first answer was cached; the second one replaces it."""
    late = "f=out/2.md; ln -s ../../x.md out/2.md"
    bash = step(1, "oracle -p 'Why?' --write-output out/1.md")
    bash += step(2, late, 'oracle -p "Why?" --write-output "$f"')
    project = a_project(tmp_path, zygote, bash)

    assert project.run().code == 3
    assert isinstance(outcomes(project)[-1], j.InvocationOutcome)
    assert not (tmp_path / "x.md").exists()


@pytest.mark.parametrize(
    "does",
    ["rm -r out; ln -s ../outside out; exit 1", "rm -r out; ln -s ../outside out"],
    ids=["and fails", "and says that it is done"],
)
def test_a_folder_swapped_in_the_call_leads_nowhere(
    tmp_path: Path, zygote: Zygote, does: str
) -> None:
    """What was kept is not put back through a link that leaves the project."""
    project = a_project(tmp_path, zygote, step(1, "oracle -p 'Why?' --write-output out/1.md"))
    version = '[ "$1" = --version ] && exit'
    project.oracle.program.write_text(f"#!/bin/bash\n{version}\n{does}\n")
    outside = tmp_path / "outside"
    for folder in (outside, project.root / "out"):
        folder.mkdir()
        (folder / "1.md").write_text(f"of {folder.name}\n")

    assert project.run("--existing", "replace").code == 3
    assert (outside / "1.md").read_text() == "of outside\n"
    kept = [path.read_text() for path in project.run_dir.glob("blobs/*")]
    assert "of out\n" in kept
