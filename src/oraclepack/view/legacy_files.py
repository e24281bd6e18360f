"""`<pack-stem>.state.json` and `<pack-stem>.report.json`: the files of the Go tool.

Ours has a schema of its own that includes the keys of the Go tool, and reading accepts any
shape that names a step and its result.
"""

import re
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.errors import InputError, StepError
from oraclepack.journal.statuses import Status, Verification
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_text
from oraclepack.system.files import HOME
from oraclepack.view.run import RunView
from oraclepack.view.step import StepView, shaped

SCHEMA_VERSION = 1

_ID = re.compile(r"0*[1-9][0-9]?")
_WORDS = {
    Status.PENDING: "pending",
    Status.RUNNING: "running",
    Status.OK: "succeeded",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
}
_GO_WORDS = {**_WORDS, Status.OK: "success"}
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
    outputs: dict[str, str] = msgspec.field(default_factory=dict)
    """The SHA-256 of every recorded output, by its path relative to the project root."""


class GoStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A step in the state file, in the words of the Go tool."""

    status: str
    """`pending`, `running`, `success`, `failed` or `skipped`."""
    exit_code: int
    started_at: str | None
    ended_at: str | None
    error: str | None


class GoSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the report, in the words of the Go tool."""

    total_steps: int
    success_count: int
    failure_count: int
    skipped_count: int
    total_duration: int
    """Nanoseconds."""
    total_duration_ms: int


class GoPackInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The pack in the report, in the words of the Go tool."""

    name: str
    hash: str


class LegacyState(msgspec.Struct, frozen=True, kw_only=True):
    """The state file."""

    schema_version: int
    pack_path: str
    pack_hash: str
    run_dir: str
    steps: dict[str, LegacyStep]
    start_time: str | None = None
    """As the Go tool writes it: when the run began."""
    step_statuses: dict[str, GoStatus] = msgspec.field(default_factory=dict)
    """As the Go tool writes them; the same as `steps`."""


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
    id: str = ""
    """As the Go tool writes it: `step_id`."""
    status: str = ""
    """As the Go tool writes it: `result`, with `success` for `succeeded`."""
    duration: int = 0
    """As the Go tool writes it: nanoseconds."""
    accepted: tuple[str, ...] = ()
    """Outputs that a person took as they are."""


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
    summary: GoSummary | None = None
    pack_info: GoPackInfo | None = None
    generated_at: str | None = None
    """When the run last changed: these three are as the Go tool writes them."""


class Maker(StrEnum):
    """The program that wrote a state or report file."""

    OURS = "ours"
    GO = "go"
    OTHER = "other"
    """A JSON object of another shape: not ours to overwrite."""
    UNREADABLE = "unreadable"
    """No JSON object, or an empty one: damaged, or empty."""


def maker_of(data: bytes) -> tuple[Maker, str]:
    """Who wrote a state or report file, and of ours the pack it belongs to."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Maker.UNREADABLE, ""
    if not isinstance(value, dict) or not any(value.values()):
        return Maker.UNREADABLE, ""
    if isinstance(value.get("run_dir"), str):
        return Maker.OURS, str(value.get("pack_path", ""))
    go = isinstance(value.get("step_statuses"), dict) or isinstance(value.get("pack_info"), dict)
    return (Maker.GO if go else Maker.OTHER), ""


def file_names(pack_path: str) -> tuple[str, str]:
    """The names of the state file and the report file of a pack."""
    return all_file_names(pack_path)[:2]


def all_file_names(pack_path: str) -> tuple[str, str, str, str]:
    """The same, then their names where a pack of that name in another folder has the plain ones."""
    stem = PurePosixPath(pack_path).stem
    own = f"{stem}.{sha256_text(pack_path)[:8]}"
    return f"{stem}.state.json", f"{stem}.report.json", f"{own}.state.json", f"{own}.report.json"


def legacy_state(view: RunView) -> LegacyState:
    """The state file; paths in it are relative to the project root."""
    statuses = _statuses(view)
    return LegacyState(
        schema_version=SCHEMA_VERSION,
        pack_path=view.pack_path,
        pack_hash=view.pack_hash,
        run_dir=view.run_dir,
        steps={
            step.step_id: shaped(
                LegacyStep,
                step,
                status=_WORDS[status],
                stdout_log=_under(view.run_dir, step.stdout_log),
                stderr_log=_under(view.run_dir, step.stderr_log),
                outputs={
                    one.declared_path: one.sha256 for one in step.outputs if one.declared_path
                },
            )
            for step, status in statuses
        },
        start_time=view.created_at,
        step_statuses={
            step.step_id: GoStatus(
                status=_GO_WORDS[status],
                exit_code=step.exit_code or 0,
                started_at=step.started_at,
                ended_at=step.finished_at,
                error=step.last_error.message if step.last_error else None,
            )
            for step, status in statuses
        },
    )


def legacy_report(view: RunView) -> LegacyReport:
    """The report file; paths in it are relative to the project root."""
    statuses = [status for _, status in _statuses(view)]
    took = sum(step.duration_ms or 0 for step in view.steps)
    return LegacyReport(
        schema_version=SCHEMA_VERSION,
        pack_path=view.pack_path,
        pack_hash=view.pack_hash,
        run_dir=view.run_dir,
        status=view.state.status,
        started_at=view.created_at,
        finished_at=view.finished_at,
        duration_ms=took,
        counts={"total": len(statuses)}
        | {word: statuses.count(status) for status, word in _WORDS.items()},
        steps=tuple(_result(step, status, view.run_dir) for step, status in _statuses(view)),
        summary=GoSummary(
            total_steps=len(statuses),
            success_count=statuses.count(Status.OK),
            failure_count=statuses.count(Status.FAILED),
            skipped_count=statuses.count(Status.SKIPPED),
            total_duration=took * 1_000_000,
            total_duration_ms=took,
        ),
        pack_info=GoPackInfo(name=PurePosixPath(view.pack_path).name, hash=view.pack_hash),
        generated_at=view.state.last_at,
    )


