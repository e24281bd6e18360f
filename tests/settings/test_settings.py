from pathlib import Path

import pytest

from oraclepack.errors import InputError, OraclePackError, UsageError
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import COLOR, LINT_IGNORE, STRICT, SettingValue
from oraclepack.system.environment import environment
from oraclepack.system.secrets import Redactor

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
        origin = load_settings(flags).origin(COLOR)
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
        load_settings({})

    assert expected in raised.value.message


def test_a_project_that_sets_what_it_may_not_stops_nothing(project: Path) -> None:
    write(project / "oraclepack.toml", 'oracle_bin = "./theirs"\nmin_completion = 0\nci = true\n')
    write(project / ".env", "ORACLEPACK_CWD=/\nORACLEPACK_VALIDATE=0\n")

    settings = load_settings({})

    assert settings.root == str(project)
    assert settings.values == {}
    assert [(one.where, one.reason) for one in settings.ignored] == [
        ("oraclepack.toml: ci", "true is less strict than your false (false is stricter)"),
        ("oraclepack.toml: min_completion", "0 is less strict than your 1 (higher is stricter)"),
        ("oraclepack.toml: oracle_bin", "a project may not set this"),
        (".env: ORACLEPACK_CWD", "a project may not set this"),
        (".env: ORACLEPACK_VALIDATE", "false is less strict than your true (true is stricter)"),
    ]


def test_a_config_that_is_no_utf8_is_reported(project: Path) -> None:
    (project / "oraclepack.toml").write_bytes(b"# \xff")

    with pytest.raises(InputError, match="not valid TOML"):
        load_settings({})


def test_a_config_that_cannot_be_read_is_reported(project: Path) -> None:
    (project / "oraclepack.toml").mkdir()

    with pytest.raises(InputError, match="cannot be read"):
        load_settings({})


def test_a_foreign_pyproject_does_not_concern_us(project: Path) -> None:
    write(project / "pyproject.toml", "this is [ no TOML")

    assert load_settings({})[STRICT] is False


def test_two_project_files_are_warned_about(project: Path) -> None:
    write(project / "pyproject.toml", "[tool.oraclepack]\nstrict = true")
    write(project / "oraclepack.toml", "")

    settings = load_settings({})

    assert settings[STRICT] is False
    assert settings.warnings == ("oraclepack.toml hides [tool.oraclepack] of pyproject.toml",)


def test_a_variable_may_name_the_users_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project / "mine.toml", '[lint]\nignore = ["OP4"]')
    monkeypatch.setenv("ORACLEPACK_CONFIG", "mine.toml")

    assert load_settings({})[LINT_IGNORE] == ("OP4",)

    monkeypatch.setenv("ORACLEPACK_CONFIG", "none.toml")
    with pytest.raises(InputError, match="no such file"):
        load_settings({})


def test_the_pack_decides_which_project_is_asked(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "oraclepack.toml", "strict = true")
    (other / ".git").write_text("gitdir: elsewhere", encoding="utf-8")

    assert load_settings({}, str(other / "docs" / "pack.md"))[STRICT] is True
    assert load_settings({})[STRICT] is False
    assert load_settings({"cwd": SettingValue(str(other), "--cwd")})[STRICT] is True
    assert load_settings({}).root == str(project)


def test_commands_that_describe_the_program_do_not_look_into_the_project(project: Path) -> None:
    write(project / "oraclepack.toml", "broken [")

    assert load_settings({}, reads_config=False)[STRICT] is False
    with pytest.raises(UsageError):
        load_settings({"cwd": SettingValue("nowhere", "--cwd")})


@pytest.mark.usefixtures("project")
def test_names_of_secrets_reach_whatever_cleans_a_text(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLEPACK_SECRET_NAMES", "")
    monkeypatch.delenv("ORACLEPACK_SECRET_NAMES")
    monkeypatch.setenv("MY_WORD", "hunter2222")
    write(home / USER, 'secret_names = ["MY_*"]')

    load_settings({})

    assert Redactor.of(environment()).clean("it is hunter2222") == "it is [redacted]"


@pytest.mark.parametrize("line", ["a." * 60_000 + "a = 1", "[" + "a." * 60_000 + "a]"])
def test_a_key_of_thousands_of_parts_is_refused(project: Path, line: str) -> None:
    write(project / "oraclepack.toml", f"color = 'auto'\n{line}\n")

    with pytest.raises(InputError, match="line 2 has a key of more than 100 parts"):
        load_settings({})


def test_thousands_of_unknown_variables_are_counted(project: Path) -> None:
    write(project / ".env", "".join(f"ORACLEPACK_K{n}=1\n" for n in range(5_000)))

    warnings = load_settings({}).warnings

    assert len(warnings) == 21
    assert warnings[-1] == "4980 more unknown variables .env"
