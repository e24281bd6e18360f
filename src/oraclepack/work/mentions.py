"""What a text mentions: paths, lines, patterns of files, symbols and commands, each verbatim.

Answers copied from a chat page have lost their backquotes, so code is recognised by its shape,
inside backquotes and outside.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from oraclepack.answers.sentences import masked
from oraclepack.system.markdown_text import code_spans
from oraclepack.work.evidence import Citation, Evidence

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


def evidence_in(text: str, commands: Iterable[str] = ()) -> Evidence:
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
        commands=tuple(sorted(set(commands))),
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
