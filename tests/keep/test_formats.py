"""docs/formats.md names every event, every file of a run, and every field of theirs."""

import re
from pathlib import Path

import msgspec
import pytest

from oraclepack import errors
from oraclepack.calls.cache import CacheEntry
from oraclepack.journal import events, statuses
from oraclepack.shell import attempt
from oraclepack.system import machine
from oraclepack.tools import usage
from oraclepack.view import legacy_files, manifests, run, step

PAGE = (Path(__file__).parent.parent.parent / "docs/formats.md").read_text(encoding="utf-8")
EVENTS = events.KINDS
COMMON = {"seq", "at"}

PARTS = {
    "an error": errors.StepError,
    "a verification": statuses.Verification,
    "a failure": statuses.OutputFailure,
    "a doubt": statuses.OutputDoubt,
    "usage": usage.Usage,
    "a process": attempt.ProcessIdentity,
    "a machine": machine.Machine,
    "a move": statuses.Move,
}

SECTIONS: dict[str, list[type[msgspec.Struct]]] = {
    "run.json": [manifests.RunManifest, run.SessionEntry, run.Notice],
    "steps.json": [
        manifests.StepsManifest,
        step.StepEntry,
        step.OutputEntry,
        step.InvocationEntry,
        step.ChangeEntry,
    ],
    "State and report": [
        legacy_files.LegacyState,
        legacy_files.LegacyStep,
        legacy_files.LegacyReport,
        legacy_files.LegacyResult,
    ],
    "The cache": [CacheEntry],
}


def rows(section: str) -> dict[str, list[str]]:
    """The tables of a section: the first cell of each row, and the names in the second."""
    found = re.findall(r"^\| (.+?) \| (.+?) \|", text_of(section), re.MULTILINE)
    return {first.strip("`"): re.findall(r"`([^`]+)`", second) for first, second in found}


def text_of(section: str) -> str:
    return PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]


def fields(shape: type[msgspec.Struct]) -> list[str]:
    return [name for name in shape.__struct_fields__ if name not in COMMON]


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_stands_in_the_table_with_its_fields(kind: str) -> None:
    assert rows("The journal")[kind] == fields(EVENTS[kind])


def test_the_table_tells_of_no_other_events() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", text_of("The journal"), re.MULTILINE)

    assert sorted(listed) == sorted(EVENTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_events_is_documented_with_its_fields(part: str) -> None:
    assert rows("The journal")[part] == list(PARTS[part].__struct_fields__)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_file_is_documented_with_all_its_fields(section: str) -> None:
    named = set(re.findall(r"`([^`]+)`", text_of(section)))

    wanted = {name for shape in SECTIONS[section] for name in shape.__struct_fields__}
    assert wanted - named == set()


@pytest.mark.parametrize(
    ("section", "shape"),
    [
        pytest.param("run.json", manifests.RunManifest, id="run.json"),
        pytest.param("steps.json", step.StepEntry, id="a step of steps.json"),
        pytest.param("The cache", CacheEntry, id="an entry of the cache"),
    ],
)
def test_a_table_tells_of_no_other_fields(section: str, shape: type[msgspec.Struct]) -> None:
    firsts = re.findall(r"^\| (`.+?`) \|", text_of(section), re.MULTILINE)

    names = [name for first in firsts for name in re.findall(r"`([^`]+)`", first)]
    assert sorted(names) == sorted(shape.__struct_fields__)
