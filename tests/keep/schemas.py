"""The schemas of our files as they were given out: `python -m tests.keep.schemas` writes new ones.

Each version of each file has a copy that never changes its meaning. What may be added within a
version is added to the copy; anything else needs the next version, and the old copy stays.
Replies of `--json` belong to the program that gave them; only their envelope is kept.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oraclepack.system.digests import canonical_file
from oraclepack.view.report.schemas import SCHEMAS, schema_of

FILES = (
    "cache-entry",
    "envelope",
    "journal",
    "record",
    "report",
    "run",
    "site",
    "state",
    "steps",
    "tickets-actions",
    "tickets-index",
    "tickets-manifest",
)
COPIES = Path(__file__).parent.parent / "data/schemas"
WRITE = "`python -m tests.keep.schemas` writes the copy"
RAISE = "raise the version in view/report/schemas.py (and the schema_version that the files carry)"
_WORDS = ("description", "title")
_OPEN = ("journal may be ", "journal has discriminator ")
"""New kinds of events may come within a version; see docs/formats.md."""
_MAPPING = _OPEN[1]
"""It repeats what `journal may be` says one by one."""


def copy_of(name: str, version: int) -> Path:
    return COPIES / f"{name}.{version}.json"


def published(name: str) -> dict[str, Any]:
    """A schema as its copy holds it: without the words that explain it."""
    plain: dict[str, Any] = json.loads(canonical_file(_without_words(schema_of(name))))
    return plain


def _without_words(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_words(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_words(value)
        for key, value in node.items()
        if key not in _WORDS or isinstance(value, dict)
    }


def facts(name: str, schema: Mapping[str, Any]) -> dict[str, str]:
    """Everything a schema says, one sentence each, with the place it speaks of."""
    statements = dict(_facts(name, schema))
    for part, shape in schema.get("$defs", {}).items():
        statements |= dict(_facts(f"#{part}", shape))
    return statements


def _facts(place: str, node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield f"{place} is there", place
    for key, value in node.items():
        if key == "properties":
            for field, shape in value.items():
                yield from _facts(f"{place}.{field}", shape)
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            yield from _facts(f"{place}[]", value)
        elif key in ("required", "anyOf", "enum"):
            word = "requires" if key == "required" else "may be"
            for each in value:
                yield f"{place} {word} {json.dumps(each, sort_keys=True)}", place
        elif key == "discriminator":
            yield f"{place} is told apart by {value['propertyName']}", place
            for kind, shape in value.get("mapping", {}).items():
                yield f"{place} may be {kind}, {shape}", place
        elif key not in ("$defs", "$id", "$schema"):
            yield f"{place} has {key} {json.dumps(value, sort_keys=True)}", place


def part_names(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """What the parts (`$defs`) of an old schema are called in the new one.

    The name of a part is that of a class of ours and appears in no file, so it may change.
    """
    names: dict[str, str] = {}
    pending: list[tuple[Any, Any]] = [(old, new)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if "$ref" in left and "$ref" in right:
                one, other = left["$ref"].rpartition("/")[2], right["$ref"].rpartition("/")[2]
                if one not in names and (one == other or other not in old["$defs"]):
                    names[one] = other
                    pending.append((old["$defs"][one], new["$defs"][other]))
            pending += [(left[key], right[key]) for key in left if key in right and key != "$defs"]
            pending += [
                ({"$ref": left[key]}, {"$ref": right[key]})
                for key in left
                if key in right and str(left[key]).startswith("#/$defs/") and key != "$ref"
            ]
        elif isinstance(left, list) and isinstance(right, list):
            pending += list(zip(left, right, strict=False))
    return names


def with_part_names(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A schema whose parts have other names."""

    def renamed(node: Any) -> Any:
        if isinstance(node, list):
            return [renamed(each) for each in node]
        if isinstance(node, dict):
            return {key: renamed(value) for key, value in node.items()}
        start, slash, part = str(node).rpartition("/")
        return f"{start}/{names.get(part, part)}" if slash and start == "#/$defs" else node

    whole: dict[str, Any] = renamed(dict(schema))
    if "$defs" in whole:
        whole["$defs"] = {names.get(part, part): it for part, it in whole["$defs"].items()}
    return whole


def broken(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What a reader of the old schema, or the new reader of an old file, would stumble over."""
    old = with_part_names(old, part_names(old, new))
    before, after = facts(name, old), facts(name, new)
    places = set(before.values())
    lost = [
        f"no longer: {fact}"
        for fact in before
        if fact not in after and not fact.startswith(_MAPPING)
    ]
    new_in_old = [
        f"new: {fact}"
        for fact, place in after.items()
        if fact not in before and place in places and not fact.startswith(_OPEN)
    ]
    return sorted(lost + new_in_old)


def complaint(name: str, version: int, old: Mapping[str, Any] | None) -> str:
    """What to do about one schema; empty if it is as it was published."""
    new = published(name)
    if old is None:
        return f"schema {name}, version {version}, is new: {WRITE}"
    changes = broken(name, old, new)
    if changes:
        listed = "".join(f"\n  {change}" for change in changes)
        changed = f"schema {name} has changed, but is still version {version}"
        return f"{changed}: {RAISE}, then {WRITE}{listed}"
    if old != new:
        return f"schema {name} has grown within version {version}, which is allowed: {WRITE}"
    return ""


def kept(name: str, version: int) -> dict[str, Any] | None:
    path = copy_of(name, version)
    return json.loads(path.read_bytes()) if path.exists() else None


def main() -> int:
    """Write what is new or has grown; say what must not be written."""
    COPIES.mkdir(parents=True, exist_ok=True)
    refused = 0
    for name in FILES:
        version = SCHEMAS[name][1]
        old = kept(name, version)
        if old is not None and broken(name, old, published(name)):
            sys.stderr.write(complaint(name, version, old) + "\n")
            refused += 1
        else:
            copy_of(name, version).write_bytes(canonical_file(published(name)))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
