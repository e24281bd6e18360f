"""The published shapes, by name. Each is imported on demand."""

import importlib
from types import FunctionType
from typing import Any

import msgspec

from oraclepack.errors import NotFoundError, did_you_mean

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS = {
    "run-report": ("oraclepack.run.run_report:RunReport", 2),
    "run-packs-report": ("oraclepack.run.run_packs:RunPacksReport", 1),
    "pipeline-report": ("oraclepack.pipeline.pipeline_report:PipelineReport", 2),
    "verify-report": ("oraclepack.answers.verification:VerifyReport", 2),
    "verify-packs-report": ("oraclepack.answers.verification:VerifyPacksReport", 2),
    "why-report": ("oraclepack.run.explain_steps:WhyReport", 2),
    "call-result": (
        "oraclepack.run.single_call:CallResult | oraclepack.run.single_call:CallPreflight",
        1,
    ),
    "run-plan": ("oraclepack.run.plan_token:RunPlan", 1),
    "pack-list": ("oraclepack.pipeline.record_pages:PackList", 1),
    "event-page": ("oraclepack.pipeline.record_pages:EventPage", 1),
    "answer-page": ("oraclepack.pipeline.record_pages:AnswerPage", 1),
    "work-list": ("oraclepack.pipeline.record_pages:WorkList", 2),
    "text-page": ("oraclepack.system.paging:TextPage", 1),
    "mcp-install": ("oraclepack.mcp.clients:ClientConfig", 1),
    "run": ("oraclepack.view.manifests:RunManifest", 1),
    "steps": ("oraclepack.view.manifests:StepsManifest", 1),
    "state": ("oraclepack.view.legacy_files:LegacyState", 1),
    "report": ("oraclepack.view.legacy_files:LegacyReport", 1),
    "journal": ("oraclepack.journal.events:EveryEvent", 1),
    "survey-report": ("oraclepack.authoring.survey:SurveyReport", 1),
    "generate-report": ("oraclepack.authoring.generation:GenerateReport", 3),
    "new-pack": (
        "oraclepack.authoring.generation:NewPack | oraclepack.pipeline.run_followup:FollowupReport",
        2,
    ),
    "upgrade-report": ("oraclepack.authoring.generation:UpgradeReport", 2),
    "skill": ("oraclepack.authoring.skills:SkillText", 1),
    "skills-install-report": ("oraclepack.authoring.skills:SkillsInstallReport", 2),
    "skills-check": ("oraclepack.authoring.skills:SkillsCheck", 2),
    "actionize-report": ("oraclepack.work.backlog:ActionizeReport", 2),
    "followup-report": ("oraclepack.pipeline.run_followup:FollowupReport", 1),
    "publish-report": ("oraclepack.work.publish:PublishReport", 1),
    "record": ("oraclepack.work.backlog:Record", 3),
    "ticketify-report": (
        "oraclepack.tickets.ticketify:TicketifyReport | oraclepack.tickets.ticket:TicketCheck",
        2,
    ),
    "tickets-reply": ("oraclepack.tickets.ticketify:TicketsReply", 2),
    "tickets-index": ("oraclepack.tickets.ticket:TicketIndex", 1),
    "tickets-actions": ("oraclepack.tickets.ticket:Actions", 1),
    "tickets-manifest": ("oraclepack.tickets.ticket:TicketManifest", 1),
    "tickets-check": ("oraclepack.tickets.ticket:TicketCheck", 1),
    "tickets-next": ("oraclepack.tickets.ticket:NextWork", 1),
    "tickets-review": ("oraclepack.tickets.ticket:Review", 1),
    "tickets-acceptance": ("oraclepack.tickets.ticket:Acceptance", 1),
    "tickets-tasks": ("oraclepack.tickets.ticket:TasksReport", 1),
    "tickets-audit": ("oraclepack.tickets.ticket:Audit", 1),
    "trust-report": ("oraclepack.system.ownership:TrustReport", 2),
    "accept-report": ("oraclepack.run.accept:AcceptReport", 2),
    "undo-report": ("oraclepack.run.undo:UndoReport", 2),
    "cache-list": ("oraclepack.calls.cache:CacheList", 1),
    "cache-details": ("oraclepack.calls.cache:CacheDetails", 3),
    "cache-explanation": ("oraclepack.calls.cache:CacheExplanation", 2),
    "cache-prune-report": ("oraclepack.calls.cache:CachePruneReport", 2),
    "cache-entry": ("oraclepack.calls.cache:CacheEntry", 2),
    "run-comparison": ("oraclepack.view.report.diff:RunComparison", 2),
    "report-file": (
        "oraclepack.view.report.write:ReportFile | oraclepack.view.report.site:SiteReport",
        1,
    ),
    "site": ("oraclepack.view.report.site:SiteState", 2),
    "forecast": ("oraclepack.run.forecast:CostForecast", 1),
    "fleet-report": ("oraclepack.fleet.fleet_reports:FleetReport", 1),
    "fleet-job-result": ("oraclepack.fleet.fleet_reports:JobResult", 1),
    "fleet-collection": ("oraclepack.fleet.fleet_reports:FleetCollection", 1),
    "fleet-unknown": ("oraclepack.fleet.fleet_reports:FleetUnknown", 1),
    "fleet-burial": ("oraclepack.fleet.fleet_reports:Burial", 1),
    "fleet-limits": ("oraclepack.fleet.fleet_reports:FleetLimits", 1),
    "fleet-init": ("oraclepack.fleet.fleet_reports:FleetInit", 1),
    "fleet-doctor": ("oraclepack.fleet.fleet_reports:StoreHealth", 1),
    "prices": ("oraclepack.tools.prices:PriceList | oraclepack.tools.prices:PriceReport", 2),
    "price": ("oraclepack.tools.prices:PriceReport", 1),
    "config": ("oraclepack.settings.registry:ConfigReport", 1),
    "config-trust": ("oraclepack.settings.loading:SettingsTrust", 1),
    "doctor": ("oraclepack.doctor:Health | oraclepack.run.rebuild:RebuildReport", 3),
    "runs-prune-report": ("oraclepack.run.prune_runs:RunsPruneReport", 2),
    "runs": ("oraclepack.view.past_runs:RunList", 1),
    "run-details": ("oraclepack.view.past_runs:RunDetails", 3),
    "run-status": ("oraclepack.view.run_status:RunStatus", 1),
    "run-start": ("oraclepack.run.start_run:StartedRun", 1),
    "control-reply": ("oraclepack.run.control:ControlReply", 1),
    "log-report": ("oraclepack.run.watch_run:LogReport", 1),
    "quarantine": ("oraclepack.run.quarantine:QuarantineList", 1),
    "quarantine-restore-report": ("oraclepack.run.quarantine:QuarantineRestoreReport", 2),
    "rule-explanation": ("oraclepack.lint.rule_docs:RuleExplanation", 2),
    "listing": ("oraclepack.view.step_listing:StepList", 2),
    "validation": ("oraclepack.view.report.schemas:_validation", 1),
    "envelope": ("oraclepack.cli.reply:Envelope", 1),
    "manifest": ("oraclepack.cli.command_manifest:CommandManifest", 3),
    "schema": ("oraclepack.view.report.schemas:SchemaNames", 1),
    "completion": ("oraclepack.view.report.schemas:CompletionScript", 1),
    "screen-session": ("oraclepack.view.report.schemas:ScreenSession", 1),
}
"""Name → where its type or types, or the function that describes it, are, and its version."""

