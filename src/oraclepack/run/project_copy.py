"""A throw-away copy of a project: what it would hold, and the making of it.

It holds tracked files and untracked ones that are not ignored, as they are in the work tree.
Whether both copies share their data on disk is left to the kernel (`copy_file_range`).
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from posixpath import dirname, isabs, join, normpath, relpath

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.files import cannot, walk
from oraclepack.system.git import LONG_TIMEOUT, Git, GitError, top_level

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
_COPIED_SETTINGS = re.compile(
    r"core\.(?:filemode|ignorecase|symlinks|precomposeunicode|autocrlf|eol|quotepath|abbrev)"
    r"|user\.(?:name|email)|extensions\.(?:objectformat|partialclone)"
    r"|remote\.(?:.+)\.(?:url|fetch|promisor|partialclonefilter|tagopt)"
    r"|branch\.(?:.+)\.(?:remote|merge|rebase)"
)
"""Settings that describe the repository and name no program."""


class GitLayout(msgspec.Struct, frozen=True):
    """Where a repository keeps its parts."""

    top: Path
    """Of the work tree."""
    folder: Path
    """Of this work tree: HEAD and index."""
    shared: Path
    """Of all work trees: objects and branches."""


def find(root: Path, environment: Mapping[str, str]) -> GitLayout | None:
    """The repository around a directory; None outside of git, or where git refuses.

    Nor is there one where its configuration puts the work tree elsewhere: the copy would be made
    of a place of the repository's choice.
    """
    if top_level(root, environment) is None:
        return None
    output = _ask(
        root, environment, "rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir"
    )
    lines = (output or b"").splitlines()
    if len(lines) != 3:  # one for each question
        return None
    top, folder, shared = (Path(os.path.realpath(root / os.fsdecode(line))) for line in lines)
    return GitLayout(top, folder, shared)


def repository_files(layout: GitLayout, environment: Mapping[str, str]) -> Iterator[str]:
    """Tracked files and untracked ones that are not ignored, relative to the top.

    Files of repositories within the repository are listed by those themselves.
    """
    yield from _listed(layout.top, "", environment)


def copy(layout: GitLayout, place: Path) -> None:
    """Lay out a repository at a place that does not exist yet. Raises OSError."""
    environment = dict(os.environ)
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "objects/info/alternates").write_bytes(b"".join(_alternates(layout)))
    (place / "config").write_text(_config(layout, environment), "utf-8", "surrogateescape")
    _write_refs(layout, place, environment)
    for name in ("index", *(one.name for one in layout.folder.glob("sharedindex.*"))):
        _copy_file(layout.folder / name, place / name)
    for name in ("shallow", "info/exclude", "info/attributes"):
        _copy_file(layout.shared / name, place / name)


def _listed(top: Path, below: str, environment: Mapping[str, str]) -> Iterator[str]:
    output = _ask(top / below, environment, *_LISTED)
    if output is None:
        raise InputError(
            f"git cannot list the files of {top / below}", hint="`git status` says why"
        )
    for name in dict.fromkeys(os.fsdecode(output).split("\0")):
        if not name:
            continue
        path = f"{below}/{name.rstrip('/')}" if below else name.rstrip("/")
        place = top / path
        if not place.is_dir() or place.is_symlink():
            yield path
        elif (place / ".git").exists():  # a submodule, or a repository of its own
            yield from _listed(top, path, environment)


def _alternates(layout: GitLayout) -> Iterator[bytes]:
    """The real objects; those that they are borrowed from are named by git's own chain."""
    objects = layout.shared / "objects"
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


def _write_refs(layout: GitLayout, place: Path, environment: Mapping[str, str]) -> None:
    """HEAD, branches and tags as git prints them, in whatever format they are stored."""
    on_branch = _ask(layout.top, environment, "symbolic-ref", "-q", "HEAD")
    head = b"ref: " + on_branch if on_branch else _ask(layout.top, environment, "rev-parse", "HEAD")
    (place / "HEAD").write_bytes(head or b"ref: refs/heads/main\n")
    form = "--format=%(objectname) %(refname)%00%(symref)"
    packed = []
    for line in (_ask(layout.top, environment, "for-each-ref", form) or b"").splitlines():
        ref, _, symbolic = line.partition(b"\0")
        name = ref.partition(b" ")[2]
        if symbolic:
            loose = place / os.fsdecode(name)
            loose.parent.mkdir(parents=True, exist_ok=True)
            loose.write_bytes(b"ref: " + symbolic + b"\n")
        else:
            packed.append(ref + b"\n")
    (place / "packed-refs").write_bytes(b"".join(packed))


