"""The skills for agents: writing packs and driving oraclepack, in the form each agent reads."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from oraclepack import __version__
from oraclepack.authoring.answer_contract import answer_format
from oraclepack.errors import UsageError
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.system import files
from oraclepack.system.digests import sha256_text

_FOLDER = Path(__file__).parent
_ANSWER_FORMAT = "<<ANSWER FORMAT>>"
"""The place of the answer contract in the canonical prompt."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A prompt that agents can have installed."""

    name: str
    file: str
    """In the package, beside this module."""
    description: str

    def prompt(self) -> str:
        """The one text that this skill contains for every agent."""
        text = (_FOLDER / self.file).read_text(encoding="utf-8")
        return text.replace(_ANSWER_FORMAT, answer_format())


SKILLS = {
    skill.name: skill
    for skill in (
        Skill(
            "oracle-pack",
            "prompt.md",
            "Write an oracle pack: twenty scored questions about this repository in one Markdown"
            " file that oraclepack can validate and run. Use when asked for an oracle pack, a"
            " question pack or a codebase review by strong models.",
        ),
        Skill(
            "oracle-run",
            "drive.md",
            "Drive oraclepack: validate, rehearse, run, resume and turn packs into work by its"
            " machine interface, without paying twice. Use when asked to run, continue, check or"
            " clean up an oracle pack.",
        ),
    )
}


class SkillState(StrEnum):
    """What is at the place of a skill."""

    ABSENT = "absent"
    CURRENT = "current"
    STALE = "stale"
    """Written by us, by another version or from another prompt."""
    EDITED = "edited"
    """Written by us and changed since."""
    FOREIGN = "foreign"
    """A file of another program or person."""

    @property
    def is_ours(self) -> bool:
        """It may be replaced without asking: no edits are lost."""
        return self in {SkillState.ABSENT, SkillState.CURRENT, SkillState.STALE}


class SkillText(msgspec.Struct, frozen=True):
    """The file that `skills install` would write for an agent."""

    agent: str
    path: str
    version: str
    text: str
    skill: str = "oracle-pack"


class SkillStatus(msgspec.Struct, frozen=True):
    """A skill at its place."""

    agent: str
    path: str
    state: SkillState
    version: str | None = None
    """The version of oraclepack that wrote it, as its mark says."""
    skill: str = "oracle-pack"


class SkillInstallation(msgspec.Struct, frozen=True):
    """What installing did for one agent."""

    agent: str
    path: str
    before: SkillState
    written: bool
    skill: str = "oracle-pack"


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


_MARK = re.compile(
    r"^(?:<!--|#) oraclepack (?P<version>\S+) sha256:(?P<digest>[0-9a-f]{64})(?: -->)?$"
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A program that reads skills: where they lie in a project, and what they look like."""

    name: str
    folder: str
    file: str
    """With the name of the skill for `{}`."""
    dress: Callable[[Skill, str], str]
    mark: str

    def path_of(self, skill: Skill, folder: str = "") -> str:
        """Where a skill of this agent lies, in its own folder or another."""
        return f"{folder or self.folder}/{self.file.format(skill.name)}"


def _skill(skill: Skill, prompt: str) -> str:
    """A folder's SKILL.md: YAML front matter, then the prompt."""
    # A quoted scalar: a colon in plain YAML would begin a mapping.
    return f'---\nname: {skill.name}\ndescription: "{skill.description}"\n---\n\n{prompt}'


def _toml(skill: Skill, prompt: str) -> str:
    """A command of the Gemini CLI; the words of the user are put behind the prompt by it."""
    return f"description = \"{skill.description}\"\n\nprompt = '''\n{prompt}'''\n"


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("codex", ".agents/skills", "{}/SKILL.md", _skill, "<!-- {} -->"),
        Agent("gemini", ".gemini/commands", "{}.toml", _toml, "# {}"),
        Agent("claude", ".claude/skills", "{}/SKILL.md", _skill, "<!-- {} -->"),
    )
}


def render(agent: Agent, skill: Skill, prompt: str, version: str) -> str:
    """The file for an agent. Its last line says who made it, and the hash of all before."""
    body = agent.dress(skill, prompt)
    mark = agent.mark.format(f"oraclepack {version} sha256:{sha256_text(body)}")
    return f"{body}{mark}\n"


