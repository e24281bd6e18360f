"""What of a run needs a person, the most urgent first; the same thing in several steps is one."""

from collections.abc import Iterator

from msgspec.structs import replace

from oraclepack.view.calls import CallEnd
from oraclepack.view.report.data import Attention, AttentionKind, Report, ReportStep
from oraclepack.work.backlog import WorkStatus

_ORDER = {kind: number for number, kind in enumerate(AttentionKind)}


def attention_of(data: Report) -> tuple[Attention, ...]:
    """Everything that needs a person, by kind and step."""
    items = [*_of_run(data), *_of_work(data)]
    for step in data.steps:
        items += [replace(one, steps=(step.step_id,)) for one in _of_step(step, data)]
    alike: dict[tuple[str, ...], Attention] = {}
    for one in items:
        key = (one.kind, one.message, one.action, one.task_id or "")
        known = alike.get(key)
        alike[key] = replace(known, steps=(*known.steps, *one.steps)) if known else one
    return tuple(
        sorted(alike.values(), key=lambda one: (_ORDER[one.kind], one.steps, one.task_id or ""))
    )


def _of_run(data: Report) -> Iterator[Attention]:
    run = data.run
    if run.damage is not None:
        yield Attention(
            kind=AttentionKind.DAMAGED,
            message=f"The journal is damaged: {run.damage}. Only what precedes it is shown.",
            action="oraclepack runs repair",
        )
    if run.foreign is not None:
        yield Attention(
            kind=AttentionKind.FOREIGN,
            message=f"The run is not signed with your key: {run.foreign}.",
            action=f"oraclepack runs trust {run.name}",
        )
    if run.rehearsal:
        yield Attention(
            kind=AttentionKind.REHEARSAL,
            message="A rehearsal: no model was asked, and the answers say nothing about the code.",
        )
    for one in data.decisions:
        ways = f" ({', '.join(one.options)})" if one.options else ""
        yield Attention(
            kind=AttentionKind.DECISION,
            message=f"The run waits for a person: {one.question}{ways}",
            steps=(one.step_id,),
            action=f"oraclepack runs answer {run.name} {one.step_id} retry|fail|accept",
        )


def _of_step(step: ReportStep, data: Report) -> Iterator[Attention]:
    last = [one for one in step.calls if one.attempt == step.attempts]
    errors = {step.last_error.code: step.reason} if step.last_error else {}
    for one in reversed(last):
        code, _, message = one.error.partition(": ")
        errors[code] = message
    again = f"oraclepack run {data.run.pack_path}"
    over = [message for code, message in errors.items() if code.startswith("BUDGET")]
    if over:
        yield Attention(kind=AttentionKind.BUDGET, message=step.reason or over[0])
    elif "UNDECIDED" in errors:
        yield Attention(
            kind=AttentionKind.DECISION,
            message=errors["UNDECIDED"],
            action=f"{again} --on-unknown retry|fail",
        )
    elif step.state == "failed":
        yield Attention(kind=AttentionKind.FAILED, message=step.reason or "no reason is known")
    elif step.state == "interrupted":
        is_open = any(one.end is CallEnd.OPEN for one in last)
        paid = "; a call may have been paid for, the next run looks for its answer"
        message = f"It was stopped before its end{paid if is_open else ''}"
        yield Attention(kind=AttentionKind.INTERRUPTED, message=message, action=again)
    yield from _of_answers(step, is_rehearsal=data.run.rehearsal)


def _of_answers(step: ReportStep, *, is_rehearsal: bool) -> Iterator[Attention]:
    cut = next((one.cut for one in step.answers if one.cut), "")
    if cut and not is_rehearsal:
        yield Attention(kind=AttentionKind.PARTIAL, message=cut)
    for doubt in {one.message: one for one in step.doubts if one.message != cut}:
        yield Attention(kind=AttentionKind.DOUBTFUL, message=doubt)
    if step.bad_quotes:
        # What exactly stands beside the answer, so that many steps are one line here.
        message = "Some of the places that the answer cites could not be confirmed"
        yield Attention(kind=AttentionKind.CITATION, message=message)
    if any(one.is_edited for one in step.answers):
        message = "The answer in the run directory is not what the run recorded"
        yield Attention(kind=AttentionKind.EDITED, message=message)
    for taken in step.accepted:
        reason = f": {taken.reason}" if taken.reason else ""
        message = f"Accepted by hand: {taken.path}{reason}"
        yield Attention(kind=AttentionKind.ACCEPTED, message=message)


def _of_work(data: Report) -> Iterator[Attention]:
    failed = {step.step_id for step in data.steps if step.state in {"failed", "interrupted"}}
    kinds = {
        WorkStatus.CONFLICT: AttentionKind.CONFLICT,
        WorkStatus.BLOCKED: AttentionKind.BLOCKED,
    }
    for record in () if data.run.rehearsal else data.records:
        kind = kinds.get(record.status)
        is_known = kind is AttentionKind.BLOCKED and record.step_id in failed
        if kind is None or is_known or record.task_id in data.ticked:
            continue
        yield Attention(
            kind=kind,
            message=record.title,
            steps=(record.step_id,),
            task_id=record.task_id,
            action=record.next_step or "",
        )
