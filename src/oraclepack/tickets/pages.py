"""Every text that tickets are made into: pages, prompts and the pack of 20 steps.

The words are in `templates`; here is what is filled in.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.system.markdown_text import code_span, escape, quotable
from oraclepack.system.printable import quantity
from oraclepack.tickets.agent_answers import criteria_of, open_actions
from oraclepack.tickets.identify import circles, needs_of, waves
from oraclepack.tickets.tasks import MalformedTasks, problems, read_tasks
from oraclepack.tickets.ticket import (
    Acceptance,
    Action,
    Actions,
    AgentStage,
    Audit,
    ChangedFile,
    IndexedTicket,
    KnownTicket,
    NextWork,
    TicketIndex,
    TicketMode,
    TicketOptions,
)

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LISTED = 120
LONGEST_TEXT = 160
"""A prompt is one word of a command line, and the kernel takes 131,071 bytes in one."""
CODEX, GEMINI = "codex", "gemini"
_REVIEWS = {CODEX: "codex-verify.md", GEMINI: "gemini-review.json"}


@cache
def _environment() -> "Environment":
    # Imported here: most commands write none of these texts.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - these are Markdown and bash; filters escape values
        undefined=StrictUndefined,
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "code": code_span,
        "heading": _heading,
        "line": markdown_line,
        "problems": problems,
        "quantity": quantity,
        "quote": shlex.quote,
        "quote_block": _quote_block,
        "short": _short,
    }
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(f"{template}.md.j2").render(values)


def markdown_line(text: str, *, cell: bool = False) -> str:
    """Text of a ticket on one line, as Markdown that shows it."""
    return escape(" ".join(text.split()), cell=cell)


def _heading(known: KnownTicket, *, cell: bool = False) -> str:
    """A ticket's id and title, in one line of Markdown."""
    name, title = markdown_line(known.id, cell=cell), known.ticket.title
    return name if title == known.id else f"{name}: {markdown_line(title, cell=cell)}"


def _quote_block(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in quotable(text).split("\n"))


def _short(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= LONGEST_TEXT else folded[: LONGEST_TEXT - 1].rstrip() + "…"


def ticket_page(
    name: str, tickets: Sequence[KnownTicket], actions: Actions, options: TicketOptions
) -> str:
    """A page about the tickets: `actions`, `prd`, `pipelines` or `autopilot`."""
    by_id = {known.id: known for known in tickets}
    return _render(
        name,
        tickets=tickets,
        actions=actions,
        own={one: [a for a in actions.actions if a.ticket_id == one] for one in by_id},
        rounds=[tuple(by_id[one] for one in round_) for round_ in waves(tickets)],
        needs=needs_of(tickets),
        circle=circles(tickets),
        out=options.out_dir,
    )


def option_words(options: TicketOptions) -> list[str]:
    """The options as words of a command line; the same words give the same files."""
    words = ["--tickets-dir", options.tickets_dir, "--glob", options.glob]
    for flag, patterns in (("--include", options.include), ("--exclude", options.exclude)):
        for pattern in patterns:
            words += [flag, pattern]
    words += ["--top-n", str(options.top_n), "--mode", options.mode.value]
    return [*words, "--out-dir", options.out_dir, "--prd-path", options.prd_path]


def pack_text(options: TicketOptions) -> str:
    """The pack for a set of options: one agent changes files, another judges, if there are two.

    It does not depend on what the tickets say: an edited ticket continues the same run, with
    just the steps whose files changed.
    """
    alone = {TicketMode.CODEX: (CODEX,), TicketMode.GEMINI: (GEMINI,)}
    thinkers = alone.get(options.mode, (GEMINI, CODEX))
    reviewers = [agent for agent in _REVIEWS if agent in thinkers]
    return _render(
        "ticket-action-pack",
        o=options,
        out=options.out_dir,
        option_words=shlex.join(option_words(options)),
        worker=GEMINI if options.mode is TicketMode.GEMINI else CODEX,
        thinkers=thinkers,
        reviewers=reviewers,
        reviews=[f"{options.out_dir}/{_REVIEWS[agent]}" for agent in reviewers],
    )


def changes_page(changes: Sequence[ChangedFile] | None, work: NextWork | None) -> str:
    """`changes.md`: what differs from the last commit, and which work it belongs to."""
    return _render("changes", changes=changes, work=work)


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """What the close-out report is written from; None for what does not exist."""

    index: TicketIndex
    actions: Actions
    work: NextWork | None
    acceptance: Acceptance | None
    audit: Audit | None
    tasks: bytes | None


def close_out_page(turn: TurnSummary, out_dir: str) -> str:
    """`close-out.md`: the work, the state of its acceptance criteria, and the open actions."""
    tasks = read_tasks(turn.tasks)
    return _render(
        "close-out",
        turn=turn,
        texts={action.action_id: action.text for action in turn.actions.actions},
        reason=tasks.reason if isinstance(tasks, MalformedTasks) else None,
        tasks=tasks,
        left=len(open_actions(turn.actions.actions)),
        ready=ready_tickets(turn.index, turn.actions),
        out=out_dir,
    )


def select_prompt(index: TicketIndex, actions: Actions, *, has_tasks: bool) -> str | None:
    """Ask which open actions come next; None when nothing is open."""
    ready = ready_tickets(index, actions)
    if not ready:
        return None
    todo = open_actions(actions.actions)
    groups: list[tuple[IndexedTicket, list[Action]]] = []
    left = MOST_LISTED
    for ticket in ready:
        own = [action for action in todo if action.ticket_id == ticket.ticket_id][: max(left, 0)]
        left -= len(own)
        groups += [(ticket, own)] if own else []
    return _render("select-prompt", groups=groups, has_tasks=has_tasks).rstrip("\n")


def ready_tickets(index: TicketIndex, actions: Actions) -> tuple[IndexedTicket, ...]:
    """The tickets with open actions that wait for no other such one; in a cycle, all of them."""
    busy = {action.ticket_id for action in open_actions(actions.actions)}
    needs = {ticket.ticket_id: set(ticket.depends_on) for ticket in index.tickets}
    for ticket in index.tickets:
        for other in ticket.blocks:
            needs.setdefault(other, set()).add(ticket.ticket_id)
    todo = [ticket for ticket in index.tickets if ticket.ticket_id in busy]
    free = [t for t in todo if not (needs[t.ticket_id] & busy) - {t.ticket_id}]
    return tuple(free or todo)


def work_prompt(stage: AgentStage, work: NextWork, actions: Actions, reports: Sequence[str]) -> str:
    """Ask for one stage of the selected work. `reports` are files of the stages before."""
    chosen = [action for action in actions.actions if action.action_id in work.action_ids]
    criteria = criteria_of(work, actions)
    return _render(
        "work-prompt",
        stage=stage,
        work=work,
        chosen=chosen[:MOST_LISTED],
        judged=[one for one in criteria if one not in chosen or stage is AgentStage.ACCEPT],
        reports=reports,
    ).rstrip("\n")
