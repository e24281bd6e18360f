"""Every setting, rule, exit code, event, schema, directive and variable stands on its page.

The names are gathered from the declarations themselves, not from the tables that the pages are made
from: what was forgotten in a table is noticed too.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import msgspec
import pytest

import oraclepack
from oraclepack.errors import ExitCode
from oraclepack.journal.events import Event
from oraclepack.lint.rule import Rule
from oraclepack.pack.answer_sections import SPELLINGS
from oraclepack.pack.model import DIRECTIVES
from oraclepack.settings.declaration import Setting
from oraclepack.view.report.schemas import SCHEMAS

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module that may declare something; the shims are programs of their own."""
    names = [found.name for found in pkgutil.walk_packages(oraclepack.__path__, "oraclepack.")]
    return tuple(
        importlib.import_module(name)
        for name in names
        if not name.startswith(("oraclepack.shims", "oraclepack.__main__"))
    )


def declared(kind: type) -> Iterator[object]:
    """What modules hold of a kind, by itself or in a tuple."""
    for module in modules():
        for value in vars(module).values():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, kind):
                    yield each


@cache
def settings() -> set[str]:
    return {each.name for each in declared(Setting) if isinstance(each, Setting)}


@cache
def rules() -> set[str]:
    return {f"{each.id} {each.name}" for each in declared(Rule) if isinstance(each, Rule)}


def exit_codes() -> set[str]:
    return {str(int(code)) for code in ExitCode}


def events(kind: type[msgspec.Struct] = Event) -> set[str]:
    modules()
    kinds = kind.__subclasses__()  # what has some itself holds only their common fields
    tags = {str(each.__struct_config__.tag) for each in kinds if not each.__subclasses__()}
    return tags.union(*map(events, kinds))


def directives() -> set[str]:
    return set(DIRECTIVES)


def spellings() -> set[str]:
    """The names of sections that meet the contract."""
    every = SPELLINGS.values()
    return {words for one in every for words in (*one.anywhere, *one.label, *one.alone)}


def schemas() -> set[str]:
    return set(SCHEMAS)


@cache
def variables() -> set[str]:
    """The variables that the program names itself, beside those that follow from settings."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    return set(re.findall(r'"(_?ORACLEPACK_[A-Z_]*[A-Z])"', text))


class DocumentedKind(NamedTuple):
    """A kind of thing, where its names come from, and how its page tells of one."""

    names: Callable[[], set[str]]
    pages: str
    row: str
    """A pattern; NAME stands for the name."""


KINDS = {
    "setting": DocumentedKind(settings, "settings.md", r"^\| `NAME` \|.*$"),
    "rule": DocumentedKind(rules, "rules.md", r"^### NAME\b.*$"),
    "exit code": DocumentedKind(exit_codes, "cli.md", r"^\| NAME \|.*$"),
    "event": DocumentedKind(events, "formats.md", r"^\| `NAME` \|.*$"),
    "schema": DocumentedKind(schemas, "cli.md", r"`NAME`"),
    "directive": DocumentedKind(directives, "writing-packs.md", r"^\| `NAME` \|.*$"),
    "spelling": DocumentedKind(spellings, "writing-packs.md", r'"NAME"'),
    "variable": DocumentedKind(variables, "settings.md", r"`NAME`"),
}

every_kind = pytest.mark.parametrize("kind", KINDS)


def text_of(pages: str) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob(pages)))


def undocumented(entry: DocumentedKind, text: str) -> list[str]:
    """The names that the text does not tell of."""
    return sorted(name for name in entry.names() if not is_documented(entry, name, text))


def is_documented(entry: DocumentedKind, name: str, text: str) -> bool:
    return row_of(entry, name).search(text) is not None


def row_of(entry: DocumentedKind, name: str) -> re.Pattern[str]:
    return re.compile(entry.row.replace("NAME", re.escape(name)), re.MULTILINE)


@every_kind
def test_nothing_is_left_undocumented(kind: str) -> None:
    entry = KINDS[kind]

    assert undocumented(entry, text_of(entry.pages)) == [], (
        f"document this {kind} in docs/{entry.pages}"
    )


@every_kind
def test_what_is_missing_is_noticed(kind: str) -> None:
    entry = KINDS[kind]
    text = text_of(entry.pages)
    for name in entry.names():
        assert not is_documented(entry, name, row_of(entry, name).sub("", text))


@pytest.mark.parametrize(
    ("kind", "fewest"),
    [
        ("setting", 40),
        ("rule", 40),
        ("exit code", 9),
        ("event", 25),
        ("schema", 40),
        ("directive", 4),
        ("variable", 3),
    ],
)
def test_the_names_are_found(kind: str, fewest: int) -> None:
    assert len(KINDS[kind].names()) >= fewest


def test_an_event_outside_of_the_table_is_found() -> None:
    class Base(msgspec.Struct, frozen=True):
        """Of this test alone: what is declared under Event itself, other tests would see."""

    class Middle(Base, frozen=True, tag="run_created"):
        """Documented."""

    class Forgotten(Middle, frozen=True, tag="forgotten"):
        """Declared, but part of no table."""

    entry = KINDS["event"]._replace(names=lambda: events(Base))
    assert undocumented(entry, text_of("formats.md")) == ["forgotten"]
