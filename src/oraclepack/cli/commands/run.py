"""`plan`, `run`, `ask`, `pipeline` and `tui`: packs are run."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from shlex import quote
from typing import Any

import click
import msgspec

from oraclepack.cli.command import ASKING, command, command_words, logs_json, option
from oraclepack.cli.display import DisplaySession, PackSessions
from oraclepack.cli.error_boundary import log_crash
from oraclepack.cli.outcome import (
    NO_POLICY,
    RunLocation,
    failure_of,
    idle_thresholds,
    packs_plan_reply,
    packs_reply,
    pipeline_text,
    plan_reply,
    run_failure,
    run_reply,
    started_reply,
)
from oraclepack.cli.render import to_stderr
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.run_options import allow_rehearsal_option, export_option, picking, run_arguments
from oraclepack.cli.text import clock, columns, size, some_of
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode, UsageError
from oraclepack.journal.costs import calls_text, money
from oraclepack.pipeline.pipeline_exports import append_run_summary
from oraclepack.pipeline.run_pipeline import PipelineRequest, run_pipeline
from oraclepack.run.entry_points import plan_run, run_pack
from oraclepack.run.forecast import CostForecast, CostRange, PlannedStepCost
from oraclepack.run.plan_costs import forecast_run
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_packs import plan_packs, run_packs
from oraclepack.run.single_call import (
    CallPreflight,
    SingleQuestion,
    ask_question,
    preflight_question,
)
from oraclepack.run.start_run import start_run
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.settings.registry import LINT_IGNORE, LINT_SELECT, OUTPUT, STRICT, Settings
from oraclepack.system.environment import GITHUB_SUMMARY_VARIABLE, environment
from oraclepack.system.printable import quantity, single_lines
from oraclepack.system.terminal import can_ask, stdout_is_terminal
from oraclepack.view.report.github import forecast_comment

_SHOWN = 5
"""Groups of repeated files that are listed."""


@command(
    "plan",
    data="forecast",
    changes="the record of a rehearsal below `.oraclepack/rehearsals`",
    effect="execute",
    starts="the bash of the pack in a copy of the project; asks nothing",
    settings=(STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS),
    examples=(
        "oraclepack plan pack.md",
        "oraclepack plan pack.md --max-parallel 4 --json",
        "oraclepack plan pack.md --format github > comment.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@picking
@option(
    "--format text|github",
    "github: Markdown for a comment on a pull request.",
    name="form",
    default="text",
)
def plan(pack: str, *, settings: Settings, form: str, **flags: object) -> Reply:
    """Forecast the calls, tokens, cost and time of a run.

    Takes the options of `run`. The steps that would run are rehearsed in a throw-away copy of the
    project: their own commands run there, no tool is started and nothing is asked. Each call is
    shown as cached, adopted or to ask, with its files as the rehearsal saw them. Costs are low,
    likely and high; output tokens come from past answers of the model on this machine, else
    from stated assumptions. What following the advice of the rules OP7xx would save is summed up.
    """
    forecast, warnings = forecast_run(pack, settings, run_arguments(flags))
    text = (
        forecast_comment(forecast, pack) if form == "github" else _plan_text(single_lines(forecast))
    )
    return Reply(forecast, text, warnings=warnings, next=f"oraclepack run {quote(pack)}")


def _plan_text(forecast: CostForecast) -> str:
    rows = [_plan_row(step) for step in forecast.steps]
    heads = (
        "step",
        "decision",
        "to ask",
        "before",
        "files",
        "tokens",
        "cost (from, to)",
        "title",
    )
    return f"{columns(heads, rows)}\n{_plan_summary(forecast)}{_notes(forecast)}"


def _plan_row(step: PlannedStepCost) -> tuple[str, ...]:
    paid = [call for call in step.calls if call.fate in {"ask", "adopt"}]
    cached = sum(call.fate == "cached" for call in step.calls)
    return (
        step.step_id,
        step.decision,
        str(len(paid)),
        str(cached),
        str(sum(call.files for call in paid)),
        f"{sum(call.input_tokens or 0 for call in paid):,}",
        _cost(step.cost, sum(call.is_unpriced for call in paid)),
        step.title,
    )


def _cost(cost: CostRange | None, unpriced: int) -> str:
    if cost is None:
        return "unknown" if unpriced else "-"
    more = f" + {unpriced} unknown" if unpriced else ""
    return f"{money(cost.likely)} ({money(cost.low)}, {money(cost.high)}){more}"


def _plan_summary(forecast: CostForecast) -> str:
    counts = calls_text(forecast.to_ask, forecast.cached, forecast.adopted)
    refused = f", {forecast.refused} refused" if forecast.refused else ""
    cost = "unknown" if forecast.unpriced_calls else "nothing: no call is to be asked"
    if forecast.cost is not None:
        low, likely, high = map(
            money, (forecast.cost.low, forecast.cost.likely, forecast.cost.high)
        )
        cost = f"likely {likely}, from {low} to {high}"
    unpriced = forecast.unpriced_calls
    unknown = f"; {quantity(unpriced, 'call')} of unknown price" if unpriced else ""
    return (
        f"{counts}{refused}; {size(forecast.bytes)}, about {forecast.input_tokens:,} input tokens\n"
        f"cost: {cost}{unknown}\n"
        f"time: about {clock(round(forecast.seconds * 1000))} with {forecast.max_parallel} at once"
        f"{_longest_chain(forecast)}\n"
    )


def _longest_chain(forecast: CostForecast) -> str:
    steps = forecast.critical_path
    return f"; one after the other, whatever runs beside: {', '.join(steps)}" if steps[1:] else ""


def _notes(forecast: CostForecast) -> str:
    lines = []
    for one in forecast.repeated[:_SHOWN]:
        cost = f": {money(one.cost)}" if one.cost is not None else ""
        lines.append(
            f"sent {one.calls} times, about {one.input_tokens:,} tokens{cost}: {some_of(one.files)}"
        )
    lines += [
        f"advice {one.rule}: {one.advice}: saves about {money(one.cost)}"
        for one in forecast.savings
    ]
    if len(forecast.savings) > 1:
        total = sum((one.cost for one in forecast.savings), Decimal(0))
        lines.append(f"all advice together: saves about {money(total)}")
    lines += [f"call {place} is longer than its model takes" for place in forecast.too_long]
    lines += list(forecast.missing)
    lines += [f"assumption: {assumption}" for assumption in forecast.assumptions]
    return "".join(f"{line}\n" for line in lines)


@command(
    "run",
    data="run-report",
    changes="the run directory, the outputs of the pack, its state and report files",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS, NOTIFY),
    exit_codes=(*ASKING, ExitCode.POLICY),
    examples=(
        "oraclepack run pack.md",
        "oraclepack run pack.md --steps 03,07-09 --dry-run",
        "oraclepack run pack.md --rerun failed",
        "oraclepack run pack.md --ci --min-completion 0.9",
    ),
)
@click.argument("packs", nargs=-1, required=True, metavar="PACK|DIR...", shell_complete=pack_files)
@picking
@option("--dry-run", "Only show what would be done with every step.")
def run(packs: tuple[str, ...], *, settings: Settings, dry_run: bool, **flags: object) -> Reply:
    """Run a pack, or continue its run.

    A step that is done and whose outputs are unchanged is not run again. When a step fails the
    command stops and keeps everything; the same command continues. Several packs, or all of a
    directory, run one after another under the limits of one command.
    """
    arguments = run_arguments(flags)
    if len(packs) > 1 or Path(packs[0]).is_dir():
        return _run_several(packs, settings, arguments, flags, dry_run=dry_run)
    pack = packs[0]
    if dry_run:
        return plan_reply(plan_run(pack, settings, arguments))
    if flags["detach"]:
        return started_reply(start_run(pack, settings, arguments))
    with DisplaySession(settings, yes=bool(flags["yes"])) as watching:
        outcome = run_pack(
            pack,
            settings,
            msgspec.structs.replace(arguments, detached=watching.is_detached),
            display=watching,
            stop=watching.stop,
            ask=watching.ask,
        )
    if environment().get(GITHUB_SUMMARY_VARIABLE):
        more = append_run_summary(outcome.report, outcome.pack)
        outcome = msgspec.structs.replace(outcome, warnings=outcome.warnings + more)
    return run_reply(outcome, watching.unshown_warnings(outcome))


def _run_several(
    paths: tuple[str, ...],
    settings: Settings,
    arguments: RunArguments,
    flags: dict[str, object],
    *,
    dry_run: bool,
) -> Reply:
    if flags["detach"]:
        raise UsageError(
            "--detach: only with one pack, and this command names several",
            hint="detach each pack; --wait-for RUN lets one wait for another",
        )
    if dry_run:
        return packs_plan_reply(plan_packs(paths, settings, arguments))
    sessions = PackSessions(settings, yes=bool(flags["yes"]))
    outcome = run_packs(paths, settings, arguments, sessions.open)
    return packs_reply(outcome, sessions.unshown_warnings(outcome))


@command(
    "ask",
    data="call-result",
    changes="the run directory, the answer and its pack below .oraclepack/calls",
    effect="execute",
    starts="oracle; its call costs money",
    settings=(*rs.RUN_SETTINGS, *cs.CALL_SETTINGS),
    exit_codes=ASKING,
    examples=(
        'oraclepack ask -p "Which invariant does this break?" -f src/ledger.py',
        "oraclepack ask -p - -f 'src/*.py' --model gpt-5.2 --write-output review.md",
        'oraclepack ask -p "Why?" -f src/ledger.py --preflight --json',
    ),
)
@option("-p --prompt TEXT", "The question; - reads stdin.", required=True)
@option("-f --file PATH", "A file or pattern to attach.", name="attached", many=True)
@option("--model NAME", "The model to ask; by default oracle's own.")
@option(
    "--write-output PATH",
    "Where the answer goes; by default below .oraclepack/calls.",
    name="answer_file",
)
@option("--new-run", "Start a fresh run of the question.")
@option("-y --yes", "Ask nothing; the same as --non-interactive.")
@option("--preflight", "Check key, model, files and tokens; nothing is asked.")
def ask(*, new_run: bool, yes: bool, preflight: bool, settings: Settings, **asked: Any) -> Reply:
    """Ask one question without a pack.

    The question becomes a pack of one step and is run like any other: with cache, budget, retries
    and adoption, and recorded as a run. Asked again, it is answered from its run or from the
    cache; --refresh asks again. The answer is printed, and stays in its file.
    """
    question = SingleQuestion(
        prompt=_prompt(asked["prompt"]),
        files=asked["attached"],
        model=asked["model"] or None,
        output=asked["answer_file"] or None,
    )
    if preflight:
        return _preflight_reply(*preflight_question(question, settings))
    arguments = RunArguments(new_run=new_run, argv=command_words())
    with DisplaySession(settings, yes=yes) as watching:
        result, outcome = ask_question(
            question,
            settings,
            arguments,
            display=watching,
            stop=watching.stop,
            ask=watching.ask,
        )
    code = outcome.exit_code
    error = run_failure(outcome) if code else None
    text = result.answer or ""
    talk = f"answer: {result.output}\n" if result.answer else ""
    return Reply(result, text, code, warnings=outcome.warnings, error=error, talk=talk)


def _prompt(given: str) -> str:
    if given != "-":
        return given
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-p - reads the prompt from stdin, and that is a terminal")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _preflight_reply(report: CallPreflight, warnings: tuple[str, ...]) -> Reply:
    data = single_lines(report)
    cost = "unknown" if data.cost is None else money(data.cost.likely)
    head = f"model {data.model or 'by oracle'}, provider {data.provider or '-'}, {data.fate}\n"
    tokens = f"about {data.input_tokens or 0} tokens, likely {cost}"
    text = f"{head}{quantity(data.files, 'file')}, {size(data.bytes)}, {tokens}\n"
    error = None
    if not report.ok:
        error = ReplyError(
            "PREFLIGHT", "; ".join(report.problems), phase="preflight", suggestion="see --help"
        )
    code = ExitCode.DONE if report.ok else ExitCode.INVALID
    return Reply(report, text, code, warnings=warnings, error=error)


@command(
    "pipeline",
    data="pipeline-report",
    changes="what run and actionize change, the file of --junit, the page of --report",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(
        STRICT,
        LINT_SELECT,
        LINT_IGNORE,
        *rs.RUN_SETTINGS,
        *rs.PIPELINE_SETTINGS,
        *cs.CALL_SETTINGS,
        NOTIFY,
    ),
    exit_codes=(*ASKING, ExitCode.CONTRACT, ExitCode.POLICY),
    examples=(
        "oraclepack pipeline pack.md",
        "oraclepack pipeline pack.md --engine rehearsal",
        "oraclepack pipeline pack.md --ci --min-completion 0.9 --min-yield 1",
        "oraclepack pipeline pack.md --ci --json --junit report.xml --export github",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@picking
@export_option
@allow_rehearsal_option
@option("--junit FILE", "Also write JUnit XML, a case for every step.")
@option("--report", "Also write the HTML report of the run.", name="page")
def pipeline(
    pack: str,
    *,
    settings: Settings,
    exports: tuple[str, ...],
    junit: str,
    page: bool,
    **flags: object,
) -> Reply:
    """Validate, run, verify and actionize a pack in one go.

    A stage that fails ends the pipeline; everything is kept, and the same command continues. With
    --keep-going or
    --ci the stages after it still run, and with --ci the policy decides:
    --min-completion and --min-yield.
    """
    allowed = bool(flags.pop("allow_rehearsal"))
    arguments = run_arguments(flags)
    if flags["detach"]:
        more = [*(f"--export={word}" for word in exports)]
        more += ["--allow-rehearsal"] if allowed else []
        more += [f"--junit={junit}"] if junit else []
        started = start_run(pack, settings, arguments, command="pipeline", more=more)
        return started_reply(started)
    with DisplaySession(settings, yes=bool(flags["yes"])) as watching:
        request = PipelineRequest(
            pack,
            settings,
            msgspec.structs.replace(arguments, detached=watching.is_detached),
            exports,
            allowed,
            junit or None,
            github=True,
            page=page,
        )
        outcome = run_pipeline(request, watching, watching.ask, watching.stop)
    report, code = outcome.report, outcome.exit_code
    warnings = watching.unshown_warnings(outcome) + idle_thresholds(
        settings, rs.MIN_COMPLETION, rs.MIN_YIELD
    )
    way_on = outcome.continue_command
    error = failure_of(report, pack, code, way_on, outcome.suggestion) if code else None
    place = RunLocation(outcome.root, Path.cwd(), pack)
    text = pipeline_text(single_lines(report), outcome.checked, place, junit or None, error)
    if settings[rs.CI] and report.policy is not None and not report.policy.applies:
        text += (NO_POLICY,)
    if settings[OUTPUT] == "text":
        text += (outcome.annotations,)
    elif not logs_json(settings):
        # Stdout is one envelope; GitHub reads workflow commands from stderr as well.
        to_stderr(outcome.annotations)
    return Reply(report, text, code, warnings=warnings, error=error)


@command(
    "tui",
    data="screen-session",
    changes="what you do there: packs, backlogs, runs",
    effect="execute",
    starts="what you start there: runs, which cost money; $PAGER and $EDITOR",
    settings=(STRICT,),
    examples=("oraclepack tui", "oraclepack tui docs/pack.md", "oraclepack tui --demo"),
)
@click.argument("place", metavar="[PACK|DIR]", default=".", type=click.Path())
@option("--demo", "Open a recorded run, in a copy that is removed.")
def tui(place: str, *, demo: bool, settings: Settings) -> Reply:
    """Browse, prepare, run, watch and read packs on the screen.

    Needs a terminal and the extra `tui`: pip install 'oraclepack[tui]'. Runs that are started there
    go on when the screen is left; the next `oraclepack tui` shows them again.
    """
    if not (can_ask() and stdout_is_terminal()):
        hint = "`oraclepack list` and `runs watch` work without one"
        raise UsageError("tui needs a terminal", hint=hint)
    if not Path(place).exists():
        raise UsageError(f"{place}: no such file or directory", hint="name a pack or a folder")
    try:
        from oraclepack.tui.app import TuiApp
        from oraclepack.tui.demo_project import demo_project
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError(
            "tui needs the package textual", hint="pip install 'oraclepack[tui]'"
        ) from None
    with demo_project() if demo else nullcontext(Path(place)) as opened:
        app = TuiApp(
            str(opened),
            settings,
            is_pack=opened.is_file(),
            log_fault=lambda error: str(log_crash(error, "tui") or ""),
        )
        code = app.run()
    if app.fatal is not None:
        raise app.fatal
    return Reply({"place": str(opened)}, exit_code=ExitCode(code or 0))
