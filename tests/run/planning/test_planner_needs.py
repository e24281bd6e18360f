import msgspec
import pytest

from oraclepack.errors import MachineError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import Pack
from oraclepack.run.planning.planner import DiskSnapshot, plan
from oraclepack.run.planning.selection import Selection
from tests.events import finished, output
from tests.packs import a_pack, some_steps
from tests.run.planning.recorded import (
    DONE,
    NEW,
    PACK,
    a_run,
    begun,
    decisions,
    planned,
    well,
)

CHAIN = a_pack(
    some_steps(
        [
            "codex exec -o plan.md 'plan'",
            "oracle -p 'Check it' -f plan.md --write-output check.md",
            "if command -v gemini; then gemini -p x; else echo SKIP; fi",
            "if [ -f x ]; then codex exec 'go'; fi",
        ]
    )
)


def test_missing_tools() -> None:
    missing = frozenset({"codex", "gemini", "task-master"})

    made = planned(seen=DiskSnapshot(missing_tools=missing), pack=CHAIN)

    assert decisions(made) == ["skipped: codex is not on PATH", NEW, NEW, NEW]
    assert [step.skip_reason for step in made.steps] == ["tool_missing: codex", None, None, None]
    assert [step.barrier for step in made.steps] == [True, False, True, True]
    assert made.steps[1].warnings == ("it reads what step 01 writes, and that step is skipped",)
    assert made.refusal is None


def test_several_missing_tools_are_all_named() -> None:
    pack = a_pack(some_steps(["codex exec x\ntm list"]))

    made = planned(seen=DiskSnapshot(missing_tools=frozenset({"codex", "task-master"})), pack=pack)

    assert decisions(made) == ["skipped: codex, task-master are not on PATH"]


@pytest.mark.parametrize(
    ("selection", "pack", "expected"),
    [
        pytest.param(
            Selection(),
            PACK,
            "oracle is not on PATH, and steps 01, 02, 03 call it",
            id="every step needs it",
        ),
        pytest.param(
            Selection(),
            a_pack(some_steps([f"oracle -p {n} --write-output {n}.md" for n in range(20)])),
            "oracle is not on PATH, and 20 steps call it",
            id="many steps are counted",
        ),
        pytest.param(
            Selection(steps="2"),
            CHAIN,
            "oracle is not on PATH, and step 02 calls it",
            id="only steps that run count",
        ),
        pytest.param(
            Selection(),
            a_pack(some_steps(["oracle -p x --write-output x.md"])),
            "oracle is not on PATH",
            id="a single step needs no number",
        ),
        pytest.param(Selection(steps="1"), CHAIN, None, id="it was not asked for"),
        pytest.param(
            Selection(),
            a_pack(some_steps(["command -v oracle || { echo SKIP; exit 0; }\noracle -p x"])),
            None,
            id="a step that guards itself does without",
        ),
    ],
)
def test_without_oracle(selection: Selection, pack: Pack, expected: str | None) -> None:
    made = planned(
        selection=selection, seen=DiskSnapshot(missing_tools=frozenset({"oracle"})), pack=pack
    )

    assert (made.refusal.reason if made.refusal else None) == expected
    assert made.refusal is None or isinstance(made.refusal.error(), MachineError)


def chained(*events: j.Event) -> RunState:
    return a_run(*events, pack=CHAIN)


@pytest.mark.parametrize(
    ("state", "selection", "expected"),
    [
        pytest.param(
            EMPTY,
            Selection(steps="02"),
            ("it reads what step 01 writes, and that step is pending and not selected",),
            id="what it needs never ran",
        ),
        pytest.param(EMPTY, Selection(), (), id="what it needs runs before it"),
        pytest.param(
            chained(*well(CHAIN, "01")), Selection(steps="02"), (), id="what it needs is done"
        ),
        pytest.param(
            chained(*well(CHAIN, "01"), *well(CHAIN, "02")),
            Selection(rerun="01"),
            (),
            id="no warning about a step that is not selected",
        ),
        pytest.param(
            chained(begun(CHAIN, "01"), finished("01", Status.FAILED), *well(CHAIN, "02")),
            Selection(),
            ("step 01, whose output it reads, runs again",),
            id="what a done step read is made anew",
        ),
    ],
)
def test_warnings_about_needed_steps(
    state: RunState, selection: Selection, expected: tuple[str, ...]
) -> None:
    assert planned(state, selection, pack=CHAIN).steps[1].warnings == expected


def test_steps_come_in_the_order_of_their_ids() -> None:
    made = planned(pack=a_pack("# 02) b\n:\n# 01) a\n:\n"))

    assert [step.step_id for step in made.steps] == ["01", "02"]


@pytest.mark.parametrize(
    ("pack", "selection", "message"),
    [
        pytest.param(
            a_pack("# 01) a\n:\n# 01) b\n:\n"),
            Selection(),
            "the pack has more than one step 01",
            id="a number given twice",
        ),
        pytest.param(PACK, Selection(steps="9"), "--steps: there is no step 9", id="unknown step"),
    ],
)
def test_what_cannot_be_planned(pack: Pack, selection: Selection, message: str) -> None:
    made = plan(pack, EMPTY, selection, DiskSnapshot())

    assert isinstance(made, Refusal)
    assert made.reason == message


def test_an_output_without_a_declared_path_is_judged_by_its_copy() -> None:
    bare = msgspec.structs.replace(output("01"), declared_path=None)
    state = a_run(begun(PACK, "01"), bare, finished("01"))

    assert decisions(planned(state))[0] == DONE
    assert decisions(planned(state, seen=DiskSnapshot()))[0].endswith(
        "outputs/01-answer.md is gone"
    )


@pytest.mark.parametrize(
    ("body", "is_refused"),
    [
        pytest.param("oracle -p 'Why?' --write-output out/01.md", True, id="it asks"),
        pytest.param("true", False, id="it asks nothing"),
    ],
)
def test_without_space_for_the_records_of_oracle_nothing_is_asked(
    body: str, is_refused: bool
) -> None:
    full = DiskSnapshot(lacks_space="the home of oracle is full")

    made = planned(seen=full, pack=a_pack(some_steps([body])))

    assert (made.refusal is not None and made.refusal.reason == full.lacks_space) is is_refused
