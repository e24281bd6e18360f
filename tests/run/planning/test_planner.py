from collections.abc import Iterable

import msgspec
import pytest

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import command_hash
from oraclepack.run.planning.plan import Decision
from oraclepack.run.planning.planner import CheckedOutputs, is_complete
from oraclepack.run.planning.selection import Selection
from tests.events import a_step, finished, output
from tests.packs import a_pack, some_steps
from tests.run.planning.recorded import (
    ASKS,
    DONE,
    FIRST,
    NEW,
    PACK,
    a_run,
    begun,
    decisions,
    intact,
    planned,
    well,
)


def skipped(reason: str) -> list[j.Event]:
    end = finished("01", Status.SKIPPED)
    return [begun(PACK, "01"), msgspec.structs.replace(end, skip_reason=reason)]


def imported() -> list[j.Event]:
    step = PACK.steps[0]
    end = finished("01")
    return [msgspec.structs.replace(end, imported=True, command_hash=command_hash(PACK, step))]


def two_outputs() -> list[j.Event]:
    return [begun(PACK, "01"), output("01"), output("01", name="more"), finished("01")]


@pytest.mark.parametrize(
    ("events", "changes", "expected"),
    [
        pytest.param([], {}, NEW, id="a new run"),
        pytest.param(FIRST, {}, DONE, id="went well"),
        pytest.param(
            two_outputs(),
            {},
            "done: it went well, and its 2 outputs are as recorded",
            id="went well with two outputs",
        ),
        pytest.param(imported(), {}, "done: it was taken over from a state file", id="imported"),
        pytest.param(
            FIRST,
            {"out/01-answer.md": None},
            "restore: its output out/01-answer.md is gone and put back from the run's own copy",
            id="output gone",
        ),
        pytest.param(
            FIRST,
            {"out/01-answer.md": "d"},
            "done: it went well, and out/01-answer.md stays as it was edited",
            id="output edited",
        ),
        pytest.param(
            FIRST,
            {"outputs/01-answer.md": None},
            "restore: the run's copy outputs/01-answer.md is restored from out/01-answer.md",
            id="the copy in the run directory gone",
        ),
        pytest.param(
            FIRST,
            {"out/01-answer.md": None, "outputs/01-answer.md": None},
            "run: its output out/01-answer.md is gone",
            id="both gone",
        ),
        pytest.param(
            FIRST,
            {"out/01-answer.md": "d", "outputs/01-answer.md": "d"},
            "done: it went well, and out/01-answer.md stays as it was edited",
            id="output edited, and the copy lost",
        ),
        pytest.param(
            [*FIRST, *a_step("01", attempt=2)],
            {},
            "run: its commands or the prelude have changed since it ran",
            id="another command",
        ),
        pytest.param(
            [begun(PACK, "01")],
            {},
            "run: it was running when the last command was ended",
            id="running at a crash",
        ),
        pytest.param(
            [begun(PACK, "01"), finished("01", Status.FAILED)],
            {},
            "run: its last attempt failed: it ended with 1",
            id="failed",
        ),
        pytest.param(
            [msgspec.structs.replace(finished("01", Status.FAILED), error=None)],
            {},
            "run: its last attempt failed",
            id="failed without a word",
        ),
        pytest.param(
            skipped("tool_missing: codex"),
            {},
            "run: a tool was missing when it was skipped, and none is now",
            id="skipped for a tool that is there now",
        ),
        pytest.param(
            skipped("SKIP: no tickets"),
            {},
            "run: it skipped itself last time, and may not now",
            id="skipped itself",
        ),
        pytest.param(
            [*FIRST, j.RolledBack(steps=("01",))],
            {},
            "run: its last run was taken back",
            id="taken back",
        ),
    ],
)
def test_what_becomes_of_a_step(
    events: Iterable[j.Event], changes: dict[str, str | None], expected: str
) -> None:
    state = a_run(*events)

    made = planned(state, seen=intact(state, changes))

    assert decisions(made) == [expected, NEW, NEW]
    assert made.warnings == ()


