import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from oraclepack.cli.commands import config
from oraclepack.cli.error_boundary import TerminatedError, run
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.errors import ExitCode, InputError, MachineError, UsageError
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer

WRONG = [
    pytest.param(["confg"], "did you mean config?", id="mistyped command"),
    pytest.param(["zzzz"], "see oraclepack --help", id="command like no other"),
    pytest.param(["config"], "see oraclepack config --help", id="group without a command"),
    pytest.param(["publish"], "its commands: github; see oraclepack publish", id="its commands"),
    pytest.param(["publish", "--jsn"], "its commands: github", id="an option of a group"),
    pytest.param(["config", "shw"], "did you mean show?", id="mistyped sub-command"),
    pytest.param(
        ["config", "schema", "--colour", "x"], "did you mean --color?", id="mistyped option"
    ),
    pytest.param(
        ["validate", "--nope", "x"], "see oraclepack validate --help", id="like no option"
    ),
    pytest.param(
        ["config", "schema", "--color", "red"], "see oraclepack config schema", id="bad choice"
    ),
    pytest.param(
        ["config", "schema", "a", "b"], "see oraclepack config schema --help", id="word too many"
    ),
    pytest.param(
        ["config", "completion"], "see oraclepack config completion --help", id="missing argument"
    ),
    pytest.param(
        ["config", "schema", "--color"], "see oraclepack config schema --help", id="missing value"
    ),
    pytest.param(["config", "schema", "envlope"], "did you mean envelope?", id="mistyped schema"),
    pytest.param(["config", "show", "--cwd", "/no/such/place"], "", id="no such directory"),
]


@pytest.mark.parametrize(("args", "hint"), WRONG)
def test_wrong_usage_is_reported_as_text(
    capsys: pytest.CaptureFixture[str], args: list[str], hint: str
) -> None:
    got = answer(capsys, *args)

    assert (got.code, got.out) == (2, "")
    assert got.err.startswith("error: ")
    assert hint in got.err


@pytest.mark.parametrize(("args", "hint"), WRONG)
def test_wrong_usage_is_one_envelope_for_programs(
    capsys: pytest.CaptureFixture[str], args: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLEPACK_OUTPUT", "json")

    got = answer(capsys, *args)

    assert got.code == 2
    assert got.err == ""
    jsonschema.validate(got.envelope, schema_of("envelope"))
    assert got.envelope["ok"] is False
    assert got.envelope["error"]["code"] in {"USAGE", "NOT_FOUND"}
    assert hint in got.envelope["error"]["suggestion"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(["--json"], "no command given", id="without a command"),
        pytest.param(["config", "schema", "--json=maybe"], "must be one of true", id="bad boolean"),
        pytest.param(
            ["config", "schema", "--output", "text", "--json"],
            "contradict",
            id="both kinds of answer",
        ),
        pytest.param(
            ["config", "schema", "--json", "--nope"], "No such option", id="beside a wrong one"
        ),
    ],
)
def test_wrong_use_of_the_json_flag_is_reported_in_json(
    capsys: pytest.CaptureFixture[str], args: list[str], expected: str
) -> None:
    got = answer(capsys, *args)

    assert got.code == 2
    assert expected in str(got.envelope["error"])


def test_no_arguments_give_the_help_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    got = answer(capsys)

    assert (got.code, got.out) == (2, "")
    assert got.err.startswith("Usage: oraclepack")
    assert "no command given" in got.err


class Unencodable:
    """No JSON can hold this."""


ENDINGS: list[Any] = [
    pytest.param(UsageError("no"), 2, "USAGE", "work", id="usage"),
    pytest.param(InputError("no", hint="fix"), 2, "INVALID_INPUT", "work", id="input"),
    pytest.param(MachineError("no"), 2, "ENVIRONMENT", "work", id="world"),
    pytest.param(KeyboardInterrupt(), 130, "INTERRUPTED", "work", id="ctrl-c"),
    pytest.param(TerminatedError(), 143, "TERMINATED", "work", id="sigterm"),
    pytest.param(ZeroDivisionError("oops"), 1, "INTERNAL", "internal", id="bug"),
    pytest.param(RecursionError(), 1, "INTERNAL", "internal", id="deep bug"),
    pytest.param(SystemExit(0), 1, "INTERNAL", "internal", id="command that exits by itself"),
]


def failing(monkeypatch: pytest.MonkeyPatch, ending: BaseException) -> None:
    def fail() -> None:
        raise ending

    monkeypatch.setattr(config, "schema_names", fail)


