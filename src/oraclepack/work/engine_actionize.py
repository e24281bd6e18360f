"""Answers → records → artifacts, in one go. The same input gives the same bytes."""

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from oraclepack.system.kept_text import read_kept
from oraclepack.work.backlog import AnsweredStep, Artifact, Export, PackAnswers, Record
from oraclepack.work.dedupe import group
from oraclepack.work.evidence import CitationState
from oraclepack.work.normalize import normalize
from oraclepack.work.records import records_of
from oraclepack.work.render import REHEARSAL_NOTE, backlog, change_plan, normalized
from oraclepack.work.trackers import github_issues, taskmaster

BACKLOG = "backlog.md"
EXPORTS = {Export.GITHUB: "github-issues.json", Export.TASKMASTER: "taskmaster.json"}


class WorkItems(msgspec.Struct, frozen=True):
    """What the answers of a pack come to."""

    records: tuple[Record, ...]
    artifacts: tuple[Artifact, ...]


def actionize(
    pack: PackAnswers, exports: Collection[Export] = (), earlier_backlog: str = ""
) -> WorkItems:
    """Turn answers into work; a person's text in the earlier backlog is carried over."""
    kept = read_kept(earlier_backlog)
    steps = {step.question.step_id: step for step in sorted(pack.steps, key=_by_id)}
    ordered = replace(pack, steps=tuple(steps.values()))
    records = records_of(ordered, group(normalize(_sorted(step)) for step in ordered.steps))
    if pack.rehearsal:
        records = tuple(map(_rehearsed, records))
    artifacts = [
        Artifact("normalized.jsonl", normalized(records)),
        Artifact(BACKLOG, backlog(ordered, records, kept)),
        Artifact("change-plan.md", change_plan(ordered, records)),
    ]
    if Export.GITHUB in exports:
        issues = github_issues(records, rehearsal=pack.rehearsal)
        artifacts.append(Artifact(EXPORTS[Export.GITHUB], issues))
    if Export.TASKMASTER in exports:
        tasks = taskmaster(records, rehearsal=pack.rehearsal)
        artifacts.append(Artifact(EXPORTS[Export.TASKMASTER], tasks))
    return WorkItems(records, tuple(artifacts))


def _rehearsed(record: Record) -> Record:
    """A record that says wherever it goes that nobody was asked, and claims nothing as verified."""
    evidence = record.evidence
    cited = tuple(replace(one, state=CitationState.UNKNOWN) for one in evidence.citations)
    return replace(
        record,
        title=f"Rehearsal: {record.title}",
        evidence=replace(evidence, citations=cited),
        notes=(REHEARSAL_NOTE, *record.notes),
    )


def _by_id(step: AnsweredStep) -> str:
    return step.question.step_id


def _sorted(step: AnsweredStep) -> AnsweredStep:
    """The parts of an answer in one order, whatever order they were read in."""
    return replace(step, parts=tuple(sorted(step.parts, key=lambda part: part.path)))
