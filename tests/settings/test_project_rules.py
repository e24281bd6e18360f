"""What a project may set: free, only stricter, or not at all; one row per setting and direction."""

from decimal import Decimal
from typing import Any

import pytest

from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.project_rules import SettingScope
from oraclepack.settings.registry import (
    BY_NAME,
    SETTINGS,
    Layer,
    Settings,
    SettingValue,
    resolve,
)
from oraclepack.tools.argv import refused_flag

PROJECT_SOURCES = (ValueSource.PROJECT, ValueSource.DOTENV)


def layer(source: ValueSource, name: str, value: object) -> Layer:
    return Layer(source, {name: SettingValue(value, f"{source.name}:{name}")})


def value_of(found: Settings, name: str) -> Any:
    return Settings(found.values)[BY_NAME[name]]


AMOUNTS = ("max_cost", "budget.per_run", "budget.per_day", "budget.per_month")
DIRECTIONS = [
    # name, the user's value (None: the default), a stricter value, a looser one
    ("max_parallel", None, 1, 8),
    ("max_parallel", 8, 4, 9),
    ("step_timeout", None, 60.0, None),
    ("step_timeout", 60.0, 30.0, 0),
    ("step_timeout", 60.0, 30.0, 61),
    ("output_verify", None, True, False),
    ("output_require_headings", True, True, False),
    ("output_chunk_mode", None, "single", "multi"),
    ("output_chunk_mode", "single", "single", "auto"),
    ("output_contract", "all-sections", "all-sections", "auto"),
    ("rollback_on_failure", True, True, False),
    ("allow_dirty_rerun", None, False, True),
    ("allow_unseen_calls", None, False, True),
    ("validate", None, True, False),
    ("ci", None, False, True),
    ("interactive", False, False, True),
    ("min_completion", None, 1.0, 0),
    ("min_completion", 0.5, 0.75, 0.25),
    ("min_yield", 2.0, 3.0, 1),
    ("strict", True, True, False),
    ("engine", "rehearsal", "rehearsal", "api"),
    ("engine", None, "browser", None),
    ("cache", None, True, False),
    ("answers", None, "project", None),
    ("answers", "project", "project", "user"),
    ("refresh", None, False, True),
    ("call_timeout", None, 60.0, 7201),
    ("call_timeout", None, 60.0, 0),
    ("on_unknown", None, "fail", "retry"),
    ("on_unknown", "fail", "fail", "ask"),
    ("retry_budget", None, 0, 41),
    ("retry_base_seconds", None, 5.0, 0),
    ("output_retries", None, 0, 1),
    ("output_retries", 3, 2, 4),
    *((name, None, Decimal(3), None) for name in AMOUNTS),
    *((name, Decimal(3), Decimal("2.5"), Decimal("3.01")) for name in AMOUNTS),
    *((name, Decimal(3), Decimal(0), "none") for name in AMOUNTS),
    *((name, 3, 0, 4) for name in ("max_calls", "max_tokens")),
    ("confirm_above", None, Decimal(5), Decimal(21)),
    *((name, 3, 2, "none") for name in ("max_calls", "max_tokens")),
    ("on_unknown_price", None, "refuse", "allow"),
    *((name, 3, 2, 4) for name in BY_NAME if name.startswith("providers.")),
    *((name, 3, 2, 0) for name in BY_NAME if name.startswith("providers.")),
]


@pytest.mark.parametrize("source", PROJECT_SOURCES)
@pytest.mark.parametrize(("name", "own", "stricter", "looser"), DIRECTIONS)
def test_a_project_may_only_be_stricter(
    name: str, own: object, stricter: object, looser: object, source: ValueSource
) -> None:
    user = [layer(ValueSource.USER, name, own)] if own is not None else []
    bound = own if own is not None else BY_NAME[name].default

    tightened = resolve([*user, layer(source, name, stricter)])
    assert value_of(tightened, name) == stricter
    assert tightened.ignored == ()
    if looser is not None:
        loosened = resolve([*user, layer(source, name, looser)])
        assert value_of(loosened, name) == bound
        assert [(one.name, one.where) for one in loosened.ignored] == [
            (name, f"{source.name}:{name}")
        ]
        assert "less strict than your" in loosened.ignored[0].message
        assert loosened.origins.get(name) == resolve(user).origins.get(name)


