"""Answers → records → artifacts, in one go. The same input gives the same bytes."""

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from oraclepack.actionize.dedupe import group
from oraclepack.actionize.kept import read_kept
from oraclepack.actionize.normalize import normalize
from oraclepack.actionize.plan import change_plan
from oraclepack.actionize.records import records_of
from oraclepack.actionize.render import backlog, normalized
from oraclepack.actionize.trackers import github_issues, taskmaster
from oraclepack.core.backlog import AnsweredStep, Artifact, Export, PackAnswers, Record

BACKLOG = "backlog.md"
EXPORTS = {Export.GITHUB: "github-issues.json", Export.TASKMASTER: "taskmaster.json"}


class Work(msgspec.Struct, frozen=True):
    """What the answers of a pack come to."""

    records: tuple[Record, ...]
    artifacts: tuple[Artifact, ...]


def actionize(
    pack: PackAnswers, exports: Collection[Export] = (), earlier_backlog: str = ""
) -> Work:
    """Turn answers into work; a person's text in the earlier backlog is carried over."""
    kept = read_kept(earlier_backlog)
    steps = {step.question.step_id: step for step in sorted(pack.steps, key=_by_id)}
    ordered = replace(pack, steps=tuple(steps.values()))
    records = records_of(ordered, group(normalize(_sorted(step)) for step in ordered.steps))
    artifacts = [
        Artifact("normalized.jsonl", normalized(records)),
        Artifact(BACKLOG, backlog(ordered, records, kept)),
        Artifact("change-plan.md", change_plan(ordered, records)),
    ]
    if Export.GITHUB in exports:
        artifacts.append(Artifact(EXPORTS[Export.GITHUB], github_issues(records)))
    if Export.TASKMASTER in exports:
        artifacts.append(Artifact(EXPORTS[Export.TASKMASTER], taskmaster(records)))
    return Work(records, tuple(artifacts))


def _by_id(step: AnsweredStep) -> str:
    return step.question.step_id


def _sorted(step: AnsweredStep) -> AnsweredStep:
    """The parts of an answer in one order, whatever order they were read in."""
    return replace(step, parts=tuple(sorted(step.parts, key=lambda part: part.path)))
