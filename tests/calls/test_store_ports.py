"""The calls of a run on a store that has no files: all they need is in its Protocols."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.calls.handler import CallHandler
from oraclepack.calls.live_call import ToolEnd, ToolRun
from oraclepack.errors import MachineError
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.memory_store import MemoryClaims, memory_store
from tests.calls.office import ANSWER, OUT, Office, ScriptedShim, answering


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
    assert again.left == noted


class LosingShim(ScriptedShim):
    """Another runner takes the claim between the intent and the start of the tool."""

    def __init__(self, claims: MemoryClaims) -> None:
        super().__init__(answering())
        self._claims = claims

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        for key in list(self._claims.tokens):
            self._claims.take_away(key)
        return super().run(order, on_started)


def test_who_has_lost_the_claim_pays_for_nothing(tmp_path: Path) -> None:
    claims = MemoryClaims()
    office, shim = an_office(tmp_path, claims), LosingShim(claims)

    with pytest.raises(MachineError, match="another runner"):
        office.call(shim)

    assert shim.orders, "the process waits behind its gate"
    assert office.out(OUT) is None, "and the tool never began"
