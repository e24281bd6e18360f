"""What the commands of fleets answer."""

import msgspec

from oraclepack.fleet.fleet_job import FleetJob, FleetTotals, JobState


class StoreCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a shared store must have."""

    name: str
    ok: bool
    value: str
    fix: str = ""


class UnknownCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may have been paid for and has no known end."""

    key: str
    asked_at: str
    host: str
    runner: str
    step: str
    model: str | None
    output_path: str | None
    resolution: str
    """What would end it."""
    machine: str = ""
    """The id of the machine, where the host name is not unique; empty in records of 0.2.0."""


class ProviderLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a provider and what is in flight."""

    name: str
    in_flight: int
    max_in_flight: int | None
    per_minute: int | None
    begun_last_minute: int


class StoreHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet doctor` answers."""

    store: str
    checks: tuple[StoreCheck, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


class FleetInit(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet init` answers: the versions of the schema."""

    before: int
    after: int
    missing_roles: tuple[str, ...] = ()
    """Roles that this login may not create; only the owner can use the store without them."""


class FleetUnknown(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet unknown` answers."""

    calls: tuple[UnknownCall, ...]


class Burial(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet bury` answers."""

    host: str
    runners: int
    calls: int
    """Unknown calls that were given up, each with a verdict."""


class FleetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet limits` answers."""

    providers: tuple[ProviderLoad, ...]


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker did with a job."""

    job: FleetJob
    ran: bool
    message: str = ""


class FleetStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows of a fleet beside its jobs."""

    spent: str
    """US dollars that its finished calls came to; those of unknown cost at their worst case."""
    reserved: str
    """US dollars that its calls without an outcome may come to."""
    providers: tuple[ProviderLoad, ...] = ()
    """Of all fleets together; only a shared store knows them."""
    unknown: tuple[UnknownCall, ...] = ()


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet run` and `fleet status` answer."""

    name: str
    totals: FleetTotals
    jobs: tuple[FleetJob, ...]
    submitted: int = 0
    max_cost: str | None = None
    """US dollars that all calls of the fleet together may cost."""
    standing: FleetStanding | None = None
    head: int | None = None
    """The process that goes on in the background."""


class CollectedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One job in a collection."""

    job: str
    project: str
    """Its directory in the collection."""
    state: JobState
    run_id: str | None = None
    tasks: int = 0
    problem: str = ""
    """Why there is no work of it."""


class FleetCollection(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet collect` answers."""

    name: str
    directory: str
    runs: tuple[CollectedRun, ...]
    tasks: int
    merged: int
    """Tasks after the same work in several repositories is counted once."""
    backlog: str
    site: str | None
