"""Who decides whether outputs are checked and asked for again: every combination of sources."""

from collections.abc import Callable
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.settings.call_settings import OUTPUT_RETRIES
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import SettingValue
from oraclepack.settings.run_settings import OUTPUT_VERIFY
from oraclepack.settings.value_kinds import BOOLEANS

SOURCES = [
    ValueSource.USER,
    ValueSource.PROJECT,
    ValueSource.DOTENV,
    ValueSource.ENVIRONMENT,
    ValueSource.FLAG,
]
"""Those that can give a value, the weakest first."""
EVERY = list(chain.from_iterable(combinations(SOURCES, size) for size in range(len(SOURCES) + 1)))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give(
    setting: Setting[Any],
    values: dict[ValueSource, str],
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, SettingValue]:
    """Write each value where its source stands; the flags that remain."""
    places = {
        ValueSource.USER: home / ".config/oraclepack/config.toml",
        ValueSource.PROJECT: project / "oraclepack.toml",
    }
    for source, value in values.items():
        if source in places:
            places[source].parent.mkdir(parents=True, exist_ok=True)
            places[source].write_text(f"{setting.name} = {value}\n", encoding="utf-8")
        elif source is ValueSource.DOTENV:
            (project / ".env").write_text(f"{setting.variable}={value}\n", encoding="utf-8")
        elif source is ValueSource.ENVIRONMENT:
            monkeypatch.setenv(setting.variable, value)
    flag = values.get(ValueSource.FLAG)
    return {setting.name: SettingValue(flag, setting.flag)} if flag is not None else {}


def source_names(sources: tuple[ValueSource, ...]) -> str:
    return " and ".join(source.name.lower() for source in sources) or "nobody"


def strongest_of(
    given: tuple[ValueSource, ...], takes_project: Callable[[ValueSource], bool]
) -> ValueSource:
    """Who decides: the strongest source, but a project only where it is stricter than the user."""
    own = {ValueSource.USER, ValueSource.ENVIRONMENT, ValueSource.FLAG}
    return max(
        (source for source in given if source in own or takes_project(source)),
        default=ValueSource.DEFAULT,
    )


@pytest.mark.parametrize("given", EVERY, ids=source_names)
def test_the_strongest_source_tells_how_often_to_ask_again(
    given: tuple[ValueSource, ...], home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {source: str(int(source)) for source in given}

    settings = load_settings(None, give(OUTPUT_RETRIES, values, home, project, monkeypatch))

    # Every project's value here is higher than the user's, or than the default of 0.
    strongest = strongest_of(given, lambda _: False)
    assert settings[OUTPUT_RETRIES] == int(strongest)
    assert settings.origin(OUTPUT_RETRIES).source is strongest


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("given", EVERY, ids=source_names)
def test_the_strongest_source_tells_whether_to_check(
    given: tuple[ValueSource, ...],
    wanted: bool,
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = max(given, default=ValueSource.DEFAULT)
    checks = {source: (source is last) is wanted for source in given}
    values = {source: str(check).lower() for source, check in checks.items()}

    settings = load_settings(None, give(OUTPUT_VERIFY, values, home, project, monkeypatch))

    # To check is stricter than not to check.
    bound = checks.get(ValueSource.USER, True)
    strongest = strongest_of(given, lambda source: checks[source] >= bound)
    assert settings[OUTPUT_VERIFY] is checks.get(strongest, True)
    assert settings.origin(OUTPUT_VERIFY).source is strongest


@pytest.mark.parametrize("word", [*BOOLEANS, "TRUE", " Off "])
@pytest.mark.parametrize("source", [ValueSource.DOTENV, ValueSource.ENVIRONMENT, ValueSource.FLAG])
def test_a_truth_value_is_spelled_in_many_ways(
    word: str, source: ValueSource, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The user does not check, so that a project may say either.
    own = {ValueSource.USER: "false"} if source is ValueSource.DOTENV else {}
    flags = give(OUTPUT_VERIFY, {source: word, **own}, home, project, monkeypatch)

    assert load_settings(None, flags)[OUTPUT_VERIFY] is BOOLEANS[word.strip().lower()]


@pytest.mark.parametrize(
    ("setting", "source", "value", "message"),
    [
        (
            OUTPUT_RETRIES,
            ValueSource.ENVIRONMENT,
            "-1",
            "ORACLEPACK_OUTPUT_RETRIES: must be at least 0",
        ),
        (
            OUTPUT_RETRIES,
            ValueSource.DOTENV,
            "many",
            ".env: ORACLEPACK_OUTPUT_RETRIES: must be a whole",
        ),
        (
            OUTPUT_RETRIES,
            ValueSource.PROJECT,
            "11",
            "oraclepack.toml: output_retries: must be at most",
        ),
        (OUTPUT_VERIFY, ValueSource.FLAG, "maybe", "--output-verify: must be one of"),
        (OUTPUT_VERIFY, ValueSource.USER, "3", "config.toml: output_verify: must be one of"),
        (OUTPUT_VERIFY, ValueSource.ENVIRONMENT, "", "ORACLEPACK_OUTPUT_VERIFY: must be one of"),
    ],
)
def test_a_bad_value_names_where_it_came_from(
    setting: Setting[Any],
    source: ValueSource,
    value: str,
    message: str,
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = give(setting, {source: value}, home, project, monkeypatch)

    with pytest.raises(UsageError) as raised:
        load_settings(None, flags)

    assert message in raised.value.message


def test_an_env_file_that_cannot_be_read_is_reported(project: Path) -> None:
    (project / ".env").write_bytes(b"ORACLEPACK_OUTPUT_VERIFY=\xff\n")

    with pytest.raises(InputError, match=r"\.env: cannot be read"):
        load_settings()
