"""The interface of oraclepack for front ends and programs.

    from oraclepack import api

    outcome = api.run("docs/pack.md")
    print(outcome.report.status)

Values that cost little are imported here and can be used as `api.Status`, `api.Settings` and so
on. A function that acts imports its part of the program when it is called: together they would
take a third of a second, and no caller needs all of them. This is the one place for such
imports. The types of results stand below `TYPE_CHECKING`, for annotations.

Whatever cannot be done raises an `OraclePackError` that says what happened and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Required, TypedDict, TypeVar, Unpack

import msgspec

from oraclepack.authoring.blank import new_pack as write_new_pack
from oraclepack.errors import (
    AlreadyExistsError,
    ExitCode,
    InputError,
    LockedError,
    MachineError,
    NotFoundError,
    OraclePackError,
    RunAbortedError,
    UsageError,
)
from oraclepack.journal import events
from oraclepack.journal.costs import (
    NO_COST,
    CostTotal,
    cost_text,
    forecast_text,
    money,
    short_cost,
)
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import EMPTY, Ask, RunState, fold
from oraclepack.journal.statuses import WAITS, Cache, CallWait, RollbackStatus, Status
from oraclepack.journal.step_state import StepState
from oraclepack.lint.finding import Finding, Severity
from oraclepack.pack.model import PRELUDE
from oraclepack.report import figures
from oraclepack.report.schemas import schema_names, schema_of
from oraclepack.report.untrusted_text import clean_parts, untrusted_parts
from oraclepack.run.planning.plan import Decision
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_display import Display, RunPreview, StepPreview
from oraclepack.settings import call_settings, loading, run_settings, value_kinds
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.loading import COMPLETION_VARIABLE, is_completing, own_variables
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.settings.project_rules import SettingScope
from oraclepack.settings.registry import (
    BY_NAME,
    COLOR,
    CWD,
    GITHUB_API_URL,
    LINT_IGNORE,
    LINT_SELECT,
    OUTPUT,
    STRICT,
    TRUST_KEY_FILE,
    TUI_KEYS,
    TUI_THEME,
    ConfigReport,
    Settings,
    SettingValue,
)
from oraclepack.settings.registry import config_report as settings_shown
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.log_files import last_lines
from oraclepack.shell.stop import Stop
from oraclepack.system import files
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.digests import (
    canonical_file,
    canonical_line,
    canonical_reply,
    sha256_bytes,
)
from oraclepack.system.environment import (
    DETACHED_VARIABLE,
    GITHUB_SUMMARY_VARIABLE,
    environment,
    is_agent,
    refuse_to_write_out,
    request_id,
    user_name,
)
from oraclepack.system.file_moves import write_new
from oraclepack.system.files import exhausted
from oraclepack.system.jq_filter import JqFilter, jq_filter
from oraclepack.system.paging import TextPage, page, text_page
from oraclepack.system.path_jail import content_at
from oraclepack.system.root_files import Roots
from oraclepack.system.secrets import Redactor
from oraclepack.system.trust_key import use_file

if TYPE_CHECKING:
    from oraclepack.answers.verification import Totals as Totals
    from oraclepack.answers.verification import VerifyPacksReport as VerifyPacksReport
    from oraclepack.answers.verification import VerifyReport as VerifyReport
    from oraclepack.authoring.generate import GenerateResult as GenerateResult
    from oraclepack.authoring.generation import GeneratedStep as GeneratedStep
    from oraclepack.authoring.generation import GenerateReport as GenerateReport
    from oraclepack.authoring.generation import NewPack as NewPack
    from oraclepack.authoring.generation import UpgradeReport as UpgradeReport
    from oraclepack.authoring.single_call import CallPreflight as CallPreflight
    from oraclepack.authoring.single_call import CallResult as CallResult
    from oraclepack.authoring.skills import ProjectSkills as ProjectSkills
    from oraclepack.authoring.skills import SkillsCheck as SkillsCheck
    from oraclepack.authoring.skills import SkillsInstallReport as SkillsInstallReport
    from oraclepack.authoring.skills import SkillText as SkillText
    from oraclepack.calls.cache import CacheRow as CacheRow
    from oraclepack.calls.cache import CallExplanation as CallExplanation
    from oraclepack.doctor import Health as Health
    from oraclepack.doctor import ProgramCheck as ProgramCheck
    from oraclepack.fleet.fleet_job import FleetTotals as FleetTotals
    from oraclepack.fleet.fleet_reports import FleetReport as FleetReport
    from oraclepack.fleet.fleets import Fleets as Fleets
    from oraclepack.fleet.shared_store import SharedStore as SharedStore
    from oraclepack.lint.rule_docs import RuleDoc as RuleDoc
    from oraclepack.lint.rule_docs import RuleExplanation as RuleExplanation
    from oraclepack.lint.validate import CheckedPack as CheckedPack
    from oraclepack.lint.validate import FixPreview as FixPreview
    from oraclepack.lint.validate import ValidateResult as ValidateResult
    from oraclepack.lint.validation import CheckRun as CheckRun
    from oraclepack.lint.validation import UnreadablePack as UnreadablePack
    from oraclepack.pipeline.pipeline_report import PipelineReport as PipelineReport
    from oraclepack.pipeline.pipeline_report import PolicyReport as PolicyReport
    from oraclepack.pipeline.pipeline_report import StageReport as StageReport
    from oraclepack.pipeline.project_work import ProjectWork as ProjectWork
    from oraclepack.pipeline.record_pages import ProjectPages as ProjectPages
    from oraclepack.pipeline.run_pipeline import PipelineOutcome as PipelineOutcome
    from oraclepack.report.comparable_runs import ComparableRuns as ComparableRuns
    from oraclepack.report.report_data import ReportAnswer as ReportAnswer
    from oraclepack.report.report_data import ReportData as ReportData
    from oraclepack.report.report_data import ReportStep as ReportStep
    from oraclepack.report.report_data import SourceQuote as SourceQuote
    from oraclepack.report.run_comparison import QuestionComparison as QuestionComparison
    from oraclepack.report.run_comparison import RunComparison as RunComparison
    from oraclepack.report.run_comparison import RunSide as RunSide
    from oraclepack.report.write_report import ReportFile as ReportFile
    from oraclepack.report.write_report import ReportOutcome as ReportOutcome
    from oraclepack.report.write_site import SiteReport as SiteReport
    from oraclepack.run.accept import AcceptReport as AcceptReport
    from oraclepack.run.explain_steps import ListedStep as ListedStep
    from oraclepack.run.explain_steps import StepList as StepList
    from oraclepack.run.explain_steps import WhyReport as WhyReport
    from oraclepack.run.forecast import CostForecast as CostForecast
    from oraclepack.run.forecast import CostRange as CostRange
    from oraclepack.run.forecast import PlannedStepCost as PlannedStepCost
    from oraclepack.run.pack_overview import PackEntry as PackEntry
    from oraclepack.run.past_runs import CallTimes as CallTimes
    from oraclepack.run.past_runs import RunDetails as RunDetails
    from oraclepack.run.past_runs import RunListEntry as RunListEntry
    from oraclepack.run.past_runs import StepDetails as StepDetails
    from oraclepack.run.plan_token import PlanSubject as PlanSubject
    from oraclepack.run.plan_token import RunPlan as RunPlan
    from oraclepack.run.policy import YieldPolicy as YieldPolicy
    from oraclepack.run.project_records import ForeignRecords as ForeignRecords
    from oraclepack.run.project_records import ProjectCache as ProjectCache
    from oraclepack.run.project_records import ProjectQuarantine as ProjectQuarantine
    from oraclepack.run.project_records import ProjectRecords as ProjectRecords
    from oraclepack.run.prune_runs import RunsPruneReport as RunsPruneReport
    from oraclepack.run.quarantine import QuarantineEntry as QuarantineEntry
    from oraclepack.run.read_logs import LogChunk as LogChunk
    from oraclepack.run.read_logs import LogReport as LogReport
    from oraclepack.run.rebuild import RebuildReport as RebuildReport
    from oraclepack.run.rebuild import RunRebuild as RunRebuild
    from oraclepack.run.run_control import ControlReply as ControlReply
    from oraclepack.run.run_control import ControlRequest as ControlRequest
    from oraclepack.run.run_packs import FrontEnds as FrontEnds
    from oraclepack.run.run_packs import PackRun as PackRun
    from oraclepack.run.run_packs import RunPacksOutcome as RunPacksOutcome
    from oraclepack.run.run_report import PlanOutcome as PlanOutcome
    from oraclepack.run.run_report import RunOutcome as RunOutcome
    from oraclepack.run.run_report import RunReport as RunReport
    from oraclepack.run.run_report import StepReport as StepReport
    from oraclepack.run.run_status import CallInFlight as CallInFlight
    from oraclepack.run.run_status import DecisionRequest as DecisionRequest
    from oraclepack.run.run_status import RunStatus as RunStatus
    from oraclepack.run.run_status import StepStatus as StepStatus
    from oraclepack.run.start_run import DetachedReport as DetachedReport
    from oraclepack.run.start_run import StartedRun as StartedRun
    from oraclepack.run.step_content import ContentCall as ContentCall
    from oraclepack.run.step_content import StepContent as StepContent
    from oraclepack.run.transaction import TransactionReport as TransactionReport
    from oraclepack.run.trust import Candidate as Candidate
    from oraclepack.run.undo import UndoReport as UndoReport
    from oraclepack.run.watch_run import LogProgress as LogProgress
    from oraclepack.run.watch_run import WatchUpdate as WatchUpdate
    from oraclepack.shell.log_tail import LogPart as LogPart
    from oraclepack.shell.log_tail import LogWindow as LogWindow
    from oraclepack.tickets.steps_support import TicketSteps as TicketSteps
    from oraclepack.tickets.ticket import TicketCheck as TicketCheck
    from oraclepack.tickets.ticketify import TicketifyReport as TicketifyReport
    from oraclepack.tickets.ticketify import TicketifyResult as TicketifyResult
    from oraclepack.tickets.ticketify import TicketsReply as TicketsReply
    from oraclepack.tools.prices import KnownPrices as KnownPrices
    from oraclepack.tools.prices import ModelPrice as ModelPrice
    from oraclepack.tools.prices import PriceList as PriceList
    from oraclepack.tools.prices import PriceReport as PriceReport
    from oraclepack.work import backlog
    from oraclepack.work.actionize import ActionizeOutcome as ActionizeOutcome
    from oraclepack.work.backlog import ActionizeReport as ActionizeReport
    from oraclepack.work.backlog_edit import BacklogNotes as BacklogNotes

    WorkRecord = backlog.Record

__all__ = [
    "BY_NAME",
    "COLOR",
    "COMPLETION_VARIABLE",
    "CWD",
    "EMPTY",
    "GITHUB_API_URL",
    "LINT_IGNORE",
    "LINT_SELECT",
    "NOTIFY",
    "NO_COST",
    "OUTPUT",
    "PRELUDE",
    "STRICT",
    "TRUST_KEY_FILE",
    "TUI_KEYS",
    "TUI_THEME",
    "WAITS",
    "ActionizeOptions",
    "AlreadyExistsError",
    "Ask",
    "Cache",
    "CallWait",
    "Callable",
    "Clock",
    "ConfigReport",
    "CostTotal",
    "Decision",
    "Display",
    "ExitCode",
    "Finding",
    "GenerateOptions",
    "InputError",
    "JqFilter",
    "KnownEvent",
    "LockedError",
    "MachineError",
    "NotFoundError",
    "OraclePackError",
    "QuestionOptions",
    "RollbackStatus",
    "Roots",
    "RunAbortedError",
    "RunArguments",
    "RunPreview",
    "RunState",
    "Setting",
    "SettingScope",
    "SettingValue",
    "Settings",
    "Severity",
    "Status",
    "StepPreview",
    "StepState",
    "Stop",
    "StopLevel",
    "SystemClock",
    "TextPage",
    "TicketifyOptions",
    "UsageError",
    "ValueSource",
    "accept",
    "actionize",
    "backlog_notes",
    "cache",
    "call",
    "call_preflight",
    "call_settings",
    "canonical_file",
    "canonical_line",
    "canonical_reply",
    "check_overrides",
    "check_tickets",
    "clean_parts",
    "control_request",
    "cost_text",
    "detached_report",
    "environment",
    "events",
    "examine_machine",
    "exhausted",
    "explain_rules",
    "figures",
    "fleets",
    "fold",
    "forecast",
    "forecast_comment",
    "forecast_text",
    "foreign_records",
    "format_findings",
    "generate",
    "is_agent",
    "is_completing",
    "jq_filter",
    "last_lines",
    "list_packs",
    "list_steps",
    "load_settings",
    "looks_secret",
    "money",
    "new_pack",
    "own_variables",
    "page",
    "pages",
    "pipeline",
    "plan",
    "plan_packs",
    "plan_subject",
    "plan_with_token",
    "preview_fixes",
    "prices",
    "quarantine",
    "read_run",
    "read_small_file",
    "redacted",
    "redacted_record",
    "redeem_plan",
    "report",
    "report_site",
    "request_id",
    "run",
    "run_packs",
    "run_settings",
    "runs",
    "save_chatgpt_url",
    "schema_names",
    "schema_of",
    "settings_shown",
    "sha256_bytes",
    "shared_store",
    "short_cost",
    "skill_text",
    "skills",
    "start",
    "step_content",
    "text_page",
    "tick_task",
    "ticket_steps",
    "ticketify",
    "undo",
    "untrusted_parts",
    "upgrade",
    "user_name",
    "validate",
    "value_kinds",
    "verify",
    "why",
    "write_backlog",
    "write_config_file",
    "write_new_file",
    "write_new_pack",
    "write_note",
]

_LARGEST_CONFIG = 1024 * 1024

Record = TypeVar("Record", bound=msgspec.Struct)


# Settings


def load_settings(
    pack: str | Path | None = None,
    values: Mapping[str, object] | None = None,
    *,
    reads_config: bool = True,
) -> Settings:
    """The settings that hold for a pack, or for the current directory.

    `values` are by name, as `config show` lists them, and outrank variables and config files. A
    `Given` also says where the value was written.
    """
    given = {
        name: value if isinstance(value, SettingValue) else SettingValue(value, name)
        for name, value in (values or {}).items()
    }
    path = None if pack is None else str(pack)
    settings = loading.load_settings(given, path, reads_config=reads_config)
    use_file(settings[TRUST_KEY_FILE])
    return settings


def save_chatgpt_url(name: str, url: str) -> str:
    """Name a ChatGPT page in the user's config file; returns the file."""
    from oraclepack.settings.named_pages import save_page

    return str(save_page(name, url))


