"""The ticket action pack as text."""

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from oraclepack.tickets import ticket as names
from oraclepack.tickets.agents import Agents
from oraclepack.tickets.ticket import TicketOptions


@dataclass(frozen=True, slots=True)
class PackStep:
    """One step: its title, the files it needs, the files it writes, its commands."""

    title: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Places:
    """How the steps spell paths and calls of oraclepack."""

    options: TicketOptions

    def out(self, name: str) -> str:
        return f"{self.options.out_dir}/{name}"

    def tickets(self, words: str) -> str:
        return f"oraclepack tickets {words} --out-dir {quote(self.options.out_dir)}"

    def ticketify(self, words: str) -> str:
        return " ".join(["oraclepack ticketify", words, *option_words(self.options)])


def option_words(options: TicketOptions) -> list[str]:
    """The options as words of a command line; the same words give the same files."""
    words = ["--tickets-dir", quote(options.tickets_dir), "--glob", quote(options.glob)]
    for flag, patterns in (("--include", options.include), ("--exclude", options.exclude)):
        for pattern in patterns:
            words += [flag, quote(pattern)]
    words += ["--top-n", str(options.top_n), "--mode", options.mode.value]
    return [
        *words,
        "--out-dir",
        quote(options.out_dir),
        "--prd-path",
        quote(options.prd_path),
    ]


def steps(options: TicketOptions) -> tuple[PackStep, ...]:
    """All steps in their order."""
    places = _Places(options)
    agents = Agents(options.mode, options.out_dir)
    return (
        *_artifacts(places),
        *_task_master(places),
        *_tasks_broken_down(places),
        *_work(places, agents),
        _resync(places),
        _determinism(places),
        _handover(places, agents, "pull request", "pr", names.PR),
        _handover(places, agents, "verdict on each criterion", "accept", names.ACCEPTANCE),
        *_closing(places),
    )


def _artifacts(at: _Places) -> Iterator[PackStep]:
    source, prd = at.options.tickets_dir, at.options.prd_path
    index, actions = at.out(names.INDEX), at.out(names.ACTIONS)
    yield PackStep(
        "Refresh the index of the tickets", (source,), (index,), (at.ticketify("--only index"),)
    )
    yield PackStep(
        "Refresh the list of actions",
        (source, index),
        (actions, at.out(names.ACTIONS_PAGE)),
        (at.ticketify("--only actions"),),
    )
    yield PackStep("Refresh the PRD", (source, actions), (prd,), (at.ticketify("--only prd"),))
    yield PackStep(
        "Check that all of it says what the tickets say",
        (index, actions, prd),
        (at.out(names.CHECK),),
        (at.ticketify("--check --report check"),),
    )


def _task_master(at: _Places) -> Iterator[PackStep]:
    prd, complexity = at.options.prd_path, at.out(names.TM_COMPLEXITY)
    yield PackStep(
        "Task Master: make tasks of the PRD, unless there are some",
        (prd, names.TASKS),
        (at.out(names.TM_TASKS),),
        (
            f'found="$({at.tickets("tasks found")})"',
            'if [ "$found" = some ]; then',
            f'  echo "kept: {names.TASKS}"',
            f"  {at.tickets('tasks kept')}",
            "  exit 0",
            "fi",
            *_guard("task-master"),
            f'wanted="$({at.tickets("tasks wanted")})"',
            _tm(f'parse-prd {quote(prd)} --force --num-tasks "$wanted"', "30m"),
            at.tickets("tasks made"),
        ),
    )
    yield PackStep(
        "Task Master: weigh the tasks, unless that was done",
        (names.TASKS,),
        (complexity,),
        (
            f'found="$({at.tickets("tasks complexity")})"',
            'if [ "$found" = some ]; then',
            f"  echo {quote(f'kept: {complexity}')}",
            "  exit 0",
            "fi",
            *_guard("task-master"),
            _tm(f"analyze-complexity --output {quote(complexity)}", "30m"),
            at.tickets("tasks weighed"),
        ),
    )


def _tasks_broken_down(at: _Places) -> Iterator[PackStep]:
    complexity = at.out(names.TM_COMPLEXITY)
    yield PackStep(
        "Task Master: break the tasks down; those with subtasks stay as they are",
        (names.TASKS, complexity),
        (at.out(names.TM_EXPANDED),),
        (
            *_guard("task-master"),
            # It looks for its report elsewhere, and does without one that is not there.
            _tm(f"expand --all --complexity-report {quote(complexity)}", "60m"),
            at.tickets("tasks expanded"),
        ),
    )
    yield PackStep(
        "Check what Task Master made",
        (names.TASKS,),
        (at.out(names.TM_CHECK),),
        (
            f'found="$({at.tickets("tasks found")})"',
            'if [ "$found" = none ]; then',
            '  command -v task-master >/dev/null 2>&1 || echo "SKIP: task-master not found"',
            '  echo "SKIP: there are no tasks to check"',
            "  exit 0",
            "fi",
            at.tickets("tasks check"),
            *_guard("task-master"),
            f'said="$({_tm("validate-dependencies", "10m")} 2>&1 || true)"',
            'case "$said" in',
            '  *"All Dependencies Are Valid"*) ;;',
            "  *)",
            "    printf '%s\\n' \"$said\" >&2",
            "    exit 1",
            "    ;;",
            "esac",
        ),
    )


