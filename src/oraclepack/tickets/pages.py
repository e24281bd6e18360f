"""The pages for people and for Task Master: the list of actions, and the PRD."""

from collections.abc import Iterable, Iterator, Sequence

from oraclepack.system.markdown_text import code_span, escape, quotable
from oraclepack.tickets import ticket as names
from oraclepack.tickets.identify import circles, needs_of, waves
from oraclepack.tickets.ticket import Action, ActionKind, Actions, KnownTicket, TicketOptions

_HEADER = "<!-- Made by `oraclepack ticketify`; edit the tickets, not this file. -->"


def actions_page(tickets: Sequence[KnownTicket], actions: Actions) -> str:
    """`_actions.md`: everything the tickets ask for, a task list per ticket."""
    done = sum(action.done for action in actions.actions)
    lines = [
        "# Actions",
        "",
        _HEADER,
        "",
        # Also for one ticket in the words of 0.1.0: `ticketify --check` compares bytes.
        f"{len(tickets)} tickets, {actions.count} actions, {done} of them done.",
        "",
    ]
    for known in tickets:
        lines += [f"## {heading(known)}", "", *_facts(known)]
        own = list(of_ticket(known.id, actions.actions))
        lines += [_action_line(action) for action in own] or ["It names no actions."]
        lines.append("")
    return "\n".join(lines)