# Packs


def validate(
    packs: str | Sequence[str], settings: Settings | None = None, *, fix: bool = False
) -> ValidateResult:
    """Check packs, or all packs of directories, against every rule; with `fix` correct them."""
    from oraclepack.lint.validate import validate_packs

    paths = (packs,) if isinstance(packs, str) else packs
    return validate_packs(paths, settings or load_settings(paths[0]), fix=fix)


def preview_fixes(pack: str | Path, settings: Settings | None = None) -> FixPreview:
    """What `validate` with `fix` would change in a pack; writes nothing."""
    from oraclepack.lint.validate import preview_fixes as preview

    return preview(Path(pack), settings or load_settings(pack))


def list_packs(folder: str, settings: Settings | None = None) -> tuple[PackEntry, ...]:
    """The packs below a folder, or one named pack, with their runs; they are not validated."""
    from oraclepack.run.pack_overview import list_project_packs

    root = Path((settings or load_settings(folder)).root)
    return list_project_packs(root, folder)


def explain_rules(word: str | None = None) -> RuleExplanation:
    """The documentation of a rule, by id or name, or of all rules."""
    from oraclepack.lint.rule_docs import RuleExplanation, rules_named

    return RuleExplanation(rules_named(word))


def format_findings(outcome: ValidateResult, form: str) -> str:
    """The findings as `sarif` or as workflow commands for `github`."""
    from oraclepack.report import github, sarif

    findings = {checked.path: checked.findings for checked in outcome.checked}
    return github.annotations(findings) if form == "github" else sarif.sarif_of_rules(findings)


