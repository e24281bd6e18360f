import pytest

from oraclepack.errors import MachineError, OraclePackError, Refusal, UsageError
from oraclepack.pack.model import Pack, command_hash
from oraclepack.run.planning.plan import Decision
from tests.packs import a_pack
from tests.run.planning.plans import a_plan, planned

PLAN = a_plan(
    planned("01"),
    planned("02", decision=Decision.DONE),
    planned("03", decision=Decision.SKIPPED),
    planned("04", decision=Decision.NOT_SELECTED),
)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param("01", "step 01 runs: the test says so", id="runs"),
        pytest.param("02", "step 02 is done: the test says so", id="done"),
        pytest.param("03", "step 03 is skipped: the test says so", id="skipped"),
        pytest.param("04", "step 04 is not selected: the test says so", id="not selected"),
        pytest.param("05", None, id="unknown"),
    ],
)
def test_why(step: str, expected: str | None) -> None:
    assert PLAN.why(step) == expected


def test_only_steps_that_run_are_to_run() -> None:
    assert [step.step_id for step in PLAN.to_run] == ["01"]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        pytest.param(Refusal("no", "do so"), UsageError, id="a wrong request"),
        pytest.param(Refusal("no", "do so", MachineError), MachineError, id="a missing program"),
    ],
)
def test_a_refusal_becomes_an_error(refusal: Refusal, kind: type[OraclePackError]) -> None:
    error = refusal.error()

    assert (type(error), error.message, error.hint) == (kind, "no", "do so")


BASE = a_pack("x=1\n# 01) ROI=1\necho a\n")


@pytest.mark.parametrize(
    ("pack", "same"),
    [
        pytest.param(a_pack("x=1\n# 01) ROI=2 other words\necho a\n"), True, id="another header"),
        pytest.param(a_pack("x=1\n# 01) ROI=1\necho a\n", after="More.\n"), True, id="more text"),
        pytest.param(a_pack("x=1\n# 01) ROI=1\necho b\n"), False, id="another command"),
        pytest.param(a_pack("x=2\n# 01) ROI=1\necho a\n"), False, id="another prelude"),
        pytest.param(a_pack("# 01) ROI=1\necho a\n"), False, id="no prelude"),
    ],
)
def test_what_makes_a_command_another_one(pack: Pack, same: bool) -> None:
    assert (command_hash(pack, pack.steps[0]) == command_hash(BASE, BASE.steps[0])) is same


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        pytest.param(Refusal("no step is numbered 21"), "no step is numbered 21", id="a reason"),
        pytest.param(
            Refusal("it is a directory", subject="--write-output out"),
            "--write-output out: it is a directory",
            id="a reason that does not name what is refused",
        ),
    ],
)
def test_what_a_refusal_says(refusal: Refusal, said: str) -> None:
    assert (str(refusal), refusal.error().message) == (said, said)
