import json
import subprocess
from pathlib import Path

import pytest

from oraclepack.errors import InputError, OraclePackError, UsageError
from oraclepack.settings.call_settings import CHATGPT_URLS, OUTPUT_RETRIES
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import COLOR, LINT_IGNORE, STRICT, SettingValue
from oraclepack.settings.run_settings import OUTPUT_VERIFY
from oraclepack.system.environment import environment
from oraclepack.system.secrets import Redactor
from tests.cli.answers import answer

USER = ".config/oraclepack/config.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository we stand in."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_each_layer_in_turn_is_the_strongest(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def where(flags: dict[str, SettingValue]) -> tuple[ValueSource, str]:
        origin = load_settings(None, flags).origin(COLOR)
        return origin.source, origin.where

    seen = [where({})]
    write(home / USER, 'color = "always"')
    seen.append(where({}))
    write(project / "pyproject.toml", '[tool.oraclepack]\ncolor = "never"')
    seen.append(where({}))
    write(project / "oraclepack.toml", 'color = "never"')
    seen.append(where({}))
    write(project / ".env", "ORACLEPACK_COLOR=auto\nOTHER=1\n")
    seen.append(where({}))
    monkeypatch.setenv("NO_COLOR", "1")
    seen.append(where({}))
    monkeypatch.setenv("ORACLEPACK_COLOR", "always")
    seen.append(where({}))
    seen.append(where({"color": SettingValue("never", "--color")}))

    assert seen == [
        (ValueSource.DEFAULT, "default"),
        (ValueSource.USER, f"{home / USER}: color"),
        (ValueSource.PROJECT, "pyproject.toml: color"),
        (ValueSource.PROJECT, "oraclepack.toml: color"),
        (ValueSource.DOTENV, ".env: ORACLEPACK_COLOR"),
        (ValueSource.ENVIRONMENT, "NO_COLOR"),
        (ValueSource.ENVIRONMENT, "ORACLEPACK_COLOR"),
        (ValueSource.FLAG, "--color"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("oraclepack.toml", "strct = true", "oraclepack.toml: strct", id="unknown key"),
        pytest.param("oraclepack.toml", "strict = 3", "oraclepack.toml: strict", id="bad value"),
        pytest.param("oraclepack.toml", "strict =", "not valid TOML", id="broken TOML"),
        pytest.param("oraclepack.toml", "[lint]\nslect=[]", "lint.slect", id="unknown inner key"),
        pytest.param("oraclepack.toml", "lint = 3", "oraclepack.toml: lint", id="no table"),
        pytest.param("oraclepack.toml", "[providers.x]\na=1", "providers", id="later table"),
        pytest.param("pyproject.toml", "[tool.oraclepack]\nx=1", "pyproject.toml: x", id="shared"),
        pytest.param(".env", "ORACLEPACK_STRICT=3", ".env: ORACLEPACK_STRICT", id="bad variable"),
    ],
)
def test_trouble_in_a_file_names_the_place(
    project: Path, name: str, text: str, expected: str
) -> None:
    write(project / name, text)

    with pytest.raises(OraclePackError) as raised:
        load_settings()

    assert expected in raised.value.message


def test_a_project_that_sets_what_it_may_not_stops_nothing(project: Path) -> None:
    write(project / "oraclepack.toml", 'oracle_bin = "./theirs"\nmin_completion = 0\nci = true\n')
    write(project / ".env", "ORACLEPACK_CWD=/\nORACLEPACK_VALIDATE=0\n")

    settings = load_settings()

    assert settings.root == str(project)
    assert settings.values == {}
    assert [(one.where, one.reason) for one in settings.ignored] == [
        ("oraclepack.toml: ci", "true is less strict than your false (false is stricter)"),
        ("oraclepack.toml: min_completion", "0 is less strict than your 1 (higher is stricter)"),
        ("oraclepack.toml: oracle_bin", "a project may not set this"),
        (".env: ORACLEPACK_CWD", "a project may not set this"),
        (".env: ORACLEPACK_VALIDATE", "false is less strict than your true (true is stricter)"),
    ]


LOOSE = "ORACLEPACK_OUTPUT_VERIFY=0\nORACLEPACK_OUTPUT_RETRIES=2\n"


@pytest.mark.parametrize(
    ("commands", "counts"),
    [
        pytest.param(["git init -q"], True, id="untracked"),
        pytest.param(["git init -q", "echo .env >.gitignore"], True, id="ignored"),
        pytest.param(["git init -q", "git add .env"], False, id="tracked"),
        pytest.param(["true"], False, id="outside of git"),
        pytest.param(["git init -q", "mv .env real", "ln -s real .env"], False, id="a link"),
    ],
)
def test_a_dotenv_that_git_does_not_track_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[str], counts: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".env", f"{LOOSE}ORACLEPACK_ORACLE_BIN=./theirs\n")
    for one in commands:
        subprocess.run(one, shell=True, check=True, cwd=tmp_path)

    settings = load_settings()

    assert (settings[OUTPUT_VERIFY], settings[OUTPUT_RETRIES]) == (
        (False, 2) if counts else (True, 0)
    )
    ignored = {one.name: one.can_be_trusted for one in settings.ignored}
    loose = {} if counts else {"output_verify": True, "output_retries": True}
    assert ignored == {"oracle_bin": False} | loose


