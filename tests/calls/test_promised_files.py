"""After a crash without any session record: the promised file speaks for the call, or not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


def crashed(tmp_path: Path, process: ProcessIdentity | None = DEAD, bash: str = "") -> None:
    """A call is made and its runner dies; what stood at the path is out of the way by then."""
    office = Office(tmp_path, bash)
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


def test_a_file_with_all_its_sections_is_the_answer(tmp_path: Path) -> None:
    crashed(tmp_path)

    office, asked = asked_again(tmp_path, lambda office: office.tool_writes(FULL))

    assert (asked, office.out()) == (0, FULL)
    assert (office.last.adopted, office.last.ok, office.last.session) == (True, True, None)
    assert all(not made.is_open for made in office.invocations)
    # It is not shared with other runs: the tool has not said that it is whole.
    assert list(office.context.store.cache.entries()) == []
    shim = ScriptedShim(answering(OTHER))
    assert office.call(shim, *ASK) == 0
    assert shim.orders == []


def test_a_file_is_whole_where_the_tool_says_so(tmp_path: Path) -> None:
    crashed(tmp_path)

    def saved(office: Office) -> None:
        office.tool_writes(FULL)
        (office.folder / "stdout").write_text("Saved assistant output to x.md\n")

    office, asked = asked_again(tmp_path, saved, verify=False)

    assert (asked, office.out()) == (0, FULL)
    assert len(list(office.context.store.cache.entries())) == 1


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda _: None, id="no file"),
        pytest.param(lambda office: office.tool_writes(b""), id="an empty file"),
        pytest.param(
            lambda office: office.tool_writes(FULL[:90]), id="a file that ends in a heading"
        ),
        pytest.param(
            lambda office: office.tool_writes(FULL.replace(b"None is missing.", b"It is in the")),
            id="a file that stops in the middle",
        ),
        pytest.param(lambda office: office.put(OUT, FULL), id="a file at the declared path"),
        pytest.param(
            lambda office: office.tool_writes(f"{NOTICE}\n\n".encode() + FULL),
            id="a rehearsed answer",
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


def next_call(
    tmp_path: Path, then: Callable[[Office], None], *, output_retries: int = 0
) -> tuple[Office, ScriptedShim]:
    office = Office(tmp_path, day=2, output_retries=output_retries)
    office.attempt, office.number = 2, 9
    then(office)
    shim = ScriptedShim(answering(OTHER))
    office.call(shim, *ASK)
    return office, shim


def test_a_whole_file_that_misses_its_contract_is_held(tmp_path: Path) -> None:
    crashed(tmp_path)

    office, shim = next_call(tmp_path, lambda office: office.tool_writes(SHORT))

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
        office.tool_writes(data)
        options = {"prompt": ASK[1], "writeOutputPath": str(office.private)}
        session(office, "running", options=options)

    _, asked = asked_again(tmp_path, unfinished)

    assert asked == calls


def test_a_whole_file_that_misses_its_contract_is_the_first_of_the_answers(tmp_path: Path) -> None:
    crashed(tmp_path)

    office, shim = next_call(tmp_path, lambda office: office.tool_writes(SHORT), output_retries=1)

    assert (len(shim.orders), office.out(), office.last.ok) == (1, OTHER, True)
    intent = office.invocations[-1].intent
    assert intent is not None
    assert intent.retry is not None
    assert intent.retry.number == 1


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda office: office.put(OUT, SHORT), id="a file at the declared path"),
        pytest.param(
            lambda office: office.tool_writes(f"{NOTICE}\n\n".encode() + SHORT),
            id="a rehearsed answer",
        ),
    ],
)
def test_a_short_file_that_may_be_something_else_is_not_held(
    tmp_path: Path, then: Callable[[Office], None]
) -> None:
    crashed(tmp_path)

    office, asked = asked_again(tmp_path, then)

    assert (asked, office.out()) == (1, OTHER)


def test_a_tool_that_was_never_started_wrote_nothing(tmp_path: Path) -> None:
    crashed(tmp_path, process=None)

    _, asked = asked_again(tmp_path, lambda office: office.put(OUT, FULL))

    assert asked == 1


def test_where_nothing_is_checked_a_file_proves_nothing(tmp_path: Path) -> None:
    crashed(tmp_path)

    _, asked = asked_again(tmp_path, lambda office: office.tool_writes(FULL), verify=False)

    assert asked == 1


def test_a_tool_that_still_works_is_waited_for(tmp_path: Path) -> None:
    with living() as (process, end):
        crashed(tmp_path, process)
        office = Office(tmp_path, day=2)
        office.attempt, office.number = 2, 9

        class Finishing(ScriptedShim):
            def pause(self, seconds: float) -> bool:
                if len(self.pauses) == 1:
                    office.tool_writes(FULL)
                    end()
                return super().pause(seconds)

        shim = Finishing(answering(OTHER))

        assert office.call(shim, *ASK) == 0
    assert shim.orders == []
    assert office.out() == FULL
