"""Every rule is documented, and its examples show what they claim to show."""

import re

import pytest

from oraclepack.lint.engine import lint
from oraclepack.lint.finding import Facts, PathFact, PathKind
from oraclepack.lint.quoted_evidence import evidence_of
from oraclepack.lint.rule import Rule, Subject
from oraclepack.lint.rule_docs import ExampleKind, RuleDoc, doc_of
from oraclepack.lint.rule_registry import RULES
from oraclepack.lint.script_checks import Shellcheck, check_syntax
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.shell.checker import complete
from tests.generated import rules_page
from tests.packs import pack_text

LINE = "def reserve(article, count):"
"""What every line is that an example quotes."""
DOCS = [doc_of(rule) for rule in RULES]
_AND_SO_ON = re.compile(r"# \((\d\d) to (\d\d) in the same way\)")

every_rule = pytest.mark.parametrize("doc", DOCS, ids=lambda doc: f"{doc.rule}")


def _steps(match: re.Match[str]) -> str:
    numbers = range(int(match[1]), int(match[2]) + 1)
    return "\n".join(f"# {number:02}) a question\ntrue" for number in numbers)


def _pack(doc: RuleDoc, example: str) -> Pack:
    """The pack an example means: its signs written out, inside a block if it is only bash."""
    text = _AND_SO_ON.sub(_steps, example).replace("␍", "\r")
    is_file = doc.example_kind is ExampleKind.FILE
    return parse_pack(text if is_file else pack_text(text), "pack.md", complete)


def _context(pack: Pack) -> Facts:
    """What bash and shellcheck say; and each attachment is there, unless its name says not."""
    attached = [
        attachment.value
        for step in pack.steps
        for call in step.calls
        for attachment in call.attachments
        if attachment.kind is AttachmentKind.LITERAL
    ]
    outputs = [output.path.value for step in pack.steps for output in step.outputs]
    paths = {path: PathFact(PathKind.MISSING) for path in outputs if path}
    paths |= {path: _fact(path) for path in attached}
    quotes = {quote.key: LINE for one in evidence_of(pack) for quote in one.lines}
    return Facts(check_syntax(pack), Shellcheck(pack.block).result(), paths, quotes)


def _fact(path: str) -> PathFact:
    if path.startswith(("../", "/")):
        return PathFact(PathKind.OUTSIDE)
    if "missing" in path:
        return PathFact(PathKind.MISSING)
    if path.endswith("/"):
        return PathFact(PathKind.DIRECTORY)
    return PathFact(PathKind.FILE, 5_000_000 if "large" in path else 100)


def _rules_that_speak(doc: RuleDoc, example: str) -> set[str]:
    pack = _pack(doc, example)
    subject = Subject(pack, _context(pack))
    return {finding.rule for finding in lint(subject, RULES, strict=doc.only_strict)}


@every_rule
def test_the_bad_example_has_the_fault(doc: RuleDoc) -> None:
    assert doc.rule in _rules_that_speak(doc, doc.bad)


@every_rule
def test_the_good_example_does_not(doc: RuleDoc) -> None:
    assert doc.rule not in _rules_that_speak(doc, doc.good)


@every_rule
def test_nothing_is_left_unsaid(doc: RuleDoc) -> None:
    assert all((doc.summary, doc.why, doc.fix, doc.bad.strip(), doc.good.strip()))
    assert doc.summary.endswith(".")


@every_rule
def test_the_text_tells_everything(doc: RuleDoc) -> None:
    text = doc.text

    weight = doc.strict_severity if doc.only_strict else doc.severity
    assert text.startswith(f"{doc.rule} {doc.name}: {weight}")
    assert all(line in text for line in (doc.bad + doc.good).splitlines())


def test_the_page_holds_every_rule_once_and_in_order() -> None:
    page = rules_page()

    titles = re.findall(r"^### (OP\d{3}) ", page, re.MULTILINE)
    assert titles == sorted(rule.id for rule in RULES)


def test_what_keeps_a_pack_from_running_cannot_be_allowed() -> None:
    binding = {doc.rule for doc in DOCS if not doc.can_be_allowed}

    assert binding == {
        f"OP{number}"
        for number in (101, *range(104, 110), *range(201, 205), 210, 314, 403, 502, 503, 507)
    }


def test_a_docstring_without_parts_is_only_a_summary() -> None:
    def bare(_subject: Subject) -> None:
        """Only a sentence."""

    rule = Rule("OP999", "bare", RULES[0].severity, RULES[0].strict, bare)  # type: ignore[arg-type]

    doc = doc_of(rule)

    assert (doc.summary, doc.why, doc.bad) == ("Only a sentence.", "", "")