def list_steps(pack: str | Path, settings: Settings | None = None) -> StepList:
    """The steps of a pack, with their status in the run that would be continued."""
    from oraclepack.run.explain_steps import list_pack

    return list_pack(Path(pack), Path((settings or load_settings(pack)).root))


def step_content(pack: str | Path, step: str, settings: Settings | None = None) -> StepContent:
    """What a step would send: prompts, files and calls with the overrides of the settings."""
    from oraclepack.run.step_content import step_content as read_content

    return read_content(Path(pack), step, settings or load_settings(pack))


def check_overrides(pack: str | Path, settings: Settings) -> None:
    """Raise UsageError where oracle would refuse an override, or a step is not there."""
    from oraclepack.run.step_content import check_overrides as check

    check(Path(pack), settings)


class GenerateOptions(TypedDict, total=False):
    """What a generated pack should be like; each has a default."""

    out: str
    """The pack, or with `group` the directory of the packs."""
    out_dir: str
    """Where answers go."""
    to_stdout: bool
    """Return the text and write nothing."""
    force: bool
    """Replace the pack if it exists and is different."""
    rollback_on_failure: bool
    day: str
    """Instead of the commit's day."""
    focus: tuple[str, ...]
    """Only ask about these paths, functions or classes."""
    exclude: tuple[str, ...]
    since: str
    """Only ask about what changed since the fork point from this commit."""
    profile: str
    count: int
    group: str
    """`subdir` or `auto`: several packs and a manifest."""
    from_tickets: str | None
    extra_files: tuple[str, ...]
    """Attached to every question."""
    oracle_cmd: str
    oracle_flags: str
    model: str
    engine: str
    constraints: str
    non_goals: str
    chunked: bool
    """Ask for the four parts of each answer one by one."""
    progress: Callable[[int, int], None]
    """Called with how many files were read, and how many there are."""


