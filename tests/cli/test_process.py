"""The command line as a real process."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack import __version__
from tests.generated import manifest, root_help

PROGRAM = [sys.executable, "-m", "oraclepack"]


def ran(*args: str, **more: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*PROGRAM, *args], capture_output=True, check=False, env=os.environ | more, timeout=60
    )


def test_the_manifest_is_what_the_commands_say_of_themselves() -> None:
    output = json.loads(ran("config", "manifest").stdout)
    assert output == json.loads(manifest()), "run `make docs`"


def test_the_version_and_the_root_help_are_static_text() -> None:
    assert ran("--version").stdout == f"oraclepack {__version__}\n".encode()
    assert ran("--help").stdout.decode() == root_help()
    assert ran("-h").stdout.decode() == root_help()


def test_a_closed_pipe_ends_us_quietly() -> None:
    with subprocess.Popen(
        [*PROGRAM, "config", "manifest"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()

    assert (process.returncode, errors) == (0, b"")


def test_a_closed_pipe_ends_static_text_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "args", [["--version"], ["config", "schema"], ["config", "schema", "--json"]]
)
def test_a_full_disk_is_an_error(args: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith(b"error: cannot write the answer")


def test_without_any_stdout_nothing_breaks() -> None:
    for args in ("--version", "--help"):
        done = subprocess.run(
            ["bash", "-c", f'"$0" -m oraclepack {args} >&-', sys.executable],
            capture_output=True,
            check=False,
        )
        assert done.stderr == b""


def test_text_is_utf8_whatever_the_locale() -> None:
    done = ran(
        "config", "schema", "ünbekannt", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )

    assert done.returncode == 2
    assert "ünbekannt".encode() in done.stderr or b"\\udc" in done.stderr


def test_json_on_stdout_is_all_there_is() -> None:
    done = ran("config", "show", "--json")

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["ok"] is True


COMPLETION_WORDS = [
    pytest.param("oraclepack sur", "1", "plain,survey", id="a command"),
    pytest.param("oraclepack config sh", "2", "plain,show", id="a sub-command"),
    pytest.param("oraclepack config schema --outp", "3", "plain,--output", id="an option"),
    pytest.param("oraclepack config completion f", "3", "plain,fish", id="a choice"),
    pytest.param("oraclepack config schema --cwd x", "4", "file,x", id="a file"),
]


@pytest.mark.parametrize(("words", "at", "expected"), COMPLETION_WORDS)
def test_completion(words: str, at: str, expected: str) -> None:
    done = ran(_ORACLEPACK_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=at)

    assert done.stdout.decode().splitlines() == [expected]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str) -> None:
    script = ran("config", "completion", shell).stdout.decode()

    assert "_ORACLEPACK_COMPLETE" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)


def on_a_terminal(*args: str, **more: str) -> bytes:
    """What a command prints when stdout is a terminal."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm"} | more
    subprocess.run(
        [*PROGRAM, *args],
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
        check=False,
        env=environment,
        timeout=60,
    )
    os.close(follower)
    said = os.read(leader, 65536)
    os.close(leader)
    return said


@pytest.mark.parametrize(
    ("args", "variables", "colored"),
    [
        pytest.param([], {}, True, id="a terminal"),
        pytest.param([], {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param([], {"TERM": "dumb"}, False, id="a dumb terminal"),
        pytest.param(["--color", "never"], {}, False, id="--color never"),
        pytest.param(["--color", "always"], {"NO_COLOR": "1"}, True, id="--color beats NO_COLOR"),
    ],
)
def test_colour_on_a_terminal(args: list[str], variables: dict[str, str], colored: bool) -> None:
    said = on_a_terminal("config", "schema", "none-such", *args, **variables)

    assert (b"\x1b[" in said) is colored


def test_no_colour_without_a_terminal() -> None:
    assert b"\x1b[" not in ran("config", "schema", "none-such").stderr
    assert b"\x1b[" in ran("config", "schema", "none-such", "--color=always").stderr


@pytest.mark.parametrize(
    ("name", "code", "word"), [("INT", 130, "INTERRUPTED"), ("TERM", 143, "TERMINATED")]
)
def test_a_signal_is_answered_with_an_envelope(
    tmp_path: Path, name: str, code: int, word: str
) -> None:
    bash = tmp_path / "bash"
    bash.write_text(f"#!/bin/sh\nkill -{name} $PPID\nexec /bin/sleep 30\n", encoding="utf-8")
    bash.chmod(0o755)

    done = ran("doctor", "--json", PATH=str(tmp_path))

    assert done.returncode == code
    assert json.loads(done.stdout)["error"]["code"] == word
    assert done.stderr == b""
