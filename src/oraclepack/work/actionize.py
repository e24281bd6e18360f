"""`actionize` as a whole: read answers, turn them into work, write what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.errors import ExitCode, LockedError, NotFoundError, UsageError
from oraclepack.pack.answer_sections import refuse_export
from oraclepack.run.ask_model import AskedModel, ModelAsker
from oraclepack.run.policy import YieldPolicy, weigh, yield_of
from oraclepack.run.question_pack import ModelQuestion
from oraclepack.run.run_packs import FrontEnds
from oraclepack.run.run_report import RunOutcome
from oraclepack.run.transaction import FileWrite, Transaction, TransactionReport
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.system import files, locks
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import project_of
from oraclepack.system.path_jail import refuse_link_out
from oraclepack.work.asking import MODEL, REPLIES, read_replies
from oraclepack.work.backlog import (
    ActionizeReport,
    Artifact,
    AskedReply,
    Export,
    IssuesPer,
    PackAnswers,
    WorkStatus,
    WrittenArtifact,
    read_exports,
)
from oraclepack.work.load_answers import (
    FOLDER,
    LoadedAnswers,
    from_directory,
    from_run,
    newest_run,
    refuse_foreign,
)
from oraclepack.work.records import (
    BACKLOG,
    EXPORTS,
    WorkItems,
    actionize,
    question_over_titles,
    questions_about_answers,
)
from oraclepack.work.trackers import TASK_MARK

_ANY_BYTES = "surrogateescape"
"""A person's text comes back as it was, whatever its encoding."""


class ActionizeRequest(msgspec.Struct, frozen=True):
    """What to actionize, and where to put it."""

    run_dir: str = ""
    answers: str = ""
    pack: str = ""
    out_dir: str = ""
    exports: tuple[Export, ...] = ()
    rollback_on_failure: bool = False
    allow_rehearsal: bool = False
    """Export even what a rehearsal answered."""
    per: IssuesPer | None = None
    """None means as before, or one issue per question."""


class ActionizeResult(msgspec.Struct, frozen=True):
    """The result of `actionize`."""

    report: ActionizeReport
    work: WorkItems
    warnings: tuple[str, ...] = ()
    is_rehearsal: bool = False
    """The answers come from a rehearsal."""
    asked: RunOutcome | None = None
    """The run that asked a model, where not every question was answered."""
    exit_code: ExitCode = ExitCode.DONE
    """What the CI policy makes of it."""


def actionize_and_weigh(  # noqa: PLR0913 - each is optional and given by name
    settings: Settings,
    *,
    run_dir: str = "",
    answers: str = "",
    pack: str = "",
    out_dir: str = "",
    exports: Iterable[str] = (),
    allow_rehearsal: bool = False,
    per: str | None = None,
    ask: bool = False,
    ask_model: str = "",
    front_ends: FrontEnds | None = None,
    argv: Sequence[str] = (),
) -> ActionizeResult:
    """Actionize, then say whether the answers gave enough work; `exports` name trackers.

    Without `run_dir` and `answers` the newest run of the project is meant. With `ask` a model
    reads the answers that state no work; `front_ends` show those runs, and ask the person.
    """
    if ask_model and not ask:
        raise UsageError("--ask-model is about --ask", hint="add --ask")
    asker = Asker(settings, ask_model or MODEL, front_ends, argv) if ask else None
    if not (run_dir or answers or pack):
        run_dir = newest_run(Path(settings.root)).as_posix()
    request = ActionizeRequest(
        run_dir,
        answers,
        pack,
        out_dir,
        read_exports(exports),
        settings[rs.ROLLBACK_ON_FAILURE],
        allow_rehearsal,
        IssuesPer(per) if per else None,
    )
    # A run directory lies in its project, unless it was moved elsewhere.
    home = project_of(Path(run_dir)) if run_dir else None
    done = actionize_request(request, home or Path(settings.root), asker)
    actionable = done.report.tasks[WorkStatus.ACTIONABLE]
    figures = yield_of(actionable, done.report.answered, settings[rs.MIN_YIELD])
    applies = settings[rs.CI] and not done.is_rehearsal
    policy = YieldPolicy(applies=applies, met=figures.shortfall is None, action_yield=figures)
    code = weigh(failed=False, met=policy.met if applies else None, unweighable=False)
    # Files that could not be written come first, then a run that did not end well.
    if not done.report.ok:
        code = ExitCode.STEP_FAILED
    elif done.asked is not None:
        code = done.asked.exit_code
    report = msgspec.structs.replace(done.report, policy=policy)
    return msgspec.structs.replace(done, report=report, exit_code=code)


