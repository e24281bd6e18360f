"""The two plans over all tickets: what can go on side by side, and how to go on unattended."""

from collections.abc import Iterator, Sequence

from oraclepack.core import ticket_files as names
from oraclepack.core.ticket import Action, ActionKind, Actions, KnownTicket, TicketOptions
from oraclepack.system.markdown_text import code_span
from oraclepack.ticketify.identify import circles, needs_of, waves
from oraclepack.ticketify.pages import heading, of_ticket, shown

_MADE = "<!-- Made by `oraclepack ticketify`; edit the tickets, not this file. -->"


def pipelines_page(tickets: Sequence[KnownTicket], actions: Actions, options: TicketOptions) -> str:
    """`pipelines.md`: rounds of tickets, and for each ticket its way through the steps."""
    by_id = {known.id: known for known in tickets}
    needs = needs_of(tickets)
    rounds = waves(tickets)
    lines = [
        "# Pipelines",
        "",
        _MADE,
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
    waits = ", ".join(map(shown, needs)) or "nothing"
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
        f"  - [ ] {code_span(action.action_id)} {shown(action.text)}" for action in (*todo, *accept)
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
        _MADE,
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
        "- Exit code 3: a step failed. The same command continues after the cause is mended.",
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
            f"{code_span(todo[0].action_id, cell=True)} {shown(todo[0].text, cell=True)}"
            if todo
            else "-"
        )
        place = str(turn) if todo else "-"
        done = len(own) - len(todo)
        yield f"| {place} | {heading(by_id[one], cell=True)} | {len(todo)} | {done} | {first} |"


def _circle_note(tickets: Sequence[KnownTicket]) -> list[str]:
    found = circles(tickets)
    if not found:
        return []
    told = ", ".join(map(shown, found))
    return [f"These tickets wait for each other in a circle, broken by path: {told}.", ""]


def _named(actions: Sequence[Action]) -> str:
    return ", ".join(code_span(action.action_id) for action in actions) or "no action"


def _count(actions: Sequence[Action], word: str, ending: str = "s") -> str:
    if len(actions) == 1:
        return f"1 {word}"
    plural = word.removesuffix("on") + "a" if ending == "a" else word + ending
    return f"{len(actions) or 'no'} {plural}"
