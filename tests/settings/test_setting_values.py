import pytest

from oraclepack.errors import UsageError
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import (
    BY_NAME,
    COLOR,
    LINT_SELECT,
    SETTINGS,
    STRICT,
    Layer,
    Settings,
    SettingValue,
    config_report,
    flatten,
    from_variables,
    resolve,
)


def layer(source: ValueSource, **values: object) -> Layer:
    return Layer(
        source,
        {name: SettingValue(value, f"{source.name}:{name}") for name, value in values.items()},
    )


STRONGER_FIRST = sorted(
    (source for source in ValueSource if source is not ValueSource.DEFAULT), reverse=True
)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        pytest.param(one, other, id=f"{one.name} beats {other.name}")
        for at, one in enumerate(STRONGER_FIRST)
        for other in STRONGER_FIRST[at + 1 :]
    ],
)
def test_precedence(stronger: ValueSource, weaker: ValueSource) -> None:
    found = resolve([layer(weaker, color="always"), layer(stronger, color="never")])

    assert found.values["color"] == "never"
    assert found.origins["color"].source is stronger
    assert found.origins["color"].where == f"{stronger.name}:color"


def test_a_setting_that_is_not_given_has_its_default() -> None:
    settings = Settings()

    assert (settings[STRICT], settings[COLOR], settings[LINT_SELECT]) == (False, "auto", ())
    assert settings.origin(STRICT).source is ValueSource.DEFAULT
    assert not settings.is_given(STRICT)


@pytest.mark.parametrize(
    ("layers", "message", "hint"),
    [
        pytest.param(
            [layer(ValueSource.PROJECT, color="red")],
            "PROJECT:color: must be one of auto, always, never, not 'red'",
            "",
            id="bad value",
        ),
        pytest.param(
            [layer(ValueSource.PROJECT, color="red"), layer(ValueSource.FLAG, color="never")],
            "PROJECT:color: must be",
            "",
            id="bad value that is hidden by a stronger one",
        ),
        pytest.param(
            [layer(ValueSource.USER, no_tui=True, tui=False)],
            "USER:no_tui: contradicts or repeats USER:tui",
            "keep tui",
            id="an earlier key beside the new one",
        ),
        pytest.param(
            [layer(ValueSource.USER, no_tui="perhaps")],
            "USER:no_tui: must be",
            "",
            id="bad value of an earlier key",
        ),
        pytest.param(
            [layer(ValueSource.USER, strct=True)],
            "USER:strct: unknown setting",
            "did you mean strict",
            id="unknown key",
        ),
        pytest.param(
            [layer(ValueSource.USER, zzz=True)],
            "USER:zzz: unknown",
            "config show",
            id="nothing near",
        ),
        pytest.param(
            [layer(ValueSource.USER, cwd="x")],
            "USER:cwd: cwd cannot be set here",
            "use --cwd or ORACLEPACK_CWD",
            id="wrong place",
        ),
        pytest.param(
            [layer(ValueSource.FLAG, allow_project_programs=True)],
            "cannot be set here",
            "your own config file",
            id="a flag cannot trust a repository",
        ),
    ],
)
def test_bad_settings_name_their_source(layers: list[Layer], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        resolve(layers)

    assert message in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("layers", "tui", "where"),
    [
        pytest.param(
            [layer(ValueSource.USER, no_tui=True)], False, "USER:no_tui", id="the earlier key"
        ),
        pytest.param(
            [layer(ValueSource.DOTENV, no_tui="false")], True, "DOTENV:no_tui", id="denied"
        ),
        pytest.param(
            [layer(ValueSource.USER, no_tui=True), layer(ValueSource.FLAG, tui=True)],
            True,
            "FLAG:tui",
            id="a stronger source with the new key",
        ),
        pytest.param(
            [layer(ValueSource.USER, tui=True), layer(ValueSource.ENVIRONMENT, no_tui="1")],
            False,
            "ENVIRONMENT:no_tui",
            id="a stronger source with the earlier key",
        ),
    ],
)
def test_an_earlier_key_means_the_opposite(layers: list[Layer], tui: bool, where: str) -> None:
    found = resolve(layers)

    assert (found.values["tui"], found.origins["tui"].where) == (tui, where)
    assert "no_tui" not in found.values


def test_earlier_variables_are_understood() -> None:
    given, warnings = from_variables({"ORACLEPACK_NO_TUI": "1", "ORACLEPACK_NON_INTERACTIVE": "0"})

    assert resolve([Layer(ValueSource.ENVIRONMENT, given)]).values == {
        "tui": False,
        "interactive": True,
    }
    assert warnings == ()


def test_no_flag_is_denied_twice() -> None:
    flags = [setting.off_flag for setting in SETTINGS if setting.default in (True, False)]

    assert not [flag for flag in flags if flag.startswith(("--no-no", "--no-non"))]


def test_toml_tables_become_dotted_names() -> None:
    table = {
        "strict": True,
        "lint": {"select": ["OP1"]},
        "providers": {"openai": {"max_concurrent": 2}},
        "other": {"x": 1},
    }

    flat = flatten(table, "a.toml")

    assert {name: given.where for name, given in flat.items()} == {
        "strict": "a.toml: strict",
        "lint.select": "a.toml: lint.select",
        "providers.openai.max_concurrent": "a.toml: providers.openai.max_concurrent",
        "other": "a.toml: other",
    }


def test_variables_are_taken_or_warned_about() -> None:
    variables = {
        "ORACLEPACK_STRICT": "1",
        "ORACLEPACK_LINT_SELECT": "OP1",
        "ORACLEPACK_COLOUR": "x",
        "ORACLEPACK_CONFIG": "mine.toml",
        "HOME": "x",
    }

    given, warnings = from_variables(variables, ".env")

    assert sorted(given) == ["lint.select", "strict"]
    assert given["strict"].where == ".env: ORACLEPACK_STRICT"
    assert warnings == (
        "unknown variable ORACLEPACK_COLOUR in .env; did you mean ORACLEPACK_COLOR?",
    )


def test_every_default_is_a_value_its_kind_accepts() -> None:
    for setting in SETTINGS:
        if setting.default != "":
            assert setting.kind.read(setting.default) == setting.default


def test_names_flags_and_variables_are_unique() -> None:
    for spelled in ("name", "flag", "variable", "parameter"):
        words = [getattr(setting, spelled) for setting in SETTINGS]
        assert len(words) == len(set(words))


def test_every_setting_is_shown_with_its_origin() -> None:
    found = resolve([layer(ValueSource.ENVIRONMENT, strict="yes")])

    rows = {row.name: row for row in config_report(Settings(found.values, found.origins)).settings}

    assert set(rows) == set(BY_NAME)
    assert (rows["strict"].value, rows["strict"].source) == (True, "environment")
    assert (rows["allow_project_programs"].flag, rows["cwd"].variable) == (None, "ORACLEPACK_CWD")