def generate(root: Path, **options: Unpack[GenerateOptions]) -> GenerateResult:
    """Write a pack of questions about a repository."""
    from oraclepack.authoring import generate as authoring

    return authoring.generate(authoring.GenerateRequest(root=root, **options))


def new_pack(pack: str, template: str = "single", cwd: str = "", *, force: bool = False) -> NewPack:
    """Write an empty pack that explains the format."""
    return write_new_pack(pack, template, cwd, force=force)


def upgrade(
    pack: str, settings: Settings | None = None, *, write: bool = False, work_lines: bool = False
) -> UpgradeReport:
    """Propose the strict form of an old pack, with a proof."""
    from oraclepack.authoring.upgrade import upgrade_pack

    settings = settings or load_settings(pack)
    return upgrade_pack(pack, settings, write=write, work_lines=work_lines)


# Runs


def plan(
    pack: str | Path, settings: Settings | None = None, arguments: RunArguments | None = None
) -> PlanOutcome:
    """What `run` would do with every step, and why. Changes nothing."""
    from oraclepack.run import run_pack, run_report, run_request

    request = run_request.read_request(pack, settings or load_settings(pack), arguments)
    selected, planned = run_pack.preview_run(request)
    expected = run_pack.expected_cost(request, selected, planned)
    return run_report.plan_outcome(selected, planned, expected)


