"""Answers from a run directory, or from a plain directory and its pack."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from oraclepack.errors import InputError
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.line_format import JournalContent
from oraclepack.journal.run_dir import is_rehearsal
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.answer_sections import Section, is_rehearsed
from oraclepack.pack.contract import by_suffix, contracts_of
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.pack_files import read_pack
from oraclepack.pack.questions import asking_calls, question_text, title_of
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.run.planning.planner import edited_outputs
from oraclepack.run.recorded_files import present_outputs
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.ownership import foreign_run
from oraclepack.system.path_jail import (
    plain_file,
    read_content,
    refuse_link_out,
    stays_inside,
)
from oraclepack.view.manifests import (
    RunManifest,
    StepsManifest,
    run_manifest,
    steps_manifest,
)
from oraclepack.view.past_runs import summaries
from oraclepack.view.run import RunView, pack_of
from oraclepack.view.step import OutputEntry, StepEntry, with_pack_fields
from oraclepack.work.asking import REPLIES, read_replies
from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers, StepQuestion
from oraclepack.work.evidence import QuestionFile

FOLDER = "actionizer"
"""Where the artifacts of a run or of a directory of answers lie."""
WORDS = (".md", ".markdown", ".txt", "")
"""Suffixes of files with an answer in prose."""

_ANSWER = re.compile(r"(?P<step>\d\d)(?:[-_ .].*)?\.(?:md|markdown|txt)", re.IGNORECASE)


def find_answers(directory: Path) -> dict[str, tuple[Path, ...]]:
    """The files `01-*.md` … of a directory by step, those of one step sorted by name."""
    try:
        names = sorted(entry.name for entry in directory.iterdir() if entry.is_file())
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise InputError(
            f"{directory}: cannot be read: {reason}", hint="name the directory with the answers"
        ) from None
    by_step: dict[str, list[Path]] = {}
    for name in names:
        match = _ANSWER.fullmatch(name)
        if match is not None:
            by_step.setdefault(match["step"], []).append(directory / name)
    return {step: tuple(paths) for step, paths in by_step.items()}


class AnswerFile(msgspec.Struct, frozen=True):
    """An answer as it lies on disk."""

    text: str
    sha256: str


def read_answer(path: Path) -> AnswerFile | None:
    """An answer, whatever its bytes; None when there is no such file."""
    data = read_content(path).data
    if data is None:
        return None
    return AnswerFile(data.decode("utf-8-sig", "replace"), sha256_bytes(data))


def question_file(root: Path, path: str, recorded: str | None) -> QuestionFile:
    """A file that a question was asked about, as it is now."""
    data = read_content(root / path).data
    if data is None:
        return QuestionFile(path, recorded)
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return QuestionFile(path, recorded, sha256_bytes(data), lines)


def question_of(step: Step) -> StepQuestion:
    """A question as the pack puts it."""
    meta = step.meta
    return StepQuestion(
        step_id=str(step.id),
        title=title_of(step),
        text=question_text(step),
        question_id=meta.question_id,
        category=step.category,
        reference=step.reference,
        expected_artifacts=meta.expected_artifacts or (),
        roi=step.number("ROI"),
        effort=step.number("effort"),
    )


def question_from(entry: StepEntry) -> StepQuestion:
    """A question as `steps.json` remembers it."""
    return StepQuestion(
        step_id=entry.step_id,
        title=entry.title or "",
        question_id=entry.question_id,
        category=entry.category,
        reference=entry.reference,
        roi=entry.roi,
        effort=entry.effort,
    )


class AttachmentLookup:
    """Looks up what was attached; each file is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[tuple[str, str | None], QuestionFile] = {}

    def about(
        self, step: Step | None, state: StepState | None
    ) -> tuple[tuple[QuestionFile, ...] | None, bool]:
        """The files of a step, None when unknown, and whether those are all."""
        calls = state.last_invocations() if state is not None else ()
        recorded = [one.intent.key_parts for one in calls if one.intent is not None]
        if recorded and all(recorded):  # the files of the last calls
            files = [(name, sha) for parts in recorded for name, sha in parts.items()]
            known: dict[str, str | None] = {
                name.removeprefix(_FILE): sha for name, sha in files if name.startswith(_FILE)
            }
            return self._files(known), True
        asking = asking_calls(step) if step is not None else ()
        every = [attachment for call in asking for attachment in call.attachments]
        named = [one.value for one in every if one.kind is AttachmentKind.LITERAL]
        is_whole = not any(call.partly_hidden for call in asking) and len(named) == len(every)
        known = {name.removeprefix("./"): None for name in named if not name.endswith("/")}
        known |= dict(state.attached) if state is not None else {}
        if not known and not (asking and is_whole):
            return None, False
        return self._files(known), bool(asking) and is_whole

    def _files(self, known: Mapping[str, str | None]) -> tuple[QuestionFile, ...]:
        for path, recorded in known.items():
            if (path, recorded) not in self._read:
                self._read[path, recorded] = question_file(self._root, path, recorded)
        return tuple(self._read[path, known[path]] for path in sorted(known))


