import click
import pytest

from oraclepack.cli.options import asks_for_json, option_for, settle_booleans
from oraclepack.errors import UsageError
from oraclepack.settings.registry import STRICT
from oraclepack.settings.run_settings import INTERACTIVE, TUI

PARAMS: list[click.Parameter] = [
    option_for(STRICT),
    click.Option(["--prompt", "-p"]),
    click.Option(["--json"], is_flag=True),
]


def parsed(*args: str) -> tuple[bool | None, list[str], str | None]:
    """What click makes of the words: strict, the operands, the prompt."""
    operands = click.Argument(["words"], nargs=-1)
    command = click.Command("x", params=[*PARAMS, operands])
    context = command.make_context("x", settle_booleans(PARAMS, list(args)))
    params = context.params
    return params["strict"], list(params["words"]), params["prompt"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param([], (None, [], None), id="not given"),
        pytest.param(["--strict"], (True, [], None), id="bare"),
        *[
            pytest.param([f"--strict={word}"], (True, [], None), id=f"={word}")
            for word in ("true", "1", "yes", "on", "TRUE", "On")
        ],
        *[
            pytest.param([f"--strict={word}"], (False, [], None), id=f"={word}")
            for word in ("false", "0", "no", "off", "False", "OFF")
        ],
        pytest.param(["--no-strict"], (False, [], None), id="no-"),
        pytest.param(["--no-strict=true"], (False, [], None), id="no- said true"),
        pytest.param(["--no-strict=false"], (True, [], None), id="no- said false"),
        pytest.param(["--strict", "false"], (True, ["false"], None), id="next word is kept"),
        pytest.param(["--strict", "--no-strict"], (False, [], None), id="the last one wins"),
        pytest.param(["--", "--strict=no"], (None, ["--strict=no"], None), id="after --"),
        pytest.param(["-p", "--strict=no"], (None, [], "--strict=no"), id="value of another"),
        pytest.param(["--prompt=--strict=no"], (None, [], "--strict=no"), id="inside another"),
    ],
)
def test_spellings_of_booleans(
    args: list[str], expected: tuple[bool | None, list[str], str | None]
) -> None:
    assert parsed(*args) == expected


@pytest.mark.parametrize(
    ("args", "tui", "interactive"),
    [
        pytest.param([], None, None, id="not given"),
        pytest.param(["--tui", "--interactive"], True, True, id="the positive names"),
        pytest.param(["--no-tui", "--non-interactive"], False, False, id="the negative names"),
        pytest.param(
            ["--no-no-tui", "--no-non-interactive"], True, True, id="denied twice, as once spelled"
        ),
        pytest.param(
            ["--no-tui=false", "--non-interactive=no"], True, True, id="negative names said false"
        ),
        pytest.param(
            ["--no-no-tui=false", "--no-non-interactive=false"], False, False, id="denied thrice"
        ),
        pytest.param(["--tui=false", "--interactive=0"], False, False, id="as the Go tool spells"),
        pytest.param(["--", "--no-no-tui"], None, None, id="after --"),
    ],
)
def test_flags_that_were_named_by_their_opposite(
    args: list[str], tui: bool | None, interactive: bool | None
) -> None:
    params: list[click.Parameter] = [option_for(TUI), option_for(INTERACTIVE)]
    command = click.Command("x", params=[*params, click.Argument(["words"], nargs=-1)])
    context = command.make_context("x", settle_booleans(params, args))

    assert (context.params["tui"], context.params["interactive"]) == (tui, interactive)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("--strict=maybe", "--strict: must be one of true", id="another word"),
        pytest.param("--strict=", "--strict: must be one of true", id="nothing"),
        pytest.param("--json=false", "--json cannot be switched off", id="no opposite"),
    ],
)
def test_bad_booleans(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settle_booleans(PARAMS, [word])


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        pytest.param("", {}, False, id="nothing said"),
        pytest.param("x --json", {}, True, id="--json"),
        pytest.param("x --json=false", {}, False, id="--json=false"),
        pytest.param("x --output json --bad", {}, True, id="--output json"),
        pytest.param("x --output=json", {}, True, id="--output=json"),
        pytest.param("x --format json", {}, True, id="--format json"),
        pytest.param("x --format sarif", {}, False, id="another format"),
        pytest.param("x -- --json", {}, False, id="after --"),
        pytest.param("x", {"ORACLEPACK_OUTPUT": "json"}, True, id="variable"),
        pytest.param("x --output text", {"ORACLEPACK_OUTPUT": "json"}, False, id="flag wins"),
        pytest.param("x --output", {}, False, id="unfinished"),
    ],
)
def test_json_is_recognised_before_parsing(
    words: str, variables: dict[str, str], expected: bool
) -> None:
    assert asks_for_json(words.split(), variables) is expected
