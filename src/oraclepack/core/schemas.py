"""The published shapes, by name. None is imported before somebody asks for it."""

import importlib
from typing import Any

import msgspec

from oraclepack.core.errors import UsageError
from oraclepack.core.nearest import did_you_mean

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS = {
    "config": ("oraclepack.core.settings:ConfigShown", 1),
    "doctor": ("oraclepack.core.health:Health", 1),
    "envelope": ("oraclepack.core.envelope:Envelope", 1),
    "manifest": ("oraclepack.core.described:Described", 1),
    "schema": ("oraclepack.core.schemas:Names", 1),
    "completion": ("oraclepack.core.schemas:Script", 1),
}
"""Name → where its type lives (`module:attribute`) and its version."""

Names = dict[str, str]
"""What `schema` answers without a name: each schema's name and its `$id`."""

Script = dict[str, str]
"""What `completion` answers: the shell and its script."""


def schema_id(name: str) -> str:
    return f"oraclepack:{name}/{SCHEMAS[name][1]}"


def schema_names() -> Names:
    return {name: schema_id(name) for name in sorted(SCHEMAS)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a published shape."""
    if name not in SCHEMAS:
        hint = did_you_mean(name, SCHEMAS) or "`oraclepack schema` lists the names"
        raise UsageError(f"there is no schema named {name!r}", hint=hint)
    module, _, attribute = SCHEMAS[name][0].partition(":")
    described = msgspec.json.schema(getattr(importlib.import_module(module), attribute))
    head = {"$schema": DIALECT, "$id": schema_id(name), "title": f"oraclepack {name}"}
    return described | head
