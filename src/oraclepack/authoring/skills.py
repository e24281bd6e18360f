"""The one prompt, dressed for each agent, and how to recognise a copy of it."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from oraclepack import __version__
from oraclepack.errors import UsageError
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.digests import sha256_text

_PROMPT = Path(__file__).with_name("prompt.md")


def canonical_prompt() -> str:
    """The one text that every skill contains."""
    return _PROMPT.read_text(encoding="utf-8")


def installed(path: Path) -> str | None:
    """The text of a skill at its place, if there is one."""
    content = files.read(path)
    return None if content is None else content.decode("utf-8", "replace")


class SkillState(StrEnum):
    """What stands at the place of a skill."""

    ABSENT = "absent"
    CURRENT = "current"
    STALE = "stale"
    """Written by us, by another version or from another prompt."""
    EDITED = "edited"
    """Written by us and changed since."""
    FOREIGN = "foreign"
    """Somebody else's file."""

    @property
    def is_ours(self) -> bool:
        """It may be replaced without asking: nobody's work is lost."""
        return self in {SkillState.ABSENT, SkillState.CURRENT, SkillState.STALE}


class SkillText(msgspec.Struct, frozen=True):
    """The file that `skills install` would write for an agent."""

    agent: str
    path: str
    version: str
    text: str


class SkillStatus(msgspec.Struct, frozen=True):
    """A skill at its place."""

    agent: str
    path: str
    state: SkillState
    version: str | None = None
    """The version of oraclepack that wrote it, as its mark says."""


class SkillInstallation(msgspec.Struct, frozen=True):
    """What installing did for one agent."""

    agent: str
    path: str
    before: SkillState
    written: bool


class SkillsInstallReport(TransactionReport, frozen=True, kw_only=True):
    """What `skills install` did."""

    version: str
    skills: tuple[SkillInstallation, ...] = ()


class SkillsCheck(msgspec.Struct, frozen=True):
    """What `skills check` found."""

    version: str
    skills: tuple[SkillStatus, ...]

    @property
    def outdated(self) -> tuple[SkillStatus, ...]:
        wrong = {SkillState.STALE, SkillState.EDITED}
        return tuple(skill for skill in self.skills if skill.state in wrong)


NAME = "oracle-pack"
DESCRIPTION = (
    "Write an oracle pack: twenty scored questions about this repository in one Markdown file that"
    " oraclepack can validate and run. Use when asked for an oracle pack, a question pack or a"
    " codebase review by strong models."
)
_MARK = re.compile(
    r"^(?:<!--|#) oraclepack (?P<version>\S+) sha256:(?P<digest>[0-9a-f]{64})(?: -->)?$"
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A program that reads skills: where they lie in a project, and what they look like."""

    name: str
    folder: str
    file: str
    dress: Callable[[str], str]
    mark: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}"


def _skill(prompt: str) -> str:
    """A folder's SKILL.md: YAML front matter, then the prompt."""
    # A quoted scalar: a colon in plain YAML would begin a mapping.
    return f'---\nname: {NAME}\ndescription: "{DESCRIPTION}"\n---\n\n{prompt}'


def _toml(prompt: str) -> str:
    """A command of the Gemini CLI; the words of the user are put behind the prompt by it."""
    return f"description = \"{DESCRIPTION}\"\n\nprompt = '''\n{prompt}'''\n"


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("codex", ".agents/skills", f"{NAME}/SKILL.md", _skill, "<!-- {} -->"),
        Agent("gemini", ".gemini/commands", f"{NAME}.toml", _toml, "# {}"),
        Agent("claude", ".claude/skills", f"{NAME}/SKILL.md", _skill, "<!-- {} -->"),
    )
}


def render(agent: Agent, prompt: str, version: str) -> str:
    """The file for an agent. Its last line says who made it, and the hash of all before."""
    body = agent.dress(prompt)
    mark = agent.mark.format(f"oraclepack {version} sha256:{sha256_text(body)}")
    return f"{body}{mark}\n"


def judge(found: str | None, wanted: str) -> tuple[SkillState, str | None]:
    """What a file at the place of a skill is, and which version wrote it."""
    if found is None:
        return SkillState.ABSENT, None
    text = found.replace("\r\n", "\n")
    body, newline, last = text.rstrip("\n").rpartition("\n")
    mark = _MARK.match(last)
    if mark is None:
        # The mark may have been pushed up by text that was added below it.
        marked = any(_MARK.match(line) for line in text.splitlines())
        return (SkillState.EDITED if marked else SkillState.FOREIGN), None
    if sha256_text(body + newline) != mark["digest"]:
        return SkillState.EDITED, mark["version"]
    state = SkillState.CURRENT if text == wanted else SkillState.STALE
    return state, mark["version"]


EVERYBODY = tuple(AGENTS)


def show(agent: str) -> SkillText:
    """What `install` would write, and where in a project."""
    chosen = AGENTS[agent]
    return SkillText(agent, chosen.path, __version__, _text(chosen))


def check(root: Path, directory: str = "", agents: Iterable[str] = EVERYBODY) -> SkillsCheck:
    """Which copies there are, and whether they are as this version would write them."""
    return SkillsCheck(
        __version__, tuple(_found(root, directory, AGENTS[a]) for a in dict.fromkeys(agents))
    )


def install(
    root: Path,
    agents: Sequence[str],
    directory: str = "",
    *,
    force: bool = False,
    rollback_on_failure: bool = False,
) -> SkillsInstallReport:
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
        FileWrite(name, places[name], wanted[name])
        for name in names
        if installed(places[name]) != wanted[name].decode()
    ]
    carried = transaction.carry_out(pieces)
    told = tuple(
        SkillInstallation(name, before[name].path, before[name].state, name in carried.standing)
        for name in names
    )
    return _with(carried, told)


def _with(carried: TransactionReport, skills: tuple[SkillInstallation, ...]) -> SkillsInstallReport:
    parts = {name: getattr(carried, name) for name in carried.__struct_fields__}
    return SkillsInstallReport(version=__version__, skills=skills, **parts)


def _text(agent: Agent) -> str:
    return render(agent, canonical_prompt(), __version__)


def _place(root: Path, directory: str, agent: Agent) -> Path:
    """In the project, or in the directory of skills that the user names."""
    return Path(directory).absolute() / agent.file if directory else root / agent.path


def _found(root: Path, directory: str, agent: Agent) -> SkillStatus:
    place = _place(root, directory, agent)
    state, version = judge(installed(place), _text(agent))
    shown = place.relative_to(root) if place.is_relative_to(root) else place
    return SkillStatus(agent.name, shown.as_posix(), state, version)
