"""What a step asked: from the pack, or from what a run recorded of it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from oraclepack.adapters.answers import asked_file
from oraclepack.core.backlog import Question
from oraclepack.core.evidence import AskedFile
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import Step
from oraclepack.pack.questions import asking_calls, title_of
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.run.manifests import StepEntry

_FILE = "file:"


def question_of(step: Step) -> Question:
    """A question as the pack puts it."""
    meta = step.meta
    return Question(
        step_id=str(step.id),
        title=title_of(step),
        question_id=meta.question_id,
        category=step.category,
        reference=step.reference,
        expected_artifacts=meta.expected_artifacts or (),
        roi=step.number("ROI"),
        effort=step.number("effort"),
    )


def question_from(entry: StepEntry) -> Question:
    """A question as `steps.json` remembers it."""
    return Question(
        step_id=entry.step_id,
        title=entry.title or "",
        question_id=entry.question_id,
        category=entry.category,
        reference=entry.reference,
        roi=entry.roi,
        effort=entry.effort,
    )


class Asked:
    """Looks up what was attached; each file is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[tuple[str, str | None], AskedFile] = {}

    def about(
        self, step: Step | None, state: StepState | None
    ) -> tuple[tuple[AskedFile, ...] | None, bool]:
        """The files of a step, None when nobody knows them, and whether those were all."""
        calls = _recorded_calls(state)
        if calls is not None:
            return self._files(calls), True
        literal, is_all = _literal(step)
        recorded = dict(state.attached) if state is not None else {}
        if not recorded and not literal and not is_all:
            return None, False
        known: dict[str, str | None] = dict.fromkeys(literal) | recorded
        return self._files(known), is_all

    def _files(self, known: Mapping[str, str | None]) -> tuple[AskedFile, ...]:
        return tuple(self._file(path, known[path]) for path in sorted(known))

    def _file(self, path: str, recorded: str | None) -> AskedFile:
        key = (path, recorded)
        if key not in self._seen:
            self._seen[key] = asked_file(self._root, path, recorded)
        return self._seen[key]


def _recorded_calls(state: StepState | None) -> dict[str, str] | None:
    """The files of the step's last calls, where every one of them recorded its files."""
    calls = state.last_invocations() if state is not None else ()
    parts = [call.intent.key_parts for call in calls if call.intent is not None]
    if not parts or not all(parts):
        return None
    return {name[len(_FILE) :]: sha for part in parts for name, sha in part.items() if _is(name)}


def _is(name: str) -> bool:
    return name.startswith(_FILE)


def _literal(step: Step | None) -> tuple[tuple[str, ...], bool]:
    """The files that the text of a step attaches by name, and whether the text tells all."""
    calls = asking_calls(step) if step is not None else ()
    every = [attachment for call in calls for attachment in call.attachments]
    named = tuple(a.value for a in every if a.kind is AttachmentKind.LITERAL)
    hidden = any(call.partly_hidden for call in calls)
    return _files_only(named), bool(calls) and not hidden and len(named) == len(every)


def _files_only(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.removeprefix("./") for name in names if not name.endswith("/")}))
