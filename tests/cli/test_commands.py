from pathlib import Path

import jsonschema
import pytest

from oraclepack.cli.command_manifest import commands, describe
from oraclepack.cli.root import COMMANDS, load, root
from oraclepack.errors import ExitCode
from oraclepack.view.report.schemas import SCHEMAS, schema_of
from tests.cli.answers import answer
from tests.generated import ROOT, root_help

EVERY = dict(commands(root()))


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_command_keeps_the_house_rules(name: str) -> None:
    command = EVERY[name]

    assert command.facts.examples, "no examples"
    assert command.facts.data in SCHEMAS, "its data has no published schema"
    assert {"output", "json", "color", "cwd"} <= {param.name for param in command.params}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_table_names_the_command(name: str) -> None:
    assert load(name).name == name


def test_the_root_help_is_what_the_command_line_says() -> None:
    written = (ROOT / "src/oraclepack/cli/root_help.txt").read_text(encoding="utf-8")

    assert written == root_help()
    assert list(root().summaries()) == list(COMMANDS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_is_a_schema(capsys: pytest.CaptureFixture[str], name: str) -> None:
    schema = answer(capsys, "config", "schema", name, "--json").envelope["data"]

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith(f"oraclepack:{name}/")
    assert schema["title"] == f"oraclepack {name}"


@pytest.mark.parametrize(
    ("args", "name"),
    [
        pytest.param(["config", "show"], "config", id="config show"),
        pytest.param(["config", "schema"], "schema", id="schema"),
        pytest.param(["config", "manifest"], "manifest", id="manifest"),
        pytest.param(["config", "completion", "zsh"], "completion", id="completion"),
    ],
)
def test_data_meets_its_published_schema(
    capsys: pytest.CaptureFixture[str], args: list[str], name: str
) -> None:
    got = answer(capsys, *args, "--json")

    assert got.code == 0
    jsonschema.validate(got.envelope, schema_of("envelope"))
    jsonschema.validate(got.envelope["data"], schema_of(name))


def test_a_setting_without_a_value_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = answer(capsys, "config", "show").out.splitlines()
    values = {line.split()[0]: line.split()[1] for line in lines[3:] if line}

    assert (values["max_cost"], values["chatgpt_url"]) == ("-", "-")
    assert "None" not in values.values()


def test_config_show_tells_value_and_origin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLEPACK_STRICT", "yes")
    monkeypatch.setenv("ORACLEPACK_STRIKT", "yes")

    got = answer(capsys, "config", "show")

    assert got.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in got.out.splitlines() if line}
    assert rows["strict"] == ["true", "tighten-only", "ORACLEPACK_STRICT"]
    assert rows["color"] == ["auto", "free", "default"]
    assert "did you mean ORACLEPACK_STRICT?" in got.err


def test_config_show_tells_what_a_project_may_not_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oraclepack.toml").write_text('oracle_bin = "./theirs"\nmax_parallel = 9\n')

    data = answer(capsys, "config", "show", "--json").envelope["data"]
    text = answer(capsys, "config", "show").out

    rows = {row["name"]: row for row in data["settings"]}
    assert (rows["oracle_bin"]["scope"], rows["oracle_bin"]["value"]) == ("user-only", "")
    assert (rows["max_parallel"]["scope"], rows["max_parallel"]["limit"]) == (
        "tighten-only",
        "lower is stricter, auto comes after 1",
    )
    assert [one["where"] for one in data["ignored"]] == [
        "oraclepack.toml: max_parallel",
        "oraclepack.toml: oracle_bin",
    ]
    assert "  oraclepack.toml: oracle_bin: a project may not set this\n" in text


@pytest.mark.parametrize(
    ("setting", "warned"),
    [
        pytest.param('oracle_bin = "./theirs"', True, id="a program, whatever the command"),
        pytest.param("max_parallel = 9", False, id="a limit that the command does not know"),
        pytest.param("strict = false", False, id="no more than the default"),
    ],
)
def test_a_command_warns_once_of_what_a_project_may_not_set(
    setting: str,
    warned: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oraclepack.toml").write_text(f"{setting}\n")

    got = answer(capsys, "runs", "list")

    assert got.err.count("oraclepack.toml") == int(warned)


def test_the_manifest_knows_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "config", "manifest", "--json").envelope["data"]

    by_name = {command["name"]: command for command in data["commands"]}
    assert set(by_name) == set(EVERY)
    assert [code["code"] for code in data["exit_codes"]] == sorted(map(int, ExitCode))
    assert by_name["config completion"]["arguments"] == ["shell"]
    assert by_name["config completion"]["described"]["shell"] == {
        "choices": ["bash", "zsh", "fish"],
        "help": "The shell.",
        "required": True,
    }
    assert {"cwd", "output", "color", "json", "quiet", "jq"} <= set(data["shared"])
    assert data["options"]["output"] == {
        "choices": ["text", "json", "jsonl"],
        "default": "text",
        "help": "Output format: text for people, json or jsonl for programs; "
        "jsonl also prints events.",
        "setting": True,
    }


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_argument_has_a_type_and_a_help(name: str) -> None:
    (command,) = describe(root(), name).commands

    described = {**command.described, **command.options}
    assert [each for each, facts in described.items() if not (facts.help and facts.type)] == []
    assert command.effect in {"read", "write", "execute", "destructive"}
    assert (command.effect == "read") == (command.changes == "nothing")


def test_the_manifest_is_small_and_tells_when_it_is_unchanged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = answer(capsys, "config", "manifest", "--json")
    etag = whole.envelope["data"]["etag"]

    again = answer(capsys, "config", "manifest", "--etag", etag, "--json").envelope["data"]
    other = answer(capsys, "config", "manifest", "--etag", "0" * 16, "--json").envelope["data"]

    assert len(whole.out) < 42_000
    assert (again["unchanged"], again["etag"], "commands" in again) == (True, etag, False)
    assert other == whole.envelope["data"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["run"], ["run"], id="a command"),
        pytest.param(["cache", "list"], ["cache list"], id="a command of a group"),
        pytest.param(["publish"], ["publish github"], id="a group"),
    ],
)
def test_the_manifest_of_one_command_is_whole(
    capsys: pytest.CaptureFixture[str], words: list[str], names: list[str]
) -> None:
    data = answer(capsys, "config", "manifest", *words, "--json").envelope["data"]

    assert [command["name"] for command in data["commands"]] == names
    assert data["commands"][0]["options"]["cwd"]["help"]
    assert data["commands"][0]["examples"] == list(EVERY[names[0]].facts.examples)
    jsonschema.validate(data, schema_of("manifest"))


def test_the_manifest_of_no_command_is_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    error = answer(capsys, "config", "manifest", "cahce", "--json").envelope["error"]

    assert (error["code"], error["suggestion"]) == ("NOT_FOUND", "did you mean cache?")


def test_doctor_finds_what_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    got = answer(capsys, "doctor", "--json")

    jsonschema.validate(got.envelope["data"], schema_of("doctor"))
    found = {check["name"]: check for check in got.envelope["data"]["programs"]}
    assert (got.code, found["bash"]["status"]) == (0, "ok")
    assert got.envelope["data"]["login_shell"]["plain_ms"] >= 0


def test_doctor_without_bash(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    got = answer(capsys, "doctor")

    assert got.code == 2
    assert "missing bash: not found on PATH" in got.out
    assert "error: bash is missing" in got.err