_FILE = "file:"
_STEP_ID = re.compile(r"[0-9]{2}")
_HASH = re.compile(r"[0-9a-f]{8,128}")

Shape = TypeVar("Shape", RunManifest, StepsManifest)


class LoadedAnswers(msgspec.Struct, frozen=True):
    """What was read, and what a reader should know about it."""

    answers: PackAnswers
    warnings: tuple[str, ...] = ()


def from_directory(answers: Path, pack_path: Path, root: Path) -> LoadedAnswers:
    """Answers made without oraclepack: `01-*.md` … and their pack."""
    pack = read_pack(pack_path)
    if not pack.steps:
        raise InputError(
            f"{pack_path}: no steps found", hint=f"see oraclepack validate {pack_path}"
        )
    refuse_link_out(root, answers)
    files = find_answers(answers)
    for path in (path for paths in files.values() for path in paths):
        if not (stays_inside(root, path) or stays_inside(answers, path)):
            raise InputError(
                f"{path} is a symbolic link to a file outside of the project",
                hint="remove it, or copy the answer into the directory",
            )
    if not files:
        raise InputError(
            f"{answers}: no answers here", hint="answers are files named 01-….md to 99-….md"
        )
    attachments = AttachmentLookup(root)
    steps: list[AnsweredStep] = []
    for step in pack.steps:
        attached, is_all = attachments.about(step, None)
        read = ((path.name, read_answer(path)) for path in files.get(str(step.id), ()))
        parts = tuple(_part(name, file.text if file else "", step) for name, file in read)
        question = question_of(step)
        steps.append(AnsweredStep(question, parts, attached=attached, attached_known=is_all))
    known = {str(step.id) for step in pack.steps}
    extra = [path.name for step in sorted(set(files) - known) for path in files[step]]
    warnings = tuple(f"{name} belongs to no step of the pack and was left out" for name in extra)
    loaded = PackAnswers(
        pack.pack_hash, tuple(steps), pack_name=pack_path.name, rehearsal=_rehearsed(steps)
    )
    return LoadedAnswers(loaded, warnings)


def from_run(directory: Path, root: Path) -> LoadedAnswers:
    """The answers that a run recorded."""
    reading = refuse_foreign(directory)
    if reading.damage is not None:
        raise journal_file.damaged(directory / journal_file.NAME, reading)
    return answers_of_state(directory, root, fold(reading.events))