def judge(existing: str | None, expected: str) -> tuple[SkillState, str | None]:
    """What a file at the place of a skill is, and which version wrote it."""
    if existing is None:
        return SkillState.ABSENT, None
    text = existing.replace("\r\n", "\n")
    body, newline, last = text.rstrip("\n").rpartition("\n")
    mark = _MARK.match(last)
    if mark is None:
        # The mark may have been pushed up by text that was added below it.
        marked = any(_MARK.match(line) for line in text.splitlines())
        return (SkillState.EDITED if marked else SkillState.FOREIGN), None
    if sha256_text(body + newline) != mark["digest"]:
        return SkillState.EDITED, mark["version"]
    state = SkillState.CURRENT if text == expected else SkillState.STALE
    return state, mark["version"]


def show(agent: str, skill: str = "oracle-pack") -> SkillText:
    """What `install` would write, and where in a project."""
    copy = _Copy(AGENTS[agent], SKILLS[skill])
    return SkillText(agent, copy.agent.path_of(copy.skill), __version__, copy.text, skill)


def check(
    root: Path,
    directory: str = "",
    agents: Iterable[str] = (),
    skills: Iterable[str] = (),
) -> SkillsCheck:
    """Which copies there are, and whether they are as this version would write them."""
    copies = _copies(agents, skills)
    return SkillsCheck(__version__, tuple(_installed(root, directory, copy) for copy in copies))


def install(
    root: Path,
    agents: Sequence[str],
    directory: str = "",
    *,
    skills: Iterable[str] = (),
    force: bool = False,
    rollback_on_failure: bool = False,
) -> SkillsInstallReport:
    """Write the skills of each agent; a changed copy is only replaced with `force`."""
    transaction = Transaction(root, "skills-install", undo=rollback_on_failure)
    copies = _copies(agents, skills)
    places = {copy: copy.place(root, directory) for copy in copies}
    if len(set(places.values())) < len(places):
        raise UsageError(
            "--dir: two of these agents would share one file", hint="install them one by one"
        )
    before = {copy: _installed(root, directory, copy) for copy in copies}
    for copy, skill in before.items():
        if not skill.state.is_ours and not force:
            raise UsageError(
                f"{skill.path} is {skill.state}: it is not replaced",
                hint=f"look at it, then pass --force ({copy.agent.name})",
            )
    pieces = [
        FileWrite(copy.step, places[copy], copy.text.encode())
        for copy in copies
        if files.read(places[copy]) != copy.text.encode()
    ]
    written = transaction.carry_out(pieces)
    done = tuple(
        SkillInstallation(
            agent=copy.agent.name,
            path=before[copy].path,
            before=before[copy].state,
            written=copy.step in written.standing,
            skill=copy.skill.name,
        )
        for copy in copies
    )
    parts = msgspec.structs.asdict(written)
    return SkillsInstallReport(version=__version__, skills=done, **parts)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A skill for an agent."""

    agent: Agent
    skill: Skill

    @property
    def step(self) -> str:
        """Its name among the steps of an installation."""
        return f"{self.agent.name}/{self.skill.name}"

    @property
    def text(self) -> str:
        return render(self.agent, self.skill, self.skill.prompt(), __version__)

    def place(self, root: Path, directory: str) -> Path:
        """In the project, or in the directory of skills that the user names."""
        home = Path(directory).absolute() if directory else root
        return home / self.agent.path_of(self.skill, "." if directory else "")


def _copies(agents: Iterable[str], skills: Iterable[str]) -> list[_Copy]:
    """Of all agents and skills, unless some are named."""
    chosen = [SKILLS[name] for name in dict.fromkeys(skills or SKILLS)]
    return [_Copy(AGENTS[name], one) for name in dict.fromkeys(agents or AGENTS) for one in chosen]


def _installed(root: Path, directory: str, copy: _Copy) -> SkillStatus:
    place = copy.place(root, directory)
    content = files.read(place)
    existing = None if content is None else content.decode("utf-8", "replace")
    state, version = judge(existing, copy.text)
    display_path = place.relative_to(root) if place.is_relative_to(root) else place
    return SkillStatus(copy.agent.name, display_path.as_posix(), state, version, copy.skill.name)


def skill_text(name: str) -> str:
    """The prompt that teaches an agent to write packs (`pack`) or to run them (`run`)."""
    return show("claude", f"oracle-{name}").text
