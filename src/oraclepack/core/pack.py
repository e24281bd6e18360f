"""A pack: the Markdown file as oraclepack reads it."""

from collections.abc import Mapping

import msgspec

from oraclepack.core.call import ToolCall
from oraclepack.core.script import Comment, Script
from oraclepack.core.source import Span
from oraclepack.core.step import Directive, Step
from oraclepack.system.digests import sha256_text


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
    """One line of the coverage check: a category and what is said of it."""

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


OUT_DIR = "out_dir"
"""The variable that says where a pack's answers go."""


class OutDirSite(msgspec.Struct, frozen=True):
    """An assignment to `out_dir` in the script: where its value stands, and what it says."""

    span: Span
    source: str


class Pack(msgspec.Struct, frozen=True):
    """The one exact reading of a pack that everything else stands on."""

    path: str
    text: str
    """The file with LF line ends and without a byte order mark."""
    fences: tuple[Fence, ...]
    block: Fence | None
    """The bash block that runs: the first one, when there are several."""
    prelude: Prelude | None
    steps: tuple[Step, ...]
    swallowed: tuple[Comment, ...] = ()
    """Comments that look like step headers but stand inside a construct."""
    misnumbered: tuple[Comment, ...] = ()
    """Comments that look like step headers but have no two-digit number."""
    coverage: Coverage | None = None
    parsed_args: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The "Parsed args" list of the Markdown text."""
    out_dir: str | None = None
    out_dir_sites: tuple[OutDirSite, ...] = ()
    directives: tuple[Directive, ...] = ()
    """Directives before the first step: they speak for the whole pack."""
    had_crlf: bool = False
    had_bom: bool = False

    @property
    def pack_hash(self) -> str:
        """SHA-256 of the file with LF line ends and no byte order mark, in lower-case hex."""
        return sha256_text(self.text)

    def step(self, step_id: str) -> Step | None:
        return next((step for step in self.steps if step.id == step_id), None)


def plain_text(raw: str) -> str:
    """The text that counts: LF line ends, no byte order mark."""
    text = raw.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