def forecast(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    stop: Stop | None = None,
) -> tuple[CostForecast, tuple[str, ...]]:
    """What `run` would ask and cost, from a rehearsal in a copy of the project; and warnings."""
    from oraclepack.run import plan_costs

    chosen = settings or load_settings(pack)
    return plan_costs.forecast(pack, chosen, arguments or RunArguments(), stop)


def forecast_comment(forecast: CostForecast, pack: str) -> str:
    """A forecast in Markdown, for a comment on a pull request."""
    from oraclepack.report.forecast_comment import comment

    return comment(forecast, pack)


def run(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
    github: bool = False,
) -> RunOutcome:
    """Run a pack, or continue its run.

    `display` receives the plan and every event. Another thread, or a signal handler, asks
    `stop` to end the run; the caller closes it afterwards. `ask` puts a question to a person;
    without it nothing is asked. With `github`, a table is appended to the summary page of GitHub
    where there is one.
    """
    from oraclepack.run import run_pack, run_report, run_request

    settings = settings or load_settings(pack)
    request = run_request.read_request(pack, settings, arguments, display, ask)
    outcome = run_report.run_outcome(request, run_pack.run_pack(request, stop=stop))
    if not github or not environment().get(GITHUB_SUMMARY_VARIABLE):
        return outcome
    from oraclepack.pipeline.pipeline_exports import append_run_summary

    warnings = append_run_summary(outcome.report, outcome.pack)
    return msgspec.structs.replace(outcome, warnings=outcome.warnings + warnings)


def run_packs(
    paths: Sequence[str],
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    front_ends: FrontEnds,
) -> RunPacksOutcome:
    """Run several packs, or those of directories, one after another under one budget.

    `front_ends` makes the display, the stop switch and the questions of each pack.
    """
    from oraclepack.run import run_packs as several

    chosen, wanted = settings or load_settings(paths[0]), arguments or RunArguments()
    packs = several.packs_to_run(paths, chosen, wanted)
    return several.run_packs(packs, chosen, wanted, front_ends)


def plan_packs(
    paths: Sequence[str],
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
) -> RunPacksOutcome:
    """What `run_packs` would do with every step of every pack. Changes nothing."""
    from oraclepack.run import run_packs as several

    chosen, wanted = settings or load_settings(paths[0]), arguments or RunArguments()
    return several.plan_packs(several.packs_to_run(paths, chosen, wanted), chosen, wanted)


class QuestionOptions(TypedDict, total=False):
    """One question without a pack."""

    prompt: Required[str]
    files: tuple[str, ...]
    """Paths or patterns to attach; a relative one is read from the current directory."""
    model: str | None
    output: str | None
    """Where the answer goes; by default below `.oraclepack/calls`."""


def call(
    question: QuestionOptions,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
) -> tuple[CallResult, RunOutcome]:
    """Ask one question as a run of one step; `display`, `stop` and `ask` as for `run`."""
    from oraclepack.authoring import single_call

    settings = settings or load_settings()
    root = Path(settings.root)
    pack, output = single_call.write_call(root, single_call.SingleQuestion(**question))
    if not settings.is_given(run_settings.LEGACY_FILES):
        # The Go tool has no such command, and the files would lie in the project root.
        values = {**settings.values, run_settings.LEGACY_FILES.name: False}
        settings = msgspec.structs.replace(settings, values=values)
    outcome = run(pack, settings, arguments, display=display, stop=stop, ask=ask)
    answer = content_at(root, output).data
    result = single_call.CallResult(
        run_id=outcome.report.run_id,
        title=single_call.title_of_prompt(question["prompt"]),
        pack=pack.relative_to(root).as_posix(),
        output=output,
        answer=None if answer is None else answer.decode("utf-8", "replace"),
        run=outcome.report,
    )
    return result, outcome


