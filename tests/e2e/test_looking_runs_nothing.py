"""A repository that names programs in its git configuration: no command of ours runs them.

Each trick plants a program that leaves a marker. First git itself is seen to fall for it; then no
command that looks at the repository does, nor a run and an undo of a step that changes files.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.changing import EDITS, STEP, a_project, contents, run
from tests.e2e.program import oraclepack
from tests.packs import pack_text

COMMANDS = (
    ("list", "pack.md"),
    ("validate", "pack.md"),
    ("generate", "--out", "generated.md", "--force"),
    ("run", "pack.md", "--dry-run"),
    ("why", "pack.md", "01"),
    ("runs", "list"),
    ("run", "pack.md"),
    ("runs", "list"),
    ("why", "pack.md", "01"),
    ("undo", "pack.md", "01"),
)


@dataclass(frozen=True)
class Trick:
    """How a repository would have a program run: a script that plants it, one that springs it."""

    plant: str
    """`$PROGRAM` leaves the marker and hands its input on."""
    spring: str = "git status"


TRICKS = {
    "a clean filter": Trick(
        """
        git config filter.theirs.clean "$PROGRAM"; git config filter.theirs.required true
        echo '*.txt filter=theirs' >.gitattributes; touch mine.txt
        """
    ),
    "a clean filter with a strange name": Trick(
        """
        git config 'filter.A b."c.clean' "$PROGRAM"
        git check-attr -a mine.txt; echo '*.txt filter=x' >.gitattributes
        printf '[filter "x"]\\n\\tclean = %s\\n' "$PROGRAM" >>.git/config
        """
    ),
    "a filter process": Trick(
        """
        git config filter.theirs.process "$PROGRAM"
        echo '*.txt filter=theirs' >.gitattributes; touch mine.txt
        """
    ),
    "a smudge filter": Trick(
        """
        git config filter.theirs.smudge "$PROGRAM"
        echo '*.txt filter=theirs' >.gitattributes; git add .gitattributes
        """,
        spring="rm tracked.txt; git checkout tracked.txt",
    ),
    "a filter in an included file": Trick(
        """
        printf '[filter "theirs"]\\n\\tclean = %s\\n' "$PROGRAM" >theirs.conf
        git config include.path ../theirs.conf
        echo '*.txt filter=theirs' >.gitattributes; touch mine.txt
        """
    ),
    "a filter of a submodule": Trick(
        """
        git init -q inner; cd inner; echo x >a.txt; git add a.txt; git commit -qm inner
        git config filter.theirs.clean "$PROGRAM"; echo '*.txt filter=theirs' >.gitattributes
        echo y >a.txt; cd ..
        git add inner 2>/dev/null; git config -f .gitmodules submodule.inner.path inner
        git config -f .gitmodules submodule.inner.url ./inner
        git config -f .gitmodules submodule.inner.ignore none
        git config submodule.inner.ignore none; git add .gitmodules; git commit -qm submodule
        """
    ),
    "a file system monitor": Trick('git config core.fsmonitor "$PROGRAM"'),
    "a hook": Trick(
        """
        for hook in post-index-change reference-transaction post-checkout pre-commit; do
            cp "$PROGRAM" .git/hooks/$hook
        done
        """,
        spring="echo >>tracked.txt; git add tracked.txt",
    ),
    "hooks elsewhere": Trick(
        """
        mkdir theirs; cp "$PROGRAM" theirs/post-index-change; git config core.hooksPath theirs
        """,
        spring="echo >>tracked.txt; git add tracked.txt",
    ),
    "an external diff": Trick(
        """
        git config diff.external "$PROGRAM"; git config diff.theirs.command "$PROGRAM"
        echo '*.txt diff=theirs' >.gitattributes
        """,
        spring="git diff",
    ),
    "a text conversion": Trick(
        """
        git config diff.theirs.textconv "$PROGRAM"
        echo '*.txt diff=theirs' >.gitattributes
        """,
        spring="git diff",
    ),
    "aliases": Trick(
        """
        for name in status add log look; do git config "alias.$name" "!$PROGRAM"; done
        """,
        spring="git look",
    ),
    "a signature checker": Trick(
        """
        git config log.showSignature true; git config gpg.program "$PROGRAM"
        printf 'tree %s\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n%s\\n\\nsigned\\n' \
            "$(git rev-parse HEAD^{tree})" \
            'gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----' >commit
        git reset -q "$(git hash-object -t commit -w commit)"; rm commit
        """,
        spring="git log -1",
    ),
    "an ssh command of a promisor remote": Trick(
        """
        git config remote.origin.url ssh://example.invalid/x
        git config remote.origin.promisor true; git config core.repositoryFormatVersion 1
        git config extensions.partialClone origin; git config core.sshCommand "$PROGRAM"
        git config protocol.ssh.allow always
        """,
        spring=f"git cat-file -p {'1' * 40}",
    ),
    "an upload program of a promisor remote": Trick(
        """
        git config remote.origin.url "$PWD"; git config remote.origin.uploadpack "$PROGRAM"
        git config remote.origin.promisor true; git config core.repositoryFormatVersion 1
        git config extensions.partialClone origin
        git config protocol.allow always; git config protocol.file.allow always
        """,
        spring=f"git cat-file -p {'1' * 40}",
    ),
}

LOSE_OBJECTS = "rm -f $(git rev-parse HEAD^{tree} | sed 's,^..,.git/objects/&/,')"
"""So that git has to ask its promisor remote for the tree of the commit."""


def program(folder: Path) -> tuple[Path, Path]:
    """A program that leaves a marker, and the marker."""
    marker, made = folder / "marker", folder / "theirs"
    made.write_text(f"#!/bin/sh\necho run >>'{marker}'\ntimeout 3 cat\n")
    made.chmod(0o755)
    return made, marker


def shell(root: Path, script: str, theirs: Path) -> None:
    who = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    variables = {**os.environ, **who, "PROGRAM": str(theirs)}
    subprocess.run(["bash", "-c", script], cwd=root, env=variables, check=False, timeout=60)


@pytest.mark.parametrize("name", TRICKS)
def test_no_command_runs_a_program_of_the_repository(tmp_path: Path, name: str) -> None:
    trick = TRICKS[name]
    theirs, marker = program(tmp_path)
    victim, root = (a_project(tmp_path / part, STEP, EDITS) for part in ("git", "ours"))
    for place in (victim, root):
        shell(place, trick.plant, theirs)
    shell(victim, trick.spring, theirs)
    assert marker.exists(), "the trick does not work on git itself"
    if "promisor" in name:
        shell(root, LOSE_OBJECTS, theirs)
    marker.unlink()
    before = contents(root)

    for command in COMMANDS:
        ran = run(root, *command)
        assert ran.code != 70, ran.err
        assert not marker.exists(), command

    if "promisor" not in name:
        assert contents(root) == before


def test_an_embedded_bare_repository_is_no_repository(tmp_path: Path) -> None:
    theirs, marker = program(tmp_path)
    root = a_project(tmp_path / "ours", STEP, EDITS)
    shell(
        root,
        """
        git clone -q --bare . docs; git -C docs config core.fsmonitor "$PROGRAM"
        git -C docs config filter.theirs.clean "$PROGRAM"
        git -C docs config core.bare false; git -C docs config core.worktree "$PWD"
        echo '*.txt filter=theirs' >.gitattributes; cp pack.md docs
        """,
        theirs,
    )
    shell(root, "cd docs && git status", theirs)
    assert marker.exists(), "the trick does not work on git itself"
    marker.unlink()

    for command in COMMANDS:
        assert run(root / "docs", *command).code != 70
        assert run(root / "docs", *command, "--cwd", str(root / "docs")).code != 70
        assert not marker.exists(), command


def test_a_work_tree_that_lies_elsewhere_is_left_alone(tmp_path: Path) -> None:
    theirs, _ = program(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "tracked.txt").write_text("somebody's\n")
    root = a_project(tmp_path / "ours", STEP, f"{EDITS}echo x >{elsewhere}/new.txt\n")
    shell(root, f"git config core.worktree {elsewhere}", theirs)

    for command in COMMANDS:
        run(root, *command)

    assert sorted(path.name for path in elsewhere.iterdir()) == ["new.txt", "tracked.txt"]


def test_files_with_a_filter_come_back_as_they_were(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, "echo new >tracked.txt\nrm gone.txt\n")
    theirs, marker = program(tmp_path)
    shell(
        root,
        """
        git config filter.theirs.clean "tr a-z A-Z; $PROGRAM </dev/null"
        echo '*.txt filter=theirs' >.gitattributes; git add --renormalize .; git commit -qam upper
        """,
        theirs,
    )
    marker.unlink()
    before = contents(root)

    assert run(root, "run", "pack.md").code == 0
    undone = run(root, "undo", "pack.md", "01")

    assert undone.data["files"] == ["gone.txt", "tracked.txt"]
    assert contents(root) == before
    assert not marker.exists()


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        pytest.param(("validate", "pack.md"), False, id="validate"),
        pytest.param(("list", "pack.md"), False, id="list"),
        pytest.param(("why", "pack.md", "01"), False, id="why"),
        pytest.param(("run", "pack.md", "--dry-run"), False, id="a dry run"),
        pytest.param(("plan", "pack.md"), True, id="a plan rehearses"),
        pytest.param(("run", "pack.md", "--engine", "rehearsal"), True, id="a rehearsal"),
    ],
)
def test_which_commands_run_the_bash_of_a_pack(
    command: tuple[str, ...], runs: object, tmp_path: Path
) -> None:
    """These commands are said to run nothing."""
    marker = tmp_path / "outside"
    project = tmp_path / "project"
    project.mkdir()
    (project / "pack.md").write_text(pack_text(f"touch {marker}\n# 01) one\ntouch {marker}\n"))

    assert oraclepack(project, *command).code == 0
    assert marker.exists() is runs
