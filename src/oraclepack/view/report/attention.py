"""What of a run needs a person, the most urgent first."""

import re
from collections.abc import Iterator

from oraclepack.view.report.data import (
    Attention,
    AttentionKind,
    CallEnd,
    ReportData,
    ReportStep,
)
from oraclepack.work.backlog import WorkStatus

_ORDER = {kind: number for number, kind in enumerate(AttentionKind)}
_MARKDOWN = re.compile(
    r"^ {0,3}#{1,6} |^\s*(?:[-*+]|\d{1,2}[.)])\s+\S|^ {0,3}(?:```|~~~)|^ {0,3}\|.*\||`[^`\n]+`"
    r"|\*\*[^*\n]+\*\*|^ {0,3}>\s",
    re.MULTILINE,
)


def is_capture(text: str) -> bool:
    """Whether an answer was copied from a page: it has no Markdown, so `*` and `_` are literal."""
    return bool(text.strip()) and _MARKDOWN.search(text) is None


def attention_of(data: ReportData) -> tuple[Attention, ...]:
    """Everything that needs a person, by kind and step."""
    items = [*_of_run(data), *_of_work(data)]
    items += [one for step in data.steps for one in _of_step(step, data)]
    return tuple(
        sorted(items, key=lambda one: (_ORDER[one.kind], one.step_id or "", one.task_id or ""))
    )


def _of_run(data: ReportData) -> Iterator[Attention]:
    if data.damage is not None:
        yield Attention(
            kind=AttentionKind.DAMAGED,
            message=f"The journal is damaged: {data.damage}. Only what precedes it is shown.",
            action="oraclepack runs repair",
        )
    if data.foreign is not None:
        yield Attention(
            kind=AttentionKind.FOREIGN,
            message=f"The run cannot be proven to be yours: {data.foreign}.",
            action=f"oraclepack runs trust {data.run_name}",
        )
    if data.is_rehearsal:
        yield Attention(
            kind=AttentionKind.REHEARSAL,
            message="A rehearsal: no model was asked, and the answers say nothing about the code.",
        )

    for one in data.decisions:
        ways = f" ({', '.join(one.options)})" if one.options else ""
        yield Attention(
            kind=AttentionKind.DECISION,
            message=f"The run waits for a person: {one.question}{ways}",
            step_id=one.step_id,
            action=f"oraclepack runs answer {data.run_name} {one.step_id} retry|fail|accept",
        )


def _of_step(step: ReportStep, data: ReportData) -> Iterator[Attention]:
    number = step.step_id
    last = [one for one in step.calls if one.attempt == step.attempts]
    undecided = [one for one in last if one.error.startswith("UNDECIDED")]
    over = [one for one in last if one.error.startswith("BUDGET")]
    if over or step.error_code.startswith("BUDGET"):
        reason = step.reason or over[0].error
        yield Attention(kind=AttentionKind.BUDGET, message=reason, step_id=number)
    elif undecided or (step.state == "failed" and step.error_code == "UNDECIDED"):
        message = undecided[0].error.partition(": ")[2] if undecided else step.reason
        yield Attention(
            kind=AttentionKind.DECISION,
            message=message,
            step_id=number,
            action=f"oraclepack run {data.pack_path} --on-unknown retry|fail",
        )
    elif step.state == "failed":
        message = step.reason or "no reason is known"
        yield Attention(kind=AttentionKind.FAILED, message=message, step_id=number)
    elif step.state == "interrupted":
        is_open = any(one.end is CallEnd.OPEN for one in last)
        paid = "; a call may have been paid for, the next run looks for its answer"
        message = f"It was stopped before its end{paid if is_open else ''}"
        action = f"oraclepack run {data.pack_path}"
        yield Attention(
            kind=AttentionKind.INTERRUPTED, message=message, step_id=number, action=action
        )
    yield from _of_answers(step, data)


def _of_answers(step: ReportStep, data: ReportData) -> Iterator[Attention]:
    number = step.step_id
    cut = next((one.cut for one in step.answers if one.cut), "")
    if cut and not data.is_rehearsal:
        yield Attention(kind=AttentionKind.PARTIAL, message=cut, step_id=number)
    for doubt in step.doubts:
        if doubt.message == cut:
            continue
        yield Attention(kind=AttentionKind.DOUBTFUL, message=doubt.message, step_id=number)
    bad = [quote for one in step.answers for quote in one.quotes if quote.state.is_bad]
    if bad:
        every = sum(len(one.quotes) for one in step.answers)
        named = ", ".join(f"{one.place} ({one.state.replace('_', ' ')})" for one in bad[:2])
        more = f" and {len(bad) - 2} more" if len(bad) > 2 else ""
        message = f"{len(bad)} of {every} citations could not be confirmed: {named}{more}"
        yield Attention(kind=AttentionKind.CITATION, message=message, step_id=number)
    if any(one.is_edited for one in step.answers):
        message = "The answer in the run directory is not what the run recorded"
        yield Attention(kind=AttentionKind.EDITED, message=message, step_id=number)
    for taken in step.accepted:
        message = f"Accepted by hand: {taken}"
        yield Attention(kind=AttentionKind.ACCEPTED, message=message, step_id=number)


def _of_work(data: ReportData) -> Iterator[Attention]:
    failed = {step.step_id for step in data.steps if step.state in {"failed", "interrupted"}}
    for record in data.records:
        if record.status is WorkStatus.CONFLICT:
            kind = AttentionKind.CONFLICT
        elif record.status is WorkStatus.BLOCKED and record.step_id not in failed:
            kind = AttentionKind.BLOCKED
        else:
            continue
        if data.is_rehearsal or record.task_id in data.ticked:
            continue
        yield Attention(
            kind=kind,
            message=record.title,
            step_id=record.step_id,
            task_id=record.task_id,
            action=record.next_step or "",
        )