def answers_of_state(
    directory: Path, root: Path, state: RunState, *, is_foreign: bool = False
) -> LoadedAnswers:
    """The answers of a run as recorded in its journal.

    A foreign run may name any file as attached, so none of them is looked up.
    """
    run = run_manifest(RunView(state=state)) or _decoded(directory / "run.json", RunManifest)
    if run is None:
        raise InputError(
            f"{directory} is not a run directory: it has neither journal nor run.json",
            hint="`oraclepack runs list` shows the runs",
        )
    pack, note = pack_of(root, run.pack_path, run.pack_hash)
    entries = _entries(directory, pack, state)
    # Task ids contain these, and the marks in the backlog contain task ids.
    odd = [one.step_id for one in entries if not _STEP_ID.fullmatch(one.step_id)]
    if odd or not _HASH.fullmatch(run.pack_hash):
        what = f"{odd[0]!r} is not the number of a step" if odd else "the pack's hash is none"
        raise InputError(f"{directory}: {what}", hint="was it edited by hand?")
    attachments = None if is_foreign else AttachmentLookup(root)
    reader = _RunReader(directory, root, pack, state, attachments)
    steps = tuple(reader.step(entry) for entry in entries)
    answers = PackAnswers(
        run.pack_hash,
        steps,
        run.pack_id,
        PurePosixPath(run.pack_path).name,
        rehearsal=is_rehearsal(run.engine) or _rehearsed(steps),
        commit=run.git_sha,
        replies=() if is_foreign else read_replies(files.read(directory / FOLDER / REPLIES)),
    )
    return LoadedAnswers(answers, ((note,) if note else ()) + tuple(reader.warnings))


def refuse_foreign(directory: Path) -> JournalContent:
    """What the journal of a run says, if it is ours."""
    examined = run_dir.examine_at(directory)
    if examined.foreign is not None:
        other = "--answers DIR --pack PACK reads answers of any origin"
        raise foreign_run(directory.name, examined.foreign, other)
    return examined.reading


def newest_run(root: Path) -> Path:
    """The directory of the newest run of the project that is ours and whole."""
    own = [one for one in summaries(root) if one.foreign is None and one.damage is None]
    if not own:
        raise InputError(
            f"{root} has no run",
            hint="`oraclepack run PACK` makes one; rehearsals are taken with --run-dir DIR",
        )
    return run_dir.RunDir(root, max(own, key=lambda one: one.created_at).run_id).path


def _rehearsed(steps: Iterable[AnsweredStep]) -> bool:
    """Whether any answer is a rehearsed one."""
    return any(is_rehearsed(part.text) for step in steps for part in step.parts)


def _decoded(path: Path, shape: type[Shape]) -> Shape | None:
    data = files.read(path)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read: {error}",
            hint="`oraclepack runs repair` rebuilds it from the journal",
        ) from None


def _entries(directory: Path, pack: Pack | None, state: RunState) -> tuple[StepEntry, ...]:
    """The steps of a run: as the journal knows them, with the fields of `steps.json`."""
    written = _decoded(directory / "steps.json", StepsManifest)
    if state.created is None:
        return written.steps if written is not None else ()
    entries = steps_manifest(RunView(state=state, pack=pack)).steps
    if pack is not None or written is None:
        return entries
    by_id: Mapping[str, StepEntry] = {entry.step_id: entry for entry in written.steps}
    return tuple(with_pack_fields(entry, by_id.get(entry.step_id, entry)) for entry in entries)


