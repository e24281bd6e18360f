"""The pages for people and for Task Master: the list of actions, and the PRD."""

from collections.abc import Iterable, Iterator, Sequence

from oraclepack.core.ticket import Action, ActionKind, Actions, KnownTicket
from oraclepack.system.markdown_text import code_span, escape, quotable

_MADE = "<!-- Made by `oraclepack ticketify`; edit the tickets, not this file. -->"


def actions_page(tickets: Sequence[KnownTicket], actions: Actions) -> str:
    """`_actions.md`: everything the tickets ask for, a task list per ticket."""
    done = sum(action.done for action in actions.actions)
    lines = [
        "# Actions",
        "",
        _MADE,
        "",
        f"{len(tickets)} tickets, {actions.count} actions, {done} of them done.",
        "",
    ]
    for known in tickets:
        lines += [f"## {heading(known)}", "", *_facts(known)]
        own = list(of_ticket(known.id, actions.actions))
        lines += [_listed(action) for action in own] or ["It names no actions."]
        lines.append("")
    return "\n".join(lines)


def prd_page(tickets: Sequence[KnownTicket], actions: Actions) -> str:
    """The PRD that Task Master reads: what each ticket wants, and what is left of it."""
    lines = [
        "# Product requirements from tickets",
        "",
        _MADE,
        "",
        "## Overview",
        "",
        (
            f"These requirements come from {len(tickets)} tickets. Each ticket below is a piece of "
            "work of its own; its open actions are what is left to do, its acceptance criteria say "
            "when it is done. The quoted text is the ticket itself."
        ),
        "",
        (
            "Make one task per ticket, with its open actions as details and its acceptance "
            "criteria as the test strategy. Begin each task's title with the ticket's id. Keep the "
            "dependencies that are named."
        ),
        "",
        "## Requirements",
        "",
    ]
    for known in tickets:
        lines += _requirement(known, list(of_ticket(known.id, actions.actions)))
    return "\n".join(lines)


def heading(known: KnownTicket, *, cell: bool = False) -> str:
    """A ticket's id and title, in one line of Markdown."""
    name, title = shown(known.id, cell=cell), known.ticket.title
    return name if title == known.id else f"{name}: {shown(title, cell=cell)}"


def shown(text: str, *, cell: bool = False) -> str:
    """Text of a ticket on one line, as Markdown that shows it."""
    return escape(" ".join(text.split()), cell=cell)


def of_ticket(ticket_id: str, actions: Iterable[Action]) -> Iterator[Action]:
    return (action for action in actions if action.ticket_id == ticket_id)


def _facts(known: KnownTicket) -> list[str]:
    lines = [f"Source: {code_span(known.path)}", ""]
    if known.depends_on:
        lines += [f"Depends on: {_ids(known.depends_on)}", ""]
    if known.blocks:
        lines += [f"Blocks: {_ids(known.blocks)}", ""]
    return lines


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(map(shown, ids))


def _listed(action: Action) -> str:
    box = "x" if action.done else " "
    where = f"{action.kind}, line {action.source_line}"
    return f"- [{box}] {code_span(action.action_id)} {shown(action.text)} ({where})"


def _requirement(known: KnownTicket, actions: Sequence[Action]) -> list[str]:
    lines = [f"### {heading(known)}", "", *_facts(known)]
    if known.ticket.summary:
        lines += [f"Summary: {shown(known.ticket.summary)}", ""]
    groups = (
        ("Open actions", ActionKind.TASK, False),
        ("Acceptance criteria", ActionKind.ACCEPTANCE, False),
        ("Already done", None, True),
    )
    for title, kind, done in groups:
        chosen = [a for a in actions if a.done is done and kind in {None, a.kind}]
        if chosen:
            lines += [f"{title}:", ""]
            lines += [f"- {shown(action.action_id)}: {shown(action.text)}" for action in chosen]
            lines.append("")
    if known.ticket.body.strip():
        lines += ["The ticket:", ""]
        lines += [f"> {line}".rstrip() for line in quotable(known.ticket.body).split("\n")]
        lines.append("")
    return lines
