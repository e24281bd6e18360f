"""The last steps of a ticket action pack: file audit, change summary, close-out report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from oraclepack.system.digests import sha256_bytes
from oraclepack.system.markdown_text import code_span
from oraclepack.system.printable import quantity
from oraclepack.tickets import ticket as names
from oraclepack.tickets.pages import markdown_line
from oraclepack.tickets.prompts import ready_tickets
from oraclepack.tickets.tasks import MalformedTasks, problems, read_complexity, read_tasks
from oraclepack.tickets.ticket import (
    OWNED,
    Acceptance,
    Actions,
    Audit,
    AuditedFile,
    CriterionStatus,
    NextWork,
    Owner,
    Review,
    TasksReport,
    TicketCheck,
    TicketIndex,
    TicketManifest,
)

_SHAPES: dict[str, type] = {
    names.INDEX: TicketIndex,
    names.ACTIONS: Actions,
    names.MANIFEST: TicketManifest,
    names.CHECK: TicketCheck,
    names.DETERMINISM: TicketCheck,
    names.TM_TASKS: TasksReport,
    names.TM_EXPANDED: TasksReport,
    names.TM_CHECK: TasksReport,
    names.TM_SYNC: TasksReport,
    names.NEXT: NextWork,
    names.REVIEW: Review,
    names.ACCEPTANCE: Acceptance,
}
_NEEDED = frozenset({names.INDEX, names.ACTIONS, names.ACTIONS_PAGE, names.MANIFEST, names.PACK})


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from the last commit: git's two letters and its path."""

    state: str
    path: str


def audit(
    out_dir: str, prd_path: str, contents: Mapping[str, bytes | None], inside: Iterable[str]
) -> Audit:
    """Check every file that `ticketify` and its steps write.

    `contents` has them by path from the project root, `inside` the paths below `out_dir`.
    """
    own = {f"{out_dir}/{owned.name}": owned for owned in OWNED}
    audited = [
        _audited(path, owned.owner, owned.step, contents.get(path), owned.name)
        for path, owned in own.items()
        if owned.name != names.AUDIT
    ]
    audited.append(_audited(prd_path, Owner.TICKETIFY, "03", contents.get(prd_path), ""))
    tasks = contents.get(names.TASKS)
    audited.append(_audited(names.TASKS, Owner.TASK_MASTER, "05", tasks, names.TASKS))
    strangers = sorted(path for path in inside if path not in own and path != prd_path)
    return Audit(
        ok=all(file.problem is None for file in audited),
        files=tuple(audited),
        strangers=tuple(strangers),
    )


def _audited(
    path: str, owner: Owner, step: str | None, data: bytes | None, name: str
) -> AuditedFile:
    if data is None:
        problem = "missing" if name in _NEEDED or not name else None
        return AuditedFile(path=path, owner=owner, step=step, present=False, problem=problem)
    return AuditedFile(
        path=path,
        owner=owner,
        step=step,
        present=True,
        sha256=sha256_bytes(data),
        problem=_problem(name, data),
    )


def _problem(name: str, data: bytes) -> str | None:
    if not data.strip():
        return "empty"
    readers: dict[str, Callable[[bytes | None], object]] = {
        names.TM_COMPLEXITY: read_complexity,
        names.TASKS: read_tasks,
    }
    if name in readers:
        read = readers[name](data)
        return read.reason if isinstance(read, MalformedTasks) else None
    if name in _SHAPES:
        try:
            msgspec.json.decode(data, type=_SHAPES[name])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as trouble:
            return f"wrong format: {trouble}"
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return None


def changes_page(changes: Sequence[ChangedFile] | None, work: NextWork | None) -> str:
    """`changes.md`: what differs from the last commit, and which work it belongs to."""
    lines = ["# Changes", ""]
    if work is not None:
        lines += [f"Work: {markdown_line(work.ticket_id)}: {markdown_line(work.title)}", ""]
        lines += [f"- {code_span(one)}" for one in work.action_ids]
        lines.append("")
    if changes is None:
        return "\n".join(
            [*lines, "There is no git repository here, so nothing can be compared.", ""]
        )
    if not changes:
        return "\n".join([*lines, "Nothing differs from the last commit.", ""])
    lines += [f"{quantity(len(changes), 'file')} changed since the last commit:", ""]
    lines += [f"- {code_span(change.state)} {markdown_line(change.path)}" for change in changes]
    return "\n".join([*lines, ""])


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
    lines = ["# Close-out", "", *_worked(turn), *_judged(turn), *_tasks(turn), *_files(turn)]
    left = [action for action in turn.actions.actions if not action.done]
    lines += ["## What is left", "", f"{len(left)} of {turn.actions.count} actions are open.", ""]
    ready = ready_tickets(turn.index, turn.actions)
    lines += [f"- {markdown_line(t.ticket_id)}: {markdown_line(t.title)} is ready" for t in ready]
    if ready:
        lines.append("")
    lines += ["## What comes next", ""]
    if left:
        pack = f"{out_dir}/{names.PACK}"
        lines += [
            "1. Commit the work, and tick what is finished in the tickets.",
            "2. `oraclepack ticketify` with the same options.",
            f"3. `oraclepack run {pack} --new-run`",
        ]
    else:
        lines.append("Nothing: every action is done.")
    return "\n".join([*lines, ""])


def _worked(turn: TurnSummary) -> list[str]:
    if turn.work is None:
        return ["## Work", "", "Nothing was selected.", ""]
    work = turn.work
    texts = {action.action_id: action.text for action in turn.actions.actions}
    name = f"{markdown_line(work.ticket_id)}: {markdown_line(work.title)}"
    head = f"{name} ({code_span(work.ticket_path)})"
    listed = [
        f"- {code_span(one)} {markdown_line(texts.get(one, ''))}".rstrip()
        for one in work.action_ids
    ]
    return ["## Work", "", head, "", f"Reason: {markdown_line(work.reason)}", "", *listed, ""]


def _judged(turn: TurnSummary) -> list[str]:
    if turn.acceptance is None or turn.work is None:
        return ["## Acceptance", "", "The acceptance criteria were not judged.", ""]
    criteria = turn.acceptance.criteria
    met = sum(criterion.met is CriterionStatus.YES for criterion in criteria)
    lines = ["## Acceptance", "", f"{met} of {len(criteria)} criteria are met.", ""]
    lines += [
        f"- {code_span(c.action_id)}: {c.met}. {markdown_line(c.evidence)}".rstrip()
        for c in criteria
    ]
    return [*lines, ""]


def _tasks(turn: TurnSummary) -> list[str]:
    read = read_tasks(turn.tasks)
    if isinstance(read, MalformedTasks):
        return [
            "## Task Master",
            "",
            f"`{names.TASKS}` cannot be read: {markdown_line(read.reason)}",
            "",
        ]
    if not read:
        return ["## Task Master", "", "There are no tasks.", ""]
    done = sum(task.status == "done" for task in read)
    wrong = quantity(len(problems(read)), "problem")
    summary = f"{quantity(len(read), 'task')}, {done} done, {wrong}."
    return ["## Task Master", "", summary, ""]


def _files(turn: TurnSummary) -> list[str]:
    if turn.audit is None:
        return []
    wrong = [file for file in turn.audit.files if file.problem is not None]
    present = sum(file.present for file in turn.audit.files)
    summary = f"{quantity(present, 'file')} present, {len(wrong)} with a problem."
    lines = ["## Files", "", summary, ""]
    listed = [f"- {code_span(file.path)}: {markdown_line(file.problem or '')}" for file in wrong]
    return [*lines, *listed, ""] if listed else lines
