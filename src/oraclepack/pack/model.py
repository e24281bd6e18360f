"""A pack: the Markdown file as oraclepack reads it."""

import math
import re
from collections.abc import Mapping
from typing import NewType

import msgspec

from oraclepack.pack.script import Comment, Script, Span, Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.system.digests import sha256_text, sha256_value
from oraclepack.tools.tool_names import ORACLE

StepId = NewType("StepId", str)
"""Two digits, "01" to "99": the name of a step in the journal, on disk and on screen."""

PRELUDE = "prelude"
"""The id of the prelude, where a step's id is expected."""

HEADER_FIELDS = ("ROI", "impact", "confidence", "effort", "horizon", "category", "reference")
"""The attributes of a step header, in the order people write them."""

CATEGORIES = (
    "contracts/interfaces",
    "invariants",
    "caching/state",
    "background jobs",
    "observability",
    "permissions",
    "migrations",
    "UX flows",
    "failure modes",
    "feature flags",
)
"""The fixed categories, in the order of the coverage check."""


ALLOW = "allow"
CONTRACT = "contract"
OUTPUTS = "outputs"
POLICY = "policy"
DIRECTIVES = (ALLOW, CONTRACT, OUTPUTS, POLICY)
"""What a comment `# oraclepack: …` may begin with."""


class Attribute(msgspec.Struct, frozen=True):
    """A header attribute: its text, and its number where it is one."""

    text: str
    span: Span

    @property
    def number(self) -> float | None:
        # Python also reads `1_0` and the digits of other scripts; no other reader of packs does.
        if "_" in self.text or not self.text.isascii():
            return None
        try:
            value = float(self.text)
        except ValueError:
            return None
        return value if math.isfinite(value) else None


class Header(msgspec.Struct, frozen=True):
    """The comment line that opens a step."""

    id: StepId
    title: str
    """The words of the header that are no attribute."""
    attributes: Mapping[str, Attribute]
    span: Span
    id_span: Span


META_OPENS, META_CLOSES = "[oraclepack-meta]", "[/oraclepack-meta]"
META_BLOCK = re.compile(f"{re.escape(META_OPENS)}(?P<body>.*?){re.escape(META_CLOSES)}", re.DOTALL)
"""The metadata lines of a prompt."""


class PromptMeta(msgspec.Struct, frozen=True):
    """The `[oraclepack-meta]` block of a prompt. A missing key is None, never an error."""

    question_id: str | None = None
    category: str | None = None
    reference: str | None = None
    expected_artifacts: tuple[str, ...] | None = None


class Directive(msgspec.Struct, frozen=True):
    """A comment addressed to oraclepack: `# oraclepack: allow OP402 because …`."""

    name: str
    value: str
    span: Span


class Output(msgspec.Struct, frozen=True):
    """A file that a step declares to produce."""

    path: Word
    origin: str
    """The flag, redirection or directive that declares it."""
    call: int | None = None
    """Which of the step's calls writes it, counted from 0."""


class Step(msgspec.Struct, frozen=True):
    """One numbered section of the pack's bash block: a question and how to ask it."""

    header: Header
    code: str
    """The text bash runs: everything after the header line up to the next header."""
    span: Span
    """From the header to the last line of the body."""
    script: Script = msgspec.field(default_factory=Script)
    calls: tuple[ToolCall, ...] = ()
    outputs: tuple[Output, ...] = ()
    reads: frozenset[str] = frozenset()
    """Paths the step reads, as far as the text shows."""
    writes: frozenset[str] = frozenset()
    """Paths the step writes, as far as the text shows."""
    writes_unknown: bool = False
    """It may write to paths that the text does not show."""
    meta: PromptMeta = msgspec.field(default_factory=PromptMeta)
    directives: tuple[Directive, ...] = ()

    @property
    def id(self) -> StepId:
        return self.header.id

    @property
    def title(self) -> str:
        return self.header.title

    def attribute(self, name: str) -> str | None:
        attribute = self.header.attributes.get(name)
        return attribute.text if attribute else None

    @property
    def category(self) -> str | None:
        """What the header says, else the prompt; so is `reference`."""
        return self.attribute("category") or self.meta.category

    @property
    def reference(self) -> str | None:
        return self.attribute("reference") or self.meta.reference

    def number(self, name: str) -> float | None:
        attribute = self.header.attributes.get(name)
        return attribute.number if attribute else None

    @property
    def oracle_calls(self) -> tuple[ToolCall, ...]:
        return tuple(call for call in self.calls if call.tool == ORACLE)

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(sorted({call.tool for call in self.calls}))


class Fence(msgspec.Struct, frozen=True):
    """A code block of the Markdown file (fenced, or indented with an empty `marker`)."""

    info: str
    marker: str
    closed: bool
    content: str
    content_line: int
    """The line of the file on which the content begins."""
    span: Span

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info.split() else ""

    @property
    def is_bash(self) -> bool:
        return bool(self.marker) and self.language == "bash"


class CoverageLine(msgspec.Struct, frozen=True):
    """One line of the coverage check: a category and its text."""

    category: str
    verdict: str
    span: Span


class Coverage(msgspec.Struct, frozen=True):
    """The closing `## Coverage check` section."""

    lines: tuple[CoverageLine, ...]
    span: Span


class Prelude(msgspec.Struct, frozen=True):
    """The bash before the first step: it runs once, and its state reaches every step."""

    code: str
    span: Span
    script: Script = msgspec.field(default_factory=Script)
    calls: tuple[ToolCall, ...] = ()


PLACEHOLDER = "<your question:"
"""How the questions of our templates begin."""

OUT_DIR = "out_dir"
"""The variable that says where a pack's answers go."""


class Pack(msgspec.Struct, frozen=True):
    """A parsed pack; all commands work with this value."""

    path: str
    text: str
    """The file with LF line ends and without a byte order mark."""
    fences: tuple[Fence, ...]
    block: Fence | None
    """The bash block that runs: the first one, when there are several."""
    prelude: Prelude | None
    steps: tuple[Step, ...]
    swallowed: tuple[Comment, ...] = ()
    """Comments that look like step headers but are inside a construct."""
    misnumbered: tuple[Comment, ...] = ()
    """Comments that look like step headers but have no two-digit number."""
    coverage: Coverage | None = None
    parsed_args: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The "Parsed args" list of the Markdown text."""
    out_dir: str | None = None
    out_dir_sites: tuple[Word, ...] = ()
    """What is assigned to `out_dir` in the script."""
    directives: tuple[Directive, ...] = ()
    """Directives before the first step: they apply to the whole pack."""
    had_crlf: bool = False
    had_bom: bool = False

    @property
    def pack_hash(self) -> str:
        """SHA-256 of the file with LF line ends and no byte order mark, in lower-case hex."""
        return sha256_text(self.text)

    @property
    def bash_blocks(self) -> tuple[Fence, ...]:
        return tuple(fence for fence in self.fences if fence.is_bash)

    def step(self, step_id: str) -> Step | None:
        return next((step for step in self.steps if step.id == step_id), None)


def plain_text(raw: str) -> str:
    """The normalised text: LF line ends, no byte order mark."""
    text = raw.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def command_hash(pack: Pack, step: Step) -> str:
    """What a step executes, as one hash: the code of the prelude and its own.

    The prelude's variables and functions reach every step, so a change in it changes the hash of
    every step. Headers and the text around the block play no part.
    """
    prelude = pack.prelude.code if pack.prelude else ""
    return sha256_value({"prelude": prelude, "step": step.code})
