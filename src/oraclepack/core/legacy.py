"""`<pack-stem>.state.json` and `<pack-stem>.report.json`: the files of the older tool.

Nobody ever fixed their shape, so ours is a schema of its own, and reading takes
whatever names a step and says how it went.
"""

from pathlib import PurePosixPath

import msgspec

from oraclepack.core.errors import InputError
from oraclepack.core.manifest import StepEntry, StepsManifest
from oraclepack.core.regex import regex
from oraclepack.core.result import Status, StepError, Verification
from oraclepack.core.runstate import RunState

SCHEMA_VERSION = 1

_ID = regex(r"0*[1-9][0-9]?")
_WORDS = {
    Status.PENDING: "pending",
    Status.RUNNING: "running",
    Status.OK: "succeeded",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
}
_READ_AS = {
    "succeeded": Status.OK,
    "success": Status.OK,
    "ok": Status.OK,
    "done": Status.OK,
    "completed": Status.OK,
    "failed": Status.FAILED,
    "error": Status.FAILED,
    "skipped": Status.SKIPPED,
    "running": Status.RUNNING,
    "pending": Status.PENDING,
}


class LegacyStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step in the state file."""

    status: str
    """`pending`, `running`, `succeeded`, `failed` or `skipped`."""
    started_at: str | None
    finished_at: str | None
    exit_code: int | None
    verification: Verification | None
    stdout_log: str | None
    stderr_log: str | None


class LegacyState(msgspec.Struct, frozen=True, kw_only=True):
    """The state file."""

    schema_version: int
    pack_path: str
    pack_hash: str
    run_dir: str
    steps: dict[str, LegacyStep]


class LegacyResult(msgspec.Struct, frozen=True, kw_only=True):
    """A step in the report file."""

    step_id: str
    title: str | None
    result: str
    skip_reason: str | None
    attempts: int
    exit_code: int | None
    duration_ms: int | None
    error: StepError | None
    verification: Verification | None
    outputs: tuple[str, ...]
    changed_files: tuple[str, ...]
    """What it left changed in the work tree, besides."""
    stdout_log: str | None
    stderr_log: str | None


class LegacyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report file."""

    schema_version: int
    pack_path: str
    pack_hash: str
    run_dir: str
    status: str
    started_at: str | None
    finished_at: str | None
    duration_ms: int
    """The sum over the steps: what a run would take one step at a time."""
    counts: dict[str, int]
    steps: tuple[LegacyResult, ...]


def file_names(pack_path: str) -> tuple[str, str]:
    """The names of the state file and the report file of a pack."""
    stem = PurePosixPath(pack_path).stem
    return f"{stem}.state.json", f"{stem}.report.json"


def legacy_state(manifest: StepsManifest, state: RunState, run_dir: str) -> LegacyState:
    """The state file; paths in it are relative to the project root, like `run_dir`."""
    return LegacyState(
        schema_version=SCHEMA_VERSION,
        pack_path=state.created.pack_path if state.created else "",
        pack_hash=state.created.pack_hash if state.created else "",
        run_dir=run_dir,
        steps={
            entry.step_id: LegacyStep(
                status=_WORDS[state.step(entry.step_id).status],
                started_at=entry.started_at,
                finished_at=entry.finished_at,
                exit_code=entry.exit_code,
                verification=entry.verification,
                stdout_log=_under(run_dir, entry.stdout_log),
                stderr_log=_under(run_dir, entry.stderr_log),
            )
            for entry in manifest.steps
        },
    )


def legacy_report(manifest: StepsManifest, state: RunState, run_dir: str) -> LegacyReport:
    """The report file; paths in it are relative to the project root, like `run_dir`."""
    statuses = [state.step(entry.step_id).status for entry in manifest.steps]
    return LegacyReport(
        schema_version=SCHEMA_VERSION,
        pack_path=state.created.pack_path if state.created else "",
        pack_hash=state.created.pack_hash if state.created else "",
        run_dir=run_dir,
        status=state.status,
        started_at=state.created.at if state.created else None,
        finished_at=state.finished_at,
        duration_ms=sum(entry.duration_ms or 0 for entry in manifest.steps),
        counts={"total": len(statuses)}
        | {word: statuses.count(status) for status, word in _WORDS.items()},
        steps=tuple(_result(entry, state, run_dir) for entry in manifest.steps),
    )


def _result(entry: StepEntry, state: RunState, run_dir: str) -> LegacyResult:
    return LegacyResult(
        step_id=entry.step_id,
        title=entry.title,
        result=_WORDS[state.step(entry.step_id).status],
        skip_reason=entry.skip_reason,
        attempts=entry.attempts,
        exit_code=entry.exit_code,
        duration_ms=entry.duration_ms,
        error=entry.last_error,
        verification=entry.verification,
        outputs=tuple(output.declared_path or output.path for output in entry.outputs),
        changed_files=entry.changes.files if entry.changes else (),
        stdout_log=_under(run_dir, entry.stdout_log),
        stderr_log=_under(run_dir, entry.stderr_log),
    )


def _under(run_dir: str, path: str | None) -> str | None:
    return None if path is None else f"{run_dir}/{path}"


def import_state(data: bytes) -> dict[str, Status]:
    """How each step went, from a state file of the older tool (or of ours).

    Taken are `{"steps": {"01": {"status": "succeeded"}}}`, the same with a bare word
    in place of the object, and a list of objects with `id`, `step`, `step_id` or
    `number`, under `steps` or on its own. Other spellings of a status are left out:
    a step that may not have succeeded runs again.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"the state file is not JSON: {problem}") from None
    steps = value.get("steps") if isinstance(value, dict) else value
    if not isinstance(steps, dict | list):
        raise InputError(
            "the state file has no steps",
            hint='it needs "steps": an object by step number, or a list of objects with a number',
        )
    pairs = steps.items() if isinstance(steps, dict) else ((_number(s), s) for s in steps)
    read = {_step_id(key): _status(step) for key, step in pairs}
    return {key: status for key, status in sorted(read.items()) if key and status}


def _number(step: object) -> object:
    if not isinstance(step, dict):
        return None
    return next((step[key] for key in ("step_id", "id", "step", "number") if key in step), None)


def _step_id(key: object) -> str:
    text = str(key).strip() if isinstance(key, str | int) else ""
    return text[-2:].zfill(2) if _ID.fullmatch(text) else ""


def _status(step: object) -> Status | None:
    word = step.get("status", step.get("state")) if isinstance(step, dict) else step
    return _READ_AS.get(word.strip().lower()) if isinstance(word, str) else None