@pytest.mark.parametrize(
    ("name", "text", "later"),
    [
        pytest.param(".env", LOOSE, "ORACLEPACK_STRICT=1\n", id=".env outside of git"),
        pytest.param("oraclepack.toml", "output_verify = false\n", "ci = true\n", id="TOML"),
        pytest.param(
            "pyproject.toml",
            "[tool.oraclepack]\noutput_verify = false\n",
            "ci = true\n",
            id="shared",
        ),
    ],
)
def test_trusted_settings_count_until_they_change(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    later: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, text)

    refused = answer(capsys, "config", "trust")
    before = load_settings()
    trusted = answer(capsys, "config", "trust", "--yes", "--json").data["files"]

    assert (refused.code, before[OUTPUT_VERIFY]) == (2, True)
    assert [(one["path"], "output_verify" in one["settings"]) for one in trusted] == [(name, True)]
    assert not load_settings()[OUTPUT_VERIFY]
    write(tmp_path / name, f"# a remark\n{text}")
    assert not load_settings()[OUTPUT_VERIFY]
    write(tmp_path / name, f"{text}{later}")
    assert load_settings()[OUTPUT_VERIFY]


def _go_file(path: Path, **pages: str) -> None:
    items = [{"name": name.replace("_", " "), "url": url} for name, url in pages.items()]
    write(path, json.dumps({"default": "", "items": items}))


def test_pages_that_the_go_tool_saved_have_their_names(project: Path, home: Path) -> None:
    chatgpt = "https://chatgpt.com/g"
    _go_file(home / ".oraclepack/chatgpt-urls.json", Mine=f"{chatgpt}/1", Both=f"{chatgpt}/2")
    _go_file(
        project / "pack.chatgpt-urls.json",
        Core_Project=f"{chatgpt}/3",
        Both=f"{chatgpt}/4",
        Elsewhere="https://example.org",
        none="no address",
    )
    write(home / USER, f'[chatgpt_urls]\nMine = "{chatgpt}/5"\n')

    pages = load_settings(str(project / "docs/pack.md"))[CHATGPT_URLS]

    assert pages == {
        "Both": f"{chatgpt}/2",
        "Core-Project": f"{chatgpt}/3",
        "Mine": f"{chatgpt}/5",
    }


@pytest.mark.parametrize("text", ["", "[]", "{", '{"items": 3}', '{"items": [{"name": 1}]}'])
def test_a_broken_file_of_the_go_tool_stops_nothing(project: Path, text: str) -> None:
    write(project / "pack.chatgpt-urls.json", text)

    assert load_settings("pack.md")[CHATGPT_URLS] == {}


def test_a_config_that_is_no_utf8_is_reported(project: Path) -> None:
    (project / "oraclepack.toml").write_bytes(b"# \xff")

    with pytest.raises(InputError, match="not valid TOML"):
        load_settings()


def test_a_config_that_cannot_be_read_is_reported(project: Path) -> None:
    (project / "oraclepack.toml").mkdir()

    with pytest.raises(InputError, match="cannot be read"):
        load_settings()


def test_a_foreign_pyproject_does_not_concern_us(project: Path) -> None:
    write(project / "pyproject.toml", "this is [ no TOML")

    assert load_settings()[STRICT] is False


def test_two_project_files_are_warned_about(project: Path) -> None:
    write(project / "pyproject.toml", "[tool.oraclepack]\nstrict = true")
    write(project / "oraclepack.toml", "")

    settings = load_settings()

    assert settings[STRICT] is False
    assert settings.warnings == ("oraclepack.toml hides [tool.oraclepack] of pyproject.toml",)


def test_a_variable_may_name_the_users_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project / "mine.toml", '[lint]\nignore = ["OP4"]')
    monkeypatch.setenv("ORACLEPACK_CONFIG", "mine.toml")

    assert load_settings()[LINT_IGNORE] == ("OP4",)

    monkeypatch.setenv("ORACLEPACK_CONFIG", "none.toml")
    with pytest.raises(InputError, match="no such file"):
        load_settings()


def test_the_pack_decides_which_project_is_asked(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "oraclepack.toml", "strict = true")
    (other / ".git").write_text("gitdir: elsewhere", encoding="utf-8")

    assert load_settings(str(other / "docs" / "pack.md"))[STRICT] is True
    assert load_settings()[STRICT] is False
    assert load_settings(None, {"cwd": SettingValue(str(other), "--cwd")})[STRICT] is True
    assert load_settings().root == str(project)


def test_commands_that_describe_the_program_do_not_look_into_the_project(project: Path) -> None:
    write(project / "oraclepack.toml", "broken [")

    assert load_settings(reads_config=False)[STRICT] is False
    with pytest.raises(UsageError):
        load_settings(None, {"cwd": SettingValue("nowhere", "--cwd")})


@pytest.mark.usefixtures("project")
def test_names_of_secrets_reach_whatever_cleans_a_text(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLEPACK_SECRET_NAMES", "")
    monkeypatch.delenv("ORACLEPACK_SECRET_NAMES")
    monkeypatch.setenv("MY_WORD", "hunter2222")
    write(home / USER, 'secret_names = ["MY_*"]')

    load_settings()

    assert Redactor.of(environment()).clean("it is hunter2222") == "it is [redacted]"


@pytest.mark.parametrize("line", ["a." * 60_000 + "a = 1", "[" + "a." * 60_000 + "a]"])
def test_a_key_of_thousands_of_parts_is_refused(project: Path, line: str) -> None:
    write(project / "oraclepack.toml", f"color = 'auto'\n{line}\n")

    with pytest.raises(InputError, match="line 2 has a key of more than 100 parts"):
        load_settings()


def test_thousands_of_unknown_variables_are_counted(project: Path) -> None:
    write(project / ".env", "".join(f"ORACLEPACK_K{n}=1\n" for n in range(5_000)))

    warnings = load_settings().warnings

    assert len(warnings) == 21
    assert warnings[-1] == "4980 more unknown variables .env"
