"""Every call of the `git` program, made so that looking at a repository runs nothing of its own.

A repository can name programs in its configuration and attributes: filters, hooks, monitors, diff
and transport programs. Cloning or unpacking is no consent to run them, so every call goes
through `Git.run`, which switches all of them off. Submodules are not entered, nothing is fetched,
and a call that takes too long is ended together with whatever it started.
"""

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from oraclepack.system import files
from oraclepack.system.environment import TRUST_KEY_VARIABLE
from oraclepack.system.programs import kill_group

_DEEPEST = 4
"""A branch may stand for another one, seldom more than once."""
_LONGEST = 1 << 16
_BATCH = 256
"""How many contents are fetched at once: it bounds what is held in memory."""
_LARGEST_PACKED = 64 * 1024 * 1024
_FILES = (
    *("HEAD", "commondir", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    "objects/info/alternates",
)
"""What git reads of its own before it does anything."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def head_commit(root: Path) -> str | None:
    """The commit of HEAD; None where git's files do not give it (no commit, other formats)."""
    try:
        folder, shared = _places(f"{root}/.git")
        head = _text(f"{folder}/HEAD")
        if head is None:
            _places.cache_clear()  # there is no repository, or no longer that one
            return None
        return _commit(folder, shared, head, _DEEPEST)
    except (OSError, UnicodeDecodeError):
        return None


def is_unborn(root: Path) -> bool:
    """Whether git's files show that there is no commit yet; False where that is unknown."""
    try:
        folder, shared = _places(f"{root}/.git")
        head = _text(f"{folder}/HEAD") or ""
        # Where branches are kept in another format, HEAD names one that cannot be.
        on_branch = head.startswith("ref: refs/heads/") and not head.strip().endswith(".invalid")
        return on_branch and _commit(folder, shared, head, _DEEPEST) is None
    except (OSError, UnicodeDecodeError):
        return False


def odd_file(root: Path) -> str | None:
    """A file of git's own around a directory that is none: a pipe or a device, on which git hangs.

    The repository may have come with an archive, which holds whatever its maker likes.
    """
    for folder in (root, *root.parents):
        try:
            places = _places(f"{folder}/.git")
        except (OSError, UnicodeDecodeError):
            continue
        for place in dict.fromkeys(places):
            for name in _FILES:
                if _is_odd(f"{place}/{name}"):
                    return f"{place}/{name}"
        if os.path.isdir(places[0]):
            return None
    return None


def _is_odd(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def git_folder(root: Path) -> str | None:
    """Where git keeps HEAD and the index of a work tree; None where `root` is not its top."""
    try:
        folder, _ = _places(f"{root}/.git")
    except (OSError, UnicodeDecodeError):
        return None
    if os.path.isfile(f"{folder}/HEAD"):
        return folder
    _places.cache_clear()  # there is no repository, or no longer that one
    return None


@cache
def _places(git: str) -> tuple[str, str]:
    """The directory of HEAD and that of the branches; worktrees share those of the main one."""
    folder = _folder(git)
    common = _text(f"{folder}/commondir")
    return folder, folder if common is None else os.path.join(folder, common.strip())


def _folder(place: str) -> str:
    """In a worktree or submodule `.git` is a file that names the directory."""
    text = _text(place)
    if text is None:
        return place
    return os.path.join(os.path.dirname(place), text.removeprefix("gitdir: ").strip())


def _commit(folder: str, shared: str, head: str, depth: int) -> str | None:
    """What a file of git stands for: the commit it names, or that of the branch it names."""
    head = head.strip()
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref: ")
    # What leads out of git's directory is no branch, and not ours to read.
    if depth == 0 or not name.startswith("refs/") or ".." in name.split("/"):
        return None
    for place in dict.fromkeys((folder, shared)):
        inner = _text(f"{place}/{name}")
        if inner is not None:
            return _commit(folder, shared, inner, depth - 1)
    return _packed(shared, name)


def _packed(shared: str, name: str) -> str | None:
    """After a `git gc` branches are in one file, which may be long: read again when it changes.

    Git itself goes by the same marks; it always writes a new file.
    """
    place = f"{shared}/packed-refs"
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return None
    return _packed_then(place, name, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=8)
def _packed_then(place: str, name: str, _version: tuple[int, int, int]) -> str | None:
    data = files.read_regular(place, _LARGEST_PACKED)
    for line in data.decode().splitlines():
        sha, _, packed = line.partition(" ")
        if packed == name:
            return sha
    return None


def _text(place: str) -> str | None:
    """What a short file holds; None where there is none, or a directory."""
    try:
        return files.read_beginning(place, _LONGEST).decode()
    except (FileNotFoundError, IsADirectoryError):
        return None


TIMEOUT = 20.0
"""Seconds. A huge tree on a cold disk takes a few; a dead network drive takes forever."""

LONG_TIMEOUT = 120.0
"""For what reads or writes contents."""

REMOTE_TIMEOUT = 600.0
"""For what talks to another repository."""

MOST_MEMORY = 2 << 30
"""Bytes. A link to an endless device among git's own files would otherwise fill the machine."""

NO_COMMIT = "the repository has no commit yet"
NO_REPOSITORY = "not in a git repository"

_OID = "# branch.oid "
_PAIR = "RC"
"""Renames and copies: a second path follows, the one it came from."""
_NOTHING_FOUND = 1
"""The exit code of `git config` where no key fits."""
_CONFIG = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("log.showSignature", "false"),
)
"""Stronger than the repository's own configuration, since it is given on the command line."""
_VARIABLES = {
    # Optional locks off: two runners and an editor must not block each other.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # Unlike `protocol.allow`, no `protocol.<name>.allow` of the repository overrides this.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
_UNFILTERED = frozenset(
    {"cat-file", "check-attr", "config", "diff-tree", "log", "ls-files", "ls-tree", "rev-parse"}
)
"""The commands of ours that never call a filter. The others do, `write-tree` among them."""
_FILTER_KEYS = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


class GitError(Exception):
    """A git command failed; the message is git's reason."""

    def __init__(
        self, reason: str, *, code: int = 0, slow: bool = False, missing: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        """Its exit code, where it ended by itself."""
        self.slow = slow
        """It took too long."""
        self.missing = missing
        """There is no git, or no directory to run it in."""


class Git(msgspec.Struct, frozen=True):
    """The git program in one directory."""

    root: Path
    environment: Mapping[str, str]
    timeout: float = TIMEOUT
    config: tuple[tuple[str, str], ...] = ()
    """What this caller sets besides."""

    def run(self, *words: str, stdin: bytes = b"", **variables: str) -> bytes:
        """What a command prints. `variables` are for git alone, such as GIT_INDEX_FILE."""
        config = [*_CONFIG, *self.config]
        if words[0] not in _UNFILTERED:
            config += self._filters_off(variables)
        return self._call(config, words, stdin, variables)

    def ask(self, *words: str, stdin: bytes = b"") -> bytes | None:
        """The same, or None where git refuses."""
        try:
            return self.run(*words, stdin=stdin)
        except GitError as trouble:
            if trouble.slow or trouble.missing:
                raise
            return None

    def blobs(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """The contents of objects, such as `COMMIT:./path`; None for what is missing or no file."""
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            listed = "".join(f"{name}\n" for name in batch).encode()
            output = self.ask("cat-file", "--batch", stdin=listed) or b""
            at = 0
            for _ in batch:
                end = output.find(b"\n", at)
                head = output[at:end].split()
                if end < 0 or len(head) != 3 or head[1] != b"blob":  # id, type, size
                    at = end + 1
                    yield None
                    continue
                size = int(head[2])
                yield output[end + 1 : end + 1 + size]
                at = end + size + 2

    def filters(self, **variables: str) -> tuple[str, ...]:
        """The names of all configured filters, of every level of configuration."""
        query = ("config", "-z", "--name-only", "--get-regexp", r"^filter\.")
        try:
            listed = self._call(_CONFIG, query, b"", variables)
        except GitError as trouble:
            if trouble.code == _NOTHING_FOUND:
                return ()
            raise
        keys = (os.fsdecode(key) for key in listed.split(b"\0") if key)
        return tuple(sorted({key.removeprefix("filter.").rpartition(".")[0] for key in keys}))

    def _filters_off(self, variables: Mapping[str, str]) -> list[tuple[str, str]]:
        names = self.filters(**variables)
        if any("=" in name for name in names):  # it could not be named on the command line
            raise GitError("a filter in the git configuration has `=` in its name")
        return [(f"filter.{name}.{key}", value) for name in names for key, value in _FILTER_KEYS]

    def _call(
        self,
        config: Sequence[tuple[str, str]],
        words: Sequence[str],
        stdin: bytes,
        variables: Mapping[str, str],
    ) -> bytes:
        odd = odd_file(self.root)
        if odd is not None:
            raise GitError(f"{odd} is not a regular file")
        options = [word for key, value in config for word in ("-c", f"{key}={value}")]
        env = _clean(self.environment) | dict(variables)
        code, out, err = _output(["git", *options, *words], self.root, env, stdin, self.timeout)
        if code < 0:
            raise GitError(f"git was ended by signal {-code}")
        if code > 0:
            raise GitError(_complaint(err), code=code)
        return out


def _output(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes, timeout: float
) -> tuple[int, bytes, bytes]:
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except FileNotFoundError:
        there = cwd.is_dir()
        reason = "git is not installed" if there else f"{cwd} is no directory"
        raise GitError(reason, missing=True) from None
    except OSError as trouble:
        reason = f"git cannot be run: {trouble.strerror or trouble}"
        raise GitError(reason, missing=True) from None
    _limit_memory(process.pid)
    try:
        out, err = process.communicate(stdin or None, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise GitError(f"git did not answer within {timeout:g} s", slow=True) from None
    finally:
        if process.returncode is None:
            kill_group(process)
    return process.returncode, out, err


def _limit_memory(pid: int) -> None:
    """Limit a process where the system can (Linux); elsewhere only the time ends it.

    Not before it starts: that would take a function between fork and exec, which threads forbid.
    """
    if sys.platform == "linux":
        import resource

        with suppress(OSError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without git's own variables: GIT_DIR would point us elsewhere.

    Nor are there relative directories on PATH: they would be those of the repository.
    """
    remaining = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") and name != TRUST_KEY_VARIABLE
    }
    places = [
        place for place in remaining.get("PATH", os.defpath).split(":") if place.startswith("/")
    ]
    # An empty PATH would mean the current directory.
    return remaining | _VARIABLES | {"PATH": ":".join(places) or os.defpath}


def _complaint(stderr: bytes) -> str:
    text = stderr.decode("utf-8", "replace").strip()
    if "not a git repository" in text or "cannot use bare repository" in text:
        return NO_REPOSITORY
    return text.splitlines()[0] if text else "git failed without a message"


class WorkTreeState(msgspec.Struct, frozen=True):
    """The state of a work tree. What is not known is None, and `reason` says why."""

    sha: str | None = None
    dirty: bool | None = None
    """Tracked files differ from the commit. Untracked ones do not count: our own would.

    Neither do submodules, and files with a filter (such as Git LFS) are compared without it.
    """
    reason: str = ""


def work_tree_state(
    root: Path, environment: Mapping[str, str], timeout: float = TIMEOUT
) -> WorkTreeState:
    """The commit and the cleanness of the work tree around a directory."""
    git = Git(root, environment, timeout)
    try:
        output = git.run(
            *("status", "--porcelain=v2", "--branch", "--no-ahead-behind"),
            *("--untracked-files=no", "--ignore-submodules=all"),
        )
    except GitError as trouble:
        # The commit alone needs no look at the tree, and without it the run has no name.
        return WorkTreeState(_head(git) if trouble.slow else None, None, trouble.reason)
    lines = output.decode("utf-8", "surrogateescape").splitlines()
    oid = next((line.removeprefix(_OID) for line in lines if line.startswith(_OID)), "")
    dirty = any(not line.startswith("#") for line in lines)
    if not oid or oid == "(initial)":
        return WorkTreeState(None, dirty, NO_COMMIT)
    return WorkTreeState(oid, dirty)


def _head(git: Git) -> str | None:
    try:
        return git.run("rev-parse", "--verify", "HEAD").decode().strip()
    except GitError:
        return None


def begin_work_tree_state(
    root: Path, environment: Mapping[str, str]
) -> Callable[[], WorkTreeState]:
    """Start reading the state; the returned function waits for git and returns it."""
    results: list[WorkTreeState | Exception] = []

    def read() -> None:
        try:
            results.append(work_tree_state(root, environment))
        except Exception as fault:  # noqa: BLE001  raised by the returned function
            results.append(fault)

    # A daemon: a command that fails meanwhile, and so never asks, does not wait for git.
    git = threading.Thread(target=read, name="git", daemon=True)
    git.start()

    def result() -> WorkTreeState:
        git.join()
        if isinstance(results[0], Exception):
            raise results[0]
        return results[0]

    return result


def top_level(root: Path, environment: Mapping[str, str], timeout: float = TIMEOUT) -> Path | None:
    """The top directory of the work tree around a directory, if it is in one.

    A repository whose configuration puts its work tree elsewhere (`core.worktree`) has none: what
    a step changes would be looked for, and taken back, at a place of the repository's choice.
    """
    git = Git(root, environment, timeout)
    try:
        output = git.run("rev-parse", "--show-toplevel", "--absolute-git-dir")
    except GitError:
        return None
    top, _, folder = (
        Path(os.fsdecode(line)) for line in output.removesuffix(b"\n").partition(b"\n")
    )
    beside = top / ".git"
    # In worktrees and submodules it is a file that names the directory.
    is_its_own = beside.is_file() or os.path.realpath(beside) == os.path.realpath(folder)
    return top if is_its_own and top in (root.resolve(), *root.resolve().parents) else None


def tracked(root: Path, environment: Mapping[str, str], pathspec: str) -> tuple[str, ...] | None:
    """What git tracks among the paths that are meant, relative to a directory; None if unknown."""
    try:
        output = Git(root, environment).run("ls-files", "-z", "--cached", "--", pathspec)
    except GitError:
        return None
    return tuple(os.fsdecode(path) for path in output.split(b"\0") if path)


def changed_files(root: Path, environment: Mapping[str, str]) -> list[tuple[str, str]] | None:
    """Git's two letters and the path of every changed or untracked file, sorted by path.

    None outside a repository, or where git fails.
    """
    command = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all")
    try:
        output = Git(root, environment, LONG_TIMEOUT).run(*command)
    except GitError:
        return None
    changes: list[tuple[str, str]] = []
    entries = iter(output.decode("utf-8", "backslashreplace").split("\0"))
    for entry in entries:
        if not entry:
            continue
        state, path = entry[:2], entry[3:]
        if state[0] in _PAIR:
            next(entries, None)
        changes.append((state.strip(), path))
    return sorted(changes, key=lambda pair: pair[1])


_FETCHED_FROM = "file:git:http:https:ssh"
"""What a person may name as the source of a repository; never `ext::`, which runs programs."""
_FETCH_CONFIG = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    # One commit is fetched into a new repository: there is nothing to tidy up.
    ("maintenance.auto", "false"),
)


def _remote(words: Sequence[str], root: Path, environment: Mapping[str, str]) -> bytes:
    """Talk to a repository that the user named, with the user's own keys and credentials."""
    options = [word for key, value in _FETCH_CONFIG for word in ("-c", f"{key}={value}")]
    env = {
        **{name: value for name, value in environment.items() if not name.startswith("GIT_")},
        "GIT_ALLOW_PROTOCOL": _FETCHED_FROM,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    env.pop(TRUST_KEY_VARIABLE, None)
    code, out, err = _output(["git", *options, *words], root, env, b"", REMOTE_TIMEOUT)
    if code:
        raise GitError(_complaint(err), code=code)
    return out


def remote_commit(repo: str, ref: str, environment: Mapping[str, str]) -> str | None:
    """The commit that a ref of a repository stands for; None where it has no such ref."""
    if _COMMIT.fullmatch(ref):
        return ref
    local = Path(repo)
    if local.is_dir():
        git = Git(local, environment)
        asked = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return asked.decode().strip() if asked else None
    listed = _remote(("ls-remote", "--", repo, ref, f"{ref}^{{}}"), Path("/"), environment)
    lines = [line.split("\t") for line in listed.decode("utf-8", "replace").splitlines()]
    exact = {name: commit for commit, name in lines}
    for name in (f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}", ref):
        if name in exact and _COMMIT.fullmatch(exact[name]):
            return exact[name]
    return None


def check_out(
    repo: str,
    commit: str,
    target: Path,
    environment: Mapping[str, str],
    *,
    with_history: bool = False,
) -> None:
    """Make `target` a repository at this commit; one that already is stays."""
    if head_commit(target) == commit:
        return
    git = Git(target, environment, LONG_TIMEOUT)
    files.make_directories(target)
    git.run("init", "--quiet")
    source = str(Path(repo).absolute()) if Path(repo).is_dir() else repo
    words = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
    depth = () if with_history else ("--depth=1",)
    _remote((*words, *depth, "--", source, commit), target, environment)
    git.run("checkout", "--quiet", "--detach", "--force", commit)
