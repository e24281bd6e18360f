"""How steps call codex and gemini: headless, guarded, limited, answers taken only when whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from oraclepack.tickets import ticket as names
from oraclepack.tickets.ticket import TicketMode

CODEX, GEMINI = "codex", "gemini"


@dataclass(frozen=True, slots=True)
class Agents:
    """Who does what: one agent changes files, another judges and decides, if there are two."""

    mode: TicketMode
    out_dir: str

    @property
    def worker(self) -> str:
        """The agent that changes files."""
        return GEMINI if self.mode is TicketMode.GEMINI else CODEX

    @property
    def thinkers(self) -> tuple[str, ...]:
        """The agents that only read and answer; the first that is there is asked."""
        match self.mode:
            case TicketMode.CODEX:
                return (CODEX,)
            case TicketMode.GEMINI:
                return (GEMINI,)
            case _:
                return (GEMINI, CODEX)

    @property
    def review_names(self) -> tuple[str, ...]:
        """The files of the reviewers, codex first."""
        files = {CODEX: "codex-verify.md", GEMINI: names.REVIEW}
        return tuple(files[agent] for agent in (CODEX, GEMINI) if agent in self.thinkers)

    def ask_lines(self, stage: str, limit: str) -> Iterator[str]:
        """Ask the first agent there is, and take its answer; nothing is written of a bad one."""
        yield from _no_agent(self.thinkers)
        yield from self._prompt(stage)
        first, *others = self.thinkers
        if others:
            yield f"if command -v {first} >/dev/null 2>&1; then"
            yield f'  answer="$({_reading(first, limit)})"'
            yield "else"
            yield f'  answer="$({_reading(others[0], limit)})"'
            yield "fi"
        else:
            yield f'answer="$({_reading(first, limit)})"'
        yield self._take(stage)

    def working(self, stage: str, limit: str) -> Iterator[str]:
        """Let the worker change files; its last message is the report."""
        yield from _no_agent((self.worker,))
        yield from self._prompt(stage)
        if self.worker == CODEX:
            out = quote(f"{self.out_dir}/codex-{stage}.md")
            yield _codex(f"-s workspace-write -o {out}", limit)
        else:
            call = 'gemini -p "$prompt" --approval-mode auto_edit --output-format json </dev/null'
            yield f'answer="$(timeout -k 30s {limit} {call})"'
            yield self._take(stage)

    def reviewed(self, limit: str) -> Iterator[str]:
        """Let every agent there is look at the work; one that is not there leaves a note."""
        yield from _no_agent(self._reviewers)
        yield from self._prompt("verify")
        for agent in self._reviewers:
            alone = len(self._reviewers) == 1
            lines = list(self._review(agent, limit))
            if alone:
                yield from lines
                continue
            yield f"if command -v {agent} >/dev/null 2>&1; then"
            yield from _indented(lines)
            yield "else"
            yield f'  echo "SKIP: {agent} not found"'
            yield f"  {self._tickets(f'take verify --missing {agent}')}"
            yield "fi"

    @property
    def _reviewers(self) -> tuple[str, ...]:
        return tuple(agent for agent in (CODEX, GEMINI) if agent in self.thinkers)

    def _review(self, agent: str, limit: str) -> Iterator[str]:
        if agent == CODEX:
            out = quote(f"{self.out_dir}/codex-verify.md")
            yield _codex(f"-s read-only --skip-git-repo-check -o {out}", limit)
        else:
            yield f'answer="$({_reading(GEMINI, limit)})"'
            yield self._take("verify")

    def _prompt(self, stage: str) -> Iterator[str]:
        yield f'prompt="$({self._tickets(f"prompt {stage}")})"'
        yield 'case "$prompt" in'
        yield "  SKIP:*)"
        yield "    printf '%s\\n' \"$prompt\""
        yield "    exit 0"
        yield "    ;;"
        yield "esac"

    def _take(self, stage: str) -> str:
        return f"printf '%s\\n' \"$answer\" | {self._tickets(f'take {stage}')}"

    def _tickets(self, words: str) -> str:
        return f"oraclepack tickets {words} --out-dir {quote(self.out_dir)}"


def _no_agent(agents: Sequence[str]) -> Iterator[str]:
    """End the step, and say why, when none of the agents is there."""
    absent = " && ".join(f"! command -v {agent} >/dev/null 2>&1" for agent in agents)
    yield f"if {absent}; then"
    yield from (f'  echo "SKIP: {agent} not found"' for agent in agents)
    yield "  exit 0"
    yield "fi"


def _reading(agent: str, limit: str) -> str:
    """A call that changes nothing and prints its answer."""
    if agent == CODEX:
        return _codex("-s read-only --skip-git-repo-check", limit)
    return f'timeout -k 30s {limit} gemini -p "$prompt" --output-format json </dev/null'


def _codex(flags: str, limit: str) -> str:
    # Without an end of stdin codex waits for more of the prompt.
    return f'timeout -k 30s {limit} codex exec {flags} --color never "$prompt" </dev/null'


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
