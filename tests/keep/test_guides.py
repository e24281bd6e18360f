"""The examples of the guides: packs are valid, YAML and settings can be read."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it.token import Token

from oraclepack.calls.overrides import read_overrides
from oraclepack.pack.answer_sections import Section, mentions, normalise
from oraclepack.pack.contract import MARKERS, PHRASINGS, requested_format
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import Layer, flatten, from_variables, resolve
from oraclepack.tools.flag_tables import table_of
from tests.e2e.program import oraclepack
from tests.keep.pages import ROOT, WRITTEN, fences

FAULTS = ("OP2", "OP4", "OP5", "OP6")
WRITING = (ROOT / "docs/writing-packs.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[Any]:
    """Every block of one language, with the page it stands on."""
    found = [(page, fence) for page in WRITTEN for fence in fences(page)]
    return [
        pytest.param(fence.content, id=f"{page} line {(fence.map or [0])[0] + 1}")
        for page, fence in found
        if fence.info.split()[:1] == [kind]
    ]


def scripts() -> Iterator[str]:
    """Bash of the guides, and the commands inside their YAML."""
    for page in WRITTEN:
        for fence in fences(page):
            if fence.info.startswith(("bash", "markdown")):
                yield fence.content
            if fence.info.startswith("yaml"):
                yield "\n".join(
                    re.findall(r"^\s*(?:- )?(?:run: )?(oraclepack .*)", fence.content, re.MULTILINE)
                )


def test_a_flag_for_oracle_is_one_it_has() -> None:
    text = "\n".join(scripts())
    flags = re.findall(r"--oracle-flag=(\S+)", text)
    of_steps = re.findall(r"--override (\S+)", text)

    assert len(flags) + len(of_steps) == 3
    read_overrides(table_of("oracle"), flags, of_steps, ["03", "07"])


@pytest.mark.parametrize("text", blocks("yaml"))
def test_yaml_can_be_read(text: str) -> None:
    yaml = pytest.importorskip("yaml")

    assert isinstance(yaml.safe_load(text), dict)


def test_pre_commit_accepts_the_hook(tmp_path: Path) -> None:
    (text,) = [fence.content for fence in fences("docs/ci.md") if "pre-commit-config" in fence.info]
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")

    subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", "config.yaml"],
        cwd=tmp_path,
        check=True,
    )


@pytest.mark.parametrize("text", blocks("toml"))
def test_settings_are_ours(text: str) -> None:
    resolve([Layer(ValueSource.USER, flatten(tomllib.loads(text), "a.toml"))])


def test_settings_of_a_project_may_stand_there() -> None:
    every = [fence for page in WRITTEN for fence in fences(page)]
    shown = [fence.content for fence in every if fence.info == "toml oraclepack.toml"]

    assert shown
    for text in shown:
        assert not resolve(
            [Layer(ValueSource.PROJECT, flatten(tomllib.loads(text), "a.toml"))]
        ).ignored


def test_variables_are_ours() -> None:
    (text,) = [f.content for f in fences("docs/writing-packs.md") if f.info == "bash .env"]
    given, warnings = from_variables(dict(line.split("=") for line in text.split()))

    found = resolve([Layer(ValueSource.DOTENV, given)])
    assert (found.values, found.ignored, warnings) == ({"output_contract": "all-sections"}, (), ())


def a_named(fence: Token) -> str:
    return fence.info.split()[1]


def write_packs(place: Path) -> list[str]:
    """The packs of the writing guide, with the file they ask about."""
    shown = [f for f in fences("docs/writing-packs.md") if f.info.startswith("markdown ")]
    for fence in shown:
        (place / a_named(fence)).write_text(fence.content, encoding="utf-8")
    (place / "stock.py").write_text("quantity = 1\n", encoding="utf-8")
    (place / ".git").mkdir()
    return [a_named(fence) for fence in shown]


def test_the_packs_are_valid(tmp_path: Path) -> None:
    for name in write_packs(tmp_path):
        ran = oraclepack(tmp_path, "validate", "--json", name)
        findings = [one for one in ran.data["findings"] if one["rule"].startswith(FAULTS)]
        assert (ran.code, findings) == (0, [])


def test_every_phrasing_and_marker_is_documented() -> None:
    table = re.findall(r"^\| `([^`]+)` \|$", WRITING, re.MULTILINE)

    assert all(requested_format(example).only is Section.DIRECT_ANSWER for example in table)
    assert len(table) == len(PHRASINGS) + 1
    assert all(any(re.search(one.pattern, row) for row in table) for one in PHRASINGS)
    assert all(f"`{marker}`" in WRITING for marker in MARKERS)


def test_every_wording_is_documented() -> None:
    rows = re.findall(r"^\| [a-z ]+ \| (\"[^|]*) \|.*\|$", WRITING, re.MULTILINE)

    assert len(rows) == len(Section)
    for section, row in zip(Section, rows, strict=True):
        said = [normalise(quoted) for quoted in re.findall(r'"([^"]+)"', row)]
        assert all(mentions(one, section.wordings) for one in said)
        assert set(section.wordings) <= set(said)
