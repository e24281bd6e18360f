"""What agents use to get small replies: jq, pages, several errors at once."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from oraclepack.cli.options import shared_options_last
from oraclepack.errors import NotFoundError
from oraclepack.system.paging import Paged, page
from oraclepack.view.report.schemas import schema_of
from oraclepack.view.report.untrusted import clean_parts
from tests.cli.answers import answer
from tests.packs import pack_text


def test_text_from_outside_is_cleaned_where_it_is_declared() -> None:
    data = {"rows": [{"text": "\x1b[31mred\u202e", "path": "a\x1b"}, {"text": ""}], "n": 1}

    cleaned, there = clean_parts(data, ("rows.text", "nope"))

    assert cleaned == {"rows": [{"text": "[31mred", "path": "a\x1b"}, {"text": ""}], "n": 1}
    assert there == ("rows.text",)


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        pytest.param(["--json", "list"], ["list", "--json"], id="one"),
        pytest.param(
            ["--output", "json", "--cwd=/x", "runs", "list", "--", "a"],
            ["runs", "list", "--output", "json", "--cwd=/x", "--", "a"],
            id="with values, before the words that are no options",
        ),
        pytest.param(["--version", "x"], ["--version", "x"], id="another option stays"),
        pytest.param(["--json"], [], id="nothing but options"),
    ],
)
def test_shared_options_may_stand_before_the_command(given: list[str], ordered: list[str]) -> None:
    assert shared_options_last(given) == ordered


def test_json_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    before = answer(capsys, "--json", "config", "schema")
    behind = answer(capsys, "config", "schema", "--json")

    assert before.data == behind.data
    assert answer(capsys, "--json", "--help").envelope["data"]["help"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--no-tui", "run", "pack.md", "-y"], id="-y"),
        pytest.param(["--out-dir", "out", "--no-tui", "run", "pack.md"], id="--out-dir"),
        pytest.param(["-o", "out", "run", "pack.md"], id="-o"),
        pytest.param(["run", "pack.md", "-o", "out"], id="-o behind the command"),
        pytest.param(["run", "pack.md", "-o", "out_dir=out"], id="-o with the name"),
        pytest.param(["--oracle-bin=bash", "run", "pack.md"], id="--oracle-bin"),
    ],
)
def test_root_flags_of_the_go_tool(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack.md").write_text(pack_text('out_dir=here\n# 01) a\necho >"$out_dir/a.md"\n'))

    assert answer(capsys, *words).code == 0
    named = "out" in words or "out_dir=out" in words
    assert ((tmp_path / "out/a.md").exists(), (tmp_path / "here/a.md").exists()) == (
        named,
        not named,
    )


def test_programs_get_one_line_and_terminals_many(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for_programs = answer(capsys, "config", "schema", "--json").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for_people = answer(capsys, "config", "schema", "--json").out

    assert (for_programs.count("\n"), for_people.count("\n") > 10) == (1, True)
    assert json.loads(for_programs)["data"] == json.loads(for_people)["data"]


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


@needs_jq
@pytest.mark.parametrize(
    ("args", "printed"),
    [
        pytest.param(["--jq", ".ok"], "true\n", id="a value"),
        pytest.param(["--jq", ".data.run"], "oraclepack:run/1\n", id="a text, bare"),
        pytest.param(["--jq", "{c: .meta.command}"], '{"c":"config schema"}\n', id="an object"),
        pytest.param(["--jq", "env.HOME"], "null\n", id="no variables of ours"),
    ],
)
def test_jq(capsys: pytest.CaptureFixture[str], args: list[str], printed: str) -> None:
    got = answer(capsys, "config", "schema", *args)

    assert (got.code, got.out) == (0, printed)


@needs_jq
def test_a_wrong_jq_program_is_refused_before_anything_happens(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    got = answer(capsys, "new", str(tmp_path / "pack.md"), "--jq", ".data |")

    assert (got.code, got.envelope["error"]["code"]) == (2, "USAGE")
    assert list(tmp_path.iterdir()) == []


@needs_jq
def test_a_jq_program_that_fails_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    got = answer(capsys, "config", "schema", "--jq", ".ok | keys")

    assert (got.code, got.envelope["ok"]) == (0, True)
    assert "--jq failed" in got.envelope["warnings"][0]


def test_all_wrong_arguments_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    got = answer(capsys, "validate", "--nope", "--format", "yaml", "--strikt", "--json").envelope[
        "error"
    ]

    assert got["message"] == "4 arguments cannot be used"
    assert [line.partition(" ")[0] for line in got["detail"].splitlines()] == [
        "No",
        "No",
        "Missing",
        "Invalid",
    ]


def test_all_wrong_settings_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pack = tmp_path / "pack.md"
    pack.write_text(pack_text("# 01) x\ntrue\n"))

    got = answer(capsys, "run", str(pack), "--max-parallel", "x", "--step-timeout", "y", "--json")

    error = got.envelope["error"]
    assert (got.code, error["code"], error["message"]) == (2, "USAGE", "2 values cannot be used")
    assert len(error["detail"].splitlines()) == 2
    assert not (tmp_path / ".oraclepack").exists()


@pytest.mark.parametrize(
    ("word", "code"),
    [
        pytest.param("max_cost=0.5", 0, id="a setting"),
        pytest.param("max_cast=0.5", 2, id="one that is not there"),
        pytest.param("max_cost=much", 2, id="a wrong value"),
    ],
)
def test_any_setting_can_be_given(capsys: pytest.CaptureFixture[str], word: str, code: int) -> None:
    got = answer(capsys, "config", "show", "-o", word, "--json")

    assert got.code == code
    if code == 0:
        rows = {row["name"]: row for row in got.data["settings"]}
        assert (rows["max_cost"]["value"], rows["max_cost"]["where"]) == ("0.5", "-o max_cost")


class Names(Paged, frozen=True, kw_only=True):
    names: tuple[str, ...]


@pytest.mark.parametrize(
    ("limit", "cursor", "names", "following"),
    [
        pytest.param(None, None, "abcde", None, id="everything"),
        pytest.param(2, None, "ab", "b", id="the first page"),
        pytest.param(2, "b", "cd", "d", id="the next"),
        pytest.param(2, "d", "e", None, id="the last"),
        pytest.param(5, None, "abcde", None, id="exactly all"),
        pytest.param(2, "e", "", None, id="after the end"),
    ],
)
def test_pages(limit: int | None, cursor: str | None, names: str, following: str | None) -> None:
    found = page(Names(names=tuple("abcde")), "names", str, limit, cursor)

    assert (found.names, found.next_cursor) == (tuple(names), following)


def test_a_cursor_that_is_gone() -> None:
    with pytest.raises(NotFoundError, match="not in the list"):
        page(Names(names=("a",)), "names", str, 1, "b")


def test_lists_come_in_pages(capsys: pytest.CaptureFixture[str]) -> None:
    first = answer(capsys, "explain", "--limit", "3", "--json").envelope["data"]
    more = answer(capsys, "explain", "--cursor", first["next_cursor"], "--json").envelope["data"]
    every = answer(capsys, "explain", "--json").envelope["data"]

    assert len(first["rules"]) == 3
    assert first["rules"] + more["rules"] == every["rules"]


def a_run(capsys: pytest.CaptureFixture[str], place: Path, step: str) -> Any:
    (place / "pack.md").write_text(pack_text(f"# 01) First\ntrue\n# 02) Second\n{step}\n"))
    return answer(capsys, "run", "pack.md", "--json").envelope


def test_run_tells_programs_what_to_do_next(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORACLEPACK_REQUEST_ID", "ticket-7")

    envelope = a_run(capsys, tmp_path, "exit 9")

    data, meta = envelope["data"], envelope["meta"]
    assert [step["title"] for step in data["steps"]] == ["First", "Second"]
    assert data["failure"].startswith("step 02 failed: ")
    assert data["next_command"] == "oraclepack run pack.md --json"
    assert (meta["run_id"], meta["request_id"]) == (data["run_id"], "ticket-7")
    assert meta["project_root"] == str(tmp_path)
    assert meta["untrusted"] == ["steps.title", "steps.message", "failure"]
    jsonschema.validate(envelope, schema_of("envelope"))
    jsonschema.validate(data, schema_of("run-report"))


def test_an_agent_gets_no_chatter(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack.md").write_text(pack_text("# 01) First\ntrue\n"))
    for name in [name for name in os.environ if name.startswith("CODEX_")]:
        monkeypatch.delenv(name)
    for name in ("CLAUDECODE", "GEMINI_CLI", "AI_AGENT"):
        monkeypatch.delenv(name, raising=False)
    for_people = answer(capsys, "run", "pack.md", "--new-run")
    monkeypatch.setenv("CODEX_SANDBOX", "1")

    for_agents = answer(capsys, "run", "pack.md", "--new-run")

    assert "01" in for_people.err
    assert for_agents.err == ""
    assert (
        for_agents.out.splitlines()[-1].split()[:1] == for_people.out.splitlines()[-1].split()[:1]
    )


def test_steps_without_a_terminal_cannot_wait_for_a_person(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text("export PAGER=less EDITOR=vi\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)

    envelope = a_run(
        capsys,
        tmp_path,
        'echo "$PAGER $GIT_PAGER $EDITOR $GIT_EDITOR $GIT_TERMINAL_PROMPT ${CI-unset}" > env.txt',
    )

    assert envelope["ok"]
    ci = os.environ.get("CI", "unset")
    assert (tmp_path / "env.txt").read_text() == f"cat cat true true 0 {ci}\n"
