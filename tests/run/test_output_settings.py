"""Who decides whether outputs are checked and asked for again: every combination of sources."""

from collections.abc import Callable
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.settings.call_settings import OUTPUT_RETRIES
from oraclepack.settings.declaration import Setting, Source
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Given
from oraclepack.settings.run_settings import OUTPUT_VERIFY
from oraclepack.settings.value_kinds import BOOLEANS

SOURCES = [Source.USER, Source.PROJECT, Source.DOTENV, Source.ENVIRONMENT, Source.FLAG]
"""Those that can give a value, the weakest first."""
EVERY = list(chain.from_iterable(combinations(SOURCES, size) for size in range(len(SOURCES) + 1)))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give(
    setting: Setting[Any],
    values: dict[Source, str],
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Given]:
    """Write each value where its source stands; the flags that remain."""
    places = {
        Source.USER: home / ".config/oraclepack/config.toml",
        Source.PROJECT: project / "oraclepack.toml",
    }
    for source, value in values.items():
        if source in places:
            places[source].parent.mkdir(parents=True, exist_ok=True)
            places[source].write_text(f"{setting.name} = {value}\n", encoding="utf-8")
        elif source is Source.DOTENV:
            (project / ".env").write_text(f"{setting.variable}={value}\n", encoding="utf-8")
        elif source is Source.ENVIRONMENT:
            monkeypatch.setenv(setting.variable, value)
    flag = values.get(Source.FLAG)
    return {setting.name: Given(flag, setting.flag)} if flag is not None else {}


def told(sources: tuple[Source, ...]) -> str:
    return " and ".join(source.name.lower() for source in sources) or "nobody"


def strongest_of(given: tuple[Source, ...], takes_project: Callable[[Source], bool]) -> Source:
    """Who decides: the strongest source, but a project only where it is stricter than the user."""
    own = {Source.USER, Source.ENVIRONMENT, Source.FLAG}
    return max(
        (source for source in given if source in own or takes_project(source)),
        default=Source.DEFAULT,
    )


@pytest.mark.parametrize("given", EVERY, ids=told)
def test_the_strongest_source_tells_how_often_to_ask_again(
    given: tuple[Source, ...], home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {source: str(int(source)) for source in given}

    settings = load_settings(give(OUTPUT_RETRIES, values, home, project, monkeypatch))

    # Every project's value here is higher than the user's, or than the default of 0.
    strongest = strongest_of(given, lambda _: False)
    assert settings[OUTPUT_RETRIES] == int(strongest)
    assert settings.origin(OUTPUT_RETRIES).source is strongest


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("given", EVERY, ids=told)
def test_the_strongest_source_tells_whether_to_check(
    given: tuple[Source, ...],
    wanted: bool,
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = max(given, default=Source.DEFAULT)
    checks = {source: (source is last) is wanted for source in given}
    values = {source: str(check).lower() for source, check in checks.items()}

    settings = load_settings(give(OUTPUT_VERIFY, values, home, project, monkeypatch))

    # To check is stricter than not to check.
    bound = checks.get(Source.USER, True)
    strongest = strongest_of(given, lambda source: checks[source] >= bound)
    assert settings[OUTPUT_VERIFY] is checks.get(strongest, True)
    assert settings.origin(OUTPUT_VERIFY).source is strongest


@pytest.mark.parametrize("word", [*BOOLEANS, "TRUE", " Off "])
@pytest.mark.parametrize("source", [Source.DOTENV, Source.ENVIRONMENT, Source.FLAG])
def test_a_truth_value_is_spelled_in_many_ways(
    word: str, source: Source, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The user does not check, so that a project may say either.
    own = {Source.USER: "false"} if source is Source.DOTENV else {}
    flags = give(OUTPUT_VERIFY, {source: word, **own}, home, project, monkeypatch)

    assert load_settings(flags)[OUTPUT_VERIFY] is BOOLEANS[word.strip().lower()]


@pytest.mark.parametrize(
    ("setting", "source", "value", "message"),
    [
        (OUTPUT_RETRIES, Source.ENVIRONMENT, "-1", "ORACLEPACK_OUTPUT_RETRIES: must be at least 0"),
        (OUTPUT_RETRIES, Source.DOTENV, "many", ".env: ORACLEPACK_OUTPUT_RETRIES: must be a whole"),
        (OUTPUT_RETRIES, Source.PROJECT, "11", "oraclepack.toml: output_retries: must be at most"),
        (OUTPUT_VERIFY, Source.FLAG, "maybe", "--output-verify: must be one of"),
        (OUTPUT_VERIFY, Source.USER, "3", "config.toml: output_verify: must be one of"),
        (OUTPUT_VERIFY, Source.ENVIRONMENT, "", "ORACLEPACK_OUTPUT_VERIFY: must be one of"),
    ],
)
def test_a_bad_value_names_where_it_came_from(
    setting: Setting[Any],
    source: Source,
    value: str,
    message: str,
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = give(setting, {source: value}, home, project, monkeypatch)

    with pytest.raises(UsageError) as raised:
        load_settings(flags)

    assert message in raised.value.message


def test_an_env_file_that_cannot_be_read_is_told(project: Path) -> None:
    (project / ".env").write_bytes(b"ORACLEPACK_OUTPUT_VERIFY=\xff\n")

    with pytest.raises(InputError, match=r"\.env: cannot be read"):
        load_settings({})