def call_preflight(
    question: QuestionOptions, settings: Settings | None = None
) -> tuple[CallPreflight, tuple[str, ...]]:
    """Whether a question could be asked, and what that would cost; asks nothing. And warnings."""
    from oraclepack.authoring import single_call

    settings = settings or load_settings()
    single_question = single_call.SingleQuestion(**question)
    pack, _ = single_call.write_call(Path(settings.root), single_question)
    forecasted, warnings = forecast(pack, settings)
    return single_call.preflight(forecasted, environment()), warnings


def start(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    command: str = "run",
    more: Sequence[str] = (),
) -> StartedRun:
    """Run a pack in a process of its own that outlives this one; returns once its run has begun.

    `command` is `run` or `pipeline`; `more` are words of its command line that are no settings.
    The process reads the pack itself: `arguments.expect_pack` makes it refuse another one.
    `runs(root).watch`, `.logs`, `.status` and `.control` observe and steer it.
    """
    from oraclepack.run.start_run import start_detached

    chosen = settings or load_settings(pack)
    return start_detached(command, pack, chosen, arguments or RunArguments(), more)


def detached_report() -> DetachedReport | None:
    """Where this process reports, if it is the command of a detached run."""
    if DETACHED_VARIABLE not in environment():
        return None
    from oraclepack.run.start_run import detached_report as find_report

    return find_report()


def why(pack: str | Path, step: str, settings: Settings | None = None) -> tuple[str, WhyReport]:
    """Why a step ran, was left out or would run: in one sentence, and everything behind it."""
    from oraclepack.run import explain_steps, run_pack, run_request

    request = run_request.read_request(pack, settings or load_settings(pack))
    return explain_steps.why_step(request, *run_pack.preview_run(request), step)


def verify(
    packs: str | Sequence[str] = (), settings: Settings | None = None, run_dir: str | None = None
) -> VerifyReport | VerifyPacksReport:
    """Check outputs against their contracts. Starts no process."""
    from oraclepack.run.verify_outputs import verify_outputs

    paths = (packs,) if isinstance(packs, str) else packs
    return verify_outputs(paths, settings or load_settings(paths[0] if paths else None), run_dir)


def accept(
    pack: str,
    step: str,
    settings: Settings | None = None,
    *,
    reason: str = "",
    outputs: Sequence[str] = (),
    run_id: str | None = None,
) -> AcceptReport:
    """Take the outputs of a step as they are, whatever their contracts say."""
    from oraclepack.run.accept import accept_outputs

    settings = settings or load_settings(pack)
    return accept_outputs(pack, step, settings, reason=reason, outputs=outputs, run_id=run_id)


def undo(
    pack: str, step: str, settings: Settings | None = None, run_id: str | None = None
) -> UndoReport:
    """Take back what a step changed in the work tree."""
    from oraclepack.run.undo import undo_step

    return undo_step(pack, step, settings or load_settings(pack), run_id)


def pipeline(  # noqa: PLR0913 - each is optional and given by name
    pack: str,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    exports: Sequence[str] = (),
    allow_rehearsal: bool = False,
    junit: str | None = None,
    page: bool = False,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
    github: bool = False,
) -> PipelineOutcome:
    """Validate, run, verify and actionize a pack; `display`, `stop` and `ask` as for `run`.

    With `page` the HTML report of the run is written at the end.
    """
    from oraclepack.pipeline.run_pipeline import PipelineRequest, run_pipeline

    wish = PipelineRequest(
        pack,
        settings or load_settings(pack),
        arguments or RunArguments(),
        tuple(exports),
        allow_rehearsal,
        junit,
        github,
        page,
    )
    return run_pipeline(wish, display, ask, stop)


def report(
    target: str = "",
    settings: Settings | None = None,
    *,
    out: str = "",
    form: str = "html",
    redact: bool = False,
) -> ReportOutcome:
    """Write a run into one file: a page, or with `form` as `md` or `trace`.

    `target` is a run, a run directory or a pack; without it the newest run of the project is meant.
    """
    from oraclepack.report.write_report import write_report

    chosen = settings or load_settings()
    root, cwd = Path(chosen.root), chosen[CWD]
    return write_report(root, target, out=out, form=form, redact=redact, cwd=cwd)


def control_request(
    action: str,
    *,
    step: str | None = None,
    call: int | None = None,
    now: bool = False,
    values: Mapping[str, str] | None = None,
    answer: str = "",
    by: str = "",
) -> ControlRequest:
    """A request for `runs(root).control`: `stop`, `pause`, `resume`, `set` or `answer`."""
    from oraclepack.run.run_control import ControlRequest

    return ControlRequest(
        action=action,
        step=step,
        call=call,
        now=now,
        values=dict(values or {}),
        answer=answer,
        by=by,
    )