SchemaNames = dict[str, str]
"""What `schema` answers without a name: each schema's name and its `$id`."""

CompletionScript = dict[str, str]
"""What `completion` answers: the shell and its script."""

ScreenSession = dict[str, str]
"""What `tui` answers when it is left: the place that it was opened with."""


def schema_id(name: str) -> str:
    return f"oraclepack:{name}/{SCHEMAS[name][1]}"


def schema_names() -> SchemaNames:
    return {name: schema_id(name) for name in sorted(SCHEMAS)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a published shape."""
    if name not in SCHEMAS:
        hint = did_you_mean(name, SCHEMAS) or "`oraclepack config schema` lists the names"
        raise NotFoundError(f"there is no schema named {name!r}", hint=hint)
    places = SCHEMAS[name][0].split(" | ")
    shape = _shape(places[0])
    described: dict[str, Any]
    if isinstance(shape, FunctionType):
        described = shape()
    else:
        described = msgspec.json.schema(shape) if len(places) == 1 else _one_of(*places)
    head = {"$schema": DIALECT, "$id": schema_id(name), "title": f"oraclepack {name}"}
    return described | head


def _one_of(*places: str) -> dict[str, Any]:
    """The schema of data that has one of several shapes: msgspec describes only one."""
    shapes, parts = msgspec.json.schema_components(
        [_shape(place) for place in places], ref_template="#/$defs/{name}"
    )
    return {"anyOf": list(shapes), "$defs": parts}


def _validation() -> dict[str, Any]:
    """One pack, or several under `packs`."""
    described = _one_of(
        "oraclepack.lint.finding:Validation", "oraclepack.lint.finding:UnreadablePack"
    )
    one, unreadable = described["anyOf"]
    several = {
        "type": "object",
        "required": ["packs"],
        "properties": {
            "packs": {"type": "array", "items": {"anyOf": [one, unreadable]}},
            "totals": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    return described | {"anyOf": [one, several]}


def _shape(place: str) -> Any:  # noqa: ANN401 - a type or a function
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)
