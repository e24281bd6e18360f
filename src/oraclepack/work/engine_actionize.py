"""Answers → records → artifacts, in one go. The same input gives the same bytes."""

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from oraclepack.system.digests import canonical_file, canonical_line
from oraclepack.work.asking import REPLIES
from oraclepack.work.backlog import (
    AnsweredStep,
    Artifact,
    AskedReply,
    Export,
    Issue,
    IssuesPer,
    PackAnswers,
    Record,
)
from oraclepack.work.records import outcome_of
from oraclepack.work.titles import LONGEST, title_of
from oraclepack.work.trackers import github_entries, taskmaster
from oraclepack.work.work_pages import (
    REHEARSAL_NOTE,
    Permalinks,
    backlog,
    change_plan,
    normalized,
)

BACKLOG = "backlog.md"
_REHEARSAL = len("Rehearsal: ")
EXPORTS = {Export.GITHUB: "github-issues.json", Export.TASKMASTER: "taskmaster.json"}


class WorkItems(msgspec.Struct, frozen=True):
    """The work that results from the answers of a pack."""

    records: tuple[Record, ...]
    issues: tuple[Issue, ...]
    artifacts: tuple[Artifact, ...]
    rejected: tuple[str, ...] = ()
    """What a model said over all titles and rules did not accept."""


def actionize(
    pack: PackAnswers,
    exports: Collection[Export] = (),
    earlier_backlog: str = "",
    per: IssuesPer = IssuesPer.QUESTION,
) -> WorkItems:
    """Turn answers into work; a person's text in the earlier backlog is carried over."""
    steps = {step.question.step_id: step for step in sorted(pack.steps, key=_by_id)}
    ordered = replace(pack, steps=tuple(map(_sorted, steps.values())))
    if pack.rehearsal:  # nothing from a rehearsal counts as verified
        ordered = replace(
            ordered, steps=tuple(replace(one, attached=None) for one in ordered.steps)
        )
    outcome = outcome_of(ordered)
    records, issues = outcome.records, outcome.issues
    if pack.rehearsal:
        records = tuple(map(_rehearsed, records))
        issues = tuple(
            replace(
                issue, title=_marked(issue.title), records=tuple(map(_rehearsed, issue.records))
            )
            for issue in issues
        )
    distinct = tuple(record for record in records if record.same_as is None)
    artifacts = [
        Artifact("normalized.jsonl", normalized(records)),
        Artifact(BACKLOG, backlog(ordered, issues, distinct, earlier_backlog)),
        Artifact("change-plan.md", change_plan(ordered, distinct)),
    ]
    if pack.replies:
        lines = [canonical_line(one).decode() for one in sorted(pack.replies, key=_by_digest)]
        artifacts.append(Artifact(REPLIES, "".join(f"{line}\n" for line in lines)))
    if Export.GITHUB in exports:
        # Relative to an issue of any repository; `publish` knows which one, and writes it out.
        links = Permalinks("..", pack.commit)
        entries = github_entries(issues, links, per, rehearsal=pack.rehearsal)
        text = canonical_file([entry.fields() for entry in entries]).decode()
        artifacts.append(Artifact(EXPORTS[Export.GITHUB], text))
    if Export.TASKMASTER in exports:
        tasks = taskmaster(issues, rehearsal=pack.rehearsal)
        artifacts.append(Artifact(EXPORTS[Export.TASKMASTER], tasks))
    return WorkItems(records, issues, tuple(artifacts), outcome.rejected)


def _rehearsed(record: Record) -> Record:
    """A record marked as rehearsed wherever it is exported."""
    return replace(
        record,
        title=_marked(record.title),
        remarks=(REHEARSAL_NOTE, *record.remarks),
    )


def _marked(title: str) -> str:
    return f"Rehearsal: {title_of(title, LONGEST - _REHEARSAL)}"


def _by_digest(reply: AskedReply) -> str:
    return reply.sha256


def _by_id(step: AnsweredStep) -> str:
    return step.question.step_id


def _sorted(step: AnsweredStep) -> AnsweredStep:
    """The parts of an answer in one order, whatever order they were read in."""
    return replace(step, parts=tuple(sorted(step.parts, key=lambda part: part.path)))
