"""`--output-retries` of a command that was cut off: the next one makes the rest, and no more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.crashed import DEAD, KilledError
from tests.calls.office import OUT, Act, Office, ScriptedShim, answering, output_of, saying
from tests.packs import ANSWER_FORMAT

PROMPT = f"why?\n\n{ANSWER_FORMAT}"
ASK = ("-p", PROMPT, "-m", "gpt-5.2", "--write-output", OUT)
SHORT = b"## Direct answer\nIt is so.\n## Next experiment\nTry it.\n## Missing evidence\nNone is.\n"
FULL = SHORT.replace(b"## Next", b"## Risks/unknowns\nFew.\n## Next")


class KilledShim(ScriptedShim):
    """Each run names a dead process; the machine dies in the one that is `last`."""

    def __init__(self, *script: Act, last: int, process: ProcessIdentity | None = DEAD) -> None:
        super().__init__(*script)
        self.last = last
        self.process = process

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        dies = len(self.orders) + 1 == self.last
        if not dies:
            return super().run(order, on_started)
        self.orders.append(order)
        if self.process is not None:
            on_started(self.process)
        raise KilledError


def recorded(office: Office, name: str, data: bytes, then: Act | None = None) -> Act:
    """The tool answers and its session says so; then perhaps the machine dies."""

    def act(order: ToolRun) -> ToolEnd:
        folder = office.oracle_home / "sessions" / name
        folder.mkdir(parents=True, exist_ok=True)
        meta = {
            "id": name,
            "status": "completed",
            "startedAt": "2026-03-01T10:00:59.000Z",
            "options": {"prompt": PROMPT, "writeOutputPath": str(output_of(order))},
            "usage": {"outputTokens": 7},
        }
        (folder / "meta.json").write_bytes(msgspec.json.encode(meta))
        cost = f"0.1s · $0.01 · gpt-5.2 · ↑17 ↓154 ↻0* Δ171 · sid={name}\n"
        (folder / "output.log").write_text(f"\nAnswer:\n{data.decode()}\n{cost}")
        end = answering(data, cost)(order)
        return then(order) if then else end

    return act


def dies(_: ToolRun) -> ToolEnd:
    raise KilledError


def after_the_first_answer(office: Office) -> None:
    with pytest.raises(KilledError):
        office.call(ScriptedShim(recorded(office, "s1", SHORT, dies)), *ASK)


def in_the_retry(office: Office) -> None:
    with pytest.raises(KilledError):
        office.call(KilledShim(recorded(office, "s1", SHORT), last=2), *ASK)


def before_the_retry_is_a_process(office: Office) -> None:
    with pytest.raises(KilledError):
        office.call(KilledShim(recorded(office, "s1", SHORT), last=2, process=None), *ASK)


def in_the_retry_without_sessions(office: Office) -> None:
    with pytest.raises(KilledError):
        office.call(KilledShim(answering(SHORT), last=2), *ASK)


def by_a_signal(office: Office) -> None:
    stopped = saying(ToolEnd(130, stopped=True))
    assert office.call(ScriptedShim(recorded(office, "s1", SHORT), stopped), *ASK) == 130


def by_a_failure(office: Office) -> None:
    failed = saying(ToolEnd(1, "ERROR: Incorrect API key provided\n"))
    assert office.call(ScriptedShim(recorded(office, "s1", SHORT), failed), *ASK) == 1


INTERRUPTED = pytest.mark.parametrize(
    "cut_off",
    [
        pytest.param(after_the_first_answer, id="killed after the first answer"),
        pytest.param(in_the_retry, id="killed in the retry"),
        pytest.param(before_the_retry_is_a_process, id="killed before the retry is a process"),
        pytest.param(in_the_retry_without_sessions, id="killed in the retry, no session records"),
        pytest.param(by_a_signal, id="stopped by a signal"),
        pytest.param(by_a_failure, id="the retry failed"),
    ],
)


def interrupted(tmp_path: Path, cut_off: Callable[[Office], None]) -> None:
    office = Office(tmp_path, output_retries=1)
    cut_off(office)
    office.journal.close()


def continued(tmp_path: Path, *script: Act, day: int = 2, **options: Any) -> tuple[Office, int]:
    """The next command, and how often it asks."""
    office = Office(tmp_path, day=day, **options)
    office.attempt = office.number = day
    shim = ScriptedShim(*script)
    office.call(shim, *ASK)
    office.journal.close()
    return office, len(shim.orders)


@INTERRUPTED
def test_the_remaining_retry_is_made(tmp_path: Path, cut_off: Callable[[Office], None]) -> None:
    interrupted(tmp_path, cut_off)

    office, asked = continued(tmp_path, answering(FULL), output_retries=1)

    assert (asked, office.out(), office.last.ok) == (1, FULL, True)
    assert all(not made.is_open for made in office.invocations)
    kept = [path.read_bytes() for path in office.run_dir.glob("blobs/*")]
    assert SHORT in kept


@INTERRUPTED
def test_there_are_never_more_retries_than_allowed(
    tmp_path: Path, cut_off: Callable[[Office], None]
) -> None:
    interrupted(tmp_path, cut_off)

    office, asked = continued(tmp_path, answering(SHORT), output_retries=1)

    assert (asked, office.out()) == (1, SHORT)
    assert office.last.error is not None
    assert office.last.error.code == "CONTRACT"
    office, asked = continued(tmp_path, answering(FULL), day=3, output_retries=1)
    assert (asked, office.out()) == (0, SHORT)


@INTERRUPTED
def test_without_retries_the_first_answer_is_held(
    tmp_path: Path, cut_off: Callable[[Office], None]
) -> None:
    interrupted(tmp_path, cut_off)

    office, asked = continued(tmp_path, answering(FULL))

    assert (asked, office.out()) == (0, SHORT)
    assert office.last.error is not None
    assert office.last.error.code == "CONTRACT"


@INTERRUPTED
def test_a_second_interruption_does_not_begin_again(
    tmp_path: Path, cut_off: Callable[[Office], None]
) -> None:
    interrupted(tmp_path, cut_off)
    office = Office(tmp_path, day=2, output_retries=2)
    office.attempt = office.number = 2
    with pytest.raises(KilledError):
        office.call(KilledShim(answering(SHORT), last=2), *ASK)
    office.journal.close()

    office, asked = continued(tmp_path, answering(SHORT), day=3, output_retries=2)

    assert (asked, office.out()) == (1, SHORT)
    intent = office.invocations[-1].intent
    assert intent is not None
    assert intent.retry is not None
    assert intent.retry.number == 2
