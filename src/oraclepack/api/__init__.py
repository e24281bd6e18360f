"""The interface of oraclepack for front ends and programs.

    from oraclepack import api

    outcome = api.run("docs/pack.md")
    print(outcome.report.status)

The functions are in the modules of this folder, one per topic. What every command needs is
imported here at once: settings, errors, the clock, canonical JSON. All else is loaded by
`__getattr__` (PEP 562) when it is first used: all together would take a third of a second, and no
caller needs all of it. `_MODULES` says where each name is defined, and the imports below
`TYPE_CHECKING` say the same to type checkers; tests/test_api.py compares them.

Whatever cannot be done raises an `OraclePackError` that says what happened and what to do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from oraclepack.api.settings_access import (
    is_detached,
    load_settings,
    mcp_token,
    place_values,
    read_small_file,
    redacted,
    redacted_record,
    save_chatgpt_url,
    trust_settings,
    write_config_file,
    write_new_file,
)
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
from oraclepack.settings import call_settings, run_settings, value_kinds
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
from oraclepack.settings.trusted_files import SettingsTrust, find_untrusted
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.digests import (
    canonical_file,
    canonical_line,
    canonical_reply,
    sha256_bytes,
)
from oraclepack.system.environment import (
    environment,
    is_agent,
    request_id,
    user_name,
)
from oraclepack.system.files import exhausted

if TYPE_CHECKING:
    from oraclepack.answers.verification import Totals as Totals
    from oraclepack.answers.verification import VerifyPacksReport as VerifyPacksReport
    from oraclepack.answers.verification import VerifyReport as VerifyReport
    from oraclepack.api.detached_runs import detached_report as detached_report
    from oraclepack.api.detached_runs import start as start
    from oraclepack.api.fleet_access import fleets as fleets
    from oraclepack.api.fleet_access import shared_store as shared_store
    from oraclepack.api.output_checks import verify as verify
    from oraclepack.api.pack_authoring import GenerateOptions as GenerateOptions
    from oraclepack.api.pack_authoring import generate as generate
    from oraclepack.api.pack_authoring import new_pack as new_pack
    from oraclepack.api.pack_authoring import survey as survey
    from oraclepack.api.pack_authoring import upgrade as upgrade
    from oraclepack.api.pack_checks import preview_fixes as preview_fixes
    from oraclepack.api.pack_checks import validate as validate
    from oraclepack.api.pack_status import list_packs as list_packs
    from oraclepack.api.pack_status import list_steps as list_steps
    from oraclepack.api.pipeline_stages import pipeline as pipeline
    from oraclepack.api.pipeline_stages import work as work
    from oraclepack.api.program_reference import examine_machine as examine_machine
    from oraclepack.api.program_reference import prices as prices
    from oraclepack.api.program_reference import program_for_clients as program_for_clients
    from oraclepack.api.program_reference import skill_text as skill_text
    from oraclepack.api.program_reference import skills as skills
    from oraclepack.api.project_storage import ComparableRuns as ComparableRuns
    from oraclepack.api.project_storage import accept as accept
    from oraclepack.api.project_storage import cache as cache
    from oraclepack.api.project_storage import control_request as control_request
    from oraclepack.api.project_storage import foreign_records as foreign_records
    from oraclepack.api.project_storage import quarantine as quarantine
    from oraclepack.api.project_storage import runs as runs
    from oraclepack.api.project_storage import undo as undo
    from oraclepack.api.report_files import forecast_comment as forecast_comment
    from oraclepack.api.report_files import format_findings as format_findings
    from oraclepack.api.report_files import pages as pages
    from oraclepack.api.report_files import read_run as read_run
    from oraclepack.api.report_files import report as report
    from oraclepack.api.report_files import report_site as report_site
    from oraclepack.api.rule_reference import explain_rules as explain_rules
    from oraclepack.api.rule_reference import looks_secret as looks_secret
    from oraclepack.api.run_execution import run as run
    from oraclepack.api.run_execution import run_packs as run_packs
    from oraclepack.api.run_planning import check_overrides as check_overrides
    from oraclepack.api.run_planning import forecast as forecast
    from oraclepack.api.run_planning import plan as plan
    from oraclepack.api.run_planning import plan_packs as plan_packs
    from oraclepack.api.run_planning import plan_subject as plan_subject
    from oraclepack.api.run_planning import plan_with_token as plan_with_token
    from oraclepack.api.run_planning import redeem_plan as redeem_plan
    from oraclepack.api.run_planning import step_content as step_content
    from oraclepack.api.run_planning import why as why
    from oraclepack.api.run_work import ActionizeOptions as ActionizeOptions
    from oraclepack.api.run_work import WorkRecord as WorkRecord
    from oraclepack.api.run_work import actionize as actionize
    from oraclepack.api.run_work import backlog_notes as backlog_notes
    from oraclepack.api.run_work import tick_task as tick_task
    from oraclepack.api.run_work import write_backlog as write_backlog
    from oraclepack.api.run_work import write_note as write_note
    from oraclepack.api.single_questions import QuestionOptions as QuestionOptions
    from oraclepack.api.single_questions import call as call
    from oraclepack.api.single_questions import call_preflight as call_preflight
    from oraclepack.api.ticket_work import TicketifyOptions as TicketifyOptions
    from oraclepack.api.ticket_work import check_tickets as check_tickets
    from oraclepack.api.ticket_work import ticket_steps as ticket_steps
    from oraclepack.api.ticket_work import ticketify as ticketify
    from oraclepack.authoring.generate import GenerateResult as GenerateResult
    from oraclepack.authoring.generation import GeneratedStep as GeneratedStep
    from oraclepack.authoring.generation import GenerateReport as GenerateReport
    from oraclepack.authoring.generation import NewPack as NewPack
    from oraclepack.authoring.generation import UpgradeReport as UpgradeReport
    from oraclepack.authoring.skills import ProjectSkills as ProjectSkills
    from oraclepack.authoring.skills import SkillsCheck as SkillsCheck
    from oraclepack.authoring.skills import SkillsInstallReport as SkillsInstallReport
    from oraclepack.authoring.skills import SkillText as SkillText
    from oraclepack.calls.cache import CacheRow as CacheRow
    from oraclepack.calls.cache import CallExplanation as CallExplanation
    from oraclepack.doctor import Health as Health
    from oraclepack.doctor import ProgramCheck as ProgramCheck
    from oraclepack.doctor import ProviderKey as ProviderKey
    from oraclepack.fleet.fleet_job import FleetTotals as FleetTotals
    from oraclepack.fleet.fleet_reports import FleetReport as FleetReport
    from oraclepack.fleet.fleets import Fleets as Fleets
    from oraclepack.fleet.shared_store import SharedStore as SharedStore
    from oraclepack.journal import events as events
    from oraclepack.journal.costs import NO_COST as NO_COST
    from oraclepack.journal.costs import CostTotal as CostTotal
    from oraclepack.journal.costs import calls_text as calls_text
    from oraclepack.journal.costs import cost_text as cost_text
    from oraclepack.journal.costs import forecast_text as forecast_text
    from oraclepack.journal.costs import money as money
    from oraclepack.journal.costs import short_cost as short_cost
    from oraclepack.journal.events import KnownEvent as KnownEvent
    from oraclepack.journal.run_state import EMPTY as EMPTY
    from oraclepack.journal.run_state import Ask as Ask
    from oraclepack.journal.run_state import RunState as RunState
    from oraclepack.journal.run_state import fold as fold
    from oraclepack.journal.statuses import WAITS as WAITS
    from oraclepack.journal.statuses import Cache as Cache
    from oraclepack.journal.statuses import CallWait as CallWait
    from oraclepack.journal.statuses import RollbackStatus as RollbackStatus
    from oraclepack.journal.statuses import Status as Status
    from oraclepack.journal.step_state import StepState as StepState
    from oraclepack.lint.finding import Finding as Finding
    from oraclepack.lint.finding import Severity as Severity
    from oraclepack.lint.rule_docs import RuleDoc as RuleDoc
    from oraclepack.lint.rule_docs import RuleExplanation as RuleExplanation
    from oraclepack.lint.validate import CheckedPack as CheckedPack
    from oraclepack.lint.validate import FixPreview as FixPreview
    from oraclepack.lint.validate import ValidateResult as ValidateResult
    from oraclepack.lint.validation import CheckRun as CheckRun
    from oraclepack.lint.validation import UnreadablePack as UnreadablePack
    from oraclepack.pack.model import PRELUDE as PRELUDE
    from oraclepack.pipeline.pipeline_report import PipelineReport as PipelineReport
    from oraclepack.pipeline.pipeline_report import PolicyReport as PolicyReport
    from oraclepack.pipeline.pipeline_report import StageReport as StageReport
    from oraclepack.pipeline.project_work import ProjectWork as ProjectWork
    from oraclepack.pipeline.record_pages import ProjectPages as ProjectPages
    from oraclepack.pipeline.run_pipeline import PipelineOutcome as PipelineOutcome
    from oraclepack.report import figures as figures
    from oraclepack.report.report_data import ReportAnswer as ReportAnswer
    from oraclepack.report.report_data import ReportData as ReportData
    from oraclepack.report.report_data import ReportStep as ReportStep
    from oraclepack.report.report_data import SourceQuote as SourceQuote
    from oraclepack.report.run_comparison import QuestionComparison as QuestionComparison
    from oraclepack.report.run_comparison import RunComparison as RunComparison
    from oraclepack.report.run_comparison import RunSide as RunSide
    from oraclepack.report.schemas import schema_names as schema_names
    from oraclepack.report.schemas import schema_of as schema_of
    from oraclepack.report.untrusted_text import clean_parts as clean_parts
    from oraclepack.report.untrusted_text import untrusted_parts as untrusted_parts
    from oraclepack.report.write_report import ReportFile as ReportFile
    from oraclepack.report.write_report import ReportOutcome as ReportOutcome
    from oraclepack.report.write_site import SiteReport as SiteReport
    from oraclepack.run.accept import AcceptReport as AcceptReport
    from oraclepack.run.explain_steps import WhyReport as WhyReport
    from oraclepack.run.forecast import CostForecast as CostForecast
    from oraclepack.run.forecast import CostRange as CostRange
    from oraclepack.run.forecast import PlannedStepCost as PlannedStepCost
    from oraclepack.run.plan_token import PlanSubject as PlanSubject
    from oraclepack.run.plan_token import RunPlan as RunPlan
    from oraclepack.run.planning.plan import Decision as Decision
    from oraclepack.run.planning.selection import Existing as Existing
    from oraclepack.run.planning.selection import RunArguments as RunArguments
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
    from oraclepack.run.run_display import Display as Display
    from oraclepack.run.run_display import RunPreview as RunPreview
    from oraclepack.run.run_display import StepPreview as StepPreview
    from oraclepack.run.run_packs import FrontEnds as FrontEnds
    from oraclepack.run.run_packs import PackRun as PackRun
    from oraclepack.run.run_packs import RunPacksOutcome as RunPacksOutcome
    from oraclepack.run.run_report import PlanOutcome as PlanOutcome
    from oraclepack.run.run_report import RunOutcome as RunOutcome
    from oraclepack.run.run_report import RunReport as RunReport
    from oraclepack.run.run_report import StepReport as StepReport
    from oraclepack.run.single_call import CallPreflight as CallPreflight
    from oraclepack.run.single_call import CallResult as CallResult
    from oraclepack.run.start_run import DetachedReport as DetachedReport
    from oraclepack.run.start_run import StartedRun as StartedRun
    from oraclepack.run.step_content import ContentCall as ContentCall
    from oraclepack.run.step_content import StepContent as StepContent
    from oraclepack.run.transaction import TransactionReport as TransactionReport
    from oraclepack.run.trust import Candidate as Candidate
    from oraclepack.run.undo import UndoReport as UndoReport
    from oraclepack.run.watch_run import LogProgress as LogProgress
    from oraclepack.run.watch_run import WatchUpdate as WatchUpdate
    from oraclepack.shell.attempt import StopLevel as StopLevel
    from oraclepack.shell.log_files import last_lines as last_lines
    from oraclepack.shell.log_tail import LogPart as LogPart
    from oraclepack.shell.log_tail import LogWindow as LogWindow
    from oraclepack.shell.stop import Stop as Stop
    from oraclepack.system.jq_filter import JqFilter as JqFilter
    from oraclepack.system.jq_filter import jq_filter as jq_filter
    from oraclepack.system.paging import TextPage as TextPage
    from oraclepack.system.paging import page as page
    from oraclepack.system.paging import text_page as text_page
    from oraclepack.system.root_files import Roots as Roots
    from oraclepack.tickets.steps_support import TicketSteps as TicketSteps
    from oraclepack.tickets.ticket import TicketCheck as TicketCheck
    from oraclepack.tickets.ticketify import TicketifyReport as TicketifyReport
    from oraclepack.tickets.ticketify import TicketifyResult as TicketifyResult
    from oraclepack.tickets.ticketify import TicketsReply as TicketsReply
    from oraclepack.tools.prices import KnownPrices as KnownPrices
    from oraclepack.tools.prices import ModelPrice as ModelPrice
    from oraclepack.tools.prices import PriceList as PriceList
    from oraclepack.tools.prices import PriceReport as PriceReport
    from oraclepack.view.pack_overview import PackEntry as PackEntry
    from oraclepack.view.past_runs import CallTimes as CallTimes
    from oraclepack.view.past_runs import RunDetails as RunDetails
    from oraclepack.view.past_runs import RunListEntry as RunListEntry
    from oraclepack.view.run_status import CallInFlight as CallInFlight
    from oraclepack.view.run_status import DecisionRequest as DecisionRequest
    from oraclepack.view.run_status import RunStatus as RunStatus
    from oraclepack.view.run_status import StepStatus as StepStatus
    from oraclepack.view.step import StepView as StepView
    from oraclepack.view.step_listing import ListedStep as ListedStep
    from oraclepack.view.step_listing import StepList as StepList
    from oraclepack.work.actionize import ActionizeOutcome as ActionizeOutcome
    from oraclepack.work.backlog import ActionizeReport as ActionizeReport
    from oraclepack.work.backlog_edit import BacklogNotes as BacklogNotes

__all__ = [
    "BY_NAME",
    "COLOR",
    "COMPLETION_VARIABLE",
    "CWD",
    "GITHUB_API_URL",
    "LINT_IGNORE",
    "LINT_SELECT",
    "NOTIFY",
    "OUTPUT",
    "STRICT",
    "TRUST_KEY_FILE",
    "TUI_KEYS",
    "TUI_THEME",
    "AlreadyExistsError",
    "Clock",
    "ConfigReport",
    "ExitCode",
    "InputError",
    "LockedError",
    "MachineError",
    "NotFoundError",
    "OraclePackError",
    "RunAbortedError",
    "Setting",
    "SettingScope",
    "SettingValue",
    "Settings",
    "SettingsTrust",
    "SystemClock",
    "UsageError",
    "ValueSource",
    "call_settings",
    "canonical_file",
    "canonical_line",
    "canonical_reply",
    "environment",
    "exhausted",
    "find_untrusted",
    "is_agent",
    "is_completing",
    "is_detached",
    "load_settings",
    "mcp_token",
    "own_variables",
    "place_values",
    "read_small_file",
    "redacted",
    "redacted_record",
    "request_id",
    "run_settings",
    "save_chatgpt_url",
    "settings_shown",
    "sha256_bytes",
    "trust_settings",
    "user_name",
    "value_kinds",
    "write_config_file",
    "write_new_file",
]

_MODULES = {
    "oraclepack.answers.verification": ("Totals", "VerifyPacksReport", "VerifyReport"),
    "oraclepack.api.detached_runs": ("detached_report", "start"),
    "oraclepack.api.fleet_access": ("fleets", "shared_store"),
    "oraclepack.api.output_checks": ("verify",),
    "oraclepack.api.pack_authoring": (
        *("GenerateOptions", "generate", "new_pack", "survey", "upgrade"),
    ),
    "oraclepack.api.pack_checks": ("preview_fixes", "validate"),
    "oraclepack.api.pack_status": ("list_packs", "list_steps"),
    "oraclepack.api.pipeline_stages": ("pipeline", "work"),
    "oraclepack.api.program_reference": (
        "examine_machine",
        "prices",
        "program_for_clients",
        "skill_text",
        "skills",
    ),
    "oraclepack.api.project_storage": (
        "ComparableRuns",
        "accept",
        "cache",
        "control_request",
        "foreign_records",
        "quarantine",
        "runs",
        "undo",
    ),
    "oraclepack.api.report_files": (
        "forecast_comment",
        "format_findings",
        "pages",
        "read_run",
        "report",
        "report_site",
    ),
    "oraclepack.api.rule_reference": ("explain_rules", "looks_secret"),
    "oraclepack.api.run_execution": ("run", "run_packs"),
    "oraclepack.api.run_planning": (
        "check_overrides",
        "forecast",
        "plan",
        "plan_packs",
        "plan_subject",
        "plan_with_token",
        "redeem_plan",
        "step_content",
        "why",
    ),
    "oraclepack.api.run_work": (
        "ActionizeOptions",
        "WorkRecord",
        "actionize",
        "backlog_notes",
        "tick_task",
        "write_backlog",
        "write_note",
    ),
    "oraclepack.api.single_questions": ("QuestionOptions", "call", "call_preflight"),
    "oraclepack.api.ticket_work": (
        "TicketifyOptions",
        "check_tickets",
        "ticket_steps",
        "ticketify",
    ),
    "oraclepack.authoring.generate": ("GenerateResult",),
    "oraclepack.authoring.generation": (
        "GenerateReport",
        "GeneratedStep",
        "NewPack",
        "UpgradeReport",
    ),
    "oraclepack.run.single_call": ("CallPreflight", "CallResult"),
    "oraclepack.authoring.skills": (
        "ProjectSkills",
        "SkillText",
        "SkillsCheck",
        "SkillsInstallReport",
    ),
    "oraclepack.calls.cache": ("CacheRow", "CallExplanation"),
    "oraclepack.doctor": ("Health", "ProgramCheck", "ProviderKey"),
    "oraclepack.fleet.fleet_job": ("FleetTotals",),
    "oraclepack.fleet.fleet_reports": ("FleetReport",),
    "oraclepack.fleet.fleets": ("Fleets",),
    "oraclepack.fleet.shared_store": ("SharedStore",),
    "oraclepack.journal": ("events",),
    "oraclepack.journal.costs": (
        "CostTotal",
        "NO_COST",
        "calls_text",
        "cost_text",
        "forecast_text",
        "money",
        "short_cost",
    ),
    "oraclepack.journal.events": ("KnownEvent",),
    "oraclepack.journal.run_state": ("Ask", "EMPTY", "RunState", "fold"),
    "oraclepack.journal.statuses": ("Cache", "CallWait", "RollbackStatus", "Status", "WAITS"),
    "oraclepack.journal.step_state": ("StepState",),
    "oraclepack.lint.finding": ("Finding", "Severity"),
    "oraclepack.lint.rule_docs": ("RuleDoc", "RuleExplanation"),
    "oraclepack.lint.validate": ("CheckedPack", "FixPreview", "ValidateResult"),
    "oraclepack.lint.validation": ("CheckRun", "UnreadablePack"),
    "oraclepack.pack.model": ("PRELUDE",),
    "oraclepack.pipeline.pipeline_report": ("PipelineReport", "PolicyReport", "StageReport"),
    "oraclepack.pipeline.project_work": ("ProjectWork",),
    "oraclepack.pipeline.record_pages": ("ProjectPages",),
    "oraclepack.pipeline.run_pipeline": ("PipelineOutcome",),
    "oraclepack.report": ("figures",),
    "oraclepack.report.report_data": ("ReportAnswer", "ReportData", "ReportStep", "SourceQuote"),
    "oraclepack.report.run_comparison": ("QuestionComparison", "RunComparison", "RunSide"),
    "oraclepack.report.schemas": ("schema_names", "schema_of"),
    "oraclepack.report.untrusted_text": ("clean_parts", "untrusted_parts"),
    "oraclepack.report.write_report": ("ReportFile", "ReportOutcome"),
    "oraclepack.report.write_site": ("SiteReport",),
    "oraclepack.run.accept": ("AcceptReport",),
    "oraclepack.run.explain_steps": ("WhyReport",),
    "oraclepack.run.forecast": ("CostForecast", "CostRange", "PlannedStepCost"),
    "oraclepack.view.pack_overview": ("PackEntry",),
    "oraclepack.view.past_runs": ("CallTimes", "RunDetails", "RunListEntry"),
    "oraclepack.view.step": ("StepView",),
    "oraclepack.run.plan_token": ("PlanSubject", "RunPlan"),
    "oraclepack.run.planning.plan": ("Decision",),
    "oraclepack.run.planning.selection": ("Existing", "RunArguments"),
    "oraclepack.run.policy": ("YieldPolicy",),
    "oraclepack.run.project_records": (
        "ForeignRecords",
        "ProjectCache",
        "ProjectQuarantine",
        "ProjectRecords",
    ),
    "oraclepack.run.prune_runs": ("RunsPruneReport",),
    "oraclepack.run.quarantine": ("QuarantineEntry",),
    "oraclepack.run.read_logs": ("LogChunk", "LogReport"),
    "oraclepack.run.rebuild": ("RebuildReport", "RunRebuild"),
    "oraclepack.run.run_control": ("ControlReply", "ControlRequest"),
    "oraclepack.run.run_display": ("Display", "RunPreview", "StepPreview"),
    "oraclepack.run.run_packs": ("FrontEnds", "PackRun", "RunPacksOutcome"),
    "oraclepack.run.run_report": ("PlanOutcome", "RunOutcome", "RunReport", "StepReport"),
    "oraclepack.view.run_status": ("CallInFlight", "DecisionRequest", "RunStatus", "StepStatus"),
    "oraclepack.run.start_run": ("DetachedReport", "StartedRun"),
    "oraclepack.run.step_content": ("ContentCall", "StepContent"),
    "oraclepack.view.step_listing": ("ListedStep", "StepList"),
    "oraclepack.run.transaction": ("TransactionReport",),
    "oraclepack.run.trust": ("Candidate",),
    "oraclepack.run.undo": ("UndoReport",),
    "oraclepack.run.watch_run": ("LogProgress", "WatchUpdate"),
    "oraclepack.shell.attempt": ("StopLevel",),
    "oraclepack.shell.log_files": ("last_lines",),
    "oraclepack.shell.log_tail": ("LogPart", "LogWindow"),
    "oraclepack.shell.stop": ("Stop",),
    "oraclepack.system.jq_filter": ("JqFilter", "jq_filter"),
    "oraclepack.system.paging": ("TextPage", "page", "text_page"),
    "oraclepack.system.root_files": ("Roots",),
    "oraclepack.tickets.steps_support": ("TicketSteps",),
    "oraclepack.tickets.ticket": ("TicketCheck",),
    "oraclepack.tickets.ticketify": ("TicketifyReport", "TicketifyResult", "TicketsReply"),
    "oraclepack.tools.prices": ("KnownPrices", "ModelPrice", "PriceList", "PriceReport"),
    "oraclepack.work.actionize": ("ActionizeOutcome",),
    "oraclepack.work.backlog": ("ActionizeReport",),
    "oraclepack.work.backlog_edit": ("BacklogNotes",),
}
_WHOLE_MODULES = ("events", "figures")
"""Names that stand for a module; their home is its package."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # with a `__getattr__` a type checker would accept every name

    def __getattr__(name: str) -> object:
        """Load a name of the api on its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _HOMES[name]
        value: object
        if name in _WHOLE_MODULES:
            value = import_module(f"{home}.{name}")
        else:
            value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