def test_each_tighten_only_setting_has_a_row() -> None:
    tightened = {one.name for one in SETTINGS if one.project.scope is SettingScope.TIGHTEN_ONLY}

    # `secret_names` has no direction: see below.
    assert {*(name for name, *_ in DIRECTIONS), "secret_names"} == tightened
    assert all(BY_NAME[name].project.limit for name in tightened)


@pytest.mark.parametrize(
    "name", [s.name for s in SETTINGS if s.project.scope is SettingScope.USER_ONLY]
)
@pytest.mark.parametrize("source", PROJECT_SOURCES)
def test_what_is_the_users_alone_is_ignored_in_a_project(name: str, source: ValueSource) -> None:
    found = resolve([layer(source, name, "true")])

    assert found.values == {}
    assert next(one.message for one in found.ignored if one.name == name).startswith(
        f"{source.name}:{name}: ignored: a project may not set this; use "
    )


def test_the_user_may_let_projects_name_programs_and_nothing_else() -> None:
    allowed = layer(ValueSource.USER, "allow_project_programs", value=True)
    project = Layer(
        ValueSource.PROJECT,
        {
            "oracle_bin": SettingValue("./mine", "oraclepack.toml: oracle_bin"),
            "cwd": SettingValue("/", "oraclepack.toml: cwd"),
            "oracle_flag": SettingValue("--base-url=http://x", "oraclepack.toml: oracle_flag"),
        },
    )

    found = resolve([allowed, project])

    assert value_of(found, "oracle_bin") == "./mine"
    assert sorted(one.name for one in found.ignored) == ["cwd", "oracle_flag"]


def test_a_project_cannot_allow_itself_to_name_programs() -> None:
    found = resolve(
        [
            layer(ValueSource.PROJECT, "allow_project_programs", value=True),
            layer(ValueSource.DOTENV, "oracle_bin", "./mine"),
        ]
    )

    assert found.values == {}
    assert [one.name for one in found.ignored] == ["allow_project_programs", "oracle_bin"]


@pytest.mark.parametrize("source", [ValueSource.ENVIRONMENT, ValueSource.FLAG])
def test_a_value_of_the_user_settles_it_without_a_word(source: ValueSource) -> None:
    found = resolve(
        [layer(ValueSource.PROJECT, "max_parallel", 8), layer(source, "max_parallel", "16")]
    )

    assert value_of(found, "max_parallel") == 16
    assert found.ignored == ()


