"""A published schema does not change under its readers: what it says is raised to a new version."""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from oraclepack.calls import cache
from oraclepack.cli import reply
from oraclepack.errors import UsageError
from oraclepack.journal import events
from oraclepack.report.schemas import RENAMED, SCHEMAS, schema_of
from oraclepack.view import legacy_files, manifests
from oraclepack.work import backlog
from tests.keep.schemas import COPIES, broken, complaint, copy_of, kept, published, with_part_names

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


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_as_it_was_published(name: str) -> None:
    version = SCHEMAS[name][1]

    assert complaint(name, version, kept(name, version)) == ""


def test_no_copy_is_missing_and_none_is_left_over() -> None:
    former = {new: old for old, new in RENAMED.items()}
    wanted = [
        copy_of(former.get(name, name) if version < newest else name, version).name
        for name, (_, newest) in SCHEMAS.items()
        for version in range(1, newest + 1)
    ]

    assert sorted(path.name for path in COPIES.iterdir()) == sorted(wanted)


PARTICIPLE = re.compile(r"(told|shown|seen|found|ed|undone)(-|$)")


def test_a_schema_is_named_by_a_noun_and_its_former_name_is_explained() -> None:
    assert [name for name in SCHEMAS if PARTICIPLE.search(name)] == []
    for old, new in RENAMED.items():
        with pytest.raises(UsageError, match=old) as refused:
            schema_of(old)
        assert refused.value.hint == f"it is called {new} now"


@pytest.mark.parametrize("name", CARRIED)
def test_a_file_carries_the_version_of_its_schema(name: str) -> None:
    assert SCHEMAS[name][1] == CARRIED[name]


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

    assert "raise the version in report/schemas.py" in message
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