def _work(at: _Places, agents: Agents) -> Iterator[PackStep]:
    chosen = at.out(names.NEXT)
    yield PackStep(
        "Select what to do next",
        (at.out(names.INDEX), at.out(names.ACTIONS)),
        (chosen,),
        tuple(agents.ask_lines("select", "20m")),
    )
    worker = agents.worker
    report = f"{worker}-{{}}.md"
    yield PackStep(
        "Implement it",
        (chosen,),
        (at.out(report.format("implement")),),
        tuple(agents.working("implement", "90m")),
    )
    yield PackStep(
        "Verify the implementation",
        (chosen, at.out(report.format("implement"))),
        tuple(at.out(name) for name in agents.review_names),
        tuple(agents.reviewed("45m")),
    )
    yield PackStep(
        "Bring the documentation up to date",
        (chosen, at.out(report.format("implement"))),
        (at.out(report.format("docs")),),
        tuple(agents.working("docs", "45m")),
    )
    yield PackStep(
        "Guard against regressions",
        (chosen, at.out(report.format("implement"))),
        (at.out(report.format("regressions")),),
        tuple(agents.working("regressions", "60m")),
    )


def _resync(at: _Places) -> PackStep:
    status = _tm('set-status --id="$task" --status=review', "10m")
    return PackStep(
        "Task Master: tell it what was worked on",
        (at.out(names.NEXT), names.TASKS),
        (at.out(names.TM_SYNC),),
        (
            *_guard("task-master"),
            f'found="$({at.tickets("tasks found")})"',
            'if [ "$found" = none ]; then',
            '  echo "SKIP: there are no tasks to tell of"',
            "  exit 0",
            "fi",
            f'task="$({at.tickets("tasks selected")})"',
            'if [ -n "$task" ]; then',
            f"  {status}",
            "fi",
            at.tickets("tasks sync"),
        ),
    )


def _determinism(at: _Places) -> PackStep:
    return PackStep(
        "Check that steps 01 to 03 give the same bytes again",
        (at.options.tickets_dir, at.out(names.INDEX), at.out(names.ACTIONS), at.options.prd_path),
        (at.out(names.DETERMINISM),),
        (at.ticketify("--check --report determinism"),),
    )


def _handover(at: _Places, agents: Agents, title: str, stage: str, name: str) -> PackStep:
    return PackStep(
        f"Write the {title}",
        (at.out(names.NEXT), at.out(f"{agents.worker}-implement.md")),
        (at.out(name),),
        tuple(agents.ask_lines(stage, "30m")),
    )


def _closing(at: _Places) -> Iterator[PackStep]:
    yield PackStep(
        "Sum up what changed in the work tree",
        (at.out(names.INDEX),),
        (at.out(names.CHANGES),),
        (at.tickets("report changes"),),
    )
    yield PackStep(
        "Audit every file of ours",
        (at.out(names.MANIFEST),),
        (at.out(names.AUDIT),),
        (at.tickets("report audit"),),
    )
    yield PackStep(
        "Close out: what was done, what is left, what comes next",
        (at.out(names.ACTIONS), at.out(names.AUDIT)),
        (at.out(names.CLOSE_OUT),),
        (at.tickets("report close-out"),),
    )


def _guard(tool: str) -> tuple[str, ...]:
    return (
        f"if ! command -v {tool} >/dev/null 2>&1; then",
        f'  echo "SKIP: {tool} not found"',
        "  exit 0",
        "fi",
    )


def _tm(words: str, limit: str) -> str:
    # Its commands read nothing from stdin once they are forced; a prompt would hang or do nothing.
    return f"TASKMASTER_SKIP_AUTO_UPDATE=1 timeout -k 30s {limit} task-master {words} </dev/null"


def pack_text(options: TicketOptions) -> str:
    """The pack for a set of options.

    It does not depend on what the tickets say: an edited ticket continues the same run, with
    just the steps whose files changed.
    """
    step_texts = steps(options)
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
    for number, step in enumerate(step_texts, start=1):
        lines += ["", *_step(number, step)]
    return "\n".join([*lines, "```", ""])


def _step(number: int, step: PackStep) -> Iterator[str]:
    yield f"# {number:02}) {step.title}"
    yield f"# Reads: {', '.join(step.reads)}"
    yield f"# oraclepack: outputs={','.join(step.leaves)}"
    yield "set -euo pipefail"
    yield from step.lines