def test_one_project_file_is_not_measured_by_the_other() -> None:
    found = resolve(
        [
            layer(ValueSource.USER, "max_parallel", 8),
            layer(ValueSource.PROJECT, "max_parallel", 2),
            layer(ValueSource.DOTENV, "max_parallel", 4),
        ]
    )

    assert value_of(found, "max_parallel") == 4
    assert found.ignored == ()


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("answers", True),
        ("a/../b", True),
        ("../elsewhere", False),
        ("/home/user/.ssh", False),
        ("~/.ssh", False),
        (".git/hooks", False),
        (".oraclepack/runs/x", False),
        ("a\nb", False),
    ],
)
def test_a_project_keeps_its_answers_inside(path: str, taken: bool) -> None:
    found = resolve([layer(ValueSource.PROJECT, "out_dir", path)])

    assert value_of(found, "out_dir") == (path if taken else "")
    assert bool(found.ignored) is not taken


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        pytest.param("--model=gpt-5.2", None, id="a model"),
        pytest.param("-m gpt-5.2 --reasoning-effort high -v", None, id="several"),
        pytest.param("--browser-timeout=1h", None, id="patience"),
        pytest.param("--base-url=http://127.0.0.1:9", "--base-url", id="a host"),
        pytest.param("--model=a --base-url http://x", "--base-url", id="a host behind a model"),
        pytest.param(r"'--base-url=http'\:--model=x", "--base-url", id="a host in quotes"),
        pytest.param("-vf ~/.ssh/id_rsa", "--file", id="a file in a group of letters"),
        pytest.param("--files=/etc/passwd", "--file", id="a file by an alias"),
        pytest.param("--browser-chrome-path=./x", "--browser-chrome-path", id="a program"),
        pytest.param("--remote-host=x:1", "--remote-host", id="a remote browser"),
        pytest.param("--remote-token=x", "--remote-token", id="a key"),
        pytest.param("--azure-endpoint=http://x", "--azure-endpoint", id="another endpoint"),
        pytest.param("--chatgpt-url=http://x", "--chatgpt-url", id="another page"),
        pytest.param("--browser-cookie-path=x", "--browser-cookie-path", id="cookies"),
        pytest.param("--copy-profile=x", "--copy-profile", id="a browser profile"),
        pytest.param("--write-output=x", "--write-output", id="an output"),
        pytest.param("--prompt=x", "--prompt", id="another question"),
        pytest.param("--followup=x", "--followup", id="another conversation"),
        pytest.param("--force", "--force", id="paying twice"),
        pytest.param("--dry-run", "--dry-run", id="no question at all"),
        pytest.param("--allow-partial", "--allow-partial", id="half an answer"),
        pytest.param("--model=a -- b", "'--model=a -- b'", id="a word that is no flag"),
        pytest.param("status", "'status'", id="a sub-command"),
        pytest.param("--model", "'--model'", id="a value is missing"),
        pytest.param("--nosuch=1", "'--nosuch=1'", id="an unknown flag"),
        pytest.param("-m 'x", '"-m \'x"', id="half a quotation"),
        pytest.param("", "''", id="nothing"),
    ],
)
def test_flags_of_oracle_that_a_project_may_set(text: str, refused: str | None) -> None:
    found = refused_flag(text, per_step=False)
    of_steps = refused_flag(f"03,07:{text}", per_step=True)
    assert (found, of_steps) == (refused, refused)


def test_a_project_adds_to_the_users_flags_and_takes_none_away() -> None:
    found = resolve(
        [
            layer(ValueSource.USER, "oracle_flag", ["--base-url=https://gateway.example"]),
            layer(
                ValueSource.PROJECT, "oracle_flag", ["--model=a", "--base-url=http://x", "-f x -v"]
            ),
            layer(ValueSource.USER, "override", ["01:--model=mine"]),
            layer(ValueSource.DOTENV, "override", "02:--remote-host=x:1"),
        ]
    )

    assert value_of(found, "oracle_flag") == ("--base-url=https://gateway.example", "--model=a")
    assert value_of(found, "override") == ("01:--model=mine",)
    assert [(one.where, one.reason) for one in found.ignored] == [
        ("PROJECT:oracle_flag", "a project may not set --base-url"),
        ("PROJECT:oracle_flag", "a project may not set --file"),
        ("DOTENV:override", "a project may not set --remote-host"),
    ]
    assert found.ignored[0].message.endswith(
        "; use --oracle-flag or ORACLEPACK_ORACLE_FLAG or your own config file"
    )


def test_a_project_adds_names_of_secrets_and_takes_none_away() -> None:
    user = Layer(ValueSource.USER, {"secret_names": SettingValue(["MINE", "MY_*"], "user")})
    project = Layer(ValueSource.PROJECT, {"secret_names": SettingValue(["THEIRS", "*"], "project")})

    resolved = resolve([user, project])

    assert resolved.values["secret_names"] == ("MINE", "MY_*", "THEIRS")
    assert [one.reason for one in resolved.ignored] == ["'*' is a pattern, not a name"]
