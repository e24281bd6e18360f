"""Turns answers into records and issues, with ids, statuses and priorities."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from oraclepack.system.text_limits import ANSWER
from oraclepack.work.backlog import (
    AnsweredStep,
    Issue,
    PackAnswers,
    Record,
    SourceSpan,
    Statement,
    StepQuestion,
    TaskKind,
    WorkStatus,
)
from oraclepack.work.citations import check, said_of
from oraclepack.work.compare import Relation
from oraclepack.work.evidence import NO_EVIDENCE, CitationState, Evidence, united
from oraclepack.work.merging import Groups, group_tasks, profile_of, relate
from oraclepack.work.priority import category_of, priority_score
from oraclepack.work.step_work import AnswerTask, StepWork, work_of
from oraclepack.work.titles import LONGEST, shortened

_SHORT_HASH = 8


class PackWork(msgspec.Struct, frozen=True):
    """The records of a pack by id, and its issues by step."""

    records: tuple[Record, ...]
    issues: tuple[Issue, ...]


def issue_id(pack_hash: str, step_id: str) -> str:
    return f"OP3-{pack_hash[:_SHORT_HASH]}-{step_id}"


def task_id(pack_hash: str, step_id: str, number: int) -> str:
    """The id of a task: the pack, the question that raised it, its place in the answer."""
    return f"{issue_id(pack_hash, step_id)}-{number:02}"


def outcome_of(pack: PackAnswers) -> PackWork:
    """Turn the answers of a pack into records and issues."""
    steps = [_of_readable_size(step) for step in pack.steps]
    work = {step.question.step_id: _checked(step) for step in steps if step.is_answered}
    statements = (task for one in work.values() for task in (*one.tasks, *one.facts))
    groups = group_tasks(statements)
    maker = _Maker(pack, work)
    tasks = [*maker.tasks(groups)]
    known = {step_id for record in tasks for step_id in record.sources}
    records = [*tasks, *maker.others(steps, known)]
    ordered = tuple(sorted(records, key=lambda record: record.task_id))
    own: dict[str, list[Record]] = {}
    moved: dict[str, list[tuple[str, str]]] = {}
    for record in ordered:
        if record.same_as is None:
            own.setdefault(record.step_id, []).append(record)
        else:
            moved.setdefault(record.step_id, []).append((record.task_id, record.same_as))
        if record.status is WorkStatus.CONFLICT:
            for name in record.merged:
                moved.setdefault(name.split("-")[-2], []).append((name, record.task_id))
    issues = tuple(
        maker.issue(step, own.get(number, ()), moved.get(number, ()))
        for step in steps
        for number in (step.question.step_id,)
    )
    return PackWork(ordered, issues)


def _of_readable_size(step: AnsweredStep) -> AnsweredStep:
    """A step whose answer is too large to be one counts as unanswered, with that reason."""
    excess = (ANSWER.excess(part.text) for part in step.parts)
    reason = next((one for one in excess if one is not None), None)
    if reason is None:
        return step
    absent = f"the answer is too large for an answer: {reason}"
    return msgspec.structs.replace(step, parts=(), absent=absent)


def _checked(step: AnsweredStep) -> StepWork:
    """The work of an answer, with its citations checked."""
    work = work_of(step)
    if step.attached is None:
        return work
    files = {file.path: file for file in step.attached}
    tasks = tuple(
        msgspec.structs.replace(
            task, evidence=check(task.evidence, files, complete=step.attached_known)
        )
        for task in work.tasks
    )
    return msgspec.structs.replace(work, tasks=tasks)


class _Maker:
    """Makes the records of one pack."""

    def __init__(self, pack: PackAnswers, work: Mapping[str, StepWork]) -> None:
        self._pack = pack
        self._work = work
        self._questions = {step.question.step_id: step.question for step in pack.steps}

    def tasks(self, groups: Groups) -> Iterator[Record]:
        for members in groups.merged:
            first = self._merged(members)
            yield first
            for one in members[1:]:
                yield msgspec.structs.replace(self._merged([one]), same_as=first.task_id)
        for members in groups.conflicts:
            yield self._conflict(members)

    def others(self, steps: Iterable[AnsweredStep], known: Container[str]) -> Iterator[Record]:
        """Questions without any task: no answer, nothing decided, or nothing to do."""
        for step in steps:
            work = self._work.get(step.question.step_id)
            if step.question.step_id in known:
                continue
            if step.silent:
                title = f"Nothing to do: step {step.question.step_id} writes no answer in words"
                yield self._single(step.question, title, WorkStatus.NOOP)
            elif work is None:
                yield self._unanswered(step)
            else:
                yield self._without_task(work)

    def issue(
        self, step: AnsweredStep, records: Sequence[Record], moved: Sequence[tuple[str, str]]
    ) -> Issue:
        """A question with its records, and those that went into a record of another question."""
        question = step.question
        work = self._work.get(question.step_id) or StepWork(
            question=question, title=_title(question)
        )
        return Issue(
            issue_id=issue_id(self._pack.pack_hash, question.step_id),
            step_id=question.step_id,
            title=work.title,
            question=question.text or question.title,
            reference=question.reference,
            category=category_of(question, [work.title, question.reference or ""]),
            answer=work.answer,
            risks=work.risks,
            missing=work.missing,
            missing_inputs=work.missing_inputs,
            experiment=work.experiment,
            commands=work.commands,
            cut=work.cut,
            dropped=work.dropped,
            answer_files=work.answer_files,
            records=tuple(records),
            elsewhere=tuple(moved),
        )

    def _merged(self, members: Sequence[AnswerTask]) -> Record:
        first = members[0]
        blank = self._blank(members, first.title, WorkStatus.ACTIONABLE, first.kind)
        return msgspec.structs.replace(
            blank,
            actions=_once(text for one in members for text in one.actions),
            notes=_once(text for one in members for text in one.notes),
            experiment=first.kind is TaskKind.EXPERIMENT,
            depends_on=self._before(first, blank.evidence),
            done_when=next((one.done_when for one in members if one.done_when), ""),
            size=next((one.size for one in members if one.size), None),
        )

    def _before(self, task: AnswerTask, evidence: Evidence) -> tuple[str, ...]:
        """A finding that no verified citation shows waits for the experiment of its answer."""
        if task.kind is not TaskKind.FINDING or evidence.has(CitationState.VERIFIED):
            return ()
        tasks = self._work[task.step_id].tasks
        return tuple(self._id(one) for one in tasks if one.kind is TaskKind.EXPERIMENT)

    def _conflict(self, members: Sequence[AnswerTask]) -> Record:
        """Tasks that contradict each other: a decision comes first."""
        sides = _sides(members)
        mark = f" ({sides[0].step_id} against {sides[1].step_id})"
        head = "Decide: "
        room = LONGEST - len(head) - len(mark)
        title = f"{head}{shortened(sides[0].title, room)}{mark}"
        steps = " and ".join(sorted({one.step_id for one in members}))
        statements = (
            Statement(one.step_id, text, tuple(map(str, one.evidence.citations)))
            for one in members
            for text in one.actions
        )
        return msgspec.structs.replace(
            self._blank(members, title, WorkStatus.CONFLICT, None),
            statements=tuple(sorted(set(statements))),
            next_step=f"Decide which of the answers {steps} holds, and note it here",
        )

    def _unanswered(self, step: AnsweredStep) -> Record:
        number = step.question.step_id
        reason = step.absent or "there is no answer"
        blank = self._single(
            step.question, f"Get the answer to question {number}", WorkStatus.BLOCKED
        )
        return msgspec.structs.replace(
            blank, remarks=(reason,), next_step=f"Run step {number} again: {reason}"
        )

    def _without_task(self, work: StepWork) -> Record:
        number = work.question.step_id
        if work.is_foreign:
            title = shortened(f"Read: {work.title}")
            return msgspec.structs.replace(
                self._single(work.question, title, WorkStatus.BLOCKED),
                next_step=f"Read the answer to question {number}",
            )
        if not (work.is_undecided or work.cut or work.missing_inputs):
            title = shortened(f"Nothing to do: {work.title}")
            return self._single(work.question, title, WorkStatus.NOOP)
        missing = ", ".join(work.missing_inputs)
        attach = f"Attach {missing} and ask" if missing else "Ask"
        return msgspec.structs.replace(
            self._single(work.question, shortened(f"Decide: {work.title}"), WorkStatus.BLOCKED),
            next_step=f"{attach} question {number} again",
            next_experiment=work.experiment or None,
        )

    def _single(self, question: StepQuestion, title: str, status: WorkStatus) -> Record:
        """A record that is no task of an answer."""
        work = self._work.get(question.step_id)
        alone = AnswerTask(
            step_id=question.step_id,
            number=1,
            kind=TaskKind.FINDING,
            title=title,
            claim="",
            actions=(),
            evidence=NO_EVIDENCE,
            spans=(),
        )
        blank = self._blank([alone], title, status, None)
        return msgspec.structs.replace(
            blank,
            partial=bool(work and work.cut),
            missing_inputs=work.missing_inputs if work else (),
        )

    def _blank(
        self, members: Sequence[AnswerTask], title: str, status: WorkStatus, kind: TaskKind | None
    ) -> Record:
        """What every record has: its origin, its evidence, its priority."""
        first = members[0]
        sources = sorted({one.step_id for one in members})
        answers = [self._work[step] for step in sources if step in self._work]
        question = self._questions[first.step_id]
        evidence = united(one.evidence for one in members)
        rois = [one.question.roi for one in answers if one.question.roi is not None]
        efforts = [one.question.effort for one in answers if one.question.effort is not None]
        roi = max(rois, default=question.roi)
        texts = " ".join(text for one in members for text in one.actions)
        value = priority_score(f"{title} {texts}", kind, roi, len(sources), evidence)
        ids = [self._id(one) for one in members]
        own = self._work.get(first.step_id)
        return Record(
            pack_id=self._pack.pack_id,
            pack_hash=self._pack.pack_hash,
            step_id=first.step_id,
            task_id=ids[0],
            issue_title=own.title if own is not None else _title(question),
            title=title,
            status=status,
            kind=kind,
            category=category_of(question, [title, question.reference or ""]),
            reference=question.reference,
            expected_artifacts=question.expected_artifacts,
            actions=(),
            evidence=evidence,
            notes=(),
            missing_inputs=own.missing_inputs if own is not None else (),
            sources=tuple(sources),
            priority=value.priority,
            score=value.points,
            why=value.why,
            roi=roi,
            effort=min(efforts, default=question.effort),
            merged=tuple(ids[1:]),
            spans=_spans(members),
            partial=any(one.cut for one in answers),
            remarks=_once(
                [
                    *(text for one in answers for text in one.remarks),
                    *(said_of(one) for one in evidence.citations if one.state.is_bad),
                ]
            ),
        )

    def _id(self, task: AnswerTask) -> str:
        return task_id(self._pack.pack_hash, task.step_id, task.number)


def _title(question: StepQuestion) -> str:
    return shortened(question.text or question.title) or f"StepQuestion {question.step_id}"


def _sides(members: Sequence[AnswerTask]) -> tuple[AnswerTask, AnswerTask]:
    """The first two members that contradict each other."""
    return next(
        (
            (one, other)
            for one, other in combinations(members, 2)
            if relate(one, other, profile_of(one), profile_of(other)) is Relation.CONFLICT
        ),
        (members[0], members[-1]),
    )


def _spans(members: Iterable[AnswerTask]) -> tuple[SourceSpan, ...]:
    return tuple(dict.fromkeys(span for one in members for span in one.spans))


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
