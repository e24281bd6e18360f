"""Looks at the machine and tells what would not work."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from oraclepack import __version__
from oraclepack.adapters.programs import find_program, find_tool, probe, python_version
from oraclepack.app.skills import check as check_skills
from oraclepack.core.health import (
    NEEDS,
    Check,
    Health,
    LoginShell,
    Need,
    Sighting,
    judge,
    judge_login,
    usable,
)
from oraclepack.core.skills import SkillState

VERSION_TIMEOUT = 30.0
"""task-master alone takes up to nine seconds to tell its version."""


def examine(root: Path) -> Health:
    """Every program we may call, and what a login shell costs."""
    # Timed first, while nothing else of ours is running.
    login = _login_shell()
    with ThreadPoolExecutor(max_workers=4) as workers:
        checks = tuple(workers.map(_check, NEEDS))
    found = check_skills(root).skills
    skills = tuple(skill for skill in found if skill.state is not SkillState.ABSENT)
    return Health(python_version(), __version__, checks, login, usable(checks), skills)


def _check(need: Need) -> Check:
    found = (find_tool(spelling) for spelling in need.spellings)
    path = next((path for path in found if path is not None), None)
    if path is None:
        return judge(need, Sighting(None))
    asked = probe([path, "--version"], VERSION_TIMEOUT)
    return judge(need, Sighting(path, asked.answer, asked.trouble))


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
