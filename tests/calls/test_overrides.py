"""What becomes of a call's words when the person who runs the pack overrides them."""

import pytest

from oraclepack.calls.overrides import (
    Overrides,
    effective_argv,
    overridden,
    read_overrides,
    redacted_argv,
)
from oraclepack.errors import UsageError
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of

ORACLE = table_of("oracle")
STEPS = ("01", "03", "07")


@pytest.mark.parametrize(
    ("argv", "words", "expected"),
    [
        pytest.param("-p x", "", "-p x", id="nothing to put over it"),
        pytest.param("-p x", "--model=b", "--model=b -p x", id="a flag the call does not have"),
        pytest.param("-m a -p x", "--model=b", "--model=b -p x", id="a short one is replaced"),
        pytest.param("--model=a -p x", "-m b", "--model=b -p x", id="one with an equals sign"),
        pytest.param("-ma -p x", "--model=b", "--model=b -p x", id="one glued to its value"),
        pytest.param("-vm a -p x", "--model=b", "--model=b -v -p x", id="the last of a group"),
        pytest.param("-vma -p x", "--model=b", "--model=b -v -p x", id="glued, in a group"),
        pytest.param("-m a -m c -p x", "--model=b", "--model=b -p x", id="every earlier one goes"),
        pytest.param(
            "--mode api", "--engine=browser", "--engine=browser", id="an alias is the same"
        ),
        pytest.param("-f a -p x", "--file=b", "--file=b -f a -p x", id="a list grows"),
        pytest.param("--no-wait -p x", "--wait", "--wait -p x", id="the opposite switch goes"),
        pytest.param("-v -p x", "--verbose", "--verbose -p x", id="a switch stays single"),
        pytest.param("-p --model", "--model=b", "--model=b -p --model", id="a value is no flag"),
        pytest.param("-m a", "--model=b --model=c", "--model=c", id="the last override wins"),
    ],
)
def test_overridden(argv: str, words: str, expected: str) -> None:
    assert overridden(ORACLE, argv.split(), words.split()) == tuple(expected.split())


@pytest.mark.parametrize(
    ("argv", "force", "expected"),
    [
        pytest.param("-p x", False, "--wait -p x", id="waiting is added"),
        pytest.param("-p x --wait", False, "-p x --wait", id="it waits already"),
        pytest.param("--no-wait -p x", False, "--no-wait -p x", id="the pack says otherwise"),
        pytest.param(
            "-p", False, "--wait -p", id="a flag without a value swallows nothing of ours"
        ),
        pytest.param("-p x", True, "--wait --force -p x", id="force when it is needed"),
        pytest.param("--force -p x", True, "--wait --force -p x", id="force only once"),
    ],
)
def test_effective_argv(argv: str, force: bool, expected: str) -> None:
    assert effective_argv(ORACLE, argv.split(), force=force) == tuple(expected.split())


@pytest.mark.parametrize(
    ("flags", "per_step", "expected"),
    [
        pytest.param((), (), Overrides(), id="none"),
        pytest.param(("--model=gpt-5.2",), (), Overrides(("--model=gpt-5.2",)), id="for all"),
        pytest.param(
            ("--model gpt-5.2",), (), Overrides(("--model", "gpt-5.2")), id="with a space"
        ),
        pytest.param(
            ("--file=my notes.md",),
            (),
            Overrides(("--file=my notes.md",)),
            id="a value with a space",
        ),
        pytest.param(
            ("--model=a --force",), (), Overrides(("--model=a", "--force")), id="two flags at once"
        ),
        pytest.param(
            (),
            ("03,7:--engine=api",),
            Overrides((), {"03": ("--engine=api",), "07": ("--engine=api",)}),
            id="for two steps",
        ),
        pytest.param(
            (),
            ("03:--engine=api", "03:--model=a"),
            Overrides((), {"03": ("--engine=api", "--model=a")}),
            id="twice for one step",
        ),
    ],
)
def test_read_overrides(
    flags: tuple[str, ...], per_step: tuple[str, ...], expected: Overrides
) -> None:
    assert read_overrides(ORACLE, flags, per_step, STEPS) == expected


@pytest.mark.parametrize(
    ("flags", "per_step", "said", "hint"),
    [
        pytest.param(("--modek=a",), (), "refuses --modek", "--mode", id="a misspelled flag"),
        pytest.param(
            ("--engine=foo",), (), "refuses --engine", "api", id="a value it does not take"
        ),
        pytest.param(("gpt-5.2",), (), "no flag", "--model=", id="no flag at all"),
        pytest.param(("--slug 'a",), (), "quotation", "", id="a quote that is not closed"),
        pytest.param((), ("--engine=api",), "colon", "03,07:", id="no colon"),
        pytest.param((), ("04:--engine=api",), "no step 04", "01, 03, 07", id="an unknown step"),
        pytest.param((), (":--engine=api",), "no step is named", "01", id="no step"),
    ],
)
def test_a_bad_override_is_refused(
    flags: tuple[str, ...], per_step: tuple[str, ...], said: str, hint: str
) -> None:
    with pytest.raises(UsageError) as raised:
        read_overrides(ORACLE, flags, per_step, STEPS)

    assert said in raised.value.message.lower() or said in raised.value.message
    assert hint in raised.value.hint


def test_a_steps_own_override_comes_after_the_common_one() -> None:
    given = read_overrides(ORACLE, ["--model=a"], ["03:--model=b"], STEPS)

    assert overridden(ORACLE, ["-p", "x"], given.for_step("03")) == ("--model=b", "-p", "x")


def test_records_show_neither_secrets_nor_long_texts() -> None:
    argv = ("--remote-token", "hush-hush", "--remote-token=hush-hush", "-p", "y" * 500)

    shown = redacted_argv(parse_argv(ORACLE, argv), argv)

    assert "hush" not in " ".join(shown)
    assert shown[-1] == "y" * 160 + "… (500 characters)"