def prd_page(tickets: Sequence[KnownTicket], actions: Actions) -> str:
    """The PRD that Task Master reads: what each ticket wants, and what is left of it."""
    lines = [
        "# Product requirements from tickets",
        "",
        _HEADER,
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
    name, title = markdown_line(known.id, cell=cell), known.ticket.title
    return name if title == known.id else f"{name}: {markdown_line(title, cell=cell)}"


def markdown_line(text: str, *, cell: bool = False) -> str:
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
    return ", ".join(map(markdown_line, ids))


def _action_line(action: Action) -> str:
    box = "x" if action.done else " "
    where = f"{action.kind}, line {action.source_line}"
    return f"- [{box}] {code_span(action.action_id)} {markdown_line(action.text)} ({where})"


def _requirement(known: KnownTicket, actions: Sequence[Action]) -> list[str]:
    lines = [f"### {heading(known)}", "", *_facts(known)]
    if known.ticket.summary:
        lines += [f"Summary: {markdown_line(known.ticket.summary)}", ""]
    groups = (
        ("Open actions", ActionKind.TASK, False),
        ("Acceptance criteria", ActionKind.ACCEPTANCE, False),
        ("Already done", None, True),
    )
    for title, kind, done in groups:
        chosen = [a for a in actions if a.done is done and kind in {None, a.kind}]
        if chosen:
            lines += [f"{title}:", ""]
            lines += [
                f"- {markdown_line(action.action_id)}: {markdown_line(action.text)}"
                for action in chosen
            ]
            lines.append("")
    if known.ticket.body.strip():
        lines += ["The ticket:", ""]
        lines += [f"> {line}".rstrip() for line in quotable(known.ticket.body).split("\n")]
        lines.append("")
    return lines


_GENERATED_NOTE = "<!-- Made by `oraclepack ticketify`; edit the tickets, not this file. -->"


def pipelines_page(tickets: Sequence[KnownTicket], actions: Actions, options: TicketOptions) -> str:
    """`pipelines.md`: rounds of tickets, and for each ticket its way through the steps."""
    by_id = {known.id: known for known in tickets}
    needs = needs_of(tickets)
    rounds = waves(tickets)
    lines = [
        "# Pipelines",
        "",
        _GENERATED_NOTE,
        "",
        (
            f"{len(tickets)} tickets in {len(rounds)} rounds. The tickets of one round do not wait "
            "for each other: each can be worked on in a work tree of its own. A round begins when "
            "the rounds before it are merged."
        ),
        "",
        *_circle_note(tickets),
    ]
    for number, round_ in enumerate(rounds, start=1):
        lines += [f"## Round {number}", ""]
        for one in round_:
            known = by_id[one]
            own = list(of_ticket(one, actions.actions))
            lines += [
                f"### {heading(known)}",
                "",
                *_pipeline(known, own, sorted(needs[one]), options),
            ]
    return "\n".join(lines)


def _pipeline(
    known: KnownTicket, actions: Sequence[Action], needs: Sequence[str], options: TicketOptions
) -> list[str]:
    out = options.out_dir
    todo = [a for a in actions if not a.done and a.kind is ActionKind.TASK]
    accept = [a for a in actions if not a.done and a.kind is ActionKind.ACCEPTANCE]
    waits = ", ".join(map(markdown_line, needs)) or "nothing"
    lines = [
        f"- Source: {code_span(known.path)}; waits for {waits}.",
        f"- Select (step 09): `{out}/{names.NEXT}` names {_named(todo or accept)}.",
        f"- Implement (step 10): {_count(todo, 'open action')}.",
        f"- Verify (step 11): review against {_count(accept, 'acceptance criterion', 'a')}.",
        "- Document (step 12), guard against regressions (step 13).",
        f"- Hand over (steps 16 and 17): `{out}/{names.PR}`, `{out}/{names.ACCEPTANCE}`.",
        "",
    ]
    lines += [
        f"  - [ ] {code_span(action.action_id)} {markdown_line(action.text)}"
        for action in (*todo, *accept)
    ]
    if todo or accept:
        lines.append("")
    else:
        lines[-1:] = ["- Nothing is open: close the ticket, or add what is missing to it.", ""]
    return lines


def autopilot_page(tickets: Sequence[KnownTicket], actions: Actions, options: TicketOptions) -> str:
    """`autopilot.md`: the order of all open work, the loop, and when to stop."""
    lines = [
        "# Autopilot",
        "",
        _GENERATED_NOTE,
        "",
        (
            "One turn of the loop works off one ticket. Every command can be repeated: what went "
            "well is not done again."
        ),
        "",
        *_circle_note(tickets),
        *_loop(options.out_dir),
        "## Order of work",
        "",
        "| turn | ticket | open | done | first open action |",
        "|---|---|---|---|---|",
        *_turns(tickets, actions),
        "",
    ]
    return "\n".join(lines)


def _loop(out: str) -> list[str]:
    pack = f"{out}/{names.PACK}"
    return [
        "## The loop",
        "",
        f"1. `oraclepack ticketify --check --out-dir {out}`: the files below must be current.",
        f"2. `oraclepack run {pack} --ci`: exit code 0 means that no step failed.",
        (
            f"3. Read `{out}/{names.ACCEPTANCE}` and `{out}/{names.CLOSE_OUT}`. If a criterion is "
            "not met, stop."
        ),
        (
            "4. Commit, tick the finished boxes in the ticket, and run `oraclepack ticketify` with "
            "the same options."
        ),
        f"5. `oraclepack run {pack} --new-run --ci` begins the next turn.",
        "",
        "## When to stop",
        "",
        "- Exit code 3: a step failed. The same command continues after the cause is fixed.",
        "- Exit code 5: too many steps failed for an unattended run.",
        f"- `{out}/{names.NEXT}` names the same actions twice in a row: the work does not advance.",
        "- Nothing is open any more in the table below.",
        "",
    ]


def _turns(tickets: Sequence[KnownTicket], actions: Actions) -> Iterator[str]:
    by_id = {known.id: known for known in tickets}
    turn = 0
    for one in (one for round_ in waves(tickets) for one in round_):
        own = list(of_ticket(one, actions.actions))
        todo = [action for action in own if not action.done]
        turn += bool(todo)
        first = (
            f"{code_span(todo[0].action_id, cell=True)} {markdown_line(todo[0].text, cell=True)}"
            if todo
            else "-"
        )
        place = str(turn) if todo else "-"
        done = len(own) - len(todo)
        yield f"| {place} | {heading(by_id[one], cell=True)} | {len(todo)} | {done} | {first} |"


def _circle_note(tickets: Sequence[KnownTicket]) -> list[str]:
    cycles = circles(tickets)
    if not cycles:
        return []
    listed = ", ".join(map(markdown_line, cycles))
    return [f"These tickets wait for each other in a circle, broken by path: {listed}.", ""]


def _named(actions: Sequence[Action]) -> str:
    return ", ".join(code_span(action.action_id) for action in actions) or "no action"


def _count(actions: Sequence[Action], word: str, ending: str = "s") -> str:
    if len(actions) == 1:
        return f"1 {word}"
    plural = word.removesuffix("on") + "a" if ending == "a" else word + ending
    return f"{len(actions) or 'no'} {plural}"
