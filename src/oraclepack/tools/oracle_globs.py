"""Which existing files oracle would attach, computed without calling the tool.

Only a rehearsal relies on this imitation; for a real call the tool lists the files.
"""

import re
from collections.abc import Sequence
from posixpath import basename, normpath

import msgspec

from oraclepack.tools.oracle_attachments import FileListing, is_plain

IGNORED_DIRECTORIES = frozenset(
    ("node_modules", "dist", "coverage", ".git", ".turbo", ".next", "build", "tmp")
)
_SIGNS = frozenset("*?[]{}()!+@\\|")


class MatchedFiles(msgspec.Struct, frozen=True):
    """The files that are attached, and what is said about those that are not."""

    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def base_of(pattern: str) -> str:
    """The directory below which all matches of a pattern lie."""
    names = pattern.removeprefix("!").split("/")
    fixed = next((at for at, name in enumerate(names) if _SIGNS & set(name)), len(names) - 1)
    return "/".join(names[:fixed]) or ("/" if pattern.startswith("/") and fixed else ".")


def choose(values: Sequence[str], listing: FileListing) -> MatchedFiles:
    """The files that the values of `--file` name, once one of them is no plain file."""
    included = [_pattern(value, listing) for value in values if not value.startswith("!")]
    refused = [glob(_pattern(value[1:], listing)) for value in values if value.startswith("!")]
    matches = [glob(pattern) for pattern in included]
    hidden = any(_names_hidden(pattern) for pattern in included)
    named = frozenset(normpath(value) for value in values if is_plain(value))
    files: list[str] = []
    notes: list[str] = []
    for path in sorted(set(listing.files)):
        if not any(match.fullmatch(path) for match in matches):
            continue
        if any(match.fullmatch(path) for match in refused) or _is_ignored(path, listing):
            continue
        if basename(path).startswith(".") and not hidden:
            continue
        skipped = _default_ignored(path, named, listing)
        if skipped is None:
            files.append(path)
        else:
            notes.append(f"Skipping default-ignored path: {path} (matches {skipped})")
    return MatchedFiles(tuple(files), tuple(notes))


def _pattern(value: str, listing: FileListing) -> str:
    path = normpath(value) if is_plain(value) else value.removeprefix("./")
    if value not in listing.directories:
        return path
    return "**/*" if path == "." else f"{path}/**/*"


def _names_hidden(pattern: str) -> bool:
    return any(name.startswith(".") and name not in {".", ".."} for name in pattern.split("/"))


def _is_ignored(path: str, listing: FileListing) -> bool:
    """Whether the `.gitignore` files exclude it, read in the tool's simplified way."""
    for folder, lines in listing.ignores.items():
        inner = path.removeprefix(f"{folder}/") if folder else path
        if folder and inner == path:
            continue
        if any(_ignores(line.strip(), inner) for line in lines):
            return True
    return False


def _ignores(line: str, path: str) -> bool:
    if not line or line.startswith("#"):
        return False
    if line.endswith("/"):
        return path.startswith(line)
    pieces = re.split(r"(\*\*|\*)", line)
    spelled = {"**": ".*", "*": "[^/]*"}
    return re.fullmatch("".join(spelled.get(p) or re.escape(p) for p in pieces), path) is not None


def _default_ignored(path: str, named: frozenset[str], listing: FileListing) -> str | None:
    parents = path.split("/")[:-1]
    above = ["/".join(parents[: at + 1]) for at in range(len(parents))]
    if path in named or any(
        folder in named and basename(folder) in IGNORED_DIRECTORIES for folder in above
    ):
        return None
    for folder in above:
        if basename(folder) in IGNORED_DIRECTORIES and folder not in listing.ignores:
            return basename(folder)
    return None


def glob(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression: `*`, `**`, `?`, `[…]` and `{a,b}`."""
    return re.compile(_translated(pattern))


_TOKEN = re.compile(
    r"(?P<deep>\*\*/)|(?P<rest>\*\*)|(?P<star>\*)|(?P<one>\?)"
    r"|\[(?P<not>[!^]?)(?P<set>[^\]]+)\]|\{(?P<choice>[^{}]*)\}|\\?(?P<plain>.)",
    re.DOTALL,
)


def _translated(pattern: str) -> str:
    return "".join(_piece(token) for token in _TOKEN.finditer(pattern))


def _piece(token: re.Match[str]) -> str:
    fixed = {"deep": "(?:[^/]+/)*", "rest": ".*", "star": "[^/]*", "one": "[^/]"}
    if token.lastgroup in fixed:
        return fixed[token.lastgroup]
    if token["set"] is not None:
        inner = token["set"].replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^' if token['not'] else ''}{inner}]"
    if token["choice"] is not None:
        return f"(?:{'|'.join(_translated(part) for part in _choices(token['choice']))})"
    return re.escape(token["plain"])


def _choices(text: str) -> list[str]:
    bounds = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if bounds is None:
        return text.split(",")
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return [str(number) for number in range(low, min(high, low + 999) + 1)]
