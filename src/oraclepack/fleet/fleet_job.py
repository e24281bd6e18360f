"""The jobs of a fleet: one pack of one repository at one commit each. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

import msgspec

from oraclepack.errors import InputError, Refusal, UsageError
from oraclepack.settings.call_settings import SHARING_SETTINGS
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import Layer, SettingValue, resolve
from oraclepack.system.digests import canonical_line, sha256_bytes

FLEET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ID_LENGTH = 16
_OF_THE_MACHINE = tuple(one.name for one in SHARING_SETTINGS)
"""Settings that no job has: they would lead its worker to another store."""

SettingText = str | int | float | bool


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It ended, and some step failed; running the fleet again continues it."""
    UNDECIDED = "undecided"
    """It ended with calls that may have been paid for and have no known end."""
    STOPPED = "stopped"


OVER = frozenset({JobState.DONE, JobState.FAILED, JobState.UNDECIDED, JobState.STOPPED})


class JobSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a job runs: a pack of the repository, a text, or a pack that is generated there."""

    repo: str
    """A path or a URL that git can fetch from."""
    ref: str = "HEAD"
    pack: str | None = None
    """Relative to the top of the repository."""
    pack_text: str | None = None
    """Instead of the file that the commit has at that path."""
    generate: dict[str, SettingText | list[str]] | None = None
    settings: dict[str, SettingText] = {}

    @property
    def pack_name(self) -> str:
        """`docs/pack.md`; for a pack that is generated, the options that tell it from others."""
        if self.generate is None:
            return self.pack or ""
        options = (f"{name}={_option_text(value)}" for name, value in sorted(self.generate.items()))
        return " ".join(("generated", *options))


def _option_text(value: SettingText | list[str]) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


class ManifestLine(JobSource, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job as a manifest names it; a misspelled field would run something else."""


class FleetGenerateOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `generate` of a job may say: options of `oraclepack generate`, for one pack."""

    count: Annotated[int, msgspec.Meta(ge=1, le=99)] = 10
    focus: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    since: str = ""
    """A commit of the history; branches have no names in a workspace."""
    extra_files: tuple[str, ...] = ()
    out: str = ""
    out_dir: str = ""
    model: str = ""
    engine: str = ""
    constraints: str = ""
    non_goals: str = ""
    oracle_flags: str | None = None


def generate_options(given: Mapping[str, object]) -> FleetGenerateOptions:
    """The options in a manifest. Raises InputError where `generate` has no such option."""
    try:
        return msgspec.convert(given, FleetGenerateOptions)
    except msgspec.ValidationError as trouble:
        known = ", ".join(FleetGenerateOptions.__struct_fields__)
        raise InputError(f"`generate`: {trouble}", hint=f"its options are {known}") from None


class JobSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a job is, as its runner reports it."""

    run_id: str | None = None
    steps: int = 0
    ok: int = 0
    failed: int = 0
    skipped: int = 0
    calls: int = 0
    from_cache: int = 0
    undecided: int = 0
    in_flight: dict[str, int] = {}
    """Calls without an outcome by provider, while it runs."""
    cost: str | None = None
    """US dollars as a decimal number; None when nothing is known."""
    message: str = ""
    host: str = ""


class FleetJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job as the store has it."""

    id: str
    fleet: str
    commit: str
    source: JobSource
    state: JobState = JobState.QUEUED
    takes: int = 0
    """How often a worker took it."""
    host: str | None = None
    exit_code: int | None = None
    summary: JobSummary = msgspec.field(default_factory=JobSummary)
    run_dir: str | None = None
    """Where its worker keeps the run directory."""


class FleetPolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for all jobs of a fleet, wherever they run."""

    max_cost: Decimal | None = None
    """US dollars that all their calls together may cost; None is no limit."""
    unknown_after: float | None = None
    """Seconds after which a call without a known end is made again; None is never."""


def make_job(fleet: str, source: JobSource, commit: str) -> FleetJob:
    """A job whose id follows from what it runs, so that submitting it twice is one job."""
    content = canonical_line({"commit": commit, "source": msgspec.to_builtins(source)})
    return FleetJob(
        id=sha256_bytes(content)[:_ID_LENGTH], fleet=fleet, commit=commit, source=source
    )


