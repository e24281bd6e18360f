"""The ticket action pack as text."""

from collections.abc import Iterator
from shlex import quote

from oraclepack.core import ticket_files as names
from oraclepack.core.ticket import TicketOptions
from oraclepack.ticketify.steps import PackStep, steps


def pack_text(options: TicketOptions) -> str:
    """The pack for a set of options.

    It does not depend on what the tickets say: an edited ticket continues the same run, with
    just the steps whose files changed.
    """
    made = steps(options)
    out = options.out_dir
    lines = [
        "# Ticket action pack",
        "",
        "<!-- Made by `oraclepack ticketify`; run that again instead of editing this file. -->",
        "",
        (
            f"Works off the tickets of `{options.tickets_dir}`: index, tasks, one piece of work at "
            "a time, and its evidence."
        ),
        "",
        f"- Check it: `oraclepack validate {out}/{names.PACK}`",
        f"- Run it, or continue: `oraclepack run {out}/{names.PACK}`",
        "- Next piece of work: the same with `--new-run`",
        "",
        (
            "Steps whose tool is not installed say `SKIP` and are left out. Task Master's results "
            "are kept once they are there; `oraclepack ticketify --regenerate` sets them aside."
        ),
        "",
        "## Parsed args",
        "",
        f"- tickets_dir: {options.tickets_dir}",
        f"- out_dir: {out}",
        f"- prd_path: {options.prd_path}",
        f"- mode: {options.mode.value}",
        "",
        "## Steps",
        "",
        "```bash",
        "# oraclepack: allow OP301 because these steps are a procedure, not scored questions",
        "# oraclepack: allow OP310 because agents and Task Master work here, not oracle",
        f"export out_dir={quote(out)}",
    ]
    for number, step in enumerate(made, start=1):
        lines += ["", *_step(number, step)]
    return "\n".join([*lines, "```", ""])


def _step(number: int, step: PackStep) -> Iterator[str]:
    yield f"# {number:02}) {step.title}"
    yield f"# Reads: {', '.join(step.reads)}"
    yield f"# oraclepack: outputs={','.join(step.leaves)}"
    yield "set -euo pipefail"
    yield from step.lines
