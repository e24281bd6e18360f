"""A call is what was sent: its files are compared with its key before it begins and at its end."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.calls.handler import CallHandler
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.limits import Limit
from tests.calls.office import ASK, Office, ScriptedShim, answering

ABOUT = (*ASK, "-f", "a.py")


def about(order: ToolRun) -> ToolEnd:
    """The answer names the version of the file that the tool has read."""
    text = Path(order.cwd, "a.py").read_text()
    return answering(f"## Direct answer\nabout {text}\n".encode())(order)


class SavingShim(ScriptedShim):
    """Somebody saves the attached file at a moment of the call."""

    def __init__(self, office: Office, moment: str) -> None:
        super().__init__(about)
        self.office, self.moment = office, moment

    def save(self, moment: str) -> None:
        if moment == self.moment:
            self.moment = ""
            self.office.put("a.py", b"TWO")

    def pause(self, seconds: float) -> bool:
        self.save("while it waits")
        return super().pause(seconds)

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        self.save("before it begins")
        end = super().run(order, on_started)
        self.save("while it is asked")
        return end


def versions(office: Office) -> dict[str, bytes | None]:
    """What is served later for each version of the file."""
    served = {}
    for version in ("ONE", "TWO"):
        office.put("a.py", version.encode())
        shim = ScriptedShim(answering(b"## Direct answer\nasked again\n"))
        office.call(shim, *ABOUT)
        served[version] = None if shim.orders else office.out()
    return served


def held_slot(office: Office) -> Callable[[], None]:
    limit = office.context.options.limits["openai"]
    slot = office.context.store.limits.acquire("openai", limit, lambda _: True)
    assert slot is not None
    return slot.release


def held_claim(office: Office) -> Callable[[], None]:
    """Another command asks the question about version ONE."""
    first = Office(office.root.parent, run="other")
    first.call(ScriptedShim(answering()), *ABOUT)
    key = first.last.key
    assert key is not None
    first.cache.remove(key)
    claim = first.context.store.claims.acquire(key, lambda _: True)
    assert claim is not None

    def free() -> None:
        assert first.root == office.root, "the other command lives until here"
        claim.release()

    return free


def paused(office: Office) -> Callable[[], None]:
    going_on = threading.Event()
    context = replace(office.context, is_paused=lambda: not going_on.is_set())
    office.calls = CallHandler(context)
    return going_on.set


@pytest.mark.parametrize(
    ("limit", "hold"),
    [
        pytest.param(Limit(max_concurrent=1), held_slot, id="for a slot"),
        pytest.param(Limit(), held_claim, id="for the same question"),
        pytest.param(Limit(), paused, id="while the run is paused"),
    ],
)
def test_a_file_saved_while_a_call_waits_makes_another_question(
    tmp_path: Path, limit: Limit, hold: Callable[[Office], Callable[[], None]]
) -> None:
    office = Office(tmp_path, limits={"openai": limit})
    office.put("a.py", b"ONE")
    free = hold(office)

    class Waiting(SavingShim):
        def pause(self, seconds: float) -> bool:
            goes_on = super().pause(seconds)
            free()
            return goes_on

    assert office.call(Waiting(office, "while it waits"), *ABOUT) == 0

    assert office.out() == b"## Direct answer\nabout TWO\n"
    assert versions(office) == {"ONE": None, "TWO": b"## Direct answer\nabout TWO\n"}


@pytest.mark.parametrize("moment", ["before it begins", "while it waits"])
def test_a_file_saved_before_the_tool_begins_makes_another_question(
    tmp_path: Path, moment: str
) -> None:
    office = Office(tmp_path, limits={"openai": Limit(requests_per_minute=1)})
    office.put("a.py", b"ONE")
    office.call(ScriptedShim(answering()), "-p", "first", *ASK[2:-1], "out/first.md")
    shim = SavingShim(office, moment)

    assert office.call(shim, *ABOUT) == 0

    assert office.out() == b"## Direct answer\nabout TWO\n"
    assert versions(office) == {"ONE": None, "TWO": b"## Direct answer\nabout TWO\n"}


def test_a_file_saved_while_it_is_asked_leaves_an_answer_without_a_key(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.put("a.py", b"ONE")
    shim = SavingShim(office, "while it is asked")

    assert office.call(shim, *ABOUT) == 0

    assert office.out() == b"## Direct answer\nabout ONE\n"
    assert "a.py was changed while the question was asked" in shim.stderr
    assert office.last.key is None
    assert versions(office) == {"ONE": None, "TWO": None}


def test_files_that_change_all_the_time_are_asked_about_without_a_key(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.put("a.py", b"0")

    class Restless(ScriptedShim):
        count = 0

        def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
            self.count += 1
            office.put("a.py", str(self.count).encode())
            return super().run(order, on_started)

    assert office.call(Restless(about), *ABOUT) == 0
    assert office.last.key is None


def test_a_pattern_without_a_key_is_asked_after_a_wait(tmp_path: Path) -> None:
    office = Office(tmp_path, limits={"openai": Limit(requests_per_minute=1)})
    office.put("a.py", b"ONE")
    words = ("-e", "api", "-m", "gpt-5.2", "-p")
    office.call(ScriptedShim(answering()), *words, "first", "--write-output", "out/first.md")

    def act(order: ToolRun) -> ToolEnd:
        files = "### File: a.py\nLines: 1\n```\n1 | x\n```\n"
        listed = f"🧿 x\n[SYSTEM]\nYou\n\n[USER]\nwhy?\n\n{files}"
        return ToolEnd(0, listed if order.hidden else "yes\n")

    assert office.call(ScriptedShim(act), *words, "why?", "-f", "*.py") == 0
    assert office.last.key is None