def check_name(fleet: str) -> str:
    if not FLEET_NAME.fullmatch(fleet):
        raise UsageError(
            f"{fleet!r} is no name of a fleet",
            hint="lower-case letters, digits, dots, dashes and underscores, at most 63",
        )
    return fleet


def is_commit(text: str) -> bool:
    return bool(_COMMIT.fullmatch(text))


def read_manifest(data: bytes, name: str) -> tuple[JobSource, ...] | Refusal:
    """The lines of a manifest: one JSON object each; empty lines and `#` lines are ignored."""
    sources: list[JobSource] = []
    for number, line in enumerate(data.splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        try:
            line_read = msgspec.json.decode(text, type=ManifestLine)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
            return Refusal(f"{name}:{number}: {trouble}", _MANIFEST_HINT)
        source = JobSource(**msgspec.structs.asdict(line_read))
        if fault := _fault(source):
            return Refusal(f"{name}:{number}: {fault}", _MANIFEST_HINT)
        sources.append(source)
    if not sources:
        return Refusal(f"{name} names no job", _MANIFEST_HINT)
    return tuple(sources)


_MANIFEST_HINT = (
    'one line for each job, such as {"repo": "../shop", "pack": "docs/pack.md"}; '
    "its fields are repo, ref, pack or generate, and settings"
)


def settings_fault(settings: Mapping[str, SettingText]) -> str:
    """What is wrong with the settings of a job; empty when nothing is."""
    values = {name: SettingValue(value, f"`settings`: {name}") for name, value in settings.items()}
    for name in _OF_THE_MACHINE:
        if name in settings:
            return f"`settings`: {name}: {name} cannot be set here; each machine has its own"
    try:
        resolve([Layer(ValueSource.FLAG, values)])
    except UsageError as trouble:
        return "; ".join(filter(None, (trouble.message, trouble.hint)))
    return ""


def _fault(source: JobSource) -> str:
    if not source.repo or source.repo.startswith("-") or source.ref.startswith("-"):
        return "`repo` and `ref` must not be empty or begin with a dash"
    if (source.pack is None) == (source.generate is None):
        return "a job has either `pack` or `generate`"
    try:
        generate_options(source.generate or {})
    except InputError as trouble:
        return f"{trouble.message}; {trouble.hint}"
    if fault := settings_fault(source.settings):
        return fault
    path = source.pack or ""
    if path.startswith("/") or ".." in path.split("/"):
        return f"`pack` {path!r} is not a path inside the repository"
    return ""


def to_submit(wanted: Iterable[FleetJob], existing: Mapping[str, FleetJob]) -> tuple[FleetJob, ...]:
    """The jobs to start: new ones and those that are not done, each once, in the given order.

    The worker of one that runs finds it taken. One with undecided calls looks whether they are
    decided by now, and asks nothing again otherwise.
    """
    due: dict[str, FleetJob] = {}
    for job in wanted:
        known = existing.get(job.id, job)
        if known.state is not JobState.DONE:
            due.setdefault(job.id, known)
    return tuple(due.values())


class FleetTotals(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs are in which state, and their sums."""

    jobs: int
    by_state: dict[str, int]
    steps: int
    ok: int
    failed: int
    calls: int
    undecided: int
    cost: str | None
    in_flight: dict[str, int] = {}
    """Calls of running jobs by provider."""


def totals(jobs: Sequence[FleetJob]) -> FleetTotals:
    summaries = [job.summary for job in jobs]
    costs = [Decimal(one.cost) for one in summaries if one.cost is not None]
    states = [job.state for job in jobs]
    in_flight: Counter[str] = Counter()
    for job in jobs:
        if job.state is JobState.RUNNING:
            in_flight.update(job.summary.in_flight)
    return FleetTotals(
        jobs=len(jobs),
        by_state={state: states.count(state) for state in JobState if state in states},
        steps=sum(one.steps for one in summaries),
        ok=sum(one.ok for one in summaries),
        failed=sum(one.failed for one in summaries),
        calls=sum(one.calls for one in summaries),
        undecided=sum(one.undecided for one in summaries),
        cost=str(sum(costs, Decimal(0))) if costs else None,
        in_flight=dict(sorted(in_flight.items())),
    )
