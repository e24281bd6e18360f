"""Stack traces as real programs print them, and texts that only look like one."""

import shutil
import subprocess
import sys

import pytest

from oraclepack.tools.oracle_failures import crash_line, without_frames


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize(
    ("source", "line"),
    [
        pytest.param("import nosuch", "ModuleNotFoundError: No module named 'nosuch'", id="import"),
        pytest.param("assert False", "AssertionError", id="no message"),
        pytest.param("raise ValueError('a\\nb')", "ValueError: a", id="a message of two lines"),
        pytest.param(
            "try: 1/0\nexcept Exception as e: raise OSError('late') from e",
            "OSError: late",
            id="one after another",
        ),
        pytest.param(
            "raise ExceptionGroup('many', [ValueError('a')])",
            "ExceptionGroup: many (1 sub-exception)",
            id="a group",
        ),
    ],
)
def test_a_crash_of_python(source: str, line: str) -> None:
    text = said(sys.executable, "-c", source)

    assert crash_line(text) == line
    assert "<string>" not in without_frames(text)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize(
    ("source", "line"),
    [
        pytest.param("throw new TypeError('no\\nyes')", "TypeError: no", id="thrown"),
        pytest.param("const x = ;", "SyntaxError: Unexpected token ';'", id="syntax"),
        pytest.param("Promise.reject(new Error('late'))", "Error: late", id="a promise"),
        pytest.param(
            "throw new Error('fetch failed', {cause: new Error('getaddrinfo ENOTFOUND x')})",
            "Error: fetch failed (cause: Error: getaddrinfo ENOTFOUND x)",
            id="with its cause",
        ),
        pytest.param(
            "class Odd extends Error { name = 'OddError' }; throw new Odd('q')",
            "OddError: q",
            id="own",
        ),
    ],
)
def test_a_crash_of_node(source: str, line: str) -> None:
    text = said("node", "-e", source)

    assert crash_line(text) == line
    assert "Node.js v" not in without_frames(text)
    assert "    at " not in without_frames(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("We meet\n  at noon\n", id="an indented line that begins with at"),
        pytest.param("Error: it broke\n", id="an error without frames"),
        pytest.param("Traceback (most recent call last):", id="a traceback cut off at once"),
    ],
)
def test_what_is_no_stack_trace(text: str) -> None:
    assert crash_line(text) is None
