"""The reply of `list`: the steps of a pack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from oraclepack.pack.contract import contracts_of
from oraclepack.pack.model import HEADER_FIELDS, Pack, Step
from oraclepack.pack.pack_files import read_pack
from oraclepack.pack.questions import questions_of, short_title
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.environment import has_runs
from oraclepack.system.paging import Paged
from oraclepack.view.past_runs import last_statuses
from oraclepack.view.step import declared


class ListedOutput(msgspec.Struct, frozen=True):
    """A declared output, the contract it must meet, and what in the step says so."""

    path: str
    known: bool
    """False when only the running shell knows the path."""
    declared_by: str
    contract: str
    sections: tuple[str, ...]
    reason: str
    """What in the step asks for this contract."""
    line: int | None


class ListedStep(msgspec.Struct, frozen=True):
    """One step at a glance."""

    step_id: str
    title: str
    line: int
    roi: float | None
    impact: float | None
    confidence: float | None
    effort: float | None
    horizon: str | None
    category: str | None
    reference: str | None
    question_id: str | None
    tools: tuple[str, ...]
    calls: int
    questions: int
    outputs: tuple[ListedOutput, ...]
    status: str | None = None
    """How it stands in the run that would be continued; null when there is none."""
    attributes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The header's attributes as written: `impact: High` is no number, and null above."""


class StepList(Paged, frozen=True):
    """The steps of a pack."""

    path: str
    pack_hash: str
    out_dir: str | None
    steps: tuple[ListedStep, ...]
    run_id: str | None = None
    """The run that would be continued."""


def list_steps(pack: str | Path, settings: Settings | None = None) -> StepList:
    """The steps of a pack, with their status in the run that would be continued."""
    root = Path((settings or load_settings(pack)).root)
    read = read_pack(Path(pack))
    return listing(read, *last_statuses(root, read)) if has_runs(root) else listing(read)


def listing(
    pack: Pack, run_id: str | None = None, statuses: Mapping[str, str] | None = None
) -> StepList:
    words = statuses or {}
    steps = tuple(_listed(step, words.get(step.id)) for step in pack.steps)
    return StepList(pack.path, pack.pack_hash, pack.out_dir, steps, run_id)


def _listed(step: Step, status: str | None) -> ListedStep:
    texts = {name: step.attribute(name) for name in HEADER_FIELDS}
    return ListedStep(
        **declared(step) | {"title": short_title(step)},
        step_id=step.id,
        line=step.header.span.line,
        calls=len(step.calls),
        questions=questions_of(step),
        outputs=_outputs(step),
        status=status,
        attributes={name: text for name, text in texts.items() if text is not None},
    )


def _outputs(step: Step) -> tuple[ListedOutput, ...]:
    return tuple(
        ListedOutput(
            path=contract.path,
            known=output.path.value is not None,
            declared_by=output.origin,
            contract=contract.kind,
            sections=tuple(contract.sections),
            reason=contract.because,
            line=contract.line,
        )
        for output, contract in zip(step.outputs, contracts_of(step), strict=True)
    )
