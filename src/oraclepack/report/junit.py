"""A pipeline as JUnit XML, which every CI can show: a case per step.

Trouble that belongs to no step (an invalid pack, a failed prelude, a policy that is not met)
has a case of its own, which is there only when there is such trouble.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from io import BytesIO

import msgspec

from oraclepack.answers.verification import Failed
from oraclepack.core.pipeline_report import PipelineTold, Stage, StageStatus
from oraclepack.pack.model import PRELUDE
from oraclepack.run.run_report import RunTold, StepTold
from oraclepack.system.printable import visible

_SPACES = frozenset({0x9, 0xA, 0xD})
_LETTERS = ((0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
"""What XML 1.0 can hold."""
_TAKEN_BACK = "it went well, and the rollback took it back"


class Ending(StrEnum):
    """How a case ended, in the words of the format."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class Case(msgspec.Struct, frozen=True):
    """One case: a step, or a trouble that belongs to none."""

    name: str
    ending: Ending = Ending.PASSED
    kind: str = ""
    """A stable word for the trouble."""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def cases(
    told: PipelineTold, titles: Mapping[str, str], tails: Mapping[str, str]
) -> tuple[Case, ...]:
    """The cases of a pipeline; `tails` are the ends of the logs of failed steps."""
    lacks: dict[str, list[str]] = {}
    for failure in told.verify.failures if told.verify else ():
        lacks.setdefault(failure.step_id, []).append(_lack(failure))
    run = told.run
    steps = [
        _step(step, run, titles, tails.get(step.step_id, ""), lacks.get(step.step_id, []))
        for step in (run.steps if run else ())
    ]
    return (*_invalid(told), *_prelude(told, tails), *steps, *_afterwards(told))


def junit(told: PipelineTold, listed: tuple[Case, ...]) -> bytes:
    """The XML of these cases, in one suite named after the pack."""
    # Only who asks for the file waits for the XML library.
    import junitparser as xml  # noqa: PLC0415

    kinds = {
        Ending.FAILURE: xml.Failure,
        Ending.ERROR: xml.Error,
        Ending.SKIPPED: xml.Skipped,
    }
    suite = xml.TestSuite(_line(told.pack))
    if told.run is not None:
        suite.add_property("run_id", told.run.run_id)
    for case in listed:
        written = xml.TestCase(_line(case.name), _line(told.pack), round(case.seconds, 3))
        if case.ending in kinds:
            result = kinds[case.ending](_line(case.message), case.kind)
            if case.text:
                result.text = _clean(case.text)
            written.result = [result]
        suite.add_testcase(written)
    whole = xml.JUnitXml("oraclepack")
    whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    made = BytesIO()
    whole.write(made, pretty=True)
    return made.getvalue()


def _step(
    step: StepTold, run: RunTold | None, titles: Mapping[str, str], tail: str, lacks: list[str]
) -> Case:
    assert run is not None
    name = f"{step.step_id} {titles.get(step.step_id, '')}".strip()
    made = Case(name, seconds=(step.duration_ms or 0) / 1000)
    if step.step_id in run.failed_steps:
        kind, message = step.error or "FAILED", step.message or "the step failed"
        return _as(made, Ending.FAILURE, kind, message, tail)
    if step.step_id in run.rolled_back_steps:
        return _as(made, Ending.SKIPPED, "rolled_back", _TAKEN_BACK)
    if lacks:
        return _as(made, Ending.FAILURE, "CONTRACT", lacks[0], "\n".join(lacks))
    if step.status in {"ok", "accepted"}:
        return made
    unasked = step.decision == "not_selected" or step.status == "skipped"
    reason = step.reason if unasked else f"not run: {step.reason}"
    return _as(made, Ending.SKIPPED, step.status, reason)


def _as(made: Case, ending: Ending, kind: str, message: str, text: str = "") -> Case:
    return msgspec.structs.replace(made, ending=ending, kind=kind, message=message, text=text)


def _invalid(told: PipelineTold) -> Iterator[Case]:
    if told.status(Stage.VALIDATE) is not StageStatus.FAILED or told.validate is None:
        return
    errors = [one for one in told.validate.findings if one.severity == "error"]
    lines = [f"{told.pack}:{one.line}:{one.column} {one.rule} {one.message}" for one in errors]
    yield Case("validate", Ending.ERROR, "INVALID_PACK", told.stages[0].reason, "\n".join(lines))


def _prelude(told: PipelineTold, tails: Mapping[str, str]) -> Iterator[Case]:
    if told.failed_step == PRELUDE:
        text = tails.get(PRELUDE, "")
        yield Case(PRELUDE, Ending.ERROR, "PRELUDE", "the prelude failed", text)


def _afterwards(told: PipelineTold) -> Iterator[Case]:
    last = told.stages[-1]
    if last.status is StageStatus.FAILED:
        yield Case(last.stage, Ending.ERROR, "PARTIAL_FAILURE", last.reason)
    if told.policy is not None and told.policy.applies and not told.policy.met:
        yield Case("policy", Ending.FAILURE, "POLICY", "; ".join(told.policy.shortfalls))


def _lack(failure: Failed) -> str:
    return f"{failure.path}: {failure.lack}"


def _line(text: str) -> str:
    """What an attribute can hold: one line."""
    return _clean(" ".join(text.split()))


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold, or that would steer who shows the file."""
    return "".join(sign if _is_allowed(sign) else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _is_allowed(sign: str) -> bool:
    code = ord(sign)
    if code in _SPACES:
        return True
    return visible(sign) == sign and any(low <= code <= high for low, high in _LETTERS)
