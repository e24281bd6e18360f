"""One call of oracle, from the shim's words to the step's exit code."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oraclepack.calls.overrides import read_overrides
from oraclepack.calls.retry import RetryPolicy
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import Cache, CallIdentity, CallWait
from oraclepack.store.limits import Limit
from oraclepack.tools.flag_tables import table_of
from tests.calls.office import (
    ANSWER,
    ASK,
    COST,
    OUT,
    Act,
    Office,
    ScriptedShim,
    answering,
    failing,
    saying,
)

FULL_DISK = os.statvfs_result((4096, 4096, 1000, 9, 9, 0, 0, 0, 0, 255))
"""Nine blocks of 4 kB are free."""
RATE = "Rate limit reached for gpt-5.2. Please try again in 20s."


def test_an_answer(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())

    assert office.call(shim) == 0
    assert office.out() == ANSWER
    assert shim.orders[0].argv[:-1] == ("--wait", *ASK[:-1])
    assert (office.last.ok, office.last.cache, office.last.attempts) == (True, Cache.MISS, 1)
    assert (office.last.provider, office.last.model) == ("openai", "gpt-5.2")
    intent = office.invocations[0].intent
    assert intent is not None
    assert intent.process is not None
    assert intent.key == office.last.key
    assert set(intent.key_parts) == {"prompt", "model", "engine"}


AZURE = (
    *("-p", "why?", "-m", "gpt-5.5-pro", "--write-output", OUT, "--provider", "azure"),
    *("--azure-endpoint", "http://127.0.0.1:9/", "--azure-deployment", "d"),
)
NATIVE = CallIdentity(provider="openai", endpoint="https://api.openai.com/v1")
SCHEDULED = "API scheduled background response resp_0a (status=queued). Monitoring up to 60"


@pytest.mark.parametrize(
    ("argv", "said", "identity"),
    [
        pytest.param(ASK, "Session: why-1\n", replace(NATIVE, session="why-1"), id="its session"),
        pytest.param(
            AZURE,
            f"Session: why-1\n{SCHEDULED} minutes\n",
            CallIdentity(
                session="why-1",
                response="resp_0a",
                provider="azure",
                endpoint="http://127.0.0.1:9/openai/v1",
            ),
            id="a background response",
        ),
        pytest.param(
            (*ASK, "--base-url", "https://other.example/v1"),
            f"Session: why-1\n{SCHEDULED} minutes\n",
            CallIdentity(session="why-1"),
            id="chat completions have no responses",
        ),
        pytest.param(ASK, "\nAnswer:\nSession: x\n", NATIVE, id="only before the answer"),
    ],
)
def test_the_names_that_the_tool_prints_are_recorded(
    tmp_path: Path, argv: tuple[str, ...], said: str, identity: CallIdentity
) -> None:
    office, shim = Office(tmp_path), ScriptedShim(saying(ToolEnd(1, f"{said}ERROR: no\n")))

    office.call(shim, *argv)

    (made,) = office.invocations
    assert made.intent is not None
    assert made.intent.identity == identity


@pytest.mark.parametrize(
    ("script", "code", "asked"),
    [
        pytest.param([failing(RATE), answering()], None, 2, id="rate limited, then answered"),
        pytest.param([failing("Overloaded"), answering()], None, 2, id="overloaded"),
        pytest.param([failing(RATE)], "RATE_LIMITED", 5, id="five tries and no more"),
        pytest.param(
            [failing("You exceeded your current quota")], "QUOTA", 1, id="no money: at once"
        ),
        pytest.param([failing("Incorrect API key provided")], "AUTH", 1, id="no key: at once"),
        pytest.param([failing("Never seen before")], "UNKNOWN", 1, id="unknown: at once"),
        pytest.param(
            [saying(ToolEnd(0, "(no text output)\n")), answering()], None, 2, id="an empty answer"
        ),
        pytest.param(
            [answering(said="0.1s · $0 · gpt · ↑0 ↓0 ↻0* Δ0 · sid=s\n"), answering()],
            *(None, 2),
            id="a cut stream",
        ),
        pytest.param([answering(b" \n"), answering()], None, 2, id="an empty file"),
        pytest.param([saying(ToolEnd(0, COST))], "NO_OUTPUT", 1, id="exit 0 and no file"),
        pytest.param(
            [saying(ToolEnd(137, timed_out=True)), answering()], None, 2, id="longer than allowed"
        ),
        pytest.param(
            [saying(ToolEnd(127, trouble="oracle is not on PATH"))], "TOOL_MISSING", 1, id="no tool"
        ),
        pytest.param(
            [
                saying(ToolEnd(1, "A session with the same prompt is already running (s). Re…")),
                answering(),
            ],
            *(None, 2),
            id="refused for nothing",
        ),
    ],
)
def test_failures(tmp_path: Path, script: list[Act], code: str | None, asked: int) -> None:
    office, shim = Office(tmp_path), ScriptedShim(*script)
    office.put("out/x.md", b"older\n")

    exit_code = office.call(shim)

    assert (office.last.error.code if office.last.error else None) == code
    assert len(shim.orders) == asked
    assert (exit_code == 0) is (code is None)
    assert office.out() == (ANSWER if code is None else b"older\n")


def test_waiting_is_reported_and_counted(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(failing(RATE), answering())
    office.call(shim)

    assert "rate limited, next try in 20 s (2 of 5)" in shim.stderr
    assert office.waits == [CallWait(call=1, reason="429", seconds=20.0, tries=1)]
    assert shim.pauses == [20.0]
    assert office.last.attempts == 2
    assert office.last.waited_ms > 0


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(saying(ToolEnd(1, "same prompt is already running (s)")), id="refused"),
        pytest.param(saying(ToolEnd(137, timed_out=True)), id="timed out"),
    ],
)
def test_force_only_when_it_is_needed(tmp_path: Path, first: Act) -> None:
    refused = "A session with the same prompt is already running (s)"
    act = first if first(ToolRun("", (), "", {})).timed_out else saying(ToolEnd(1, refused))
    shim = ScriptedShim(act, failing("Overloaded"), answering())
    Office(tmp_path).call(shim)

    assert ["--force" in order.argv for order in shim.orders] == [False, True, True]


def test_the_retry_budget_is_the_runs(tmp_path: Path) -> None:
    office = Office(tmp_path, retry=RetryPolicy(run_tries=3))
    shims = [ScriptedShim(failing("Overloaded")) for _ in range(2)]
    for number, shim in enumerate(shims):
        office.call(shim, *ASK, "--search", str(number))

    assert [len(shim.orders) for shim in shims] == [4, 1]


def test_stopped_while_it_waits(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(failing(RATE), patience=0)

    assert office.call(shim) == 130
    assert office.last.error is not None
    assert office.last.error.code == "INTERRUPTED"


def test_stopped_while_it_runs(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(saying(ToolEnd(130, stopped=True)))
    office.put("out/x.md", b"older\n")

    assert office.call(shim) == 130
    assert len(shim.orders) == 1
    assert office.out() == b"older\n"


def test_stopped_while_it_waits_for_a_slot(tmp_path: Path) -> None:
    office = Office(tmp_path, limits={"openai": Limit(1)})
    waiting = ScriptedShim(answering(), patience=0)

    def meanwhile(order: ToolRun) -> ToolEnd:
        assert office.call(waiting, *ASK, "--search", "on") == 130
        return answering()(order)

    assert office.call(ScriptedShim(meanwhile)) == 0
    assert waiting.orders == []


SECTIONS = """# 01) step
oracle -p "why?
Answer format:" --write-output out/x.md
"""
FORMAT = ("-p", "why?\nAnswer format:", *ASK[2:])
FULL = b"Direct answer: a\nRisks/unknowns: b\nNext experiment: c\nMissing evidence: d\n"


@pytest.mark.parametrize(
    ("options", "script", "code", "asked"),
    [
        pytest.param({}, [answering(FULL)], None, 1, id="all sections"),
        pytest.param({}, [answering()], "CONTRACT", 1, id="three are missing"),
        pytest.param(
            {"output_retries": 1}, [answering(), answering(FULL)], None, 2, id="asked again"
        ),
        pytest.param({"output_retries": 1}, [answering()], "CONTRACT", 2, id="in vain"),
        pytest.param({"verify": False}, [answering()], None, 1, id="not checked"),
        pytest.param(
            {"require_headings": True}, [answering(FULL)], "CONTRACT", 1, id="no headings"
        ),
    ],
)
def test_the_contract(
    tmp_path: Path, options: dict[str, Any], script: list[Act], code: str | None, asked: int
) -> None:
    office, shim = Office(tmp_path, SECTIONS, **options), ScriptedShim(*script)
    office.call(shim, *FORMAT)

    assert (office.last.error.code if office.last.error else None) == code
    assert len(shim.orders) == asked
    assert bool(list(office.context.store.cache.entries())) is (code is None)
    assert office.out() is not None  # it was paid for


def test_overrides_reach_the_tool_and_the_key(tmp_path: Path) -> None:
    table = table_of("oracle")
    given = read_overrides(table, ["--model=gpt-5.1"], ["01:--search=on"], ["01", "02"])
    office, shim = Office(tmp_path, overrides=given), ScriptedShim(answering())
    office.call(shim)

    assert shim.orders[0].argv[:3] == ("--wait", "--search=on", "--model=gpt-5.1")
    assert office.last.model == "gpt-5.1"


@pytest.mark.parametrize("tool", ["oracle", "codex"])
def test_a_disk_that_could_not_take_the_answer_is_noticed_before_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    argv = ASK if tool == "oracle" else ("exec", "do it")
    with monkeypatch.context() as full:
        full.setattr(os, "statvfs", lambda _: FULL_DISK)
        assert office.call(shim, *argv, tool=tool) not in {0, 7}

    assert shim.orders == []
    assert office.last.error is not None
    assert (office.last.error.code, office.last.attempts) == ("NO_SPACE", 0)
    assert "only 36 kB are free" in office.last.error.message

    if tool == "oracle":
        assert office.call(shim) == 0
        assert len(shim.orders) == 1


def test_a_directory_that_cannot_take_the_answer_is_noticed_before_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    with monkeypatch.context() as locked:
        locked.setattr(os, "access", lambda *_: False)
        assert office.call(shim) not in {0, 7}

    assert shim.orders == []
    assert office.last.error is not None
    assert (office.last.error.code, office.last.attempts) == ("OUTPUT_PATH", 0)
    assert f"{office.root} is not writable" in office.last.error.message

    assert office.call(shim) == 0
    assert len(shim.orders) == 1
