import errno
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from oraclepack.authoring import skills
from oraclepack.authoring.answer_contract import answer_format, work_format
from oraclepack.authoring.skills import AGENTS, SKILLS, SkillState, render
from oraclepack.cli.root import COMMANDS
from oraclepack.errors import ExitCode, UsageError
from oraclepack.pack.parse.read_pack import parse_pack
from tests.cli.answers import answer
from tests.faults import failing
from tests.packs import findings_of

ALL = tuple(AGENTS)
PLACES = {
    "codex": ".agents/skills/oracle-pack/SKILL.md",
    "gemini": ".gemini/commands/oracle-pack.toml",
    "claude": ".claude/skills/oracle-pack/SKILL.md",
}


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    _, head, body = text.split("---\n", 2)
    loaded: dict[str, Any] = yaml.safe_load(head)
    return loaded, body


def states(root: Path, skill: str = "oracle-pack") -> dict[str, str]:
    found = skills.check(root, skills=(skill,)).skills
    return {one.agent: str(one.state) for one in found}


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_a_skill_is_front_matter_and_the_canonical_prompt(agent: str) -> None:
    head, body = front_matter(skills.show(agent).text)

    assert head["name"] == Path(PLACES[agent]).parent.name
    assert 20 < len(head["description"]) < 1024
    assert SKILLS["oracle-pack"].prompt() in body


def test_the_gemini_command_is_toml_with_the_canonical_prompt() -> None:
    loaded = tomllib.loads(skills.show("gemini").text)

    assert loaded["prompt"] == SKILLS["oracle-pack"].prompt()
    assert set(loaded) == {"prompt", "description"}


@pytest.mark.parametrize(
    "sign", ["{{", "!{", "@{", "$ARGUMENTS", "'''", "!`"], ids=lambda sign: f"no {sign}"
)
def test_no_agent_finds_something_to_replace_in_the_prompt(sign: str) -> None:
    assert sign not in SKILLS["oracle-pack"].prompt()


def test_the_step_of_the_prompt_is_itself_strict() -> None:
    block = SKILLS["oracle-pack"].prompt().partition("```bash\n")[2].partition("```")[0]

    text = f"# A pack\n\n```bash\n{block}```\n"

    strict = {finding.rule for finding in findings_of(text, strict=True)}
    assert strict == {"OP110"}, "only the count is missing"
    step = parse_pack(text, "pack.md").steps[0]
    assert step.meta.question_id == "invariants-stock"


