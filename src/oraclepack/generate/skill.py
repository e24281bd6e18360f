"""The one prompt, dressed for each agent, and how to recognise a copy of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from oraclepack.core.skills import SkillState
from oraclepack.system.digests import sha256_text

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
