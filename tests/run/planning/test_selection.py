import pytest

from oraclepack.errors import Refusal
from oraclepack.run.planning.selection import Rerun, ResolvedSelection, RoiMode, Selection, choose
from tests.packs import a_pack

KNOWN = ("01", "02", "03", "05", "07", "10")


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(Selection(), ResolvedSelection(), id="nothing asked is every step"),
        pytest.param(
            Selection(rerun="all"), ResolvedSelection(rerun=Rerun.ALL), id="a word is a word"
        ),
        pytest.param(
            Selection(rerun="01,3"),
            ResolvedSelection(named=frozenset({"01", "03"})),
            id="short numbers count",
        ),
        pytest.param(
            Selection(steps=" 02 - 07 , 10"),
            ResolvedSelection(steps=frozenset({"02", "03", "05", "07", "10"})),
            id="a range takes the steps there are between its ends",
        ),
        pytest.param(
            Selection(rerun="02-03", steps="02-05"),
            ResolvedSelection(named=frozenset({"02", "03"}), steps=frozenset({"02", "03", "05"})),
            id="a rerun within the steps is no contradiction",
        ),
        pytest.param(
            Selection(resume_from="5"), ResolvedSelection(resume_from="05"), id="resume from a step"
        ),
        pytest.param(
            Selection(steps="05-10", resume_from="05"),
            ResolvedSelection(steps=frozenset({"05", "07", "10"}), resume_from="05"),
            id="steps may begin where the resumption begins",
        ),
        pytest.param(
            Selection(roi_threshold=2.5, roi_mode=RoiMode.UNDER),
            ResolvedSelection(threshold=2.5, roi_mode=RoiMode.UNDER),
            id="a threshold and its side",
        ),
        pytest.param(
            Selection(roi_threshold=0), ResolvedSelection(), id="a threshold of zero is none"
        ),
    ],
)
def test_selections_that_are_read(selection: Selection, expected: ResolvedSelection) -> None:
    assert choose(selection, KNOWN) == expected


HAS = "the pack has the steps 01, 02, 03, 05, 07, 10"
RERUN_TAKES = "--rerun takes all, failed, changed or a list of steps"


@pytest.mark.parametrize(
    ("selection", "message", "hint"),
    [
        pytest.param(
            Selection(rerun="04"), "--rerun: there is no step 04", HAS, id="an unknown step"
        ),
        pytest.param(
            Selection(steps="1,99"), "--steps: there is no step 99", HAS, id="one of two unknown"
        ),
        pytest.param(
            Selection(steps="01-04"), "--steps: there is no step 04", HAS, id="a range without end"
        ),
        pytest.param(
            Selection(steps="001"), "--steps: there is no step 001", HAS, id="too many digits"
        ),
        pytest.param(
            Selection(steps="٣"), "--steps: there is no step ٣", HAS, id="digits of another script"
        ),
        pytest.param(
            Selection(resume_from="end"), "--resume-from: there is no step end", HAS, id="a word"
        ),
        pytest.param(Selection(steps=""), "--steps lacks a step number", HAS, id="an empty list"),
        pytest.param(
            Selection(steps="01,,02"), "--steps lacks a step number", HAS, id="a gap in the list"
        ),
        pytest.param(
            Selection(steps="03-"), "--steps lacks a step number", HAS, id="a range half written"
        ),
        pytest.param(
            Selection(steps="05-02"), "--steps: the range 05-02 runs backwards", "", id="backwards"
        ),
        pytest.param(
            Selection(rerun="fialed"),
            "--rerun fialed: neither a list of steps nor a known word",
            f"did you mean failed? {RERUN_TAKES}",
            id="a word mistyped",
        ),
        pytest.param(
            Selection(rerun="some"),
            "--rerun some: neither a list of steps nor a known word",
            RERUN_TAKES,
            id="a word like no other",
        ),
        pytest.param(
            Selection(roi_threshold=float("nan")),
            "--roi-threshold nan is not a number to compare with",
            "",
            id="no number at all",
        ),
        pytest.param(
            Selection(rerun="01,05", steps="05-10"),
            "--rerun names step 01, which --steps leaves out",
            "give one of the two, or the same steps to both",
            id="rerun outside of the steps",
        ),
        pytest.param(
            Selection(rerun="02", resume_from="05"),
            "--rerun names step 02, but --resume-from begins at 05",
            "leave --resume-from out, or the earlier steps out of --rerun",
            id="rerun before the resumption",
        ),
        pytest.param(
            Selection(steps="01-03,07", resume_from="03"),
            "--steps names step 01, 02, but --resume-from begins at 03",
            "leave --resume-from out, or the earlier steps out of --steps",
            id="steps before the resumption",
        ),
    ],
)
def test_selections_that_are_refused(selection: Selection, message: str, hint: str) -> None:
    assert choose(selection, KNOWN) == Refusal(message, hint)


def test_a_pack_without_steps_says_so() -> None:
    assert choose(Selection(steps="01"), ()) == Refusal(
        "--steps: there is no step 01", "the pack has no steps"
    )


STEPS = a_pack("# 01) ROI=2.5\n:\n# 02) ROI=1\n:\n# 03) no figure\n:\n# 04) ROI=high\n:\n").steps


NO_ROI = "it has no ROI: 0 is under the threshold 2.5"


@pytest.mark.parametrize(
    ("mode", "left_out"),
    [
        pytest.param(
            RoiMode.OVER,
            [None, "its ROI 1 is under the threshold 2.5", NO_ROI, NO_ROI],
            id="over keeps the threshold itself, and nothing without ROI",
        ),
        pytest.param(
            RoiMode.UNDER,
            ["its ROI 2.5 is not under the threshold 2.5", None, None, None],
            id="under leaves the threshold itself out, and keeps what has no ROI",
        ),
    ],
)
def test_the_threshold_has_two_sides(mode: RoiMode, left_out: list[str | None]) -> None:
    chosen = ResolvedSelection(threshold=2.5, roi_mode=mode)

    assert [chosen.against(step) for step in STEPS] == left_out
