"""Where a step may write: the part that the text of a path decides.

The same rules serve validation, which sees only the text, and the call itself, where
the disk has its say too (`adapters/jail.py`).
"""

from posixpath import isabs, join, normpath

RUNS, CACHE = ".oraclepack/runs", ".oraclepack/cache"
REHEARSALS = ".oraclepack/rehearsals"
"""Under the project root: what only oraclepack itself writes."""

GIT = ".git"
"""At any depth: git's own."""

LONGEST_NAME = 255
LONGEST_PATH = 4000
"""Below the 4096 bytes of most systems, to leave room for names of temporary files."""

_CONTROL = frozenset(map(chr, [*range(32), 127]))


def fault_of(path: str) -> str | None:
    """Why no file of this name can be written safely anywhere, or None."""
    if not path:
        return "the path is empty"
    if path == "-":
        return "`-` means standard output, not a file"
    if any(char in _CONTROL for char in path):
        return "the path holds a control character or a line end"
    if path.startswith("~"):
        return "the shell did not expand `~`; write the path out or use $HOME"
    if path.endswith("/") or path.rsplit("/", 1)[-1] in {".", ".."}:
        return "the path names a directory, not a file"
    return _too_long(path)


def _too_long(path: str) -> str | None:
    try:
        names = [name.encode() for name in path.split("/")]
    except UnicodeEncodeError:
        return "the path is not valid UTF-8"
    if sum(map(len, names)) + len(names) > LONGEST_PATH:
        return "the path is too long"
    if max(map(len, names)) > LONGEST_NAME:
        return f"a name in the path is longer than {LONGEST_NAME} bytes"
    return None


def inside(root: str, path: str, base: str | None = None) -> str | None:
    """The path relative to the root, or None when its text leads out of it."""
    place = normpath(path if isabs(path) else join(base or root, path))
    home = normpath(root)
    if place == home:
        return ""
    prefix = home if home.endswith("/") else home + "/"
    return place[len(prefix) :] if place.startswith(prefix) else None


def guarded_place(relative: str) -> str | None:
    """Which protected place of a project a path lies in, if in one."""
    # Case is folded since some file systems do: `.GIT/config` is git's own there.
    names = [name.casefold() for name in relative.split("/")]
    if GIT in names:
        return GIT
    place = "/".join(names[:2])
    return place if place in {RUNS, CACHE, REHEARSALS} else None
