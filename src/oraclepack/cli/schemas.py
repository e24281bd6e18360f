"""The published shapes, by name. None is imported before somebody asks for it."""

import importlib
from types import FunctionType
from typing import Any

import msgspec

from oraclepack.errors import UsageError, did_you_mean

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS = {
    "run-told": ("oraclepack.run.run_report:RunReport", 1),
    "pipeline-told": ("oraclepack.pipeline.pipeline_report:PipelineReport", 1),
    "verified": ("oraclepack.answers.verification:VerifyReport", 1),
    "verified-packs": ("oraclepack.answers.verification:VerifyPacksReport", 1),
    "why-told": ("oraclepack.run.explain_steps:WhyReport", 1),
    "run": ("oraclepack.run.manifests:RunManifest", 1),
    "steps": ("oraclepack.run.manifests:StepsManifest", 1),
    "state": ("oraclepack.run.legacy_files:LegacyState", 1),
    "report": ("oraclepack.run.legacy_files:LegacyReport", 1),
    "journal": ("oraclepack.journal.events:KnownEvent", 1),
    "generated": ("oraclepack.authoring.generation:GenerateReport", 1),
    "pack-group": ("oraclepack.authoring.generation:PackGroup", 1),
    "new-pack": ("oraclepack.authoring.generation:NewPack", 1),
    "upgraded": ("oraclepack.authoring.generation:UpgradeReport", 1),
    "skill": ("oraclepack.authoring.skills:SkillText", 1),
    "skills-installed": ("oraclepack.authoring.skills:SkillsInstallReport", 1),
    "skills-checked": ("oraclepack.authoring.skills:SkillsCheck", 1),
    "actionized": ("oraclepack.work.backlog:ActionizeReport", 1),
    "record": ("oraclepack.work.backlog:Record", 1),
    "ticketified": ("oraclepack.cli.schemas:ticketified_schema", 1),
    "tickets-told": ("oraclepack.tickets.ticketify:TicketsReply", 1),
    "tickets-index": ("oraclepack.tickets.ticket:TicketIndex", 1),
    "tickets-actions": ("oraclepack.tickets.ticket:Actions", 1),
    "tickets-manifest": ("oraclepack.tickets.ticket:TicketManifest", 1),
    "tickets-check": ("oraclepack.tickets.ticket:TicketCheck", 1),
    "tickets-next": ("oraclepack.tickets.ticket:NextWork", 1),
    "tickets-review": ("oraclepack.tickets.ticket:Review", 1),
    "tickets-acceptance": ("oraclepack.tickets.ticket:Acceptance", 1),
    "tickets-tasks": ("oraclepack.tickets.ticket:TasksReport", 1),
    "tickets-audit": ("oraclepack.tickets.ticket:Audit", 1),
    "trusted": ("oraclepack.system.ownership:TrustReport", 1),
    "accepted-step": ("oraclepack.run.accept:AcceptReport", 1),
    "undone": ("oraclepack.run.undo:UndoReport", 1),
    "cache-list": ("oraclepack.calls.cache:CacheList", 1),
    "cache-shown": ("oraclepack.calls.cache:CacheDetails", 2),
    "cache-explained": ("oraclepack.calls.cache:CacheExplanation", 1),
    "cache-pruned": ("oraclepack.calls.cache:CachePruneReport", 1),
    "cache-entry": ("oraclepack.calls.cache:CacheEntry", 2),
    "prices": ("oraclepack.tools.prices:PriceList", 1),
    "price": ("oraclepack.tools.prices:PriceReport", 1),
    "config": ("oraclepack.settings.registry:ConfigReport", 1),
    "doctor": ("oraclepack.cli.schemas:doctor_schema", 2),
    "runs-pruned": ("oraclepack.run.prune_runs:RunsPruneReport", 1),
    "runs": ("oraclepack.run.past_runs:RunList", 1),
    "run-shown": ("oraclepack.run.past_runs:RunDetails", 1),
    "quarantine": ("oraclepack.run.quarantine:QuarantineList", 1),
    "quarantine-restored": ("oraclepack.run.quarantine:QuarantineRestoreReport", 1),
    "explained": ("oraclepack.lint.rule_docs:RuleExplanation", 1),
    "listing": ("oraclepack.run.explain_steps:StepList", 1),
    "validation": ("oraclepack.cli.schemas:validation_schema", 1),
    "envelope": ("oraclepack.cli.reply:Envelope", 1),
    "manifest": ("oraclepack.cli.command_manifest:CommandManifest", 1),
    "schema": ("oraclepack.cli.schemas:SchemaNames", 1),
    "completion": ("oraclepack.cli.schemas:CompletionScript", 1),
}
"""Name → where its type, or the function that describes it, lives, and its version."""

SchemaNames = dict[str, str]
"""What `schema` answers without a name: each schema's name and its `$id`."""

CompletionScript = dict[str, str]
"""What `completion` answers: the shell and its script."""


def schema_id(name: str) -> str:
    return f"oraclepack:{name}/{SCHEMAS[name][1]}"


def schema_names() -> SchemaNames:
    return {name: schema_id(name) for name in sorted(SCHEMAS)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a published shape."""
    if name not in SCHEMAS:
        hint = did_you_mean(name, SCHEMAS) or "`oraclepack schema` lists the names"
        raise UsageError(f"there is no schema named {name!r}", hint=hint)
    module, _, attribute = SCHEMAS[name][0].partition(":")
    shape = getattr(importlib.import_module(module), attribute)
    described = shape() if isinstance(shape, FunctionType) else msgspec.json.schema(shape)
    head = {"$schema": DIALECT, "$id": schema_id(name), "title": f"oraclepack {name}"}
    return described | head


def validation_schema() -> dict[str, Any]:
    """One pack, or several under `packs`.

    msgspec cannot describe a choice of two shapes itself.
    """
    from oraclepack.lint.validation import UnreadablePack, Validation  # noqa: PLC0415 - only for this

    (one, unreadable), parts = msgspec.json.schema_components(
        (Validation, UnreadablePack), ref_template="#/$defs/{name}"
    )
    several = {
        "type": "object",
        "required": ["packs"],
        "properties": {
            "packs": {"type": "array", "items": {"anyOf": [one, unreadable]}},
            "totals": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    return {"anyOf": [one, several], "$defs": parts}


def doctor_schema() -> dict[str, Any]:
    """The health of the machine or, with `--rebuild`, what became of each run."""
    from oraclepack.doctor import Health  # noqa: PLC0415 - only for this
    from oraclepack.run.rebuild import RebuildReport  # noqa: PLC0415

    shapes, parts = msgspec.json.schema_components(
        (Health, RebuildReport), ref_template="#/$defs/{name}"
    )
    return {"anyOf": list(shapes), "$defs": parts}


def ticketified_schema() -> dict[str, Any]:
    """What was written or, with `--check`, how the files compare."""
    from oraclepack.tickets.ticket import TicketCheck  # noqa: PLC0415 - only for this
    from oraclepack.tickets.ticketify import TicketifyReport  # noqa: PLC0415

    kinds = (TicketifyReport, TicketCheck)
    shapes, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {"anyOf": list(shapes), "$defs": parts}
