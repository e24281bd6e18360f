"""A repository for a throw-away copy: it reads the real one's objects and cannot write to it.

Everything that git writes goes to the copy: refs, index, configuration and new objects. The real
objects are named as alternates, which git only reads. Hooks, filters and other programs that the
real configuration names are left behind, and pushing leads nowhere.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.git import LONG_TIMEOUT, Git, GitError, top_level
from oraclepack.system.text_limits import regex

_LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_NO_PUSH = "a-rehearsal-pushes-nowhere"
_FIXED = (
    ("core.bare", "false"),
    ("core.hookspath", "/dev/null"),
    ("core.fsmonitor", "false"),
    # The copies have the times of the originals but not their inodes.
    ("core.checkstat", "minimal"),
    ("core.trustctime", "false"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
_KEPT = regex(
    r"core\.(?:filemode|ignorecase|symlinks|precomposeunicode|autocrlf|eol|quotepath|abbrev)"
    r"|user\.(?:name|email)|extensions\.(?:objectformat|partialclone)"
    r"|remote\.(?:.+)\.(?:url|fetch|promisor|partialclonefilter|tagopt)"
    r"|branch\.(?:.+)\.(?:remote|merge|rebase)"
)
"""Settings that describe the repository and name no program."""


class Repository(msgspec.Struct, frozen=True):
    """Where a repository keeps its parts."""

    top: Path
    """Of the work tree."""
    folder: Path
    """Of this work tree: HEAD and index."""
    shared: Path
    """Of all work trees: objects and branches."""


def find(root: Path, environment: Mapping[str, str]) -> Repository | None:
    """The repository around a directory; None outside of git, or where git refuses.

    Nor is there one where its configuration puts the work tree elsewhere: the copy would be made
    of a place of the repository's choice.
    """
    if top_level(root, environment) is None:
        return None
    told = _ask(root, environment, "rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir")
    lines = (told or b"").splitlines()
    if len(lines) != 3:  # noqa: PLR2004 - one for each question
        return None
    top, folder, shared = (Path(os.path.realpath(root / os.fsdecode(line))) for line in lines)
    return Repository(top, folder, shared)


def repository_files(found: Repository, environment: Mapping[str, str]) -> Iterator[str]:
    """Tracked files and untracked ones that are not ignored, relative to the top.

    Files of repositories within the repository are listed by those themselves.
    """
    yield from _listed(found.top, "", environment)


def copy(found: Repository, place: Path) -> None:
    """Lay out a repository at a place that does not exist yet. Raises OSError."""
    environment = dict(os.environ)
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "objects/info/alternates").write_bytes(b"".join(_alternates(found)))
    (place / "config").write_text(_config(found, environment), "utf-8", "surrogateescape")
    _write_refs(found, place, environment)
    for name in ("index", *(one.name for one in found.folder.glob("sharedindex.*"))):
        _copy_file(found.folder / name, place / name)
    for name in ("shallow", "info/exclude", "info/attributes"):
        _copy_file(found.shared / name, place / name)


def _listed(top: Path, below: str, environment: Mapping[str, str]) -> Iterator[str]:
    told = _ask(top / below, environment, *_LISTED)
    if told is None:
        raise InputError(
            f"git cannot list the files of {top / below}", hint="`git status` says why"
        )
    for name in dict.fromkeys(os.fsdecode(told).split("\0")):
        if not name:
            continue
        path = f"{below}/{name.rstrip('/')}" if below else name.rstrip("/")
        place = top / path
        if not place.is_dir() or place.is_symlink():
            yield path
        elif (place / ".git").exists():  # a submodule, or a repository of its own
            yield from _listed(top, path, environment)


def _alternates(found: Repository) -> Iterator[bytes]:
    """The real objects; those that they are borrowed from are named by git's own chain."""
    objects = found.shared / "objects"
    yield _quoted(os.fsencode(objects))
    with suppress(OSError):
        for line in files.read_regular(objects / "info/alternates").splitlines():
            # Git takes no relative path from an alternate of an alternate.
            if line and not line.startswith((b"#", b"/", b'"')):
                yield _quoted(os.fsencode(os.path.normpath(objects / os.fsdecode(line))))


def _quoted(path: bytes) -> bytes:
    if path.startswith((b"#", b'"')) or b"\n" in path:
        escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        path = b'"' + escaped + b'"'
    return path + b"\n"


def _write_refs(found: Repository, place: Path, environment: Mapping[str, str]) -> None:
    """HEAD, branches and tags as git tells them, whatever format they are kept in."""
    on_branch = _ask(found.top, environment, "symbolic-ref", "-q", "HEAD")
    head = b"ref: " + on_branch if on_branch else _ask(found.top, environment, "rev-parse", "HEAD")
    (place / "HEAD").write_bytes(head or b"ref: refs/heads/main\n")
    form = "--format=%(objectname) %(refname)%00%(symref)"
    packed = []
    for line in (_ask(found.top, environment, "for-each-ref", form) or b"").splitlines():
        ref, _, symbolic = line.partition(b"\0")
        name = ref.partition(b" ")[2]
        if symbolic:
            loose = place / os.fsdecode(name)
            loose.parent.mkdir(parents=True, exist_ok=True)
            loose.write_bytes(b"ref: " + symbolic + b"\n")
        else:
            packed.append(ref + b"\n")
    (place / "packed-refs").write_bytes(b"".join(packed))


def _config(found: Repository, environment: Mapping[str, str]) -> str:
    told = os.fsdecode(_ask(found.top, environment, "config", "--local", "--list", "-z") or b"")
    pairs = [entry.partition("\n")[::2] for entry in told.split("\0") if entry]
    kept = [(key, value) for key, value in pairs if _KEPT.fullmatch(key)]
    version = "1" if any(key.startswith("extensions.") for key, _ in kept) else "0"
    remotes = dict.fromkeys(key.rpartition(".")[0] for key, _ in kept if key.startswith("remote."))
    pushing = [(f"{remote}.pushurl", _NO_PUSH) for remote in remotes]
    every = [("core.repositoryformatversion", version), *kept, *_FIXED, *pushing]
    return "".join(_setting(key, value) for key, value in every)


def _setting(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    below, _, name = rest.rpartition(".")
    head = f'[{section} "{_escaped(below)}"]' if below else f"[{section}]"
    return f'{head}\n\t{name} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return plain.replace("\n", "\\n").replace("\t", "\\t")


def _copy_file(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        target.write_bytes(files.read_regular(source))


def _ask(folder: Path, environment: Mapping[str, str], *words: str) -> bytes | None:
    """What git prints, or None when it refuses."""
    try:
        return Git(folder, environment, LONG_TIMEOUT).ask(*words)
    except GitError:
        return None
