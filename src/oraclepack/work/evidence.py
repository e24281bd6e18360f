"""What an answer stands on: files, lines, symbols and commands, and whether they hold."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from oraclepack.system.markdown_text import code_pieces, code_spans
from oraclepack.work.comparison_words import word_set


class CitationState(StrEnum):
    """What became of a cited line when it was looked up."""

    VERIFIED = "verified"
    """The file was attached, is unchanged, and has that line."""
    STALE = "stale"
    """The file was attached, and has changed or gone since."""
    NOT_ATTACHED = "not_attached"
    """The question never had that file."""
    OUT_OF_RANGE = "out_of_range"
    """The file has fewer lines."""
    UNKNOWN = "unknown"
    """Nobody recorded what was attached."""

    @property
    def is_bad(self) -> bool:
        """Nothing can be built on it."""
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
        """Both mean the same place, give or take some lines."""
        apart = max(self.first_line, other.first_line) - min(self.last_line, other.last_line)
        return self.path == other.path and apart <= distance


class Evidence(msgspec.Struct, frozen=True):
    """What a statement names, each sorted and once."""

    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.symbols or self.commands)

    @property
    def stands_on_nothing_good(self) -> bool:
        """There are citations, and every one of them is bad."""
        return bool(self.citations) and all(c.state.is_bad for c in self.citations)

    def has(self, state: CitationState) -> bool:
        return any(citation.state is state for citation in self.citations)


NO_EVIDENCE = Evidence()


def united(parts: Iterable[Evidence]) -> Evidence:
    """All of it together."""
    every = list(parts)
    return Evidence(
        paths=tuple(sorted({path for part in every for path in part.paths})),
        symbols=tuple(sorted({symbol for part in every for symbol in part.symbols})),
        commands=tuple(sorted({command for part in every for command in part.commands})),
        citations=tuple(sorted({citation for part in every for citation in part.citations})),
    )


class QuestionFile(msgspec.Struct, frozen=True):
    """A file that a question was asked about: as recorded then, and as it is now."""

    path: str
    recorded: str | None = None
    """SHA-256 when the question was asked; None when nobody recorded it."""
    current: str | None = None
    """SHA-256 now; None when the file is gone or cannot be read."""
    lines: int | None = None
    """How many lines it has now."""


SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})
"""The languages of code blocks whose lines are commands."""

_EXTENSIONS = word_set(
    "py pyi ipynb js jsx mjs cjs ts tsx vue svelte go rs rb php java kt kts scala swift m mm "
    "c h cc cpp hpp cs fs ex exs erl hs ml clj lua pl r jl dart zig nim sql sh bash zsh fish "
    "ps1 bat html htm css scss less xml xsd json jsonl json5 yaml yml toml ini cfg conf env "
    "properties md mdx rst txt csv tsv proto graphql gql tf hcl dockerfile gradle cmake mk "
    "lock log patch diff svg tmpl j2 jinja erb haml"
)
_NO_FILES = word_set(
    "node.js next.js vue.js nuxt.js express.js d3.js three.js react.js ember.js backbone.js "
    "discord.js asp.net e.g i.e etc.c"
)
_BARE_FILES = word_set(
    "Dockerfile Makefile Jenkinsfile Procfile Gemfile Rakefile Vagrantfile CMakeLists.txt "
    "Justfile justfile go.mod go.sum .env .gitignore .dockerignore .editorconfig CODEOWNERS"
)
_PROGRAMS = word_set(
    "pytest python python3 pip uv tox nox make just npm npx pnpm yarn node deno bun go cargo "
    "rustc mvn gradle ./gradlew dotnet bundle rake rspec php composer mix git gh grep rg ack "
    "find sed awk jq curl wget docker docker-compose podman kubectl helm terraform ansible "
    "psql mysql sqlite3 redis-cli aws gcloud az ls cat head tail diff wc sort xargs bash sh "
    "time strace perf hyperfine k6 ab wrk locust oracle oraclepack codex gemini task-master "
    "tm mypy ruff eslint tsc vitest jest bazel ctest valgrind gdb"
)
_METHODS = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS"

_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s`)>\]]+", re.IGNORECASE)
_LINES = (
    r"(?::(?P<a>\d{1,15})(?:[-–](?P<b>\d{1,15})|:\d+(?:[-–]\d+)?)?"
    r"|\#L(?P<c>\d{1,15})(?:C\d+)?(?:-L?(?P<d>\d{1,15}))?)"
)
_MORE_LINES = re.compile(r",\s?(\d{1,15})(?:[-–](\d{1,15}))?")
_IN_CODE = re.compile(
    rf"(?P<path>[^\s:#`\"'()]+?)(?:{_LINES}(?P<more>(?:,\s?\d{{1,15}}(?:[-–]\d{{1,15}})?)*))?[,;.]?$"
)
_IN_PROSE = re.compile(
    rf"(?<![\w/@.:-])(?P<path>(?:\.{{0,2}}/)?[\w@+-][\w@+./*-]*\.(?:{'|'.join(sorted(_EXTENSIONS))})"
    rf"|(?:{'|'.join(map(re.escape, sorted(_BARE_FILES)))}))(?:{_LINES})?(?![\w/])"
)
_SAID_AFTER = re.compile(
    r"\W{0,3}(?:(?:at|on|in|around|near)\s+)?(?:lines?|ll?\.|L|Zeilen?|lignes?|líneas?|righe?)\s*"
    r"(?P<a>\d{1,15})(?:\s*(?:[-–]|to|bis|and|à|a)\s*L?(?P<b>\d{1,15}))?",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|::|#|->)[A-Za-z_]\w*)*(?:\(.{0,80}\))?[!?]?")
_ENDPOINT = re.compile(rf"(?:{_METHODS}) /\S*")
_PROMPT = re.compile(r"^\s*(?:\$|>)\s+")


def find_evidence(text: str, links: Iterable[str] = (), commands: Iterable[str] = ()) -> Evidence:
    """Everything a text names; `links` are the targets of its links."""
    found = _Found()
    found.commands |= set(commands)
    spoken = _URL.sub(" ", text)
    for _, end, code in code_spans(spoken):
        found.code(code.strip(), spoken[end : end + 40])
    for match in _IN_PROSE.finditer(_without_code(spoken)):
        found.place(match, match.string[match.end() : match.end() + 40])
    for link in links:
        target = _IN_CODE.match(link)
        if target is not None and "://" not in link and _is_path(target["path"]):
            found.place(target, "")
    return found.evidence()


def commands_in(code: str, language: str) -> tuple[str, ...]:
    """The commands of a shell code block, one for each line; continued lines are joined."""
    if language not in SHELLS:
        return ()
    lines = code.replace("\\\n", " ").splitlines()
    if any(line.lstrip().startswith("$ ") for line in lines):
        # A transcript: only what was typed, not what was answered.
        lines = [line for line in lines if line.lstrip().startswith("$ ")]
    said = (" ".join(_PROMPT.sub("", line).split()) for line in lines)
    return tuple(line for line in said if line and not line.startswith("#"))


def normal_path(path: str) -> str:
    """A path as we compare it: POSIX, without a leading `./`."""
    return PurePosixPath(path.replace("\\", "/")).as_posix().removeprefix("./")


def without_evidence(text: str) -> str:
    """The words of a text alone: no code, paths, line numbers or addresses."""
    bare = _IN_PROSE.sub(" ", _without_code(_URL.sub(" ", text)))
    return re.sub(rf"(?<=[` ]){_SAID_AFTER.pattern}", " ", bare, flags=re.IGNORECASE)


def _without_code(text: str) -> str:
    """The text with one backquote in the place of each piece of code."""
    return "".join(" ` " if is_code else part for is_code, part in code_pieces(text))


class _Found:
    """What has been found so far."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.symbols: set[str] = set()
        self.commands: set[str] = set()
        self.citations: set[Citation] = set()

    def code(self, span: str, following: str) -> None:
        """What a piece of inline code is: a command, a path, an endpoint or a symbol."""
        words = span.split()
        if len(words) > 1 and (words[0] in _PROGRAMS or words[0].startswith("./")):
            self.commands.add(" ".join(words))
            return
        match = _IN_CODE.match(span)
        if match is not None and _is_path(match["path"], lines=match["a"] or match["c"]):
            self.place(match, following)
        elif _ENDPOINT.fullmatch(span):
            self.symbols.add(span)
        elif _SYMBOL.fullmatch(span):
            self.symbols.add(span.partition("(")[0])

    def place(self, match: re.Match[str], following: str) -> None:
        path = normal_path(match["path"])
        if path.lower() in _NO_FILES or path in {"", ".", "/"}:
            return
        self.paths.add(path)
        first, last = match["a"] or match["c"], match["b"] or match["d"]
        if first is None:
            said = _SAID_AFTER.match(following)
            first, last = (said["a"], said["b"]) if said is not None else (None, None)
        if first is not None:
            self._cite(path, first, last)
        for more in _MORE_LINES.finditer(match.groupdict().get("more") or ""):
            self._cite(path, more[1], more[2])

    def _cite(self, path: str, first: str, last: str | None) -> None:
        start = int(first)
        self.citations.add(Citation(path, start, max(start, int(last or first))))

    def evidence(self) -> Evidence:
        return Evidence(
            paths=tuple(sorted(self.paths)),
            symbols=tuple(sorted(self.symbols)),
            commands=tuple(sorted(self.commands)),
            citations=tuple(sorted(self.citations)),
        )


def _is_path(text: str, *, lines: str | None = None) -> bool:
    """Whether code that has no spaces names a file, a folder or a pattern of files."""
    name = text.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    known = extension in _EXTENSIONS or name in _BARE_FILES
    if text.lower() in _NO_FILES or text.startswith(("<", "{", "$", "@", "--")):
        return False
    if "/" in text:
        # A route such as `/v1/orders` has no extension and begins at the root.
        return known or lines is not None or not text.startswith("/")
    return known or (lines is not None and bool(re.fullmatch(r"[\w.-]+", text)))
