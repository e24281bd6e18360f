"""The calls of a run on a store that has no files: all they need is in its Protocols."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.calls.handler import CallHandler
from oraclepack.calls.live_call import ToolEnd, ToolRun
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.memory_store import MemoryClaims, memory_store
from tests.calls.office import ANSWER, ASK, OUT, Office, ScriptedShim, answering, saying


def an_office(folder: Path, claims: MemoryClaims) -> Office:
    office = Office(folder)
    office.calls = CallHandler(replace(office.context, store=memory_store(claims)))
    return office


def test_a_question_is_asked_once_and_then_answered_by_the_store(tmp_path: Path) -> None:
    claims = MemoryClaims()
    office, shim = an_office(tmp_path, claims), ScriptedShim(answering())

    assert [office.call(shim), office.call(shim)] == [0, 0]

    assert len(shim.orders) == 1
    assert office.out() == ANSWER
    assert claims.noted == {}, "everything has come to a known end"
    assert not (office.root / ".oraclepack/cache").exists()


def test_the_call_that_a_dead_holder_noted_is_seen_by_the_next(tmp_path: Path) -> None:
    claims = MemoryClaims()
    office = an_office(tmp_path, claims)

    def die(_: ToolRun) -> ToolEnd:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        office.call(ScriptedShim(die))

    (noted,) = claims.noted.values()
    assert noted.process is not None, "its tool was started"
    again = claims.acquire(noted.key or "", lambda _: False)
    assert again is not None
    assert again.open_call == noted


class LosingShim(ScriptedShim):
    """Another runner takes the claim between the intent and the start of the tool."""

    def __init__(self, claims: MemoryClaims) -> None:
        super().__init__(answering())
        self._claims = claims

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        for key in list(self._claims.tokens):
            self._claims.take_away(key)
        return super().run(order, on_started)


@pytest.mark.parametrize(
    ("tool", "argv"),
    [
        pytest.param("oracle", ASK, id="a question"),
        pytest.param("codex", ("exec", "hi"), id="codex"),
        pytest.param("gemini", ("-p", "hi"), id="gemini"),
    ],
)
def test_who_has_lost_the_claim_pays_for_nothing(
    tmp_path: Path, tool: str, argv: tuple[str, ...]
) -> None:
    claims = MemoryClaims(spans_machines=True)
    office, shim = an_office(tmp_path, claims), LosingShim(claims)

    assert office.call(shim, *argv, tool=tool) == 1

    assert shim.orders, "the process waits behind its gate"
    assert office.out(OUT) is None, "and the tool never began"
    assert all(noted.process is None for noted in claims.noted.values())
    error = office.last.error
    assert error is not None
    assert (error.code, error.transient) == ("STORE", True)
    assert "another runner" in error.message


def test_calls_without_a_key_pass_the_gate_of_a_shared_store(tmp_path: Path) -> None:
    claims = MemoryClaims(spans_machines=True)
    office = an_office(tmp_path, claims)

    assert office.call(ScriptedShim(saying(ToolEnd(0))), "exec", "hi", tool="codex") == 0

    (name,) = claims.tokens
    assert name.startswith(f"unkeyed:{office.context.run_id}:")
    assert claims.noted == {}, "its end is known"