def _config(layout: GitLayout, environment: Mapping[str, str]) -> str:
    config = os.fsdecode(_ask(layout.top, environment, "config", "--local", "--list", "-z") or b"")
    pairs = [entry.partition("\n")[::2] for entry in config.split("\0") if entry]
    settings = [(key, value) for key, value in pairs if _COPIED_SETTINGS.fullmatch(key)]
    version = "1" if any(key.startswith("extensions.") for key, _ in settings) else "0"
    remotes = dict.fromkeys(
        key.rpartition(".")[0] for key, _ in settings if key.startswith("remote.")
    )
    pushing = [(f"{remote}.pushurl", _NO_PUSH) for remote in remotes]
    every = [("core.repositoryformatversion", version), *settings, *_FIXED, *pushing]
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


MOST_FILES = 200_000
MOST_BYTES = 2 << 30
"""What a rehearsal copies at most; a larger project is refused."""
MOST_LEVELS = 200

_OWN_FOLDER = ".oraclepack"
_GIT = ".git"
_BLOCK = 1 << 20
_CANNOT_SHARE = frozenset({errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})
_STAYING = frozenset({"HOME", "TMPDIR"})
"""What belongs to the user even where it lies in the project."""


class CopyPlan(msgspec.Struct, frozen=True):
    """What a copy of a project holds."""

    root: Path
    """The project, with links resolved."""
    top: Path
    """Where copying begins: the top of the work tree, else the project itself."""
    files: tuple[str, ...]
    """Files and links, relative to the top."""
    folders: tuple[str, ...] = ()
    """Directories that must be there although nothing in them is copied."""
    repository: GitLayout | None = None


class ProjectCopy(msgspec.Struct, frozen=True):
    """A copy that was made."""

    root: Path
    """The project root in it."""
    top: Path
    left_out: tuple[str, ...] = ()
    """Links to directories outside of the project: what is written there would be real."""


def plan_copy(
    root: Path,
    environment: Mapping[str, str],
    also: Iterable[str] = (),
    folders: Iterable[str] = (),
) -> CopyPlan:
    """List what a copy would hold. Changes nothing; raises InputError where it is too much.

    `also` are files to copy even if git ignores them, `folders` directories to make if they are
    there; both relative to the project root.
    """
    home = Path(os.path.realpath(root))
    layout = find(home, environment)
    top = layout.top if layout else home
    below = relpath(home, top)
    listed = set(repository_files(layout, environment)) if layout else set(_walk(top, "."))
    if below != "." and not any(path.startswith(f"{below}/") for path in listed):
        listed.update(_walk(top, below))  # the project itself is ignored by the repository
    named = {path for path in (_inside(below, path) for path in also) if _may_be_named(path)}
    files = tuple(sorted(named | {path for path in listed if _is_copied(path)}))
    _refuse_too_much(top, files)
    paths = (_behind_links(top, listed, _inside(below, path)) for path in folders)
    there = {path for path in paths if _is_copied(path) and (top / path).is_dir()}
    return CopyPlan(home, top, files, tuple(sorted({below, *there} - {"."})), layout)


def make_copy(plan: CopyPlan, place: Path, is_stopped: Callable[[], bool]) -> ProjectCopy:
    """Make a copy at a place that does not exist yet; stops early if asked to."""
    folders: set[str] = set()
    left_out = []
    try:
        for folder in (".", *plan.folders):
            _make_folder(place, folder, folders)
        for path in plan.files:
            if is_stopped():
                break
            _make_folder(place, dirname(path) or ".", folders)
            if not _copy(plan.top, path, place):
                left_out.append(path)
        if plan.repository is not None:
            copy(plan.repository, place / _GIT)
    except PermissionError as trouble:
        if not str(trouble.filename).startswith(f"{plan.top}/"):
            raise cannot("copy the project to", place, trouble) from trouble
        raise InputError(
            f"a rehearsal runs in a copy of the project, and {trouble.filename} cannot be read",
            hint="make it readable, or have git ignore it",
        ) from trouble
    except OSError as trouble:
        raise cannot("copy the project to", place, trouble) from trouble
    below = relpath(plan.root, plan.top)
    return ProjectCopy(Path(normpath(place / below)), place, tuple(left_out))


def environment_in(
    copy: ProjectCopy, plan: CopyPlan, environment: Mapping[str, str]
) -> dict[str, str]:
    """The environment for the copy: what names the project, or a place in it, names the copy."""
    # Each of these would lead git back to the real repository.
    printed = _ask(plan.top, environment, "rev-parse", "--local-env-vars")
    local = [*environment] if printed is None else printed.decode().split()
    return {
        name: value if name in _STAYING else _moved(value, plan.top, copy.top)
        for name, value in environment.items()
        if name not in local or not name.startswith("GIT_")
    }


