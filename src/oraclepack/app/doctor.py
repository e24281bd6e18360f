"""Looks at the machine and tells what would not work."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from oraclepack import __version__
from oraclepack.authoring.skills import SkillState
from oraclepack.authoring.skills import check as check_skills
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
from oraclepack.system.programs import find_program, find_tool, named_program, probe, python_version

VERSION_TIMEOUT = 30.0
"""task-master alone takes up to nine seconds to tell its version."""


def examine(root: Path, named: Mapping[str, tuple[str, str]] | None = None) -> Health:
    """Every program we may call, and what a login shell costs.

    `named` are programs that the user chose, by tool: where that was said, and the path.
    """
    chosen = named or {}
    # Timed first, while nothing else of ours is running.
    login = _login_shell()
    with ThreadPoolExecutor(max_workers=4) as workers:
        checks = tuple(workers.map(lambda need: _check(need, chosen.get(need.name)), NEEDS))
    found = check_skills(root).skills
    skills = tuple(skill for skill in found if skill.state is not SkillState.ABSENT)
    return Health(python_version(), __version__, checks, login, usable(checks), skills)


def _check(need: Need, named: tuple[str, str] | None) -> Check:
    if named is not None:
        program, fault = named_program(named[1])
        if fault:
            return replace(judge(need, Sighting(None)), problem=f"{named[0]} {named[1]}: {fault}")
        return _asked(need, program)
    found = (find_tool(spelling) for spelling in need.spellings)
    path = next((path for path in found if path is not None), None)
    if path is None:
        return judge(need, Sighting(None))
    return _asked(need, path)


def _asked(need: Need, path: str) -> Check:
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