class Asker:
    """Asks a model about answers: once about each, then once about all titles."""

    def __init__(
        self, settings: Settings, model: str, front_ends: FrontEnds | None, argv: Sequence[str]
    ) -> None:
        self._model = model
        self._runs = ModelAsker(
            settings, command="actionize --ask", model=model, front_ends=front_ends, argv=argv
        )

    def ask(self, answers: PackAnswers) -> tuple[PackAnswers, AskedModel]:
        """The answers with the replies about them, and how the last run ended.

        A question that was not answered keeps the reply that there was.
        """
        if answers.rehearsal:
            raise UsageError("--ask asks about answers, and these come from a rehearsal")
        questions = questions_about_answers(answers)
        current = tuple(one for one in answers.replies if one.sha256 in questions)
        answers = msgspec.structs.replace(answers, replies=current)
        answers, asked = self._round(answers, questions)
        if all(one.exit_code is ExitCode.DONE for one in asked.outcomes):
            answers, asked = self._round(answers, question_over_titles(answers))
        return answers, asked

    def _round(
        self, answers: PackAnswers, questions: Mapping[str, ModelQuestion]
    ) -> tuple[PackAnswers, AskedModel]:
        asked = self._runs.ask(tuple(questions.values()))
        replies = {one.sha256: one for one in answers.replies}
        for key, reply in zip(questions, asked.replies, strict=True):
            if reply is not None:
                replies[key] = AskedReply(key, self._model, reply)
        return msgspec.structs.replace(answers, replies=tuple(replies.values())), asked


def actionize_request(
    request: ActionizeRequest, root: Path, asker: Asker | None = None
) -> ActionizeResult:
    """Answer a request of the command line. `root` is the project of the answers."""
    if bool(request.run_dir) == bool(request.answers):
        raise UsageError("give --run-dir DIR, or --answers DIR with --pack PACK")
    if bool(request.answers) != bool(request.pack):
        raise UsageError("--answers and --pack belong together")
    source = Path(request.answers or request.run_dir)
    writer = Writer(
        root,
        Path(request.out_dir) if request.out_dir else source / FOLDER,
        undo=request.rollback_on_failure,
        allow_rehearsal=request.allow_rehearsal,
    )
    if request.answers:
        loaded = from_directory(source, Path(request.pack), root)
        replies = read_replies(files.read(writer.place / REPLIES))
        answers = msgspec.structs.replace(loaded.answers, replies=replies)
        loaded = msgspec.structs.replace(loaded, answers=answers)
        return _done(loaded, writer, request.exports, request.per, asker)
    if not source.is_dir():
        raise NotFoundError(
            f"--run-dir {source}: no such directory",
            hint="`oraclepack runs list` names the runs; they lie in .oraclepack/runs",
        )
    refuse_foreign(source)  # before anything is written there, the lock too
    with locked(source):
        return _done(from_run(source, root), writer, request.exports, request.per, asker)


def actionize_run(
    run_dir: Path, writer: "Writer", exports: Sequence[Export] = ()
) -> ActionizeResult:
    """Actionize a run whose lock the caller holds."""
    return _done(from_run(run_dir, writer.root), writer, exports)


