"""Generates packs in tests and reads them back."""

import re
from pathlib import Path
from typing import NamedTuple

from oraclepack.authoring.generate import GenerateRequest, GenerateResult, generate
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import path_facts
from oraclepack.lint.finding import Facts, Finding, Severity
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.lint.script_checks import check_syntax
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.tool_call import AttachmentKind

GOLDEN = Path(__file__).parent.parent / "golden" / "generate"
_EVIDENCE = re.compile(r"^- (?P<path>[^\n]+?):(?P<line>\d+)  (?P<code>[^\n]+)$", re.MULTILINE)


class Quote(NamedTuple):
    """A line of evidence as the prompt holds it."""

    path: str
    line: int
    code: str


def made(root: Path, **wishes: object) -> tuple[GenerateResult, Pack]:
    """What `generate` answers in a repository, and the pack it made, without writing it."""
    result = generate(GenerateRequest(root=root, to_stdout=True, **wishes))  # type: ignore[arg-type]
    return result, parse_pack(result.data.text or "", "pack.md")


def findings(root: Path, pack: Pack, *, strict: bool) -> list[Finding]:
    """Errors and warnings of `validate`."""
    facts = Facts(syntax=check_syntax(pack), paths=path_facts(pack, root))
    found = lint(Subject(pack, facts), RULES, strict=strict)
    return [finding for finding in found if finding.severity is not Severity.ADVICE]


def prompt_of(step: Step) -> str:
    prompt = step.calls[0].prompt
    assert prompt is not None
    return prompt.text


def quotes_of(step: Step) -> list[Quote]:
    """The evidence lines of a step, as a reader of the pack finds them."""
    text = prompt_of(step)
    start = text.index("\nEvidence (")
    section = text[start : text.index("\nAttached:", start)].split("\nFrom the history:")[0]
    return [Quote(m["path"], int(m["line"]), m["code"]) for m in _EVIDENCE.finditer(section)]


def attached_to(step: Step) -> list[str]:
    attachments = step.calls[0].attachments
    return [one.value for one in attachments if one.kind is AttachmentKind.LITERAL]
