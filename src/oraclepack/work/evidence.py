"""What an answer names: files, lines, symbols and commands, each verbatim, and whether it is so.

Answers copied from a chat page have lost their backquotes, so code is recognised by its shape,
inside backquotes and outside.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from oraclepack.answers.sentences import masked
from oraclepack.pack.answer_sections import FENCE, numbered
from oraclepack.system.markdown_text import code_spans, in_backquotes

_EXTENSIONS = (
    "py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|rs|rb|php|java|kt|kts|scala|swift|mm|c|h|cc"
    "|cpp|hpp|cs|fs|ex|exs|erl|hs|ml|clj|lua|pl|jl|dart|zig|nim|sql|sh|bash|zsh|fish|ps1|bat|html"
    "|htm|css|scss|less|xml|xsd|json|jsonl|json5|yaml|yml|toml|ini|cfg|conf|env|properties|md|mdx"
    "|rst|txt|csv|tsv|proto|graphql|gql|prisma|tf|hcl|gradle|cmake|mk|lock|log|patch|diff|svg|tmpl"
    "|j2|jinja|erb|haml|mod|sum"
)
_BARE_FILES = (
    r"README|CHANGELOG|LICENSE|Dockerfile|Makefile|Jenkinsfile|Procfile|Gemfile|Rakefile"
    r"|CODEOWNERS|Justfile|justfile|Vagrantfile|\.env|\.gitignore|\.dockerignore|\.editorconfig"
)
_NO_FILES = re.compile(
    r"(?:node|next|vue|nuxt|express|d3|three|react|ember|backbone|discord)\.js|asp\.net|e\.g|i\.e",
    re.IGNORECASE,
)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s`)>\]]+", re.IGNORECASE)
_SIGNS = r"[\w@$+~%.*?{}\[\]<>=-]|\((?:[\w*.-]+\|)+[\w*.-]+\)"
_TOKEN = re.compile(rf"(?:{_SIGNS}|/)+")
_LINES = re.compile(
    r"(?::(?P<a>\d{1,15})(?:[-–](?P<b>\d{1,15}))?(?::\d+)?"
    r"|\#L(?P<c>\d{1,15})(?:-L?(?P<d>\d{1,15}))?)(?P<more>(?:,\s?\d{1,15}(?:[-–]\d{1,15})?)*)"
)
_MORE = re.compile(r",\s?(\d{1,15})(?:[-–](\d{1,15}))?")
_SAID_AFTER = re.compile(
    r"\W{0,3}(?:(?:at|on|in|around|near)\s+)?(?:lines?|ll?\.|L)\s*(?P<a>\d{1,15})(?:\s*(?:[-–]|to"
    r"|and)\s*L?(?P<b>\d{1,15}))?",
    re.IGNORECASE,
)
_FILE = re.compile(rf"[\w@$.*?{{}}\[\]()|+~-]*\.(?:{_EXTENSIONS})", re.IGNORECASE)
_BARE = re.compile(_BARE_FILES)
_GLOB = re.compile(r"[*?]|\.\.\.$")
_GLOB_FILE = re.compile(r"[\w.*-]*\w[\w.*-]*\.[\w*]*\*[\w.*]*|\*\.[\w.*]*\w[\w.*]*")
"""A pattern for names of files, without a folder: `vite.config.*`, `*.config.*`."""
_WORD_PAIR = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)+(?:\(s\))?")
_SYMBOL = re.compile(
    r"(?<![\w./@$-])[A-Za-z_$][\w$]*(?:(?:\.|::|\#|->)[A-Za-z_]\w*)*(?P<call>\([^\s()]{0,40}\))?"
)
_SHAPED = re.compile(
    r"[a-z][a-z0-9]*[A-Z]|[A-Z][a-z0-9]+[A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[a-z)]\.[a-z]+[A-Z(]|^[A-Z]\w*\.[a-z]\w"
)
_ENDPOINT = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /\S*")
_LEFT_OUT = re.compile(
    r"\b(?:outside(?: of)?|besides|except(?: for)?|other than|excluding|beyond|apart from"
    r"|not)\s+[`(]?$",
    re.IGNORECASE,
)
_OPEN_ASIDE = re.compile(r"\([^()]*$")


_SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})
_PROGRAM = (
    r"(?:\./[\w./-]+|(?:ack|ag|ansible|aws|az|bash|bazel|bun|bundle|cargo|cat|ck|cmake|codex|composer"
    r"|ctest|curl|deno|docker|docker-compose|dotnet|eslint|fd|find|gcloud|gemini|gh|git|go|gradle"
    r"|grep|helm|hyperfine|java|jest|jq|just|k6|kubectl|ls|make|mix|mvn|mypy|node|nox|npm|npx|oracle"
    r"|oraclepack|php|pip|playwright|pnpm|podman|psql|pytest|python3?|redis-cli|rg|rspec|ruff|sed|sh"
    r"|sqlite3|strace|task-master|terraform|tm|tox|tsc|uv|vitest|wrk|yarn)(?=\s))"
)
_COMMAND = re.compile(rf"(?:\$\s+)?(?:\w+=\S+\s+)*{_PROGRAM}\s*\S")
_NAME = (
    r"(?!(?:a|an|and|are|as|at|by|for|from|if|in|into|is|it|of|on|or|so|that|the|then|this|to|via"
    r"|when|where|which|with)\b)[A-Za-z][\w-]*(?=[\s.,;)]|$)"
)
_QUOTED = r"\"(?:\\.|[^\"\\])*\"|'[^']*'"
_BARE_COMMAND = re.compile(
    rf"(?:(?P<run>run|execute)s?|running|example|concretely|e\.g\.,?|then|or|and|[:(]|^)[\s:(*_]*"
    rf"(?P<command>{_PROGRAM}(?:\s+{_NAME}){{0,2}}(?:\s+(?:(?:{_QUOTED})(?:\s+{_NAME})?"
    rf"|-{{1,2}}\w[^\s\"'`]*(?:\s+{_NAME})?|[^\s\"'`]*[/*_=<>$~:][^\s\"'`]*|\w[\w-]*\.\w+|\.))*)",
    re.IGNORECASE | re.MULTILINE,
)
"""A command without backquotes: its program, one or two words, then what only commands have."""
_SURE = re.compile(rf"\s(?:-{{1,2}}\w|{_QUOTED})")
_NOT = re.compile(
    r"\b(?:not|never|don[’']t|forbid|block|deny|reject|instead of|avoid)\b[^.;:]*$", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:/")


class CitationState(StrEnum):
    """The result of checking a cited line."""

    VERIFIED = "verified"
    """The file was attached, is unchanged, and has that line."""
    STALE = "stale"
    """The file was attached, and has changed or gone since."""
    NOT_ATTACHED = "not_attached"
    """The question never had that file."""
    OUT_OF_RANGE = "out_of_range"
    """The file has fewer lines."""
    UNKNOWN = "unknown"
    """The attachments were not recorded."""

    @property
    def is_bad(self) -> bool:
        """Whether the citation is invalid."""
        return self in {self.STALE, self.NOT_ATTACHED, self.OUT_OF_RANGE}


class Citation(msgspec.Struct, frozen=True, order=True):
    """A place in a file that an answer names, and what is known of it."""

    path: str
    first_line: int
    last_line: int
    state: CitationState = CitationState.UNKNOWN

    def __str__(self) -> str:
        if self.first_line == self.last_line:
            return f"{self.path}:{self.first_line}"
        return f"{self.path}:{self.first_line}-{self.last_line}"

    def near(self, other: "Citation", distance: int) -> bool:
        """Whether both cite the same place, within a few lines."""
        gap = max(self.first_line, other.first_line) - min(self.last_line, other.last_line)
        return self.path == other.path and gap <= distance


class Evidence(msgspec.Struct, frozen=True):
    """What a statement names, each sorted and once."""

    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()

    def with_other(self, other: "Evidence") -> "Evidence":
        """Both together."""
        return Evidence(
            tuple(sorted({*self.paths, *other.paths})),
            tuple(sorted({*self.symbols, *other.symbols})),
            tuple(dict.fromkeys((*self.commands, *other.commands))),
            tuple(sorted({*self.citations, *other.citations})),
        )


class QuestionFile(msgspec.Struct, frozen=True):
    """A file that a question was asked about: as recorded then, and as it is now."""

    path: str
    recorded: str | None = None
    """SHA-256 when the question was asked; None when it was not recorded."""
    current: str | None = None
    """SHA-256 now; None when the file is gone or cannot be read."""
    lines: int | None = None
    """How many lines it has now."""


def evidence_in(text: str) -> Evidence:
    """Everything a text names."""
    paths: set[str] = set()
    cited: set[Citation] = set()
    prose = _URL.sub(lambda match: " " * len(match[0]), text)
    for start, end, token in _tokens(prose):
        if not _is_path(token) or _LEFT_OUT.search(prose[:start]):
            continue
        paths.add(token)
        cited |= set(_citations(token, prose[end : end + 60]))
    return Evidence(
        paths=tuple(sorted(paths)),
        symbols=tuple(sorted(symbols_in(prose) - paths)),
        commands=tuple(sorted(commands_in(text))),
        citations=tuple(sorted(cited)),
    )


def placed_citations(text: str) -> Iterator[tuple[int, int, Citation]]:
    """The cited places of a text in its order, each with where it stands. Linear in the text."""
    spoken = _URL.sub(lambda match: " " * len(match[0]), text)
    for start, end, token in sorted(_tokens(spoken)):
        at = end + spoken.startswith("`", end)
        lines = _LINES.match(spoken, at) or _SAID_AFTER.match(spoken, at)
        if lines is not None and _is_path(token):
            yield from ((start, lines.end(), one) for one in _citations(token, lines[0]))


def symbols_in(text: str) -> set[str]:
    """The names of code in a text: what is in backquotes, and words shaped like code."""
    symbols: set[str] = set()
    for _, _, code in code_spans(text):
        span = code.strip()
        if _ENDPOINT.fullmatch(span):
            symbols.add(span)
        elif (match := _SYMBOL.fullmatch(span)) is not None:
            symbols.add(span.removesuffix(match["call"] or ""))
    mask = masked(text)
    for match in _SYMBOL.finditer(mask):
        name = match[0].removesuffix(match["call"] or "")
        if (match["call"] or _SHAPED.search(name)) and not _FILE.fullmatch(name):
            symbols.add(name)
    return symbols


def without_evidence(text: str) -> str:
    """The words of a text alone: no code, paths, line numbers or addresses."""
    out = _URL.sub(" ", text)
    for start, end, _ in reversed([*code_spans(out)]):
        out = f"{out[:start]} ` {_after_code(out[end:])}"
    for start, end, token in reversed([*_tokens(out)]):
        if _is_path(token):
            lines = _LINES.match(out, end)
            out = f"{out[:start]} ` {out[lines.end() if lines is not None else end :]}"
    return out


def _after_code(rest: str) -> str:
    """What follows a piece of code, without the lines that are said of it."""
    match = _SAID_AFTER.match(rest)
    return rest[match.end() :] if match is not None else rest


def missing_patterns(text: str) -> list[str]:
    """The files and patterns of files that a unit of missing evidence asks for, as they stand."""
    patterns: list[str] = []
    prose = _URL.sub(lambda match: " " * len(match[0]), text)
    for start, end, token in _tokens(prose):
        before = prose[:start]
        if prose[end : end + 1] == "(":
            continue  # a call
        if _LEFT_OUT.search(before) or not _is_path(token, pattern=True):
            continue
        parenthesis = _OPEN_ASIDE.search(before)
        if (
            "/" not in token
            and parenthesis is not None
            and patterns
            and patterns[-1].endswith(("*", "/"))
        ):
            continue  # a name inside the folder that was named before
        patterns.append(token)
    return list(dict.fromkeys(patterns))


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """What could be a path, with its place, in backquotes or bare."""
    spans: list[tuple[int, int]] = []
    for start, end, code in code_spans(text):
        spans.append((start, end))
        if " " in code.strip():
            continue
        at = text.index(code, start)
        match = _TOKEN.match(code)
        if match is not None:
            yield at, at + match.end(), _trimmed(match[0])
    mask = masked(text)
    starts = [start for start, _ in spans]
    for match in _TOKEN.finditer(mask):
        before = bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < spans[before][1]:
            continue
        token = _trimmed(match[0])
        if token:
            yield match.start(), match.start() + len(token), token


def _trimmed(token: str) -> str:
    bare = token.lstrip("<>[{=?").rstrip(">]}=?")
    if bare.startswith("**") and not bare.startswith("**/"):
        bare = bare[2:]
    if bare.endswith(".") and not bare.endswith("/..."):
        bare = bare.rstrip(".")
    return bare


def _is_path(token: str, *, pattern: bool = False) -> bool:
    """Whether a word names a file, a folder or a pattern of files."""
    if not token or _NO_FILES.fullmatch(token) or token.startswith(("--", "@", "$")):
        return False
    return _is_path_with_folder(token) if "/" in token else _is_file_name(token, pattern=pattern)


def _is_file_name(token: str, *, pattern: bool) -> bool:
    if "*" in token:
        return pattern and _GLOB_FILE.fullmatch(token) is not None
    known = _FILE.fullmatch(token) is not None and not token.startswith(".")
    return known or _BARE.fullmatch(token) is not None


def _is_path_with_folder(token: str) -> bool:
    name = token.rstrip("/").rpartition("/")[2]
    if "${" in token or "..." in token.removesuffix("/..."):
        return False
    is_file = _FILE.fullmatch(name) is not None
    if token.startswith("/"):
        return is_file  # a route such as `/v1/orders` has no extension
    if is_file or _GLOB.search(token) or _BARE.fullmatch(name):
        return True
    return token.count("/") > 1 and not _WORD_PAIR.fullmatch(token)


def _citations(path: str, following: str) -> Iterator[Citation]:
    rest = following.removeprefix("`")
    match = _LINES.match(rest)
    if match is not None:
        first, last = match["a"] or match["c"], match["b"] or match["d"]
        yield _citation(path, first, last)
        for more in _MORE.finditer(match["more"]):
            yield _citation(path, more[1], more[2])
        return
    after = _SAID_AFTER.match(rest)
    if after is not None:
        yield _citation(path, after["a"], after["b"])


def _citation(path: str, first: str, last: str | None) -> Citation:
    start = int(first)
    return Citation(path.removeprefix("./"), start, max(start, int(last or first)))


def commands_in(text: str) -> tuple[str, ...]:
    """The commands of a statement in order: code that begins with a program, and shell blocks."""
    commands: list[str] = []
    block: list[str] = []
    for _, line, opened in numbered((*text.split("\n"), "")):
        if opened:
            block.append(line)
            continue
        commands += _of_block(block) if block else ()
        block = []
        commands += (
            code.strip()
            for start, _, code in code_spans(line)
            if _COMMAND.match(code.strip()) and not _NOT.search(line[:start])
        )
        for match in _BARE_COMMAND.finditer(masked(line)):
            command = line[match.start("command") : match.end("command")].rstrip(",;:")
            command = command if command.endswith(" .") else command.rstrip(".")
            is_asked = match["run"] is not None and " " in command
            if (is_asked or _SURE.search(command)) and not _NOT.search(line[: match.start()]):
                commands.append(command)
    return tuple(dict.fromkeys(commands))


def _of_block(block: Sequence[str]) -> Iterator[str]:
    """The commands of a shell code block, one for each line; continued lines are one command."""
    opening = FENCE.match(block[0])
    language = opening["info"].strip().lower().partition(" ")[0] if opening is not None else ""
    body = "\n".join(line for line in block[1:] if FENCE.match(line) is None)
    lines = [line.strip() for line in body.replace("\\\n", " ").split("\n")]
    if any(line.startswith("$ ") for line in lines):
        # A transcript: only what was typed, not what was answered.
        lines = [line for line in lines if line.startswith("$ ")]
    for line in lines:
        typed = " ".join(line.removeprefix("$ ").split())
        is_command = language in _SHELLS or (not language and _COMMAND.match(typed))
        if typed and not typed.startswith("#") and is_command:
            yield typed


Attached = Mapping[str, QuestionFile]


def check(evidence: Evidence, attached: Attached | None, *, complete: bool = True) -> Evidence:
    """The evidence with each citation judged and spelled as its file was attached.

    Paths stay as the answer has them. Where the list of attached files is not complete, nothing can
    be said of other files.
    """
    if attached is None:
        return evidence
    names = {one.path: resolve(one.path, attached) for one in evidence.citations}
    otherwise = CitationState.NOT_ATTACHED if complete else CitationState.UNKNOWN
    judged = {_judged(one, names, attached, otherwise) for one in evidence.citations}
    return msgspec.structs.replace(evidence, citations=tuple(sorted(judged)))


def resolve(path: str, attached: Attached) -> str:
    """The attached file that a path means: itself, or the only one that ends in it.

    An absolute path means the one that it ends in; a longer relative one is another file.
    """
    if path in attached:
        return path
    if _ABSOLUTE.match(path):
        ends = [name for name in attached if path.endswith(f"/{name}")]
    else:
        ends = [name for name in attached if name.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 else path


def _judged(
    citation: Citation, names: Mapping[str, str], attached: Attached, otherwise: CitationState
) -> Citation:
    path = names.get(citation.path, citation.path)
    file = attached.get(path)
    state = otherwise if file is None else _state(citation, file)
    return Citation(path, citation.first_line, citation.last_line, state)


def _state(citation: Citation, file: QuestionFile) -> CitationState:
    if file.current is None or file.lines is None:
        return CitationState.STALE
    if file.recorded is not None and file.recorded != file.current:
        return CitationState.STALE
    in_range = citation.first_line >= 1 and citation.last_line <= file.lines
    return CitationState.VERIFIED if in_range else CitationState.OUT_OF_RANGE


def said_of(citation: Citation) -> str:
    """What is missing because of a bad citation, in words."""
    path, place = in_backquotes(citation.path), in_backquotes(str(citation))
    match citation.state:
        case CitationState.STALE:
            return f"{path} as it is now: it changed or went since it was attached"
        case CitationState.NOT_ATTACHED:
            return f"{path}: cited as {place}, but never attached"
        case CitationState.OUT_OF_RANGE:
            return f"the right place in {path}: {place} is beyond its end"
        case _:
            return place