def test_installed_skills_are_what_show_prints_and_current(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = answer(capsys, "skills", "install", *ALL, "--cwd", str(tmp_path))
    again = answer(capsys, "skills", "install", *ALL, "--cwd", str(tmp_path))

    assert (first.code, again.code) == (0, 0)
    assert "unchanged" in again.out
    for agent, place in PLACES.items():
        shown = answer(capsys, "skills", "show", agent)
        assert (tmp_path / place).read_text() == shown.out
    assert set(states(tmp_path).values()) == {"current"}


def test_check_tells_absent_stale_edited_and_foreign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(states(tmp_path).values()) == {"absent"}
    skills.install(tmp_path, ALL)
    stale = render(AGENTS["codex"], SKILLS["oracle-pack"], "An older prompt.\n", "0.0.1")
    (tmp_path / PLACES["codex"]).write_text(stale)
    with (tmp_path / PLACES["gemini"]).open("a") as file:
        file.write("# mine\n")
    edited = (tmp_path / PLACES["claude"]).read_text().replace("twenty", "ten", 1)
    (tmp_path / PLACES["claude"]).write_text(edited)

    got = answer(capsys, "skills", "check", "--cwd", str(tmp_path), "--json")

    assert states(tmp_path) == {"codex": "stale", "gemini": "edited", "claude": "edited"}
    assert got.code == 2
    assert got.envelope["error"]["code"] == "OUTDATED_SKILL"
    written = got.envelope["data"]["skills"]
    found = {one["agent"]: one["version"] for one in written if one["skill"] == "oracle-pack"}
    assert found["codex"] == "0.0.1"
    (tmp_path / PLACES["claude"]).write_text("my own skill\n")
    assert states(tmp_path)["claude"] == "foreign"


def test_check_looks_at_the_agents_and_the_place_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "my skills"
    skills.install(tmp_path, ["claude"], str(elsewhere))
    copy = elsewhere / "oracle-pack" / "SKILL.md"
    copy.write_text(copy.read_text() + "mine\n")
    there = ("--cwd", str(tmp_path), "--dir", str(elsewhere), "--json")

    got = answer(capsys, "skills", "check", "claude", *there)
    other = answer(capsys, "skills", "check", "gemini", *there)

    assert (got.code, other.code) == (2, 0)
    assert {skill["agent"] for skill in got.envelope["data"]["skills"]} == {"claude"}
    hint = got.envelope["error"]["suggestion"]
    assert f"skills install claude --dir '{elsewhere}'" in hint


def test_stale_copies_are_replaced_but_edits_only_by_force(tmp_path: Path) -> None:
    skills.install(tmp_path, ALL)
    (tmp_path / PLACES["codex"]).write_text(
        render(AGENTS["codex"], SKILLS["oracle-pack"], "Older.\n", "0.0.1")
    )
    skills.install(tmp_path, ["codex"])
    (tmp_path / PLACES["claude"]).write_text("my own skill\n")

    with pytest.raises(UsageError, match="foreign"):
        skills.install(tmp_path, ALL)
    forced = skills.install(tmp_path, ALL, force=True)

    assert [one.before for one in forced.skills if one.written] == [SkillState.FOREIGN]
    assert set(states(tmp_path).values()) == {"current"}


def test_another_directory_may_be_named(tmp_path: Path) -> None:
    elsewhere = tmp_path / "home" / "skills"

    report = skills.install(tmp_path / "project", ["claude"], str(elsewhere))

    assert (elsewhere / "oracle-pack" / "SKILL.md").is_file()
    assert report.skills[0].written
    with pytest.raises(UsageError, match="share one file"):
        skills.install(tmp_path, ["claude", "codex"], str(elsewhere))


@pytest.mark.parametrize(
    ("flags", "status", "left"),
    [
        pytest.param((), "not_attempted", {"codex"}, id="kept without the flag"),
        pytest.param(("--rollback-on-failure",), "completed", set(), id="taken back"),
    ],
)
def test_a_failure_halfway(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    status: str,
    left: set[str],
) -> None:
    # A file where the directory of the second skill should be.
    (tmp_path / ".gemini").write_text("in the way\n")

    got = answer(capsys, "skills", "install", *ALL, *flags, "--cwd", str(tmp_path), "--json")

    data = got.envelope["data"]
    assert got.code == 3
    assert got.envelope["error"]["code"] == "PARTIAL_FAILURE"
    assert (data["rollback_status"], data["rollback_error"]) == (status, None)
    assert data["failed_step"] == "gemini/oracle-pack"
    assert data["skipped_steps"][-1] == "claude/oracle-run"
    assert {agent for agent in ALL if (tmp_path / PLACES[agent]).is_file()} == left
    assert (tmp_path / ".gemini").read_text() == "in the way\n"
    if left:
        assert data["quarantined"] == []
    else:
        assert (tmp_path / data["quarantined"][0]).is_file()
        assert not (tmp_path / ".agents").exists()


def test_a_rollback_that_fails_says_what_it_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The disk refuses every rename from the second on, and every link: nothing can be moved.
    with failing(at=2, code=errno.EROFS, only="rename"):
        got = _install_on_a_disk_without_links(tmp_path, capsys)

    data = got["data"]
    assert got["error"]["code"] == "PARTIAL_FAILURE"
    assert data["rollback_status"] == "failed"
    assert "not rolled back" in data["rollback_error"]
    assert data["completed_steps"] == ["codex/oracle-pack"]


def _install_on_a_disk_without_links(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    root.joinpath(".oraclepack").write_text("a file where the quarantine should be\n")
    words = ("skills", "install", *ALL, "--rollback-on-failure", "--cwd", str(root), "--json")
    got = answer(capsys, *words)
    assert got.code == 3
    return got.envelope


def test_a_replaced_file_comes_back_with_mode_and_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / PLACES["codex"]
    path.parent.mkdir(parents=True)
    path.write_text("my own skill\n")
    path.chmod(0o640)
    before = path.stat()
    (tmp_path / ".gemini").write_text("in the way\n")

    words = ("--force", "--rollback-on-failure", "--cwd", str(tmp_path))
    got = answer(capsys, "skills", "install", "codex", "gemini", *words)

    after = path.stat()
    assert got.code == 3
    assert path.read_text() == "my own skill\n"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_the_skill_for_running_packs_is_installed_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ("--skill", "oracle-run", "--cwd", str(tmp_path))

    got = answer(capsys, "skills", "install", *ALL, *only)

    assert got.code == 0
    assert set(states(tmp_path, "oracle-run").values()) == {"current"}
    assert set(states(tmp_path).values()) == {"absent"}
    for agent, place in PLACES.items():
        shown = answer(capsys, "skills", "show", agent, "--skill", "oracle-run")
        there = tmp_path / place.replace("oracle-pack", "oracle-run")
        assert there.read_text() == shown.out


def test_the_skill_for_running_packs_knows_every_exit_code_and_only_real_commands() -> None:
    text = SKILLS["oracle-run"].prompt()

    for code in ExitCode:
        assert re.search(rf"^\| [^|]*\b{code.value}\b", text, re.MULTILINE), code
    for name in re.findall(r"`oraclepack (\w[\w-]*)", text):
        assert name in COMMANDS, name


def test_the_canonical_prompt_holds_the_answer_contract_of_the_program() -> None:
    assert answer_format() in SKILLS["oracle-pack"].prompt()
    prompt = SKILLS["oracle-pack"].prompt()
    assert "<<" not in prompt.replace("<<'PROMPT'", "").replace("$(cat <<…)", "")


@pytest.mark.parametrize("page", ["writing-packs.md", "generating-packs.md"])
def test_the_guides_quote_the_answer_contract_of_the_program(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")

    assert "\n".join(f"    {line}" for line in work_format().split("\n")) in text
