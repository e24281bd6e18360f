"""The current process: its environment, its name, its private directory."""

import os
import pwd
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oraclepack.errors import MachineError, NotFoundError
from oraclepack.system.files import remove_tree
from oraclepack.system.path_jail import REHEARSALS, RUNS, refuse_link_out

_NAME = "oraclepack"


def config_directory() -> Path:
    """For settings."""
    return _user_directory("config", "XDG_CONFIG_HOME", ".config")


def state_directory() -> Path:
    """For data that outlives a run and is not edited by hand."""
    return _user_directory("state", "XDG_STATE_HOME", ".local/state")


def data_directory() -> Path:
    """For what the user has paid for."""
    return _user_directory("data", "XDG_DATA_HOME", ".local/share")


def _user_directory(kind: str, variable: str, below_home: str) -> Path:
    """What platformdirs says. On Linux an absolute path in the environment settles it.

    Every command asks, and loading platformdirs costs half as much as starting Python.
    """
    given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    is_linux = sys.platform == "linux" and not hasattr(sys, "getandroidapilevel")
    if is_linux and (given or home).startswith("/"):
        return Path(given, _NAME) if given else Path(home, below_home, _NAME)
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_path")(_NAME, appauthor=False))


def project_root(pack_path: str | None, cwd_flag: str = "") -> Path:
    """`--cwd`, else the git top level of the pack, else the current directory.

    Without a pack the current directory replaces it.
    """
    if cwd_flag:
        root = Path(cwd_flag).absolute()
        if not root.is_dir():
            raise NotFoundError(f"--cwd {cwd_flag}: no such directory")
        return root
    here = Path.cwd()
    start = here if pack_path is None else Path(pack_path).absolute()
    return _git_top(start) or here


def root_of_place(place: Path) -> Path | None:
    """The project root of screens that open a place elsewhere; None where `project_root` finds it.

    A directory outside git and outside the current directory is a project of its own. A pack there
    belongs to its directory if that has runs, otherwise to the current directory, as for `run`.
    """
    resolved = place.resolve()
    folder = resolved if resolved.is_dir() else resolved.parent
    if folder.is_relative_to(Path.cwd().resolve()) or _git_top(resolved) is not None:
        return None
    return folder if resolved.is_dir() or has_runs(folder) else None


def refuse_to_write_out(place: Path, cwd_flag: str = "") -> None:
    """Refuse a file to write that a link of its project puts outside of it.

    That is the current project, and every project that contains the path: a command may be started
    from elsewhere.
    """
    refuse_link_out(project_root(None, cwd_flag), place)
    written = Path(os.path.normpath(place.absolute()))
    for folder in written.parents:
        if _is_git_top(folder):
            refuse_link_out(folder, place)


def has_runs(root: Path) -> bool:
    """Something has been run in a project."""
    return (root / RUNS).is_dir()


def project_of(run_dir: Path) -> Path | None:
    """The project that a run directory belongs to; None where it was moved elsewhere."""
    place = run_dir.resolve()
    homes = (f"/{RUNS}", f"/{REHEARSALS}")
    return place.parents[2] if place.parent.as_posix().endswith(homes) else None


def _git_top(start: Path) -> Path | None:
    # `.git` is a directory, or a file in worktrees and submodules; looking is far cheaper than git.
    try:
        resolved = start.resolve()
    except (OSError, RuntimeError):
        return None
    folders = (resolved, *resolved.parents)
    return next((one for one in folders if _is_git_top(one) and not _is_planted(one)), None)


def _is_git_top(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _is_planted(folder: Path) -> bool:
    """Whether another user made the `.git` of a directory that everybody may write to, as `/tmp`.

    It would put the project, with settings and working directory, at a place of their choice.
    """
    try:
        is_public = bool(folder.stat().st_mode & stat.S_IWOTH)
        return is_public and (folder / ".git").lstat().st_uid not in {os.getuid(), 0}
    except OSError:
        return False


_PRIVATE = re.compile(r"op-[0-9a-f]{12}")
_LONGEST = 75
"""Bytes: a socket lies in the directory, and the system takes no more than 103 in all."""


def environment() -> dict[str, str]:
    """A copy of our environment."""
    return dict(os.environ)


def inherited(*, with_database: bool = True) -> dict[str, str]:
    """What other programs get of it: all but the key that only we sign with, and our own pipe.

    Without the variables of PostgreSQL where they lead to the store that machines share.
    """
    hidden = {TRUST_KEY_VARIABLE, DETACHED_VARIABLE, WEBHOOK_SIGNER_VARIABLE}
    hidden |= set() if with_database else {STORE_VARIABLE}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and (with_database or not name.startswith("PG"))
    }