class _RunReader:
    """Reads the answers of one run's steps."""

    def __init__(
        self,
        directory: Path,
        root: Path,
        pack: Pack | None,
        state: RunState,
        attachments: AttachmentLookup | None,
    ) -> None:
        self._directory = directory
        self._root = root
        self._pack = pack
        self._state = state
        self._attachments = attachments
        self.warnings: list[str] = []

    def step(self, entry: StepEntry) -> AnsweredStep:
        step = self._pack.step(entry.step_id) if self._pack is not None else None
        question = question_of(step) if step is not None else question_from(entry)
        attached, is_all = (
            self._attachments.about(step, self._state.step(entry.step_id))
            if self._attachments is not None
            else (None, False)
        )
        if entry.status is not Status.OK:
            refused, reason = tuple(self._refused(entry, step)), _why_not(entry)
            if not refused:
                return AnsweredStep(question, absent=reason)
            return AnsweredStep(
                question, refused, remark=reason, attached=attached, attached_known=is_all
            )
        named = ((PurePosixPath(one.declared_path or one.path), one) for one in entry.outputs)
        texts = [one for path, one in named if path.suffix.lower() in WORDS]
        # Outputs that a person changed since: the file counts, not what was recorded.
        declared = [one.declared_path for one in entry.outputs if one.declared_path is not None]
        inside = [path for path in declared if plain_file(self._root, path) is not None]
        present = present_outputs(self._root, self._directory.name, self._state, inside)
        edited = edited_outputs(self._state, entry.step_id, present)
        parts = [part for one in texts if (part := self._output(one, step, edited)) is not None]
        remark = ""
        if entry.accepted:  # it gives work like any other answer, with a remark
            lacking, why = ", ".join(entry.accepted[0].missing_sections), entry.accepted[0].reason
            remark = "The answer was accepted by hand"
            remark += f" although it lacks {lacking}" * bool(lacking) + f": {why}" * bool(why)
        return AnsweredStep(
            question,
            tuple(parts),
            silent=not texts,
            remark=remark,
            attached=attached,
            attached_known=is_all,
        )

    def _refused(self, entry: StepEntry, step: Step | None) -> Iterator[AnswerPart]:
        """Answers that missed their contract: paid for, and what is whole in them is used."""
        state = self._state.step(entry.step_id)
        last: dict[str, str] = {}
        for invocation in state.invocations:
            if invocation.outcome is not None and invocation.outcome.output_path is not None:
                last[invocation.outcome.output_path] = invocation.outcome.unmet_sha256 or ""
        for path in sorted(path for path, sha256 in last.items() if sha256):
            places = [self._root / path, *sorted((self._directory / "outputs").glob("*"))]
            places += [
                self._root / move.target
                for event in reversed(state.quarantined)
                for move in event.moves
                if move.source == path
            ]
            inside = (place for place in places if stays_inside(self._root, place))
            files = (read_answer(place) for place in inside)
            file = next((one for one in files if one and one.sha256 == last[path]), None)
            if file is not None:
                yield _part(path, file.text, step)

    def _output(
        self, output: OutputEntry, step: Step | None, edited: Collection[str]
    ) -> AnswerPart | None:
        # The journal of a foreign run may name any path.
        place = plain_file(self._directory, output.path)
        if output.declared_path is not None and output.declared_path in edited:
            place = plain_file(self._root, output.declared_path)
        file = read_answer(place) if place is not None else None
        if file is None:
            self.warnings.append(f"{output.path} is gone from the run directory")
            return None
        if file.sha256 != output.sha256:
            self.warnings.append(f"{output.path} is not what the run recorded; it is used as it is")
        part = _part(output.declared_path or output.path, file.text, step)
        named = Section(output.section) if output.section in set(Section) else part.section
        return msgspec.structs.replace(part, path=output.path, section=named)


def _part(path: str, text: str, step: Step | None) -> AnswerPart:
    """A file of an answer, with the sections that its step asks for in it."""
    contracts = contracts_of(step) if step is not None else ()
    name = PurePosixPath(path).name
    named = [one for one in contracts if PurePosixPath(one.path).name == name]
    chosen = named or (contracts if len(contracts) == 1 else ())
    return AnswerPart(path, text, by_suffix(path), chosen[0].sections if chosen else ())


def _why_not(entry: StepEntry) -> str:
    match entry.status:
        case Status.FAILED:
            reason = (
                entry.last_error.message if entry.last_error is not None else "no reason is known"
            )
            return f"the step failed: {reason}"
        case Status.SKIPPED:
            return f"the step was skipped: {entry.skip_reason or 'no reason is known'}"
        case _:
            return "the step has not run to its end"
