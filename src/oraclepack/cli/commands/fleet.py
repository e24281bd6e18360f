"""`fleet`: many packs on many machines."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from shlex import quote
from typing import Literal

import click

from oraclepack.cli.command import Group, command, command_words, option
from oraclepack.cli.display import StopOnSignals
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import columns
from oraclepack.errors import ExitCode, UsageError
from oraclepack.fleet.fleet_job import FleetTotals
from oraclepack.fleet.fleet_reports import FleetReport
from oraclepack.fleet.fleets import open_fleets, open_shared_store
from oraclepack.settings import call_settings as cs
from oraclepack.settings.registry import Settings
from oraclepack.settings.value_kinds import Amount, Duration, flag_value
from oraclepack.system.environment import user_name
from oraclepack.system.printable import quantity, single_lines

fleet = Group("fleet", "Run and manage many packs on many machines.")

_DETACHED = "--detached"
_name = option("--name NAME", "The name of the fleet.", default="default")
_move = option(
    "--move safe|never", "Whether a pack whose machine died may go on elsewhere.", default="safe"
)
_on_unknown = option(
    "--on-unknown fail|retry",
    "What to do about calls that may have been paid for; retry may pay twice.",
    default="fail",
)
_work_dir = option("--work-dir DIR", "Where workers check repositories out.")


@command(
    "run",
    group=fleet,
    data="fleet-report",
    changes="the store of jobs; workers: run directories and outputs in their workspaces",
    effect="execute",
    starts="workers, which run the packs; their calls cost money",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    examples=(
        "oraclepack fleet run fleet.jsonl",
        "oraclepack fleet run ../shop/docs/pack.md ../api/docs/pack.md --at-once 4",
        "oraclepack fleet run fleet.jsonl --scheduler tls://head.example.org:8786 --name weekly",
        "oraclepack fleet run fleet.jsonl --max-cost 200 --detach",
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="MANIFEST|PACK...")
@_name
@option(
    "--scheduler NAME",
    "local, an address of a Dask scheduler (tls://… or tcp://…), slurm or kubernetes.",
    default="local",
)
@option("--at-once N", "Packs at once.", default=2, least=1, most=1000)
@_move
@_on_unknown
@_work_dir
@option("--max-cost USD", "What all calls of the fleet may cost; none is no limit.")
@option(
    "--unknown-after TIME",
    "Ask a call without a known end again after this; may pay twice; none is never.",
)
@option("--insecure", "Allow tcp:// to another machine.")
@option("--detach", "Go on in the background.")
@click.option(_DETACHED, is_flag=True, hidden=True, help="This is the process in the background.")
def run(  # noqa: PLR0913 - its options, given by name
    sources: tuple[str, ...],
    *,
    name: str,
    scheduler: str,
    at_once: int,
    move: str,
    on_unknown: str,
    work_dir: str,
    max_cost: str,
    unknown_after: str,
    insecure: bool,
    detach: bool,
    detached: bool,
    settings: Settings,
) -> Reply:
    """Run the packs of a manifest, or packs.

    A manifest has one JSON object per line: "repo" (a path or URL), "ref" (a branch, tag or
    commit; HEAD if left out), "pack" (a path in the repository) or "generate" (options of
    `generate`), and "settings". Refs become commits when the fleet is started.

    Without a store and a scheduler everything runs on this machine. The same command again runs
    only what is missing.
    """
    words = ["--move", move, "--on-unknown", on_unknown]
    words += ["--work-dir", str(Path(work_dir).absolute())] if work_dir else []
    report = open_fleets(settings).run(
        sources,
        name,
        scheduler=scheduler,
        at_once=at_once,
        insecure=insecure,
        max_cost=_amount(max_cost),
        unknown_after=_age(unknown_after),
        worker_words=words,
        detach=_in_background() if detach else None,
        is_detached=detached,
        progress=_progress,
    )
    if report.head is not None:
        return Reply(
            report,
            f"{_counts(report.totals)}\nprocess {report.head} runs them;"
            f" `oraclepack fleet watch --name {name}` follows\n",
        )
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    return _report(report)


@command(
    "status",
    group=fleet,
    data="fleet-report",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    examples=("oraclepack fleet status", "oraclepack fleet status --name weekly --json"),
)
@_name
def status(name: str, *, settings: Settings) -> Reply:
    """Show the state of the jobs of a fleet.

    Reads the store alone: it works from every machine, also while nothing runs.
    """
    report = open_fleets(settings).status(name)
    return Reply(report, _text(report))


@command(
    "watch",
    group=fleet,
    data="fleet-report",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    examples=("oraclepack fleet watch --name weekly",),
)
@_name
@option(
    "--every N",
    "Seconds between two looks at the store.",
    default=2.0,
    type=click.FloatRange(0.2, 3600),
)
def watch(name: str, every: float, *, settings: Settings) -> Reply:
    """Follow a fleet until every job is over, from any machine.

    Reads the store alone; ending this command leaves the fleet at work.
    """
    return _report(open_fleets(settings).watch(name, _progress, every))


def _in_background() -> list[str]:
    """The words of this command for the process in the background."""
    return [_DETACHED if word == "--detach" else word for word in command_words()]


def _amount(text: str) -> Decimal | Literal["unchanged"] | None:
    """The new limit of a fleet; it holds until it is changed."""
    return "unchanged" if not text else flag_value(Amount(), text, "--max-cost")


def _age(text: str) -> float | Literal["unchanged"] | None:
    if not text:
        return "unchanged"
    is_never = text.strip().lower() == "none"
    return None if is_never else flag_value(Duration(), text, "--unknown-after")


def _progress(totals: FleetTotals) -> None:
    """One line on a terminal, replaced by the next; elsewhere a line when something changed."""
    line = _counts(totals)
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    elif line != _progress_shown.get("line"):
        _progress_shown["line"] = line
        sys.stderr.write(f"{line}\n")


_progress_shown: dict[str, str] = {}


@command(
    "collect",
    group=fleet,
    data="fleet-collection",
    changes="the given directory",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    examples=("oraclepack fleet collect --name weekly --to collected",),
)
@_name
@option("--to DIR", "The directory to write.", name="target", default="fleet-results")
def collect(name: str, target: str, *, settings: Settings) -> Reply:
    """Collect the runs of a fleet, with one backlog and one site.

    Each job gets a directory with its repository at its commit and its run, actionized. backlog.md
    lists the work of all repositories; what several of them need is listed once. site/index.html
    shows every run.
    """
    report = open_fleets(settings).collect(name, Path(target).absolute())
    shown = single_lines(report)
    rows = [
        (run.project, run.state, str(run.tasks), run.problem or (run.run_id or ""))
        for run in shown.runs
    ]
    text = (
        f"{columns(('project', 'state', 'tasks', 'run'), rows)}"
        f"{quantity(shown.merged, 'task')}: {shown.backlog}\n"
        + (f"{shown.site}\n" if shown.site else "")
    )
    missing = any(run.problem for run in report.runs)
    return Reply(report, text, exit_code=ExitCode.STEP_FAILED if missing else ExitCode.DONE)


@command(
    "stop",
    group=fleet,
    data="fleet-report",
    changes="a request in the store",
    settings=(cs.STORE,),
    examples=("oraclepack fleet stop --name weekly",),
)
@_name
def stop(name: str, *, settings: Settings) -> Reply:
    """Ask every worker of a fleet to end politely.

    Running calls finish, and none starts; `fleet run` goes on later without paying again.
    """
    report = open_fleets(settings).stop(name, user_name())
    return Reply(report, f"asked the workers of {name} to stop\n")


@command(
    "worker",
    group=fleet,
    data="fleet-job-result",
    changes="a workspace, the run directory in it, the job in the store",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.LOCKED, ExitCode.TERMINATED),
    examples=("oraclepack fleet worker --name weekly --job 3f2a90c1d4e5b678",),
)
@_name
@option("--job ID", "The id of the job.", required=True)
@_move
@_on_unknown
@_work_dir
def worker(
    name: str, job: str, move: str, on_unknown: str, work_dir: str, *, settings: Settings
) -> Reply:
    """Run one job here; fleets start it.

    Keys come from the environment of this machine. The job's end is in the store.
    """
    with StopOnSignals() as signals:
        signals.listen()
        result = open_fleets(settings).work(
            name, job, move=move, on_unknown=on_unknown, work_dir=work_dir, stop=signals.stop
        )
    code = ExitCode.DONE if result.ran else ExitCode.LOCKED
    return Reply(result, f"{result.job.id}: {result.message or 'done'}\n", exit_code=code)


@command(
    "unknown",
    group=fleet,
    data="fleet-unknown",
    settings=(cs.STORE,),
    examples=("oraclepack fleet unknown", "oraclepack fleet unknown --json"),
)
def unknown(*, settings: Settings) -> Reply:
    """List calls that may have been paid for and have no known end.

    Nothing asks them again by itself. Each line says what would end it.
    """
    with open_shared_store(settings) as store:
        report = store.unknown()
    rows = [
        (call.key[:12], call.asked_at[:19], call.host, call.step, call.resolution)
        for call in single_lines(report).calls
    ]
    heads = ("question", "asked", "host", "step", "what ends it")
    return Reply(report, columns(heads, rows) if rows else "no unknown calls\n")


@command(
    "bury",
    group=fleet,
    data="fleet-burial",
    changes="the store: runners of the machine, unknown calls, verdicts",
    effect="destructive",
    settings=(cs.STORE,),
    examples=('oraclepack fleet bury worker-17 --because "the VM was deleted"',),
)
@click.argument("host", metavar="HOST")
@option("--because TEXT", "How it is known to be dead.", required=True)
def bury(host: str, because: str, *, settings: Settings) -> Reply:
    """Declare a machine dead for good.

    HOST is a host name, or the id of a machine as `fleet unknown --json` shows it: several machines
    may have one name. Its unknown calls are given up, each with a recorded verdict, and may be
    asked, and paid for, again. Its runners can bring answers that they still have, and spend
    nothing more.
    """
    with open_shared_store(settings) as store:
        report = store.bury(host, user_name(), because)
    runners = quantity(report.runners, "runner")
    calls = quantity(report.calls, "unknown call")
    return Reply(report, f"{host}: {runners} buried, {calls} given up\n")


@command(
    "limits",
    group=fleet,
    data="fleet-limits",
    changes="with an option: the limits of the provider in the store",
    settings=(cs.STORE,),
    examples=(
        "oraclepack fleet limits",
        "oraclepack fleet limits openai --max-concurrent 20 --requests-per-minute 300",
    ),
)
@click.argument("provider", required=False, metavar="[PROVIDER]")
@option("--max-concurrent N", "Calls in flight, of all machines.", least=0)
@option("--requests-per-minute N", "Of all machines together.", least=0)
def limits(
    provider: str | None,
    max_concurrent: int | None,
    requests_per_minute: int | None,
    *,
    settings: Settings,
) -> Reply:
    """Show or change the limits of providers for all machines.

    A runner's own settings may only be stricter. A limit whose option is left out stays as it is;
    0 removes it.
    """
    changes = max_concurrent is not None or requests_per_minute is not None
    if changes and provider is None:
        raise UsageError(
            "a limit needs a provider", hint="such as `oraclepack fleet limits openai …`"
        )
    with open_shared_store(settings) as store:
        if changes and provider is not None:
            report = store.set_limit(provider, max_concurrent, requests_per_minute)
        else:
            report = store.limits(provider)
    rows = [
        (
            one.name,
            f"{one.in_flight} of {one.max_in_flight or '-'}",
            f"{one.begun_last_minute} of {one.per_minute or '-'}",
        )
        for one in single_lines(report).providers
    ]
    heads = ("provider", "in flight", "last minute")
    return Reply(report, columns(heads, rows) if rows else "no limits\n")


@command(
    "init",
    group=fleet,
    data="fleet-init",
    changes="the tables and roles of the shared store",
    settings=(cs.STORE,),
    examples=("oraclepack fleet init",),
)
def init(*, settings: Settings) -> Reply:
    """Create the tables of the shared store.

    Tables of an earlier version are brought to this one. Run it once as the owner of the
    database. If that login may create roles, it also makes oraclepack_worker, oraclepack_admin and
    oraclepack_observer; grant them to the logins of your machines.
    """
    with open_shared_store(settings) as store:
        report = store.init()
    missing = ", ".join(report.missing_roles)
    warning = (
        f"this login may not create roles, so there is no {missing}: only the owner can use the"
        " store. Let a superuser create them (`create role NAME nologin`), then run this again"
    )
    return Reply(
        report,
        f"the store has version {report.after} (before: {report.before})\n",
        warnings=(warning,) if missing else (),
    )


@command(
    "doctor",
    group=fleet,
    data="fleet-doctor",
    settings=(cs.STORE,),
    exit_codes=(ExitCode.POLICY,),
    examples=("oraclepack fleet doctor",),
)
def doctor(*, settings: Settings) -> Reply:
    """Check the shared store.

    Versions, durability, encryption, and whether all runners are of one kind.
    """
    with open_shared_store(settings) as store:
        report = store.examine(settings[cs.STORE])
    rows = [
        ("ok" if check.ok else "WRONG", check.name, check.value, "" if check.ok else check.fix)
        for check in single_lines(report).checks
    ]
    code = ExitCode.DONE if report.ok else ExitCode.POLICY
    return Reply(report, columns(("", "check", "value", "what to do"), rows), exit_code=code)


def _report(report: FleetReport) -> Reply:
    done = report.totals.by_state.get("done", 0)
    code = ExitCode.DONE if done == report.totals.jobs else ExitCode.STEP_FAILED
    onwards = f"oraclepack fleet collect --name {quote(report.name)}"
    return Reply(report, _text(report), exit_code=code, next=onwards)


def _counts(totals: FleetTotals) -> str:
    states = ", ".join(f"{count} {state}" for state, count in totals.by_state.items())
    cost = f", ${totals.cost}" if totals.cost is not None else ""
    calls = ", ".join(f"{name} {count}" for name, count in totals.in_flight.items())
    calls = f"; in flight: {calls}" if calls else ""
    jobs = quantity(totals.jobs, "job")
    return f"{jobs}: {states}; {totals.ok} of {totals.steps} steps ok{cost}{calls}"


def _text(report: FleetReport) -> str:
    shown = single_lines(report)
    rows = [
        (
            job.id,
            job.state,
            f"{job.summary.ok}/{job.summary.steps}",
            job.host or "-",
            f"{Path(job.source.repo).name}@{job.commit[:8]}",
            job.source.pack_name,
            job.summary.message,
        )
        for job in shown.jobs
    ]
    heads = ("job", "state", "steps", "host", "repository", "pack", "")
    return f"{columns(heads, rows)}{_counts(shown.totals)}\n{_standing(shown)}"


def _standing(report: FleetReport) -> str:
    """Money, providers and unknown calls, where there is something to say."""
    standing = report.standing
    if standing is None:
        return ""
    lines = []
    if report.max_cost is not None or standing.spent != "0" or standing.reserved != "0":
        limit = f" of ${report.max_cost}" if report.max_cost is not None else ""
        lines.append(f"spent ${standing.spent}{limit}, reserved ${standing.reserved}")
    for one in standing.providers:
        limit = f" of {one.max_in_flight}" if one.max_in_flight else ""
        lines.append(f"{one.name}: {one.in_flight}{limit} in flight, all fleets")
    lines += [
        f"unknown: step {call.step} on {call.host}: {call.resolution}" for call in standing.unknown
    ]
    return "".join(f"{line}\n" for line in lines)