def process_id() -> int:
    return os.getpid()


def user_name() -> str:
    """Who runs this process, as the system names them."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def host() -> str:
    return os.uname().nodename


def private_name() -> str:
    """A unique name for a private directory."""
    return f"op-{os.urandom(6).hex()}"


def nonce() -> str:
    """A text that nothing else was ever named by."""
    return os.urandom(8).hex()


@contextmanager
def private_directory(name: str = "") -> Iterator[Path]:
    """A directory only we can read, with a short path (sockets need one), gone at the end."""
    path = _make(name or private_name())
    try:
        yield path
    finally:
        _remove(path)


def forget_private(name: str) -> None:
    """Remove what a killed command of ours could not: its private directory."""
    if not _PRIVATE.fullmatch(name):
        return
    for place in _places():
        path = place / name
        try:
            mine = path.lstat().st_uid == os.getuid()
        except OSError:
            continue
        if mine:
            _remove(path)


def _places() -> list[Path]:
    """The user's own choice first, unless what lies there could not be used."""
    given = os.environ.get("TMPDIR", "")
    places = [place for place in (given, "/tmp", "/var/tmp") if place]  # noqa: S108 - 0700 below
    # Too long for a socket, or with a colon, which cannot be put on PATH: last.
    unusable = {place for place in places if len(os.fsencode(place)) > _LONGEST or ":" in place}
    return [Path(place) for place in sorted(places, key=unusable.__contains__)]


def _make(name: str) -> Path:
    # Not by tempfile: with what it imports it costs as much as a step.
    trouble: OSError | None = None
    for place in _places():
        path = place / name
        try:
            path.mkdir(0o700)
        except OSError as refused:
            trouble = refused
        else:
            return path
    raise MachineError(
        f"no directory for temporary files can be made: {trouble}",
        hint="point TMPDIR to a directory you may write to",
    )


def _remove(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        with suppress(OSError):
            remove_tree(path)


_AGENTS = ("CLAUDECODE", "GEMINI_CLI", "AI_AGENT")
_AGENT_PREFIX = "CODEX_"

WITHOUT_TERMINAL = {
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "VISUAL": "true",
}
"""What keeps programs of steps from waiting for a person where there is none."""


def is_agent() -> bool:
    """A coding agent started us, by what it says in the environment."""
    return any(os.environ.get(name) for name in _AGENTS) or any(
        name.startswith(_AGENT_PREFIX) and value for name, value in os.environ.items()
    )


REQUEST_VARIABLE = "ORACLEPACK_REQUEST_ID"
"""The caller's name for a request, to find its reply and logs again."""
_REQUEST = re.compile(r"[\w.:/-]{1,128}", re.ASCII)


def request_id(*, is_new: bool) -> str | None:
    """The caller's name for this request; else, where wanted, one that nothing else has."""
    given = os.environ.get(REQUEST_VARIABLE, "")
    if _REQUEST.fullmatch(given):
        return given
    return os.urandom(8).hex() if is_new else None


MCP_VARIABLES = (
    "ORACLEPACK_ALLOWED_ROOTS",
    "ORACLEPACK_CHARACTER_LIMIT",
    "ORACLEPACK_ENABLE_EXEC",
    "ORACLEPACK_MAX_READ_BYTES",
    "ORACLEPACK_MCP_TOKEN",
    "ORACLEPACK_WORKDIR",
)
"""What `oraclepack mcp` reads from the environment, and from nowhere else."""

GITHUB_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
"""Names the file that GitHub shows as the summary page of a job."""
MARKER_VARIABLE = "ORACLEPACK_ATTEMPT"
"""The environment variable that marks every process of an attempt with the attempt's token."""


TRUST_KEY_VARIABLE = "ORACLEPACK_TRUST_KEY"
"""Holds a key that several machines share; read from the environment alone, never from a file."""
STORE_VARIABLE = "ORACLEPACK_STORE"
"""The address of the shared store, with its password; steps and tools do not get it."""
DETACHED_VARIABLE = "ORACLEPACK_DETACHED"
"""The descriptor of the pipe on which a detached command reports to the one that started it."""
WEBHOOK_SIGNER_VARIABLE = "ORACLEPACK_NOTIFY_SECRET"
"""Signs the requests to a webhook; read from the environment alone, never from a file."""


def notify_secret() -> str:
    """What requests to a webhook are signed with; empty where they are not."""
    return os.environ.get(WEBHOOK_SIGNER_VARIABLE, "")


def is_detached() -> bool:
    """Whether this process is the command of a detached run."""
    return DETACHED_VARIABLE in environment()
