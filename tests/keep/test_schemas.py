"""The schema of a file does not change under its readers: a change is a new version."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from oraclepack.calls import cache
from oraclepack.cli import reply
from oraclepack.journal import events
from oraclepack.view import legacy_files, manifests
from oraclepack.view.report.schemas import SCHEMAS
from oraclepack.work import backlog
from tests.keep.schemas import (
    COPIES,
    FILES,
    broken,
    complaint,
    copy_of,
    kept,
    published,
    with_part_names,
)

CARRIED = {
    "run": manifests.SCHEMA_VERSION,
    "steps": manifests.SCHEMA_VERSION,
    "state": legacy_files.SCHEMA_VERSION,
    "report": legacy_files.SCHEMA_VERSION,
    "journal": events.SCHEMA_VERSION,
    "record": backlog.RECORD_VERSION,
    "cache-entry": cache.SCHEMA_VERSION,
    "envelope": reply.SCHEMA_VERSION,
}
"""The versions that files carry themselves."""


def test_the_schemas_of_files_are_as_they_were_published() -> None:
    versions = {name: SCHEMAS[name][1] for name in FILES}

    assert [complaint(name, at, kept(name, at)) for name, at in versions.items()] == [""] * len(
        FILES
    )
    assert sorted(path.name for path in COPIES.iterdir()) == sorted(
        copy_of(name, version).name
        for name, newest in versions.items()
        for version in range(1, newest + 1)
    )


def test_a_file_carries_the_version_of_its_schema() -> None:
    assert {name: SCHEMAS[name][1] for name in CARRIED} == CARRIED


def part(schema: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][name]
    return found


def drop_field(schema: dict[str, Any]) -> None:
    del part(schema, "CacheRow")["properties"]["model"]


def rename_field(schema: dict[str, Any]) -> None:
    properties = part(schema, "CacheRow")["properties"]
    properties["engine"] = properties.pop("model")


def retype_field(schema: dict[str, Any]) -> None:
    part(schema, "CacheRow")["properties"]["bytes"] = {"type": "string"}


def make_nullable(schema: dict[str, Any]) -> None:
    part(schema, "CacheRow")["properties"]["step"]["anyOf"].append({"type": "integer"})


def demand_field(schema: dict[str, Any]) -> None:
    part(schema, "CacheRow")["properties"]["age"] = {"type": "integer"}
    part(schema, "CacheRow")["required"].append("age")


def add_field(schema: dict[str, Any]) -> None:
    part(schema, "CacheRow")["properties"]["age"] = {"type": "integer", "default": 0}


def add_part(schema: dict[str, Any]) -> None:
    schema["$defs"]["Pruned"] = {"type": "object", "required": ["x"], "properties": {"x": {}}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(drop_field, "no longer: #CacheRow.model is there", id="a field that goes"),
        pytest.param(rename_field, "no longer: #CacheRow.model is there", id="another name"),
        pytest.param(retype_field, 'new: #CacheRow.bytes has type "string"', id="another type"),
        pytest.param(make_nullable, 'new: #CacheRow.step may be {"type": "integer"}', id="wider"),
        pytest.param(demand_field, 'new: #CacheRow requires "age"', id="a field old files lack"),
        pytest.param(add_field, None, id="an optional field is allowed"),
        pytest.param(add_part, None, id="a new part is allowed"),
    ],
)
def test_a_change_is_noticed(
    change: Callable[[dict[str, Any]], None], expected: str | None
) -> None:
    old = published("cache-list")
    new = deepcopy(old)

    change(new)

    found = broken("cache-list", old, new)
    assert expected in found if expected else found == []


def test_a_part_may_get_another_name_and_nothing_else() -> None:
    now = published("journal")
    before = with_part_names(now, {"OutputBackedUp": "SetAside", "ProcessIdentity": "Process"})

    assert before != now
    assert broken("journal", before, now) == []
    part(before, "SetAside")["properties"]["gone"] = {"type": "integer"}
    assert broken("journal", before, now) == [
        'no longer: #OutputBackedUp.gone has type "integer"',
        "no longer: #OutputBackedUp.gone is there",
    ]


def test_the_complaint_says_what_to_do() -> None:
    old = published("cache-list")
    part(old, "CacheRow")["properties"]["gone"] = {"type": "integer"}

    message = complaint("cache-list", 1, old)

    assert "raise the version in view/report/schemas.py" in message
    assert "no longer: #CacheRow.gone is there" in message
    assert "is new" in complaint("cache-list", 1, None)


def test_a_schema_that_has_grown_asks_for_its_copy() -> None:
    old = published("cache-entry")
    del part(old, "CacheEntry")["properties"]["tool_version"]

    assert "has grown within version 1" in complaint("cache-entry", 1, old)


def test_a_new_kind_of_event_is_allowed_and_a_lost_one_is_not() -> None:
    now = published("journal")
    before = deepcopy(now)
    before["anyOf"].pop()

    assert broken("journal", before, now) == []
    assert broken("journal", now, before) != []