MIXED = a_run(
    *FIRST,
    *well(PACK, "02", {"src/2.py": "c" * 64}),
    begun(PACK, "03"),
    finished("03", Status.FAILED),
)
FAILED = "run: its last attempt failed: it ended with 1"
PASSED = "not_selected: --rerun changed skips it: "


@pytest.mark.parametrize(
    ("selection", "changes", "expected"),
    [
        pytest.param(
            Selection(rerun="all"), {}, ["run: --rerun all asks for it"] * 3, id="everything"
        ),
        pytest.param(
            Selection(rerun="failed"),
            {},
            ["not_selected: --rerun failed skips it: it is ok"] * 2 + [FAILED],
            id="only what failed",
        ),
        pytest.param(
            Selection(rerun="changed"),
            {"src/2.py": "d"},
            [
                f"{PASSED}nothing that it depends on has changed",
                "run: its attached file src/2.py has changed since it was asked about",
                f"{PASSED}it is failed",
            ],
            id="only what stands on a changed file",
        ),
        pytest.param(
            Selection(rerun="changed"),
            {"out/01-answer.md": None, "src/2.py": None},
            [
                "restore: its output out/01-answer.md is gone and put back from the run's own copy",
                "run: its attached file src/2.py is gone",
                f"{PASSED}it is failed",
            ],
            id="changed outputs are put back first",
        ),
        pytest.param(
            Selection(rerun="01,3"),
            {},
            [
                "run: --rerun names it",
                "not_selected: --rerun does not name it",
                "run: --rerun names it",
            ],
            id="named steps run although they are done",
        ),
        pytest.param(
            Selection(steps="02-03"),
            {},
            ["not_selected: --steps does not name it", DONE, FAILED],
            id="steps restrict, what is done stays done",
        ),
        pytest.param(
            Selection(resume_from="02"),
            {"out/01-answer.md": None},
            [
                "not_selected: it comes before step 02, given by --resume-from",
                DONE,
                FAILED,
            ],
            id="resuming from a step leaves those before it alone",
        ),
    ],
)
def test_selections(
    selection: Selection, changes: dict[str, str | None], expected: list[str]
) -> None:
    assert decisions(planned(MIXED, selection, intact(MIXED, changes))) == expected


def test_a_changed_prelude_runs_everything_again() -> None:
    state = a_run(*FIRST, *well(PACK, "02"), *well(PACK, "03"))

    made = planned(state, pack=a_pack("set -u\n" + some_steps(ASKS)))

    assert {step.decision for step in made.steps} == {Decision.RUN}
    assert made.warnings == (
        "the pack has changed since this run began; steps with other commands run again",
    )


def test_a_changed_header_runs_nothing_again() -> None:
    state = a_run(*FIRST, *well(PACK, "02"), *well(PACK, "03"))
    renamed = some_steps(ASKS).replace(") step", ") ROI=3")

    made = planned(state, pack=a_pack("set -e\n" + renamed))

    assert {step.decision for step in made.steps} == {Decision.DONE}


def test_a_changed_attachment_is_a_warning() -> None:
    state = a_run(*FIRST)

    first, *_ = planned(state, seen=intact(state, {"src/1.py": "d"})).steps

    assert first.decision is Decision.DONE
    changed = "its attached file src/1.py has changed since it was asked about"
    assert first.warnings == (f"{changed}; --rerun changed asks again",)


def test_nothing_selected_is_reported() -> None:
    made = planned(selection=Selection(rerun="failed"))

    assert made.to_run == ()
    assert made.warnings == ("no step is selected",)


def unmet(code: str = "OUTPUT_CONTRACT") -> list[j.Event]:
    error = StepError(code=code, message="the answer lacks risks-unknowns")
    end = msgspec.structs.replace(finished("01", Status.FAILED), error=error)
    return [begun(PACK, "01"), output("01"), end]


