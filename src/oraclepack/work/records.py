"""The answers of a pack → work: records with ids, statuses, priorities, issues, and the files.

The same input gives the same bytes; a person's text in the earlier backlog is carried over.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.pack.answer_sections import normalise
from oraclepack.pack.model import CATEGORIES
from oraclepack.run.question_pack import ModelQuestion
from oraclepack.system.digests import canonical_file, canonical_line
from oraclepack.system.text_limits import ANSWER
from oraclepack.work.asking import (
    REPLIES,
    about_answer,
    about_titles,
    answer_key,
    checked_pairs,
    titles_key,
)
from oraclepack.work.backlog import (
    AnsweredStep,
    Artifact,
    Export,
    Issue,
    IssuesPer,
    PackAnswers,
    Priority,
    Record,
    SideStatement,
    StepQuestion,
    WorkStatus,
)
from oraclepack.work.compare import Groups, group_drafts, statement_of
from oraclepack.work.evidence import Evidence, check, said_of
from oraclepack.work.step_answers import MARKED, StepAnswer, once, read_step, states_work
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
EXPORTS = {Export.GITHUB: "github-issues.json", Export.TASKMASTER: "taskmaster.json"}
LAST_RESORT = "failure modes"
"""The category of a question that names none."""
_REHEARSAL = "Rehearsal: "
_SHORT_HASH = 8
_LONGEST = 300
"""Characters of a piece of work in the question over all titles."""
_ROI = ((3.0, Priority.HIGH), (1.5, Priority.MEDIUM))
_BY_NAME = {normalise(name): name for name in CATEGORIES}


class WorkItems(msgspec.Struct, frozen=True):
    """The work that results from the answers of a pack: records by id, issues by step."""

    records: tuple[Record, ...]
    issues: tuple[Issue, ...]
    rejected: tuple[str, ...] = ()
    """What a model said over all titles and rules did not accept."""
    artifacts: tuple[Artifact, ...] = ()


def actionize(
    pack: PackAnswers,
    exports: Collection[Export] = (),
    earlier_backlog: str = "",
    per: IssuesPer = IssuesPer.QUESTION,
) -> WorkItems:
    """Turn answers into work and the files that show it."""
    work = work_of(pack)
    distinct = tuple(record for record in work.records if record.same_as is None)
    artifacts = [
        Artifact("normalized.jsonl", normalized(work.records)),
        Artifact(BACKLOG, backlog(pack, work.issues, distinct, earlier_backlog)),
        Artifact("change-plan.md", change_plan(pack, distinct)),
    ]
    if pack.replies:
        replies = sorted(pack.replies, key=lambda one: one.sha256)
        lines = [canonical_line(one).decode() for one in replies]
        artifacts.append(Artifact(REPLIES, "".join(f"{line}\n" for line in lines)))
    if Export.GITHUB in exports:
        # Relative to an issue of any repository; `publish` knows which one, and writes it out.
        links = Permalinks("..", pack.commit)
        entries = github_entries(work.issues, links, per, rehearsal=pack.rehearsal)
        text = canonical_file([entry.fields() for entry in entries]).decode()
        artifacts.append(Artifact(EXPORTS[Export.GITHUB], text))
    if Export.TASKMASTER in exports:
        tasks = taskmaster(work.issues, rehearsal=pack.rehearsal)
        artifacts.append(Artifact(EXPORTS[Export.TASKMASTER], tasks))
    return replace(work, artifacts=tuple(artifacts))


def work_of(pack: PackAnswers) -> WorkItems:
    """Turn the answers of a pack into records and issues."""
    answers = _answers(pack)
    replies = {one.sha256: one.reply for one in pack.replies}
    drafts = [draft for one in answers.values() for draft in one.records]
    reply = replies.get(titles_key(_titles(drafts)))
    compared = {
        one.place: statement_of(one.actions[0], one.evidence) for one in drafts if one.is_work
    }
    pairs, rejected = checked_pairs(reply, compared) if reply is not None else ((), ())
    maker = _Maker(pack, answers)
    records = sorted(maker.records(group_drafts(drafts, pairs)), key=lambda one: one.place)
    if pack.rehearsal:
        records = [
            replace(one, title=_rehearsed(one.title), remarks=(REHEARSAL_NOTE, *one.remarks))
            for one in records
        ]
    own: dict[str, list[Record]] = {}
    moved: dict[str, list[tuple[str, str]]] = {}
    for record in records:
        if record.same_as is None:
            own.setdefault(record.step_id, []).append(record)
        else:
            moved.setdefault(record.step_id, []).append((record.task_id, record.same_as))
        if record.status is WorkStatus.CONFLICT:
            for name in record.merged:
                moved.setdefault(name.split("-")[-2], []).append((name, record.task_id))
    issues: list[Issue] = []
    seen: set[str] = set()
    for number, one in answers.items():
        issue = maker.issue(one, own.get(number, ()), moved.get(number, ()))
        if issue.title.lower() in seen:  # a title that another one has gets its question's number
            mark = f" (question {issue.step_id})"
            issue = replace(issue, title=f"{title_of(issue.title, LONGEST - len(mark))}{mark}")
        seen.add(issue.title.lower())
        if pack.rehearsal:
            issue = replace(issue, title=_rehearsed(issue.title))
        issues.append(issue)
    return WorkItems(tuple(records), tuple(issues), rejected)


def _rehearsed(title: str) -> str:
    return f"{_REHEARSAL}{title_of(title, LONGEST - len(_REHEARSAL))}"


def issue_id(pack_hash: str, step_id: str) -> str:
    return f"OP3-{pack_hash[:_SHORT_HASH]}-{step_id}"


def questions_about_answers(pack: PackAnswers) -> dict[str, ModelQuestion]:
    """What to ask a model: of each answer that states no work and is not too long, by its key."""
    steps = [one for one in pack.steps if one.is_answered and not states_work(one)]
    asked = {answer_key(step): about_answer(step) for step in steps}
    return {key: question for key, question in asked.items() if question is not None}


def question_over_titles(pack: PackAnswers) -> dict[str, ModelQuestion]:
    """What to ask a model once the answers are read, by its key; nothing where nothing compares."""
    titles = _titles(d for one in _answers(pack).values() for d in one.records)
    question = about_titles(titles)
    return {} if question is None else {titles_key(titles): question}


def _answers(pack: PackAnswers) -> dict[str, StepAnswer]:
    """The answers by their step, each file of an answer in one order, however it was read."""
    replies = {one.sha256: one.reply for one in pack.replies}
    answers: dict[str, StepAnswer] = {}
    for step in sorted(pack.steps, key=lambda one: one.question.step_id):
        parts = tuple(sorted(step.parts, key=lambda part: part.path))
        # Nothing from a rehearsal counts as verified.
        ordered = replace(step, parts=parts, attached=None if pack.rehearsal else step.attached)
        reply = replies.get(answer_key(ordered)) if replies else None
        answers[step.question.step_id] = _answer(ordered, _blank(pack, ordered), reply)
    return answers


def _titles(drafts: Iterable[Record]) -> list[str]:
    """One line for each piece of work, as the question over all titles shows it."""
    said = [(one, " ".join(one.actions[0].split())[:_LONGEST]) for one in drafts if one.is_work]
    return [f"{one.step_id}-{one.place[1]:02} | {one.kind} | {text}" for one, text in said]


def _blank(pack: PackAnswers, step: AnsweredStep) -> Record:
    """A record that knows its pack and its question, and says nothing yet."""
    question = step.question
    priority, why = _ranked(question.roi)
    return Record(
        pack_id=pack.pack_id,
        pack_hash=pack.pack_hash,
        step_id=question.step_id,
        task_id=f"{issue_id(pack.pack_hash, question.step_id)}-",
        title="",
        status=WorkStatus.NOOP,
        category=category_of(question),
        reference=question.reference,
        expected_artifacts=question.expected_artifacts,
        actions=(),
        evidence=Evidence(),
        notes=(),
        missing_inputs=(),
        sources=(question.step_id,),
        priority=priority,
        why=why,
        roi=question.roi,
        effort=question.effort,
    )


def _answer(step: AnsweredStep, blank: Record, reply: str | None) -> StepAnswer:
    """What an answer comes to; one that is missing or too large is blocked, with the reason."""
    number = step.question.step_id
    excess = next((e for part in step.parts if (e := ANSWER.excess(part.text))), None)
    if excess is not None:
        absent = f"the answer is too large for an answer: {excess}"
        step = replace(step, parts=(), absent=absent)
    answer, status = StepAnswer(step=step, title=""), WorkStatus.BLOCKED
    if step.silent and not step.is_answered:
        title, status = f"Nothing to do: step {number} writes no answer in words", WorkStatus.NOOP
    elif not step.is_answered:
        title = f"Get the answer to question {number}"
    else:
        answer = read_step(step, blank, reply)
        if answer.records:
            return answer
        title = f"Get the answer to question {number}: it says nothing"
    # A record about an answer that has none of its own.
    alone = replace(blank, task_id=f"{blank.task_id}01", status=status, title=title)
    return replace(answer, title=answer.title or title, records=(alone,))


class _Maker:
    """Makes the records of one pack."""

    def __init__(self, pack: PackAnswers, answers: Mapping[str, StepAnswer]) -> None:
        self._pack = pack
        self._answers = answers

    def records(self, groups: Groups) -> Iterator[Record]:
        for members in groups.merged:
            first = self._record(members)
            yield first
            for one in members[1:]:
                yield replace(self._record([one]), same_as=first.task_id)
        for members in groups.conflicts:
            yield self._conflict(members)

    def issue(
        self, answer: StepAnswer, records: Sequence[Record], moved: Sequence[tuple[str, str]]
    ) -> Issue:
        """A question with its records, and those that went into a record of another question."""
        question = answer.step.question
        return Issue(
            issue_id=issue_id(self._pack.pack_hash, question.step_id),
            step_id=question.step_id,
            title=answer.title,
            question=question.text or question.title,
            reference=question.reference,
            category=category_of(question),
            answer=answer.verdict,
            risks=answer.risks,
            missing_inputs=answer.missing_inputs,
            cut=answer.cut,
            doubts=answer.doubts,
            free_form=answer.free_form and bool(answer.step.parts),
            answer_files=tuple(part.path for part in answer.step.parts),
            records=tuple(records),
            elsewhere=tuple(moved),
        )

    def _record(self, members: Sequence[Record]) -> Record:
        """Several records that are the same work as one, with what is known of its evidence."""
        first = members[0]
        answer = self._answers[first.step_id]
        sources = sorted({one.step_id for one in members})
        evidence = first.evidence
        for one in members[1:]:
            evidence = evidence.with_other(one.evidence)
        if answer.step.attached is not None:
            files = {file.path: file for file in answer.step.attached}
            evidence = check(evidence, files, complete=answer.step.attached_known)
        roi = max((one.roi for one in members if one.roi is not None), default=None)
        marks = ((one.priority, one.why) for one in members if one.why.startswith(MARKED))
        priority, why = next(marks, _ranked(roi))
        remarks = [
            answer.step.remark,
            *(text for one in members for text in one.remarks),
            *(said_of(one) for one in evidence.citations if one.state.is_bad),
        ]
        record = replace(
            first,
            issue_title=answer.title,
            actions=once(text for one in members for text in one.actions),
            evidence=evidence,
            notes=once(text for one in members for text in one.notes),
            missing_inputs=once(name for one in members for name in one.missing_inputs),
            sources=tuple(sources),
            priority=priority,
            why=why,
            roi=roi,
            merged=tuple(one.task_id for one in members[1:]),
            spans=once(span for one in members for span in one.spans),
            partial=any(self._answers[one].cut for one in sources),
            remarks=once(filter(None, remarks)),
            done_when=next((one.done_when for one in members if one.done_when), ""),
            size=next((one.size for one in members if one.size), None),
        )
        return self._blocked(record, answer) if first.status is WorkStatus.BLOCKED else record

    def _blocked(self, record: Record, answer: StepAnswer) -> Record:
        """What is missing and one next step; the question's files where the answer names none."""
        step, number = answer.step, record.step_id
        if not record.actions:
            reason = step.absent or "there is no answer"
            remarks, todo = (*record.remarks, reason), f"Run step {number} again: {reason}"
        else:
            remarks, todo = record.remarks, f"Ask question {number} again with what is missing"
        attached = tuple(file.path for file in step.attached or ())
        return replace(
            record,
            missing_inputs=answer.missing_inputs or attached,
            remarks=remarks,
            next_step=todo,
            next_experiment=answer.experiment or None,
        )

    def _conflict(self, members: Sequence[Record]) -> Record:
        """Statements that contradict each other: a decision comes first."""
        first, second = (
            members[0],
            next((one for one in members if one.step_id != members[0].step_id), members[-1]),
        )
        head, mark = "Decide: ", f" ({first.step_id} against {second.step_id})"
        steps = " and ".join(sorted({one.step_id for one in members}))
        room = LONGEST - len(head) - len(mark)
        record = self._record(members)
        missing = once(n for one in members for n in self._answers[one.step_id].missing_inputs)
        sides = {
            SideStatement(one.step_id, text, tuple(map(str, one.evidence.citations)))
            for one in members
            for text in one.actions
        }
        return replace(
            record,
            title=f"{head}{title_of(first.title, room)}{mark}",
            status=WorkStatus.CONFLICT,
            kind=None,
            statements=tuple(sorted(sides)),
            missing_inputs=missing or record.evidence.paths,
            next_step=f"Decide which of the answers {steps} holds, and note it here",
        )


def category_of(question: StepQuestion) -> str:
    """The question's category; where the pack names none of the ten, one whose name it mentions."""
    named = _BY_NAME.get(normalise(question.category or ""))
    if named is not None:
        return named
    words = normalise(f"{question.question_id or ''} {question.title} {question.text}").split()
    return next(
        (name for folded, name in _BY_NAME.items() if folded.split()[0] in words), LAST_RESORT
    )


def _ranked(roi: float | None) -> tuple[Priority, str]:
    """The priority that the ROI of a question gives, and why."""
    if roi is None:
        return Priority.MEDIUM, ""
    ranked = next((priority for least, priority in _ROI if roi >= least), Priority.LOW)
    return ranked, f"ROI {roi:g}"