def report_site(
    directory: str,
    settings: Settings | None = None,
    *,
    projects: Sequence[str] = (),
    redact: bool = False,
) -> SiteReport:
    """Write a page for every run of the project, or of several, and an index with trends."""
    from oraclepack.report.write_site import write_site

    chosen = settings or load_settings()
    return write_site(Path(chosen.root), directory, projects, redact=redact, cwd=chosen[CWD])


# What agents read, and what lets them run


def pages(root: str | Path) -> ProjectPages:
    """Packs, events, answers and work of a project in pages."""
    from oraclepack.pipeline.record_pages import ProjectPages

    return ProjectPages(Path(root))


def plan_with_token(
    pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> tuple[RunPlan, tuple[str, ...]]:
    """What `run` would do, and a token that lets exactly that begin; also warnings."""
    from oraclepack.run import plan_token

    wanted = arguments or RunArguments()
    subject = plan_token.plan_subject(pack, settings, wanted)
    # The token must be for the pack that the plan shows, although it is read twice.
    outcome = plan(pack, settings, msgspec.structs.replace(wanted, expect_pack=subject.pack_hash))
    return plan_token.planned(outcome.report, subject), outcome.warnings


def plan_subject(
    pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> PlanSubject:
    """What decides what a run does (pack, project, settings, arguments), as hashes."""
    from oraclepack.run import plan_token

    return plan_token.plan_subject(pack, settings, arguments or RunArguments())


def redeem_plan(
    token: str, pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> str:
    """Use the token of a plan; raises where it is wrong, expired, used or for another plan.

    Returns the hash of the pack it was issued for: `RunArguments.expect_pack` of the run.
    """
    from oraclepack.run import plan_token

    return plan_token.redeem(token, pack, settings, arguments or RunArguments())


def read_run(target: str = "", settings: Settings | None = None) -> ReportData:
    """Everything about a run that a report shows; `target` as for `report`. Writes nothing."""
    from oraclepack.report.gather_report import gather_report
    from oraclepack.report.write_report import find_run

    return gather_report(find_run(Path((settings or load_settings()).root), target))


# Records of a project


def runs(root: str | Path) -> ComparableRuns:
    """The runs of a project: list, show, status, watch, logs, control, diff, prune, rebuild."""
    from oraclepack.report.comparable_runs import ComparableRuns

    return ComparableRuns(Path(root))


def cache(root: str | Path) -> ProjectCache:
    """The cached answers of a project: list, show, explain, prune."""
    return _records(root).cache


def quarantine(root: str | Path) -> ProjectQuarantine:
    """The outputs of failed attempts: list, restore."""
    return _records(root).quarantine


def foreign_records(root: str | Path) -> ForeignRecords:
    """What is not signed with the user's key: find it, look at it, trust it."""
    return _records(root).foreign


def _records(root: str | Path) -> ProjectRecords:
    from oraclepack.run.project_records import ProjectRecords

    return ProjectRecords(Path(root))


# Fleets


def fleets(settings: Settings | None = None) -> Fleets:
    """Many packs on many machines: run, status, stop, work."""
    from oraclepack.fleet.fleets import Fleets

    settings = settings or load_settings()
    return Fleets(settings[call_settings.STORE], settings[call_settings.STORE_LEASE])


def shared_store(settings: Settings | None = None) -> SharedStore:
    """The database that machines share: init, examine, unknown, bury, limits."""
    try:
        from oraclepack.fleet.shared_store import SharedStore
    except ImportError:
        raise UsageError(
            "a shared store is a PostgreSQL database, and psycopg is not installed",
            hint='pip install "oraclepack[fleet]"',
        ) from None

    return SharedStore((settings or load_settings())[call_settings.STORE])


# Work


class ActionizeOptions(TypedDict, total=False):
    """Whose answers are meant, and what is written; `run_dir`, or `answers` with `pack`."""

    run_dir: str
    answers: str
    pack: str
    out_dir: str
    exports: Sequence[str]
    allow_rehearsal: bool
    """Export even what a rehearsal answered."""
    per: str | None
    """`question` or `task`: what an issue on GitHub stands for."""


def actionize(settings: Settings, **options: Unpack[ActionizeOptions]) -> ActionizeOutcome:
    """Turn the answers of a run, or of a directory of answers to a pack, into work."""
    from oraclepack.work.actionize import actionize_and_weigh

    return actionize_and_weigh(settings, **options)


def work(settings: Settings | None = None) -> ProjectWork:
    """What follows a run: `followup` writes the next pack, `publish` files issues on GitHub."""
    from oraclepack.pipeline.project_work import ProjectWork

    settings = settings or load_settings()
    return ProjectWork(Path(settings.root), settings[GITHUB_API_URL])


def backlog_notes(run_dir: str | Path) -> BacklogNotes | None:
    """The ticks and notes of a person in the backlog of a run; None where there is no backlog."""
    from oraclepack.work.backlog_edit import read_notes

    return read_notes(Path(run_dir))


def write_backlog(run_dir: str | Path) -> BacklogNotes:
    """Write the backlog of a run from the answers that there are so far."""
    from oraclepack.work.backlog_edit import write_backlog as write

    return write(Path(run_dir))


def tick_task(run_dir: str | Path, task_id: str, *, done: bool) -> BacklogNotes:
    """Tick a task of the backlog, or take the tick away."""
    from oraclepack.work.backlog_edit import tick_task as tick

    return tick(Path(run_dir), task_id, done=done)


def write_note(run_dir: str | Path, name: str, note: str) -> BacklogNotes:
    """Replace a note in the backlog: of a task, of an issue, or `notes` for the whole."""
    from oraclepack.work.backlog_edit import write_note as write

    return write(Path(run_dir), name, note)


class TicketifyOptions(TypedDict, total=False):
    """Which tickets are read and what is made of them; each has a default."""

    tickets_dir: str
    glob: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    top_n: int
    out_dir: str
    prd_path: str
    mode: str
    only: str | None
    """Refresh this part alone."""
    force: bool
    """Replace a PRD that was edited."""
    regenerate: bool
    """Have Task Master's results made anew."""
    rollback_on_failure: bool


def ticketify(root: Path, **options: Unpack[TicketifyOptions]) -> TicketifyResult:
    """Turn tickets into an index, a list of actions, a PRD and a pack."""
    from oraclepack.tickets import ticketify as use_case

    return use_case.ticketify(use_case.TicketifyRequest(root=root, **options))


def check_tickets(
    root: Path,
    report: str | None = None,
    **options: Unpack[TicketifyOptions],
) -> tuple[TicketCheck, tuple[str, ...]]:
    """Whether the files of `ticketify` say what the tickets say; also warnings."""
    from oraclepack.tickets import steps_support, ticketify

    return steps_support.check_tickets(ticketify.TicketifyRequest(root=root, **options), report)


def ticket_steps(root: str | Path, out_dir: str) -> TicketSteps:
    """What the steps of the ticket action pack ask: prompt, take, tasks, report."""
    from oraclepack.run.watch_run import LogProgress as LogProgress
    from oraclepack.run.watch_run import WatchUpdate as WatchUpdate
    from oraclepack.tickets.steps_support import TicketSteps

    return TicketSteps(Path(root), out_dir)


# The program and the machine


def skills(root: str | Path = ".") -> ProjectSkills:
    """The prompts for agents, and their copies in a project: show, install, check."""
    from oraclepack.authoring.skills import ProjectSkills

    return ProjectSkills(Path(root))


def prices(settings: Settings) -> KnownPrices:
    """What models cost, by the table of the program and the user's own: list, show."""
    from oraclepack.tools.prices import KnownPrices

    return KnownPrices(settings[call_settings.PRICES])


def examine_machine(settings: Settings) -> Health:
    """What is installed and what would not work."""
    from oraclepack.doctor import examine

    oracle = call_settings.ORACLE_BIN
    where = settings.origin(oracle).where
    return examine(
        Path(settings.root), {"oracle": (where, settings[oracle])} if settings[oracle] else {}
    )


def redacted(text: str) -> str:
    """A text without the secrets of the environment."""
    return Redactor.of(environment()).clean(text)


def redacted_record(record: Record) -> Record:
    """A record with every text in it redacted."""
    return Redactor.of(environment()).clean_record(record)


def write_new_file(path: str | Path, data: bytes) -> None:
    """Write a whole file where none is; nothing is overwritten."""
    write_new(Path(path), data)


def looks_secret(path: str) -> bool:
    """Whether a file looks by its name as if it held a secret."""
    from oraclepack.lint.rules.attachment_rules import looks_secret as by_name

    return by_name(path)


def read_small_file(path: Path) -> bytes | None:
    """A file of the user's; None where there is none."""
    return files.read(path, _LARGEST_CONFIG)


def write_config_file(path: Path, data: bytes) -> None:
    """Put a file of the user's in place at once, with the directories that it lacks."""
    refuse_to_write_out(path.parent)
    files.make_directories(path.parent)
    files.write_atomic(path, data)


def skill_text(name: str) -> str:
    """The prompt that teaches an agent to write packs (`pack`) or to run them (`run`)."""
    return skills().show("claude", f"oracle-{name}").text