@pytest.mark.parametrize(("ending", "code", "word", "phase"), ENDINGS)
def test_every_ending_is_an_envelope(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ending: BaseException,
    code: int,
    word: str,
    phase: str,
) -> None:
    failing(monkeypatch, ending)

    got = answer(capsys, "config", "schema", "--json")

    jsonschema.validate(got.envelope, schema_of("envelope"))
    error = got.envelope["error"]
    assert (got.code, error["code"], error["phase"]) == (code, word, phase)
    assert got.err == ""


@pytest.mark.parametrize(("ending", "code", "word", "phase"), ENDINGS)
def test_no_ending_shows_a_traceback(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ending: BaseException,
    code: int,
    word: str,
    phase: str,
) -> None:
    failing(monkeypatch, ending)

    got = answer(capsys, "config", "schema")

    assert (got.code, got.out) == (code, "")
    assert got.err.startswith("error: "), (word, phase)
    assert "Traceback" not in got.err


def test_a_crash_leaves_a_private_log_and_says_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    failing(monkeypatch, ZeroDivisionError("oops"))

    first = answer(capsys, "config", "schema").err
    answer(capsys, "config", "schema")

    logs = sorted(home.rglob("crash-*.log"))
    assert len(logs) == 2
    assert any(str(log) in first for log in logs)
    assert "ZeroDivisionError: oops" in logs[0].read_text(encoding="utf-8")
    assert stat.S_IMODE(logs[0].stat().st_mode) == 0o600


def test_a_crash_is_reported_even_where_no_log_can_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    (home / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    monkeypatch.setenv("HOME", str(home / "file"))
    failing(monkeypatch, ZeroDivisionError("oops"))

    got = answer(capsys, "config", "schema")

    assert got.code == 1
    assert "ZeroDivisionError: oops" in got.err


def replying(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    monkeypatch.setattr(config.schema, "callback", lambda **_: reply)


def test_data_that_cannot_be_encoded_is_a_crash_not_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replying(monkeypatch, Reply(data=Unencodable()))

    got = answer(capsys, "config", "schema", "--json")

    assert (got.code, got.envelope["error"]["code"]) == (1, "INTERNAL")


def test_a_reply_that_fails_without_saying_why_gets_the_meaning_of_its_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replying(monkeypatch, Reply(exit_code=ExitCode.CONTRACT))

    got = answer(capsys, "config", "schema", "--json")

    assert got.envelope["ok"] is False
    assert got.envelope["error"]["message"] == ExitCode.CONTRACT.meaning


def test_bare_text_stands_alone_on_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = ReplyError("FINDINGS", "2 errors")
    replying(monkeypatch, Reply(bare='{"sarif": 1}', exit_code=ExitCode.INVALID, error=failure))

    got = answer(capsys, "config", "schema", "--json")

    assert (got.code, got.out, got.err) == (2, '{"sarif": 1}\n', "error: 2 errors\n")


def test_a_command_may_ask_for_the_envelope_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replying(monkeypatch, Reply(data=[1], wants_json=True))

    assert answer(capsys, "config", "schema").envelope["data"] == [1]


def test_file_names_that_are_no_utf8_survive_both_ways(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replying(monkeypatch, Reply(data={"na\udce9me": ["\udcff"]}, text="na\udce9me"))

    assert answer(capsys, "config", "schema").out == "na\\udce9me\n"
    assert answer(capsys, "config", "schema", "--json").envelope["data"] == {
        "na\\udce9me": ["\\udcff"]
    }


def test_the_same_input_gives_the_same_canonical_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (answer(capsys, "config", "manifest", "--json").out for _ in range(2))

    took = re.compile(r'"duration_ms":\d+')
    assert took.sub("", first) == took.sub("", second)
    again = json.dumps(json.loads(first), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    assert first == again + "\n"


@pytest.mark.parametrize(
    "args", [["--help"], ["config", "schema", "-h"], ["config", "show", "--help"]]
)
def test_help_is_an_answer_like_any_other(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    text = answer(capsys, *args)

    assert (text.code, text.err) == (0, "")
    assert text.out.startswith("Usage: oraclepack")
    if len(args) > 1:
        assert "Examples:" in text.out
        assert answer(capsys, *args, "--json").envelope["data"]["help"] + "\n" == text.out


def test_the_version_is_printed_by_the_boundary_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "--version").out.startswith("oraclepack ")


def test_run_never_raises_on_odd_words() -> None:
    for words in ([""], ["\udcff"], ["--"], ["--", "x"], ["\0"], ["--="], ["-"], ["=" * 1000]):
        assert run(words) == 2


def test_the_manifest_says_what_can_be_rolled_back(capsys: pytest.CaptureFixture[str]) -> None:
    commands = answer(capsys, "config", "manifest", "--json").data["commands"]

    available = {one["name"] for one in commands if one.get("rollback_available")}
    some = {"actionize", "ask", "generate", "pipeline", "run", "skills install", "tickets build"}
    assert available == some
