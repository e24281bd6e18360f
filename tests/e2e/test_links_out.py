"""Links that a clone brings and that lead out of it: nothing is read or written behind them."""

from pathlib import Path

import pytest

from tests.e2e.program import oraclepack
from tests.packs import ANSWER_FORMAT, pack_text

ANSWER = "## Direct answer\n\nUse a queue.\n\n## Risks/Unknowns\n\nNone.\n"
STEP = f"# 01) ask\noracle -p 'Why? {ANSWER_FORMAT}' --write-output answers/01-a.md\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of the user's with a file in it."""
    made = tmp_path / "outside"
    made.mkdir()
    (made / "mine.md").write_text("mine\n")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    (made / "answers").mkdir()
    (made / "answers/01-a.md").write_text(ANSWER)
    (made / "pack.md").write_text(pack_text(STEP))
    return made


ACTIONIZE = ("actionize", "--answers", "answers", "--pack", "pack.md")


@pytest.mark.parametrize(
    ("link", "command"),
    [
        pytest.param(".oraclepack", ("runs", "list"), id="our folder"),
        pytest.param(
            ".oraclepack", ("run", "pack.md", "--engine", "rehearsal"), id="our folder, run"
        ),
        pytest.param(".oraclepack/cache", ("cache", "prune"), id="the cache"),
        pytest.param(".oraclepack/runs", ("runs", "list"), id="the runs"),
        pytest.param(".oraclepack/_failed", ("quarantine", "list"), id="the quarantine"),
        pytest.param("answers/actionizer", ACTIONIZE, id="what actionize writes"),
        pytest.param("docs", ("new", "docs/pack.md"), id="a new pack"),
        pytest.param(
            "docs",
            ("pipeline", "pack.md", "--junit", "docs/junit.xml"),
            id="a JUnit report",
        ),
        pytest.param(".agents", ("skills", "install", "codex"), id="skills of codex"),
        pytest.param(".claude/skills", ("skills", "install", "claude"), id="skills of claude"),
    ],
)
def test_a_link_out_of_the_project_is_refused(
    project: Path, outside: Path, link: str, command: tuple[str, ...]
) -> None:
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(outside)

    ran = oraclepack(project, *command)

    assert ran.code == 2, ran.err
    assert "by a symbolic link" in ran.err
    assert [path.name for path in outside.iterdir()] == ["mine.md"]
    assert (outside / "mine.md").read_text() == "mine\n"


@pytest.mark.parametrize("where", ["answers", "answers/01-a.md"])
def test_answers_behind_a_link_are_not_read(project: Path, outside: Path, where: str) -> None:
    (outside / "01-a.md").write_text(ANSWER)
    (project / "answers/01-a.md").unlink()
    if where == "answers":
        (project / "answers").rmdir()
    (project / where).symlink_to(outside if where == "answers" else outside / "01-a.md")

    ran = oraclepack(project, *ACTIONIZE)

    assert ran.code == 2
    assert "symbolic link" in ran.err
    assert sorted(path.name for path in outside.iterdir()) == ["01-a.md", "mine.md"]


@pytest.mark.parametrize(
    ("link", "command"),
    [
        ("linked/old.md", ("validate", "--fix", "linked")),
        ("linked", ("validate", "--fix", "linked/old.md")),
        ("linked", ("upgrade", "--write", "linked/old.md")),
    ],
)
def test_a_pack_behind_a_link_is_not_changed(
    project: Path, outside: Path, link: str, command: tuple[str, ...]
) -> None:
    step = "# 01) ask\noracle -p 'Why?'\n  --write-output answers/01-a.md\n"
    (outside / "old.md").write_text(text := pack_text(step))
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(outside / link.partition("/")[2])

    ran = oraclepack(project, *command)

    assert (outside / "old.md").read_text() == text
    assert ran.code == 2
    assert "by a symbolic link" in ran.out + ran.err


@pytest.mark.parametrize(
    ("link", "named"),
    [
        pytest.param("old.md", "project/old.md", id="a file, from above"),
        pytest.param("old.md", "project", id="a file in a folder, from above"),
        pytest.param("linked", "project/linked/old.md", id="a folder, from above"),
        pytest.param("old.md", "outside/../project/old.md", id="by way of another folder"),
    ],
)
@pytest.mark.parametrize("is_project", [False, True], ids=["to a folder", "to another project"])
def test_a_pack_behind_a_link_is_not_changed_from_elsewhere(
    project: Path, outside: Path, link: str, named: str, *, is_project: bool
) -> None:
    (outside / "old.md").write_text(text := pack_text("# 01) ask\noracle -f a.md\n  -p 'Why?'\n"))
    if is_project:
        (outside / ".git").mkdir()
    (project / link).symlink_to(outside / "old.md" if link == "old.md" else outside)

    ran = oraclepack(project.parent, "validate", "--fix", named)

    assert (outside / "old.md").read_text() == text
    assert ran.code == 2
    assert "by a symbolic link" in ran.out + ran.err


def test_a_place_that_the_user_names_outside_is_theirs(project: Path, outside: Path) -> None:
    (outside / "01-a.md").write_text(ANSWER)

    ran = oraclepack(project, "actionize", "--answers", str(outside), "--pack", "pack.md")

    assert ran.code == 0, ran.err
    assert (outside / "actionizer/backlog.md").exists()


def test_links_inside_the_project_are_followed(project: Path) -> None:
    (project / "elsewhere").mkdir()
    (project / "answers/actionizer").symlink_to("../elsewhere")

    assert oraclepack(project, *ACTIONIZE).code == 0
    assert (project / "elsewhere/backlog.md").exists()
