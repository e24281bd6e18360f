"""The reply of `why`: one step of a pack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from oraclepack.calls.cache import CallExplanation
from oraclepack.calls.key import PartChange, differences
from oraclepack.errors import NotFoundError
from oraclepack.journal.run_dir import every_run
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.tool_call import AttachmentKind, ToolCall
from oraclepack.run.cache_queries import explain_calls
from oraclepack.run.open_run import path_in_project
from oraclepack.run.preview import preview_run
from oraclepack.run.request import RunRequest, read_request
from oraclepack.run.run_report import StepReport, plan_report
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.digests import sha256_bytes, sha256_text
from oraclepack.system.path_jail import read_content
from oraclepack.system.secrets import BLOT
from oraclepack.view.run import read_view
from oraclepack.view.step import shaped


class QuestionChange(msgspec.Struct, frozen=True):
    """A part in which a question differs from the one that the same step asked before."""

    call: int
    change: PartChange


class WhyReport(StepReport, frozen=True, kw_only=True):
    """One step: what would be done with it, what was, and what became of its calls."""

    run_id: str
    run_reason: str
    """Why this run and no other."""
    command_hash: str
    """Of its commands and the prelude, as they are now."""
    recorded_hash: str | None
    """The same when it last ran."""
    calls: tuple[CallExplanation, ...]
    """The calls of oracle in its last attempt."""
    compared_run: str | None = None
    """Where the step has not run in this run: the last run of a pack at this path that ran it."""
    changes: tuple[QuestionChange, ...] = ()
    """In what its questions differ from those of that run, as far as the text of the pack shows."""


def explain_step(
    pack: str | Path, step: str, settings: Settings | None = None
) -> tuple[str, WhyReport]:
    """Why a step ran, was left out or would run: in one sentence, and everything behind it."""
    request = read_request(pack, settings or load_settings(pack))
    selected, plan = preview_run(request)
    report = plan_report(selected, plan)
    step_id = step.zfill(2)
    one = next((one for one in report.steps if one.step_id == step_id), None)
    if one is None:
        known = ", ".join(step.step_id for step in report.steps)
        raise NotFoundError(f"there is no step {step}", hint=f"the pack has the steps {known}")
    planned = next(step for step in plan.steps if step.step_id == step_id)
    # A rehearsal starts over, and so plans against nothing; the last one can still be compared.
    last = read_view(selected.run).state if request.is_rehearsal else selected.state
    state = last.step(step_id)
    compared = None if state.attempts else _last_asked(request, step_id)
    return plan.why(step_id) or one.reason, shaped(
        WhyReport,
        one,
        run_id=report.run_id,
        run_reason=report.reason,
        command_hash=planned.command_hash,
        recorded_hash=state.command_hash,
        calls=explain_calls(request.root, state),
        compared_run=compared[0] if compared else None,
        changes=tuple(_changes(request, step_id, compared[1])) if compared else (),
    )


def _last_asked(request: RunRequest, step_id: str) -> tuple[str, tuple[Invocation, ...]] | None:
    """The last run of a pack at this path in which the step asked something, and its calls."""
    path = path_in_project(request.pack.path, request.root)
    found = []
    for run in every_run(request.root):
        state = read_view(run).state
        asked = [one for one in state.step(step_id).last_invocations() if one.intent is not None]
        if state.created is not None and state.created.pack_path == path and asked:
            found.append((state.last_at or "", run.run_id, tuple(asked)))
    return max(found)[1:] if found else None


def _changes(
    request: RunRequest, step_id: str, asked: Sequence[Invocation]
) -> Iterator[QuestionChange]:
    step = request.pack.step(step_id)
    written = asking_calls(step) if step is not None else ()
    for number, call in enumerate(written, start=1):
        earlier = next((one.intent for one in asked if one.call == number), None)
        if earlier is not None and earlier.key_parts:
            before = dict(earlier.key_parts)
            after = {**before, **_parts_now(request.root, call, before)}
            for change in differences(before, {name: one for name, one in after.items() if one}):
                yield QuestionChange(number, change)


def _parts_now(root: Path, call: ToolCall, before: Mapping[str, str]) -> dict[str, str]:
    """The parts of a question's key that the text and the files show; empty for what is gone."""
    parts: dict[str, str] = {}
    if call.prompt is not None and call.prompt.complete:
        parts["prompt"] = sha256_text(call.prompt.text)
    for name in ("model", "engine"):
        if BLOT in before.get(name, ""):
            continue  # it held a secret, which the text of the pack may hold too
        given = [word.value for word in call.values(f"--{name}") if word.value]
        parts |= {name: given[-1]} if given else {}
    named = [one.value for one in call.attachments if one.kind is AttachmentKind.LITERAL]
    is_whole = len(named) == len(call.attachments) and not call.partly_hidden
    for path in (name.removeprefix("file:") for name in before if name.startswith("file:")):
        data = read_content(root / path).data
        is_kept = not is_whole or any(_covers(one, path) for one in named)
        parts[f"file:{path}"] = sha256_bytes(data) if data is not None and is_kept else ""
    for path in named:
        data = read_content(root / path).data
        if data is not None:
            parts[f"file:{path.removeprefix('./')}"] = sha256_bytes(data)
    return parts


def _covers(attached: str, path: str) -> bool:
    """Whether an attached file or directory is, or holds, this file."""
    folder = attached.removeprefix("./").rstrip("/")
    return folder in {".", "", path} or path.startswith(f"{folder}/")
