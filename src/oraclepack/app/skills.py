"""The use cases behind `skills`: show, install and check the prompt for agents."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from oraclepack import __version__
from oraclepack.adapters.skill_files import canonical_prompt, installed
from oraclepack.core.skills import (
    SkillFound,
    SkillInstalled,
    SkillsChecked,
    SkillShown,
    SkillsInstalled,
)
from oraclepack.errors import UsageError
from oraclepack.generate.skill import AGENTS, Agent, judge, render
from oraclepack.run.transaction import Carried, Piece, Transaction

EVERYBODY = tuple(AGENTS)


def show(agent: str) -> SkillShown:
    """What `install` would write, and where in a project."""
    chosen = AGENTS[agent]
    return SkillShown(agent, chosen.path, __version__, _text(chosen))


def check(root: Path, directory: str = "", agents: Iterable[str] = EVERYBODY) -> SkillsChecked:
    """Which copies there are, and whether they are as this version would write them."""
    return SkillsChecked(
        __version__, tuple(_found(root, directory, AGENTS[a]) for a in dict.fromkeys(agents))
    )


def install(
    root: Path,
    agents: Sequence[str],
    directory: str = "",
    *,
    force: bool = False,
    rollback_on_failure: bool = False,
) -> SkillsInstalled:
    """Write the skill of each agent; a copy that somebody changed is only replaced by force."""
    transaction = Transaction(root, "skills-install", undo=rollback_on_failure)
    names = tuple(dict.fromkeys(agents))
    places = {name: _place(root, directory, AGENTS[name]) for name in names}
    if len(set(places.values())) < len(places):
        raise UsageError(
            "--dir: two of these agents would share one file", hint="install them one by one"
        )
    before = {skill.agent: skill for skill in check(root, directory, names).skills}
    for name, skill in before.items():
        if not skill.state.is_ours and not force:
            raise UsageError(
                f"{skill.path} is {skill.state}: it is not replaced",
                hint=f"look at it, then pass --force ({name})",
            )
    wanted = {name: _text(AGENTS[name]).encode() for name in names}
    pieces = [
        Piece(name, places[name], wanted[name])
        for name in names
        if installed(places[name]) != wanted[name].decode()
    ]
    carried = transaction.carry_out(pieces)
    told = tuple(
        SkillInstalled(name, before[name].path, before[name].state, name in carried.standing)
        for name in names
    )
    return _with(carried, told)


def _with(carried: Carried, skills: tuple[SkillInstalled, ...]) -> SkillsInstalled:
    parts = {name: getattr(carried, name) for name in carried.__struct_fields__}
    return SkillsInstalled(version=__version__, skills=skills, **parts)


def _text(agent: Agent) -> str:
    return render(agent, canonical_prompt(), __version__)


def _place(root: Path, directory: str, agent: Agent) -> Path:
    """In the project, or in the directory of skills that the user names."""
    return Path(directory).absolute() / agent.file if directory else root / agent.path


def _found(root: Path, directory: str, agent: Agent) -> SkillFound:
    place = _place(root, directory, agent)
    state, version = judge(installed(place), _text(agent))
    shown = place.relative_to(root) if place.is_relative_to(root) else place
    return SkillFound(agent.name, shown.as_posix(), state, version)
