"""Several packs in one command: one after another, under the limits of one command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from oraclepack.calls.budget import CommandLedger
from oraclepack.errors import ExitCode, OraclePackError, UsageError, exit_code_of
from oraclepack.pack.pack_files import find_packs
from oraclepack.run.planning.selection import Rerun, RunArguments
from oraclepack.run.preview import check_run, expected_cost, preview_run
from oraclepack.run.request import RunRequest, read_request
from oraclepack.run.run import run_pack
from oraclepack.run.run_display import RunFrontEnd
from oraclepack.run.run_report import RunOutcome, RunReport, plan_outcome, run_outcome
from oraclepack.run.start_run import command_line
from oraclepack.settings import call_settings as cs
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import CWD, Settings
from oraclepack.system.environment import project_root


class PackError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pack could not be run."""

    code: str
    message: str
    hint: str = ""


class PackRun(msgspec.Struct, frozen=True, kw_only=True):
    """One pack of several."""

    path: str
    exit_code: int | None = None
    """As if it had been run alone; null where the command ended before it."""
    run: RunReport | None = None
    error: PackError | None = None


class PackTotals(msgspec.Struct, frozen=True, kw_only=True):
    """How many packs had which result."""

    packs: int
    ok: int
    failed: int
    not_begun: int


class RunPacksReport(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of several packs, in the order in which they ran."""

    packs: tuple[PackRun, ...]
    totals: PackTotals


class RunPacksOutcome(msgspec.Struct, frozen=True):
    """The result of a command that ran several packs."""

    report: RunPacksReport
    exit_code: ExitCode
    """The worst of them."""
    outcomes: tuple[RunOutcome, ...]
    """Those of the packs that ran."""
    warnings: tuple[str, ...] = ()


_WORST_FIRST = (
    ExitCode.TERMINATED,
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.BUDGET,
    ExitCode.STEP_FAILED,
    ExitCode.INVALID,
    ExitCode.LOCKED,
    ExitCode.DECISION,
    ExitCode.POLICY,
    ExitCode.CONTRACT,
    ExitCode.DONE,
)


def worst(codes: Sequence[int]) -> ExitCode:
    """The exit code of a command from those of its packs."""
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.DONE)


def packs_to_run(
    paths: Sequence[str], settings: Settings, arguments: RunArguments
) -> tuple[Path, ...]:
    """The packs that paths name; raises what can only be said of one pack."""
    rerun = arguments.rerun
    flags = {
        "--steps": arguments.steps,
        "--resume-from": arguments.resume_from,
        "--run-id": arguments.run_id,
        "--import-state": arguments.import_state,
        f"--rerun {rerun}": rerun if rerun not in {None, *Rerun} else None,
        "--override": settings.origin(cs.OVERRIDE).source is ValueSource.FLAG or None,
    }
    given = [flag for flag, value in flags.items() if value is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)}: only with one pack, and this command names several",
            hint="give one command for each pack; --wait-for RUN lets one wait for another",
        )
    packs = find_packs(paths)
    for pack in packs:
        root = project_root(pack.as_posix(), settings[CWD])
        if root != Path(settings.root):
            raise UsageError(
                f"{pack} belongs to another project than {packs[0]}",
                hint="settings and budgets are those of a project: give one command for each",
            )
    return packs


FrontEnds = Callable[[Path, int, int], AbstractContextManager[RunFrontEnd]]
"""Makes the front end of a pack, of which this is the number, of so many."""


def run_packs(
    paths: Sequence[str], settings: Settings, arguments: RunArguments, front_ends: FrontEnds
) -> RunPacksOutcome:
    """Run several packs, or those of directories, one after another under one budget.

    `front_ends` makes the display, the stop switch and the questions of each pack. All packs are
    checked before the first one begins. After a pack that does not end well the others are not
    begun, unless the command keeps going after failed steps.
    """
    packs = packs_to_run(paths, settings, arguments)
    ledger = CommandLedger()
    for pack in packs:
        check_run(_request(pack, settings, arguments, ledger))
    ran: list[PackRun] = []
    outcomes: list[RunOutcome] = []
    for number, pack in enumerate(packs, 1):
        with front_ends(pack, number, len(packs)) as front_end:
            request = _request(pack, settings, arguments, ledger, front_end)
            try:
                outcome = run_outcome(request, run_pack(request, stop=front_end.stop))
            except OraclePackError as error:
                why = PackError(code=error.code, message=error.message, hint=error.hint)
                code = int(exit_code_of(error))
                ran.append(PackRun(path=pack.as_posix(), exit_code=code, error=why))
            else:
                outcomes.append(outcome)
                code = int(outcome.exit_code)
                ran.append(PackRun(path=pack.as_posix(), exit_code=code, run=outcome.report))
        stopped = ran[-1].exit_code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}
        if stopped or (ran[-1].exit_code and not request.keep_going):
            break
    ran += [PackRun(path=pack.as_posix()) for pack in packs[len(ran) :]]
    code = worst([one.exit_code for one in ran if one.exit_code is not None])
    warnings = (f"{one.pack.path}: {text}" for one in outcomes for text in one.warnings)
    return RunPacksOutcome(_report(ran), code, tuple(outcomes), tuple(warnings))


def plan_packs(
    paths: Sequence[str], settings: Settings, arguments: RunArguments
) -> RunPacksOutcome:
    """What `run_packs` would do with every step of every pack. Changes nothing."""
    planned: list[PackRun] = []
    warnings: list[str] = []
    for pack in packs_to_run(paths, settings, arguments):
        request = read_request(pack, settings, arguments)
        selected, plan = preview_run(request)
        outcome = plan_outcome(selected, plan, expected_cost(request, selected, plan))
        planned.append(PackRun(path=pack.as_posix(), exit_code=0, run=outcome.report))
        warnings += [f"{pack.as_posix()}: {text}" for text in outcome.warnings]
    return RunPacksOutcome(_report(planned), ExitCode.DONE, (), tuple(warnings))


def _request(
    pack: Path,
    settings: Settings,
    arguments: RunArguments,
    ledger: CommandLedger,
    front_end: RunFrontEnd | None = None,
) -> RunRequest:
    # The command that continues a run, and that its journal names, is about its own pack.
    argv = tuple(command_line("run", pack, settings, arguments))
    own = msgspec.structs.replace(arguments, argv=argv)
    ask = front_end.ask if front_end is not None else None
    request = read_request(pack, settings, own, front_end, ask)
    return msgspec.structs.replace(request, ledger=ledger)


def _report(ran: Sequence[PackRun]) -> RunPacksReport:
    return RunPacksReport(
        packs=tuple(ran),
        totals=PackTotals(
            packs=len(ran),
            ok=sum(one.exit_code == 0 for one in ran),
            failed=sum(bool(one.exit_code) for one in ran),
            not_begun=sum(one.exit_code is None for one in ran),
        ),
    )
