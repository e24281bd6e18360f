"""After a crash without any session record: the promised file speaks for the call, or not."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oraclepack.journal.events import FileUndone, Quarantined
from oraclepack.journal.statuses import Move
from oraclepack.pack.answer_sections import NOTICE
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.crashed import DEAD, DyingShim, KilledError, living, session
from tests.calls.office import OUT, Office, ScriptedShim, answering
from tests.packs import ANSWER_FORMAT

FULL = (
    b"## Direct answer\nIt is so.\n## Risks/unknowns\nFew.\n"
    b"## Next experiment\nTry it.\n## Missing evidence\nNone is missing.\n"
)
OTHER = FULL.replace(b"It is so.", b"It is not.")
ASK = ("-p", f"why?\n\n{ANSWER_FORMAT}", "-m", "gpt-5.2", "--write-output", OUT)
LATER = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
BEFORE = datetime(2026, 2, 1, tzinfo=UTC).timestamp()


def place(office: Office, data: bytes, moment: float = LATER, path: str = OUT) -> None:
    office.put(path, data)
    os.utime(office.root / path, (moment, moment))


def crashed(
    tmp_path: Path, process: ProcessIdentity | None = DEAD, bash: str = "", older: bytes = b""
) -> None:
    """A call is made and its runner dies; what stood at the path is out of the way by then."""
    office = Office(tmp_path, bash)
    if older:
        place(office, older)
    with pytest.raises(KilledError):
        office.call(DyingShim(process), *ASK)
    office.journal.close()


def asked_again(
    tmp_path: Path, then: Callable[[Office], None], bash: str = "", **options: Any
) -> tuple[Office, int]:
    """What the next command does, once something happened to the file; how often it asks."""
    office = Office(tmp_path, bash, day=2, **options)
    office.attempt, office.number = 2, 9
    then(office)
    shim = ScriptedShim(answering(OTHER))
    assert office.call(shim, *ASK) == 0
    return office, len(shim.orders)


def rolled_back(office: Office) -> None:
    place(office, FULL, path="out/_failed/x.md")
    office.journal.append(FileUndone(step="01", path=OUT, quarantined_as="out/_failed/x.md"))


def in_quarantine(office: Office) -> None:
    place(office, FULL, path="out/_failed/x.md")
    move = Move(source=OUT, target="out/_failed/x.md")
    office.journal.append(Quarantined(step="01", attempt=1, moves=(move,)))


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda office: place(office, FULL), id="at its path"),
        pytest.param(in_quarantine, id="in quarantine, where the next attempt puts it"),
        pytest.param(rolled_back, id="in quarantine, where a rollback put it"),
    ],
)
def test_a_promised_file_with_all_its_sections_is_the_answer(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, asked = asked_again(tmp_path, then)

    assert (asked, office.out()) == (0, FULL)
    assert (office.last.adopted, office.last.ok, office.last.session) == (True, True, None)
    assert all(not made.is_open for made in office.invocations)
    # It is not shared with other runs: only the file says that a model wrote it.
    assert list(office.context.store.cache.entries()) == []
    shim = ScriptedShim(answering(OTHER))
    assert office.call(shim, *ASK) == 0
    assert shim.orders == []


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda _: None, id="no file"),
        pytest.param(lambda office: place(office, b""), id="an empty file"),
        pytest.param(lambda office: place(office, FULL[:90]), id="a file that ends in a heading"),
        pytest.param(
            lambda office: place(office, FULL.replace(b"None is missing.", b"It is in the")),
            id="a file that stops in the middle",
        ),
        pytest.param(
            lambda office: place(office, FULL, BEFORE), id="a file from before, or a clock set back"
        ),
        pytest.param(
            lambda office: place(office, f"{NOTICE}\n\n".encode() + FULL), id="a rehearsed answer"
        ),
    ],
)
def test_a_file_that_may_be_something_else_is_not_the_answer(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, asked = asked_again(tmp_path, then)

    assert (asked, office.out()) == (1, OTHER)


SHORT = FULL.replace(b"## Risks/unknowns\nFew.\n", b"")
"""Whole, and it misses its contract."""


def in_quarantine_short(office: Office) -> None:
    in_quarantine(office)
    place(office, SHORT, path="out/_failed/x.md")


SHORT_FILE = pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda office: place(office, SHORT), id="at its path"),
        pytest.param(in_quarantine_short, id="in quarantine, where the next attempt puts it"),
    ],
)


def next_call(
    tmp_path: Path, then: Callable[[Office], None], *, output_retries: int = 0
) -> tuple[Office, ScriptedShim]:
    office = Office(tmp_path, day=2, output_retries=output_retries)
    office.attempt, office.number = 2, 9
    then(office)
    shim = ScriptedShim(answering(OTHER))
    office.call(shim, *ASK)
    return office, shim


@SHORT_FILE
def test_a_whole_file_that_misses_its_contract_is_held(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, shim = next_call(tmp_path, then)

    assert (shim.orders, office.out()) == ([], SHORT)
    assert office.last.error is not None
    assert office.last.error.code == "CONTRACT"
    assert office.last.unmet_sha256 is not None
    assert all(not made.is_open for made in office.invocations)


@pytest.mark.parametrize(
    ("data", "calls"),
    [pytest.param(FULL, 0, id="all sections"), pytest.param(SHORT, 1, id="it may be cut off")],
)
def test_beside_an_unfinished_session_only_a_file_that_meets_its_contract_counts(
    tmp_path: Path, data: bytes, calls: int
) -> None:
    crashed(tmp_path)

    def unfinished(office: Office) -> None:
        place(office, data)
        options = {"prompt": ASK[1], "writeOutputPath": str(office.root / OUT)}
        session(office, "running", options=options)

    _, asked = asked_again(tmp_path, unfinished)

    assert asked == calls


@SHORT_FILE
def test_a_whole_file_that_misses_its_contract_is_the_first_of_the_answers(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, shim = next_call(tmp_path, then, output_retries=1)

    assert (len(shim.orders), office.out(), office.last.ok) == (1, OTHER, True)
    intent = office.invocations[-1].intent
    assert intent is not None
    assert intent.retry is not None
    assert intent.retry.number == 1


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda office: place(office, SHORT, BEFORE), id="a file from before"),
        pytest.param(
            lambda office: place(office, f"{NOTICE}\n\n".encode() + SHORT), id="a rehearsed answer"
        ),
    ],
)
def test_a_short_file_that_may_be_something_else_is_not_held(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, asked = asked_again(tmp_path, then)

    assert (asked, office.out()) == (1, OTHER)


def test_what_stood_there_before_and_is_back_is_not_the_answer(tmp_path: Path) -> None:
    crashed(tmp_path, older=FULL)

    office, asked = asked_again(tmp_path, lambda office: place(office, FULL))

    assert (asked, office.out()) == (1, OTHER)


def test_what_another_step_writes_is_not_the_answer(tmp_path: Path) -> None:
    bash = f"# 01) step\ntrue\n# 02) other\noracle -p x --write-output {OUT}\n"
    crashed(tmp_path, bash=bash)

    _, asked = asked_again(tmp_path, lambda office: place(office, FULL), bash=bash)

    assert asked == 1


def test_a_tool_that_was_never_started_wrote_nothing(tmp_path: Path) -> None:
    crashed(tmp_path, process=None)

    _, asked = asked_again(tmp_path, lambda office: place(office, FULL))

    assert asked == 1


def test_where_nothing_is_checked_a_file_proves_nothing(tmp_path: Path) -> None:
    crashed(tmp_path)

    _, asked = asked_again(tmp_path, lambda office: place(office, FULL), verify=False)

    assert asked == 1


def test_a_tool_that_still_works_is_waited_for(tmp_path: Path) -> None:
    with living() as (process, end):
        crashed(tmp_path, process)
        office = Office(tmp_path, day=2)
        office.attempt, office.number = 2, 9

        class Finishing(ScriptedShim):
            def pause(self, seconds: float) -> bool:
                if len(self.pauses) == 1:
                    place(office, FULL)
                    end()
                return super().pause(seconds)

        shim = Finishing(answering(OTHER))

        assert office.call(shim, *ASK) == 0
    assert shim.orders == []
    assert office.out() == FULL
