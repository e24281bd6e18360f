"""Groups of proposals → records: status, what is missing, what comes first, how soon."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from oraclepack.pack.answer_sections import normalise
from oraclepack.system.markdown_text import in_backquotes
from oraclepack.work import priority
from oraclepack.work.backlog import PackAnswers, Record, Statement, StepQuestion, WorkStatus
from oraclepack.work.citations import said_of
from oraclepack.work.compare import Relation, relate
from oraclepack.work.dedupe import Groups, Said
from oraclepack.work.evidence import CitationState, Evidence, united
from oraclepack.work.normalize import Proposal
from oraclepack.work.points import LONGEST_NOTE, cut

_MOST_NOTES = 24
_LONGEST_SIDE = 90


def records_of(pack: PackAnswers, groups: Groups) -> tuple[Record, ...]:
    """One record for each group, in the order of their ids."""
    maker = _Maker(pack)
    made = [maker.merged(members) for members in groups.merged]
    made += [maker.conflict(members) for members in groups.conflicts]
    return tuple(sorted(made, key=lambda record: record.task_id))


def task_id(pack_hash: str, step_id: str, number: int) -> str:
    return f"OP3-{pack_hash[:8]}-{step_id}-{number:02}"


class _Maker:
    """Makes the records of one pack."""

    def __init__(self, pack: PackAnswers) -> None:
        self._pack = pack
        self._questions: Mapping[str, StepQuestion] = {
            step.question.step_id: step.question for step in pack.steps
        }

    def merged(self, members: Sequence[Proposal]) -> Record:
        """A group of proposals that say the same; the first one gives it its name."""
        first = members[0]
        blank = self._blank(members, first.title, first.status)
        experiments = [one.next_experiment for one in members if one.next_experiment]
        record = msgspec.structs.replace(
            blank,
            actions=_actions(members),
            notes=_once((*_rewordings(members), *(n for one in members for n in one.notes)))[
                :_MOST_NOTES
            ],
            missing_inputs=_once(name for one in members for name in one.missing_inputs),
            experiment=all(one.experiment for one in members),
            next_experiment=experiments[0] if experiments else None,
            depends_on=self._before(members),
        )
        stands_badly = record.evidence.stands_on_nothing_good
        if record.status is WorkStatus.ACTIONABLE and stands_badly:
            return _blocked_by_citations(record)
        return record

    def conflict(self, members: Sequence[Said]) -> Record:
        """Statements that deny each other."""
        sides = _two_sides(members)
        texts = [cut(side.statement.text.rstrip(" ."), _LONGEST_SIDE) for side in sides]
        title = f"Decide: {texts[0]} — or: {texts[-1]}"
        blank = self._blank(members, title, WorkStatus.CONFLICT)
        places = [str(citation) for citation in blank.evidence.citations] or [*blank.evidence.paths]
        where = ", ".join(in_backquotes(place) for place in places or blank.evidence.symbols)
        statements = (
            Statement(
                one.step_id,
                cut(one.statement.text, LONGEST_NOTE),
                tuple(map(str, one.statement.evidence.citations)),
            )
            for one in members
        )
        proposals = [one for one in members if isinstance(one, Proposal)]
        return msgspec.structs.replace(
            blank,
            statements=tuple(sorted(set(statements))),
            missing_inputs=(f"what {where} shows, as it is now",),
            next_experiment=f"Look at {where} and note which of the statements holds",
            notes=_once(note for one in proposals for note in one.notes)[:_MOST_NOTES],
            depends_on=self._before(proposals),
        )

    def _blank(self, members: Sequence[Said], title: str, status: WorkStatus) -> Record:
        """What every record has: where it comes from, what it stands on, how soon."""
        first = members[0]
        sources = sorted({one.step_id for one in members})
        questions = [self._questions[step_id] for step_id in sources]
        asked = self._questions[first.step_id]
        evidence = united(_evidence(one) for one in members)
        roi = max((q.roi for q in questions if q.roi is not None), default=None)
        effort = min((q.effort for q in questions if q.effort is not None), default=None)
        points = priority.score(roi, effort, evidence, len(sources))
        ids = [task_id(self._pack.pack_hash, one.step_id, one.number) for one in members]
        return Record(
            pack_id=self._pack.pack_id,
            pack_hash=self._pack.pack_hash,
            step_id=first.step_id,
            task_id=ids[0],
            title=title,
            status=status,
            category=priority.category_of(asked, [title, asked.reference or ""]),
            reference=asked.reference,
            expected_artifacts=asked.expected_artifacts,
            actions=(),
            evidence=evidence,
            notes=(),
            missing_inputs=(),
            sources=tuple(sources),
            priority=priority.priority_of(points),
            score=points,
            roi=roi,
            effort=effort,
            merged=tuple(ids[1:]),
        )

    def _before(self, members: Iterable[Proposal]) -> tuple[str, ...]:
        every = list(members)
        own = {(one.step_id, one.number) for one in every}
        before = {(one.step_id, number) for one in every for number in one.after} - own
        return tuple(task_id(self._pack.pack_hash, *place) for place in sorted(before))


def _evidence(one: Said) -> Evidence:
    return one.evidence if isinstance(one, Proposal) else one.statement.evidence


def _actions(members: Sequence[Proposal]) -> tuple[str, ...]:
    """What to do: the first wording of what all ask for, then what each asks for besides."""
    besides = (action for one in members[1:] for action in one.actions[1:])
    return _once((*members[0].actions, *besides))


def _rewordings(members: Sequence[Proposal]) -> Iterator[str]:
    """How the others put what the first one asks for."""
    known = {normalise(action) for action in members[0].actions}
    for one in members[1:]:
        for action in one.actions[:1]:
            if normalise(action) not in known:
                known.add(normalise(action))
                yield f"step {one.step_id} puts it so: {action}"


def _blocked_by_citations(record: Record) -> Record:
    """A record whose every citation is bad: not to be worked on as it stands."""
    bad = _once(said_of(citation) for citation in record.evidence.citations)
    cited = record.evidence.citations
    files = ", ".join(in_backquotes(path) for path in sorted({citation.path for citation in cited}))
    steps = f"step{'s' * (len(record.sources) > 1)} {' and '.join(record.sources)}"
    beyond = all(citation.state is CitationState.OUT_OF_RANGE for citation in cited)
    look = f"Find the place in {files} that the answer of {steps} means"
    ask = f"Attach {files} as it is now to {steps} and ask again"
    return msgspec.structs.replace(
        record,
        status=WorkStatus.BLOCKED,
        missing_inputs=_once((*bad, *record.missing_inputs)),
        next_experiment=look if beyond else ask,
    )


def _two_sides(members: Sequence[Said]) -> tuple[Said, Said]:
    """The first two members that deny each other; there are such, or it would be no conflict."""
    return next(
        (one, other)
        for one, other in combinations(members, 2)
        if relate(one.statement, other.statement) is Relation.CONFLICT
    )


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