LACKS = "out/01-answer.md lacks risks-unknowns"


@pytest.mark.parametrize(
    ("events", "now", "selection", "expected"),
    [
        pytest.param(
            unmet(),
            CheckedOutputs(passed=True),
            Selection(),
            "recheck: its answer meets its contract now",
            id="a corrected answer is recorded",
        ),
        pytest.param(
            unmet(),
            CheckedOutputs(passed=False, lacks=LACKS),
            Selection(),
            f"held: {LACKS}; it was paid for and is not asked again: "
            "accept it, correct it, or --rerun 01 --refresh",
            id="a short one is not asked again",
        ),
        pytest.param(
            unmet("CONTRACT"),
            CheckedOutputs(passed=False, lacks=LACKS),
            Selection(rerun="failed"),
            f"held: {LACKS}; it was paid for and is not asked again: "
            "accept it, correct it, or --rerun 01 --refresh",
            id="nor by --rerun failed",
        ),
        pytest.param(
            unmet(),
            CheckedOutputs(passed=False, is_whole=False, lacks=LACKS),
            Selection(),
            "run: its last attempt failed: the answer lacks risks-unknowns",
            id="one that was cut off is asked again",
        ),
        pytest.param(
            unmet(),
            CheckedOutputs(passed=False, lacks=LACKS),
            Selection(refresh=True),
            "run: its last attempt failed: the answer lacks risks-unknowns",
            id="--refresh asks again",
        ),
        pytest.param(
            unmet(),
            CheckedOutputs(passed=True),
            Selection(rerun="01"),
            "run: --rerun names it",
            id="--rerun runs it",
        ),
    ],
)
def test_answers_that_missed_their_contract(
    events: Iterable[j.Event], now: CheckedOutputs, selection: Selection, expected: str
) -> None:
    state = a_run(*events)
    seen = msgspec.structs.replace(intact(state), checked={"01": now})

    made = planned(state, selection, seen=seen)

    assert decisions(made)[0] == expected


@pytest.mark.parametrize(
    ("body", "code", "complete"),
    [
        pytest.param("oracle -p x --write-output a.md\n", "CONTRACT", True, id="the call was last"),
        pytest.param(
            "oracle -p x --write-output a.md\ntouch b\n", "CONTRACT", False, id="more may follow"
        ),
        pytest.param(
            "oracle -p x --write-output a.md\ntouch b\n",
            "OUTPUT_CONTRACT",
            True,
            id="the script came to its end",
        ),
        pytest.param("oracle -p x --write-output a.md\n", "EXIT", False, id="another failure"),
    ],
)
def test_whether_anything_of_a_step_is_left_to_run(body: str, code: str, *, complete: bool) -> None:
    pack = a_pack(f"# 01) ask\n{body}")
    error = StepError(code=code, message="x")
    state = StepState(status=Status.FAILED, error=error)

    assert is_complete(pack.steps[0], state) is complete


@pytest.mark.parametrize(
    ("last", "changes", "expected"),
    [
        pytest.param(finished("02"), {}, ["done", "done"], id="it belongs to the later step"),
        pytest.param(
            finished("02"),
            {"out/01-answer.md": None},
            ["done", "restore"],
            id="the version of the later step is put back",
        ),
    ],
)
def test_an_output_that_a_later_step_changed(
    last: j.Event, changes: dict[str, str | None], expected: list[str]
) -> None:
    changed = msgspec.structs.replace(
        output("02", name="changed"), declared_path="out/01-answer.md", sha256="d" * 64
    )
    state = a_run(*FIRST, begun(PACK, "02"), output("02"), changed, last)
    seen = intact(state, {"out/01-answer.md": "d" * 64, **changes})

    made = planned(state, seen=seen)

    assert [step.decision for step in made.steps][:2] == expected
