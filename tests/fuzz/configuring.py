"""Fuzzing what people set: TOML, `.env`, variables, and the command line of oraclepack itself."""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from oraclepack.cli.error_boundary import run
from oraclepack.errors import ExitCode, OraclePackError
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, SETTINGS, SettingValue, config_report
from tests.fuzz import texts
from tests.fuzz.target import Target, says_why

_NAMES = [setting.name for setting in SETTINGS]
_VALUES = (
    *("true", "1", "no", "", "-1", "0", "90s", "1h30m", "1e400", "nan", "9" * 400, "a,b", "auto"),
    *(
        "\x00",
        "é",
        "../x",
        "/",
        "{",
        "'",
        "1_000",
        "٣",
        " 5 ",
        "inf",
        "0x10",
        "-0",
        "99999999999999d",
    ),
)
_TOML = (
    *(
        "true",
        "1",
        "-1",
        "1.5",
        "nan",
        "inf",
        '"x"',
        "[]",
        '["a", "b"]',
        "[1, [2]]",
        "{}",
        "{a = 1}",
    ),
    *("1979-05-27", "99999999999999999999", '"""', "'''", "0x1F", "[[", '"\\u0000"', '""'),
)
_lines = st.one_of(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from(_TOML)).map(" = ".join),
    st.sampled_from([f"[{name.partition('.')[0]}]" for name in _NAMES if "." in name]),
    st.sampled_from(("[tool.oraclepack]", "[[run]]", "run = 1", "unknown = 1", "# x", "a.b.c = 1")),
    texts.valid,
)
_variables = st.sampled_from([setting.variable for setting in SETTINGS])
_assignment = st.tuples(
    _variables, st.sampled_from(("=", " = ", "='", ": ", "")), st.sampled_from(_VALUES)
)


def _no_nul(text: str) -> str:
    return (
        text.replace("\x00", "")
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "surrogateescape")
    )


given = st.fixed_dictionaries(
    {},
    optional={
        "oraclepack.toml": st.lists(_lines, max_size=4).map("\n".join) | st.binary(max_size=30),
        "pyproject.toml": st.lists(_lines, max_size=3).map(
            lambda rows: "\n".join(["[tool.oraclepack]", *rows])
        ),
        ".env": st.lists(_assignment.map("".join) | texts.valid, max_size=4).map("\n".join)
        | st.binary(max_size=30),
        "user.toml": st.lists(_lines, max_size=3).map("\n".join),
        "environment": st.dictionaries(
            _variables, st.sampled_from(_VALUES).map(_no_nul), max_size=3
        ),
    },
)


def settings_are_read_or_refused(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in case.keys() - {"environment"}:
            content = case[name]
            data = content.encode() if isinstance(content, str) else content
            (root / name).write_bytes(data)
        named = {"ORACLEPACK_CONFIG": str(root / "user.toml")} if "user.toml" in case else {}
        with _environment({**case.get("environment", {}), **named}):
            try:
                settings = load_settings(None, {CWD.name: SettingValue(folder, "--cwd")})
            except OraclePackError as refused:
                says_why(refused)
                return
    msgspec.json.encode(config_report(settings))
    for setting in SETTINGS:
        assert settings.origin(setting).where


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Our variables are these and no others."""
    ours = {name for name in os.environ if name.startswith("ORACLEPACK_")}
    before = {name: os.environ[name] for name in (*ours, *variables) if name in os.environ}
    for name in ours:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update(before)


_COMMANDS = (
    *(
        "validate",
        "list",
        "explain",
        "config",
        "show",
        "schema",
        "manifest",
        "runs",
        "why",
        "cache",
    ),
    *(
        "verify-outputs",
        "quarantine",
        "completion",
        "skills",
        "check",
        "OP101",
        "valdate",
        "envelope",
    ),
)
_FLAGS = sorted({setting.flag for setting in SETTINGS})
command_lines = st.lists(
    st.one_of(
        st.sampled_from(_COMMANDS),
        st.sampled_from(_COMMANDS),
        st.sampled_from(_FLAGS),
        st.tuples(st.sampled_from(_FLAGS), st.sampled_from(_VALUES)).map("=".join),
        st.sampled_from(
            ("--json", "--strict", "--help", "--version", "--format", "-h", "--", "-", "no.md")
        ),
        st.sampled_from(_VALUES),
        texts.valid,
    ).map(_no_nul),
    max_size=5,
)


def a_command_line_gets_one_reply(argv: list[str]) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        _environment({}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run(argv)
    said = "".join(_written(stream) for stream in (out, err))
    assert "Traceback" not in said, said
    assert code in {ExitCode.DONE, ExitCode.INVALID}, (code, said)
    assert said or not code


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


TARGETS = (
    Target(
        "settings",
        "any settings are read, or refused with words that say where",
        given,
        settings_are_read_or_refused,
        few=50,
        share=0.5,
    ),
    Target(
        "command lines",
        "any command line gets an answer or a refusal, and no traceback",
        command_lines,
        a_command_line_gets_one_reply,
        few=40,
        share=0.2,
    ),
)