def _done(
    loaded: LoadedAnswers,
    writer: "Writer",
    exports: Iterable[Export],
    per: IssuesPer | None = None,
    asker: Asker | None = None,
) -> ActionizeResult:
    place, answers, failed = writer.place, loaded.answers, None
    warnings = loaded.warnings
    if asker is not None:
        answers, asked = asker.ask(answers)
        warnings += asked.warnings
        failed = next((one for one in asked.outcomes if one.exit_code), None)
    # An export that was made before would otherwise go stale beside a new backlog.
    exported = {*exports, *(one for one, name in EXPORTS.items() if (place / name).exists())}
    if exported and answers.rehearsal:
        refuse_export(allowed=writer.allow_rehearsal)
    if per is None:  # as before, or one issue per question
        exported_before = files.read(place / EXPORTS[Export.GITHUB]) or b""
        per = IssuesPer.TASK if TASK_MARK.encode() in exported_before else IssuesPer.QUESTION
    work = actionize(answers, exported, earlier_backlog(place), per)
    transaction, written = writer.write(work.artifacts)
    counted = Counter(one.status for one in work.records if one.same_as is None)
    answered = sum(step.is_answered for step in answers.steps)
    share = counted[WorkStatus.ACTIONABLE] / answered if answered else 0.0
    report = ActionizeReport(
        **msgspec.structs.asdict(transaction),
        pack_id=answers.pack_id,
        pack_hash=answers.pack_hash,
        out_dir=place.as_posix(),
        steps=len(answers.steps),
        answered=answered,
        tasks={status: counted[status] for status in WorkStatus},
        action_yield=round(share, 4),
        artifacts=written,
    )
    rejected = (f"rejected from the model's reply: {text}" for text in work.rejected)
    return ActionizeResult(report, work, (*warnings, *rejected), answers.rehearsal, failed)


def earlier_backlog(place: Path) -> str:
    """The backlog that is there, with a person's text in it."""
    data = files.read(place / BACKLOG)
    return "" if data is None else data.decode("utf-8", _ANY_BYTES)


class Writer:
    """Puts artifacts into one place, and takes them back if wished."""

    def __init__(
        self, root: Path, place: Path, *, undo: bool = False, allow_rehearsal: bool = False
    ) -> None:
        refuse_link_out(root, place)
        self.root = root
        self.place = place
        self.allow_rehearsal = allow_rehearsal
        self._transaction = Transaction(root, "actionize", undo=undo)

    def write(
        self, artifacts: Iterable[Artifact]
    ) -> tuple[TransactionReport, tuple[WrittenArtifact, ...]]:
        """Write what differs from what is there; a second time writes nothing."""
        files.sweep(self.place)
        pieces: list[FileWrite] = []
        written: list[WrittenArtifact] = []
        for artifact in artifacts:
            data = artifact.text.encode("utf-8", _ANY_BYTES)
            path = self.place.resolve() / artifact.path
            changed = files.read(path) != data
            digest = sha256_bytes(data)
            written.append(
                WrittenArtifact(path=artifact.path, sha256=digest, bytes=len(data), changed=changed)
            )
            pieces += [FileWrite(artifact.path, path, data)] if changed else []
        done = self._transaction.carry_out(pieces)
        standing = {*done.standing, *(one.path for one in written if not one.changed)}
        return done, tuple(one for one in written if one.path in standing)

    def take_back(self) -> TransactionReport:
        """Restore the directory to its state before, though nothing here has failed."""
        return self._transaction.roll_back()


@contextmanager
def locked(run_dir: Path, command: str = "actionize") -> Iterator[None]:
    """Hold a run's lock, so that its steps do not run meanwhile."""
    held = locks.acquire(run_dir, locks.this_process(command, SystemClock()))
    if isinstance(held, locks.Holder):
        raise LockedError(f"run {run_dir.name} is in use by {held}", hint="wait for it to end")
    with held:
        yield