def _statuses(view: RunView) -> list[tuple[StepView, Status]]:
    """Each step with its recorded status: these files know `running`."""
    return [(step, view.state.step(step.step_id).status) for step in view.steps]


def _result(step: StepView, status: Status, run_dir: str) -> LegacyResult:
    return shaped(
        LegacyResult,
        step,
        result=_WORDS[status],
        error=step.last_error,
        outputs=tuple(output.declared_path or output.path for output in step.outputs),
        changed_files=step.changes.files if step.changes else (),
        stdout_log=_under(run_dir, step.stdout_log),
        stderr_log=_under(run_dir, step.stderr_log),
        id=step.step_id,
        status=_GO_WORDS[status],
        duration=(step.duration_ms or 0) * 1_000_000,
        accepted=tuple(one.path for one in step.accepted),
    )


def _under(run_dir: str, path: str | None) -> str | None:
    return None if path is None else f"{run_dir}/{path}"


def import_state(data: bytes) -> dict[str, Status]:
    """How each step went, from a state file of the Go tool (or of ours).

    Taken are `{"step_statuses": {"01": {"status": "success"}}}`, which is what the Go tool
    writes, the same under `steps` and with a bare word
    in place of the object, and a list of objects with `id`, `step`, `step_id` or
    `number`, under `steps` or on its own. Other spellings of a status are left out:
    a step that may not have succeeded runs again.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"the state file is not JSON: {problem}") from None
    steps = value.get("steps", value.get("step_statuses")) if isinstance(value, dict) else value
    if not isinstance(steps, dict | list):
        raise InputError(
            "the state file has no steps",
            hint='it needs "step_statuses" or "steps": an object by step number, or a list of '
            "objects with a number",
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


def names_for(root: Path, pack_path: str, folder: str = "") -> tuple[str, str]:
    """The names of the state and report file of a pack, which lie in this folder of the project.

    The plain ones, unless they belong to a pack of the same name in another folder, or to
    another program. A pack that has names of its own keeps them.
    """
    place = f"{folder}/" if folder else ""
    names = [f"{place}{name}" for name in all_file_names(pack_path)]
    plain, own = (names[0], names[1]), (names[2], names[3])
    if (root / own[0]).is_file():
        return own
    for name in plain:
        data = files.read(root / name) if (root / name).is_file() else None
        maker, owner = (None, "") if data is None else maker_of(data)
        is_ours = maker is Maker.OURS
        if maker is Maker.OTHER or (is_ours and owner != pack_path and (root / owner).is_file()):
            return own
    return plain


def refuse_directories(root: Path, pack_path: str) -> None:
    """Raise where a directory has the name of one of the files: no file can replace it."""
    for name in names_for(root, pack_path):
        place = root / name
        if place.is_dir() and not place.is_symlink():
            raise InputError(
                f"{name} is a directory, and the state of the run is to be written there",
                hint="move it away, or keep these files in .oraclepack with --no-legacy-files",
            )


def files_of_go(root: Path, pack_path: str) -> tuple[str, ...]:
    """The plain files that the Go tool has written, as far as there are any: the state first."""
    names = names_for(root, pack_path)
    if names != file_names(pack_path):
        return ()
    contents = {name: files.read(root / name) for name in names if (root / name).is_file()}
    return tuple(name for name, data in contents.items() if data and maker_of(data)[0] is Maker.GO)


def own_state(root: Path, pack_path: str, pack_hash: str) -> tuple[str, bytes] | None:
    """Our own state file of this content of a pack, with its name, where its run is gone."""
    for name in (names_for(root, pack_path, folder)[0] for folder in ("", HOME)):
        data = files.read(root / name) if (root / name).is_file() else None
        if data is None or maker_of(data) != (Maker.OURS, pack_path):
            continue
        try:
            state = msgspec.json.decode(data, type=LegacyState)
        except msgspec.MsgspecError:
            continue
        if state.pack_hash == pack_hash and not (root / state.run_dir).exists():
            return name, data
    return None


def output_hashes(data: bytes) -> dict[str, dict[str, str]]:
    """The outputs that our own state file names, with their hashes, by step."""
    state = msgspec.json.decode(data, type=LegacyState)
    return {step_id: step.outputs for step_id, step in state.steps.items()}


def may_replace(root: Path, name: str) -> bool:
    """A file of the Go tool is only replaced once there is a copy of it."""
    data = files.read(root / name) if (root / name).is_file() else None
    if data is None or maker_of(data)[0] is not Maker.GO:
        return True
    return _copy_for(root, name).exists()


def keep_original(root: Path, name: str) -> str:
    """Copy a file beside itself before ours replaces it; the name of the copy."""
    copy = _copy_for(root, name)
    if copy.exists():  # of a command that was killed after it
        return copy.name
    try:
        file_moves.copy(root / name, copy)
    except OSError as trouble:
        raise files.cannot("keep a copy of", root / name, trouble) from trouble
    return copy.name


def _copy_for(root: Path, name: str) -> Path:
    """The copy of a file as it is now, or the free name for it."""
    now, number = files.read(root / name), 1
    while True:
        copy = root / f"{name}.bak{'' if number == 1 else f'-{number}'}"
        if not copy.exists() or files.read(copy) == now:
            return copy
        number += 1