def _moved(value: str, top: Path, copy: Path) -> str:
    """The place in the copy that stands for an absolute path, where there is one."""
    if not value.startswith(f"{top}/") and value != str(top):
        return value
    place = copy / relpath(value, top)
    return normpath(place) if os.path.lexists(place) else value


def _inside(below: str, path: str) -> str:
    return normpath(join(below, path))


def _behind_links(top: Path, listed: Collection[str], folder: str) -> str:
    """Where a directory really lies, if a link that is copied leads there."""
    parts = folder.split("/")
    if not any("/".join(parts[:count]) in listed for count in range(1, len(parts) + 1)):
        return folder
    return relpath(os.path.realpath(top / folder), os.path.realpath(top))


def _is_copied(path: str) -> bool:
    return _may_be_named(path) and path.partition("/")[0] != _OWN_FOLDER


def _may_be_named(path: str) -> bool:
    """Also in a folder of ours: `ticketify` puts its pack there. Never a `.env`: it holds keys."""
    names = path.split("/")
    return _GIT not in names and names[0] != "" and ".." not in names and names[-1] != ".env"


def _walk(top: Path, below: str) -> Iterator[str]:
    """Every file below a directory; repositories' own files and ours left out."""
    count = 0
    for folder, folders, names in walk(top / below):
        folders[:] = sorted(name for name in folders if name not in {_GIT, _OWN_FOLDER})
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*names, *links):
            yield relpath(join(folder, name), top)
        count += len(names)
        if count > MOST_FILES:
            return  # refused by the count


def _refuse_too_much(top: Path, files: tuple[str, ...]) -> None:
    deep = next((path for path in files if path.count("/") > MOST_LEVELS), None)
    if deep is not None:
        raise InputError(
            f"{top} cannot be copied for a rehearsal: it has more than {MOST_LEVELS} levels of "
            f"directories, as in {deep[:80]}…",
            hint="flatten them, or have git ignore them",
        )
    size, hint = 0, "--in-place rehearses in the project itself, where the steps change real files"
    if len(files) > MOST_FILES:
        raise InputError(
            f"{top} is too large to copy for a rehearsal: more than {MOST_FILES:,} files", hint=hint
        )
    for path in files:
        with suppress(OSError):
            size += os.stat(f"{top}/{path}").st_size  # for every file there is
        if size > MOST_BYTES:
            raise InputError(
                f"{top} is too large to copy for a rehearsal: more than {MOST_BYTES >> 30} GiB",
                hint=hint,
            )


def _make_folder(place: Path, folder: str, folders: set[str]) -> None:
    if folder not in folders:
        (place / folder).mkdir(parents=True, exist_ok=True)
        folders.add(folder)


def _copy(top: Path, path: str, place: Path) -> bool:
    """Copy one file or link; False where it is left out. What is no file any more is no error."""
    source, target = f"{top}/{path}", f"{place}/{path}"
    try:
        status = os.lstat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True  # deleted, though git still lists it
    if stat.S_ISLNK(status.st_mode):
        return _copy_link(top, path, target)
    if stat.S_ISREG(status.st_mode):
        _copy_data(source, target)
    return True


def _copy_link(top: Path, path: str, target: str) -> bool:
    """A link that stays a link inside of the copy; of one that leads out the file is copied."""
    source = f"{top}/{path}"
    text, home = os.readlink(source), os.path.realpath(top)  # the text itself
    folder = dirname(path)
    resolved = normpath(join(folder, text))
    real = os.path.realpath(source)
    # Both: after another link on its way, `..` means another place than the text says.
    is_inside = real == home or real.startswith(f"{home}/")
    if is_inside and not isabs(text) and resolved != ".." and not resolved.startswith("../"):
        Path(target).symlink_to(text)
        return True
    if is_inside:
        inner = relpath(real, home)
        Path(target).symlink_to(relpath(inner, folder or "."))
        return True
    if Path(real).is_file():
        _copy_data(real, target)
        return True
    return False


def _copy_data(source: str, target: str) -> None:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        giving = os.open(source, flags)
    except FileNotFoundError:
        return
    try:
        status = os.fstat(giving)
        taking = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _transfer(giving, taking)
            os.fchmod(taking, stat.S_IMODE(status.st_mode))
            os.utime(taking, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(taking)
    finally:
        os.close(giving)


def _transfer(giving: int, taking: int) -> None:
    """The data, shared where the file system can, else copied."""
    if hasattr(os, "copy_file_range"):
        try:
            while os.copy_file_range(giving, taking, 1 << 30):
                pass
        except OSError as trouble:
            if trouble.errno not in _CANNOT_SHARE:
                raise
    # What is left: everything, where nothing could be shared; some kernels share too little.
    while block := os.read(giving, _BLOCK):
        rest = memoryview(block)
        while rest:
            rest = rest[os.write(taking, rest) :]
