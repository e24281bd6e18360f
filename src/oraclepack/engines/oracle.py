"""The engine `oracle`: the real tool in a process of its own.

What became of a try that was cut off is known from its own folder, from oracle's record of the
session, from the provider (`responses.py`) or from the conversation in the browser.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from msgspec.structs import replace

from oraclepack.engines import responses
from oraclepack.engines.adoption import (
    Adoption,
    LiveProcesses,
    adoption,
    answer_in_log,
    matching,
    session_id,
)
from oraclepack.engines.engine import (
    Answer,
    Caller,
    Ended,
    GivenUp,
    Over,
    Pending,
    Settled,
    ToolEnd,
    ToolRun,
    Traces,
    Try,
    Unknown,
)
from oraclepack.engines.oracle_evidence import COMPLETED, CallEvidence, has_saved, judge, version_in
from oraclepack.engines.try_folder import TryFolder
from oraclepack.errors import SIGNALLED, InputError, OraclePackError, Refusal
from oraclepack.journal.statuses import AWAITED, DETACHED, UNDECIDED, CallIdentity
from oraclepack.journal.step_state import Invocation
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.clock import rfc3339
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_attachments import (
    AttachedFile,
    FileArgumentKind,
    kind_of,
    only_plain,
    read_attached,
    read_rendering,
    rendering_argv,
)
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_sessions import (
    RECORDS,
    UNFINISHED,
    OracleSessions,
    PrintedIds,
    SessionRecord,
    is_alive,
    printed_ids,
    worker_is_alive,
)
from oraclepack.tools.providers import api_route
from oraclepack.tools.tool_names import ORACLE

_RENDER_PATIENCE = 120.0
_LARGEST_RENDERING = 256_000_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks at the process of an earlier call: it may be about to end, or not."""
_POLL_SECONDS = 0.5
_HARVEST_PATIENCE = 600.0
_TAKEN = "is the answer of an earlier call"


class OracleEngine:
    """An `Engine`: oracle as its user has installed it."""

    is_paid = True
    price_part = Decimal(1)
    route = staticmethod(api_route)

    def read_files(self, caller: Caller) -> Sequence[AttachedFile] | Refusal:
        """Literal files are read here; what patterns and directories mean, oracle itself says."""
        cwd, values = caller.question.cwd, caller.question.asked.files
        plain, kinds = only_plain(values), [kind_of(cwd, value) for value in values]
        if plain and FileArgumentKind.MISSING in kinds:
            return Refusal("an attached file does not exist")
        if not plain or FileArgumentKind.DIRECTORY in kinds:
            listed = _listed_by_tool(caller)
            if isinstance(listed, Refusal):
                return listed
            values = listed
        try:
            return read_attached(cwd, values)
        except InputError as trouble:
            return Refusal(trouble.message)

    def order(self, caller: Caller, once: Try) -> ToolRun | Refusal:
        """What is started for a try."""
        question, parsed = caller.question, parse_argv(table_of(ORACLE), once.argv)
        return ToolRun(
            ORACLE, once.folder.argv(parsed, once.argv, question.cwd), question.cwd, question.env
        )

    def ask(self, caller: Caller, once: Try) -> Ended:
        """Run the tool; then look for the answer where it has none."""
        order, folder = self.order(caller, once), once.folder
        if isinstance(order, Refusal):
            return Ended(failure=Failure("USAGE", FailureClass.FINAL, str(order)), exit_code=1)
        end = caller.run(
            replace(
                order,
                timeout=once.timeout,
                outlives_caller=True,
                is_paid=True,
                folder=folder.path,
                identity=identity(caller),
                on_output=_IdReader(caller),
            )
        )
        if end.trouble:
            failure = Failure("TOOL_MISSING", FailureClass.FINAL, end.trouble)
            return Ended(failure=failure, exit_code=end.exit_code)
        record = _session_in(_sessions(caller, folder), folder)
        ended = _ended(caller, folder, end, record)
        if ended.failure is None:
            return ended
        # The worker or the provider goes on meanwhile, so the caller keeps its slot.
        if ended.failure.code == DETACHED:
            return self._attached_to_worker(caller, folder, end, ended)
        return self._looked_beyond(caller, folder, ended)

    def find(self, caller: Caller, earlier: Invocation) -> Traces:
        """The session of an earlier try, and what is sure to be its answer."""
        record = self._session_of(caller, earlier)
        return Traces(record, tuple(self._answers(caller, earlier, record)))

    def settle(self, caller: Caller, earlier: Invocation) -> Settled:
        """What has become of it, by its session, its process and its own folder."""
        intent = earlier.intent
        process = intent.process if intent else None
        while True:
            record = self._session_of(caller, earlier)
            worker = record.worker_pid if record else None
            processes = LiveProcesses(
                caller=is_alive(process) if process else None,
                is_named=process is not None,
                worker=worker_is_alive(worker, process.machine if process else None)
                if worker
                else None,
            )
            is_patient = caller.seconds_left > 0
            if not (processes.caller and is_patient):
                answer = self._answer_of(caller, earlier, record, processes)
                if answer is not None:
                    return answer
            names = _identity_of(caller, earlier)
            decision = adoption(
                record, processes, waits=is_patient, has_begun=names.session is not None
            )
            if decision in {Adoption.WAIT, Adoption.ATTACH}:
                if not self._waited(caller, decision, record, process):
                    return GivenUp()
                continue
            if decision is not Adoption.HARVEST:
                beyond = self._beyond(caller, names, record)
                if beyond is not None:
                    return beyond
            if decision is Adoption.UNKNOWN:
                return Unknown(record.id if record else "?")
            return Over(force=decision is Adoption.FORCE)

    def _attached_to_worker(
        self, caller: Caller, folder: TryFolder, end: ToolEnd, ended: Ended
    ) -> Ended:
        """Wait for a worker that the tool detached, until it ends or the time is over."""
        record = ended.record
        if record is None or record.worker_pid is None:
            return ended
        note = "the tool left its question to a worker; waiting for its answer"
        now = self._stay_with(caller, record, note, "worker of the tool")
        return replace(ended, stopped=True) if now is None else _ended(caller, folder, end, now)

    def _looked_beyond(self, caller: Caller, folder: TryFolder, ended: Ended) -> Ended:
        """What the provider or the browser has of an answer that the tool does not have."""
        names = identity(caller, printed_ids(folder.printed()))
        if ended.stopped:
            gone = responses.give_up(caller, names) if names.response else None
            return replace(ended, failure=gone or ended.failure)
        failure = ended.failure
        match self._beyond(caller, names, ended.record):
            case Answer() as answer:
                return replace(ended, answer=answer.data, record=answer.record, failure=None)
            case GivenUp():
                return replace(ended, stopped=True)
            case Pending(message=message):
                failure = Failure(AWAITED, FailureClass.FINAL, message)
            case Unknown(reason=reason):
                message = f"it is unknown whether this call was paid for ({reason})"
                failure = Failure(UNDECIDED, FailureClass.FINAL, message)
            case Over(verdict=verdict):
                failure = verdict or failure
        return replace(ended, failure=failure)

    def _beyond(
        self, caller: Caller, names: CallIdentity, record: SessionRecord | None
    ) -> Settled | None:
        """Where a tool has ended without an answer: what its provider or the browser has of one.

        None where neither can have one.
        """
        if names.response is not None:
            return responses.settle(caller, names, record)
        if record is not None and record.is_submitted:
            return self._harvested(caller, record)
        return None

    def _harvested(self, caller: Caller, record: SessionRecord) -> Settled:
        """Let oracle read the conversation of a browser session again.

        Its prompt was sent, so that nothing is asked again without a person's word.
        """
        question, folder = caller.question, caller.new_folder()
        output = question.output
        if output is None:
            return Unknown(record.id)
        order = ToolRun(
            ORACLE,
            ("session", record.id, "--harvest", "--write-output", str(folder.place(output))),
            question.cwd,
            question.env,
            timeout=_HARVEST_PATIENCE,
            hidden=True,
        )
        caller.say(f"reading the conversation of session {record.id} again")
        end = caller.run(order)
        data = folder.read(output)
        folder.remove()
        if end.stopped:
            return GivenUp()
        now = _sessions(caller).record(record.id)
        is_its_own = end.exit_code == 0 and now is not None and now.is_harvested
        if not is_its_own or data is None or not caller.is_whole(data):
            return Unknown(
                record.id, "its conversation has no whole answer that is sure to be its own"
            )
        if caller.lacks(data):
            return Unknown(record.id, "what its conversation has lacks a section")
        return Answer(
            data=data,
            note="is the answer in the conversation of an earlier call",
            record=responses.completed(record, record.id, None),
        )

    def _session_of(self, caller: Caller, earlier: Invocation) -> SessionRecord | None:
        """The session of an earlier try of the same question."""
        folder, intent = _folder_of(caller, earlier), earlier.intent
        sessions = _sessions(caller, folder)
        if earlier.outcome is not None and earlier.outcome.session is not None:
            return sessions.record(earlier.outcome.session)
        if intent is None:
            return None
        if folder is not None:
            return _session_in(sessions, folder)
        # Of oraclepack 0.2, whose tools wrote to the declared path.
        path = str(caller.root.resolve() / intent.output_path) if intent.output_path else None
        return matching(sessions.records(), caller.question.asked.prompt, path, intent.at)

    def _answer_of(
        self,
        caller: Caller,
        earlier: Invocation,
        record: SessionRecord | None,
        processes: LiveProcesses,
    ) -> Answer | None:
        """The answer of an earlier try, whether it meets its contract or not; None without one."""
        if record is None or record.status in UNFINISHED:
            # Oracle writes the file some milliseconds before its record says so.
            is_over = processes.is_named and processes.caller is False
            return _finished_file(caller, earlier, record) if is_over else None
        if record.output_tokens == 0:
            return None  # it was cut off or empty: that is asked again, as in the try itself
        answers = list(self._answers(caller, earlier, record))
        whole = [data for data in answers if data.strip() and not caller.lacks(data)]
        if record.incomplete or not whole:
            whole = [data for data in answers if caller.is_whole(data)]
        if not whole:
            return None
        return Answer(data=whole[0], note=_TAKEN, missing=caller.lacks(whole[0]), record=record)

    def _answers(
        self, caller: Caller, earlier: Invocation, record: SessionRecord | None
    ) -> Iterator[bytes]:
        """What is sure to be the answer of a session that has completed, the best first."""
        if record is None or record.status != COMPLETED:
            return
        folder = _folder_of(caller, earlier)
        if folder is not None:
            written = _written(folder, earlier)
        else:
            written = _written_before_private_outputs(caller.root, earlier)
        if written is not None:
            yield written
        printed = answer_in_log(folder.printed()) if folder else None
        logged = printed or answer_in_log(_sessions(caller, folder).log(record.id))
        if logged is not None:
            yield logged.encode()

    def _waited(
        self,
        caller: Caller,
        decision: Adoption,
        record: SessionRecord | None,
        process: ProcessIdentity | None,
    ) -> bool:
        """Wait for the process of an earlier try, or for its worker; False when given up."""
        if decision is Adoption.ATTACH and record is not None:
            note = f"session {record.id} still works on this question; waiting for it"
            return self._stay_with(caller, record, note, "earlier call") is not None
        note = "an earlier call of this question still runs; waiting for it"
        pid, seconds = process.pid if process else None, _FIRST_PAUSE
        with caller.waiting(note, _still_running("earlier call", pid), pid) as pause:
            while process and is_alive(process) and caller.seconds_left > 0:
                if not pause(seconds):
                    return False
                seconds = min(2 * seconds, _LONGEST_PAUSE)
        return True

    def _stay_with(
        self, caller: Caller, record: SessionRecord, note: str, what: str
    ) -> SessionRecord | None:
        """The record of a detached session once its worker has ended; None when given up."""
        sessions, now, pid = _sessions(caller), record, record.worker_pid
        with caller.waiting(note, _still_running(what, pid), pid) as pause:
            while now.status in UNFINISHED and worker_is_alive(now.worker_pid or 0):
                if caller.seconds_left <= 0:
                    return now
                if not pause(_POLL_SECONDS):
                    return None
                now = sessions.record(record.id) or now
        return sessions.record(record.id) or now


class _IdReader:
    """Writes down what the tool prints about itself, as soon as it does."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._ids = PrintedIds()

    def __call__(self, head: str) -> bool:
        ids = printed_ids(head)
        if (ids.session, ids.response) != (self._ids.session, self._ids.response):
            self._ids = ids
            # An error here would end the tool. Its own log has the names too.
            with suppress(OraclePackError):
                self._caller.identify(identity(self._caller, ids))
        return ids.response is None and not ids.is_over


def identity(caller: Caller, ids: PrintedIds | None = None) -> CallIdentity:
    """What a tool has printed about itself, and where a response of it can be asked for."""
    route, ids = caller.question.route, ids or PrintedIds()
    if route is None or not route.responses:
        return CallIdentity(session=ids.session)
    return CallIdentity(
        session=ids.session,
        response=ids.response,
        provider=route.provider,
        endpoint=route.responses,
    )


def _listed_by_tool(caller: Caller) -> tuple[str, ...] | Refusal:
    """The files the tool itself says it would attach: patterns are its own to read."""
    question = caller.question
    end = caller.run(
        ToolRun(
            tool=ORACLE,
            argv=rendering_argv(question.argv),
            cwd=question.cwd,
            env=question.env,
            timeout=_RENDER_PATIENCE,
            hidden=True,
            keep=_LARGEST_RENDERING,
        )
    )
    if end.exit_code != 0 or end.cut:
        return Refusal(
            f"the tool does not list the files that it attaches (exit code {end.exit_code})"
        )
    rendering = read_rendering(end.out, question.asked.prompt)
    if rendering is None:
        return Refusal("what the tool says it would send cannot be read")
    return rendering.files


def _ended(caller: Caller, folder: TryFolder, end: ToolEnd, record: SessionRecord | None) -> Ended:
    """Read and judge what the tool has written, or printed where it could not write."""
    output = caller.question.output
    answer = folder.read(output) if output else None
    has_failed = end.timed_out or end.exit_code != 0
    # Ended by force after its record said that it has the answer: the log has all of it, a file
    # that was just being written may not.
    is_recorded = has_failed and record is not None and record.status == COMPLETED
    is_recorded &= record is not None and bool(record.output_tokens)
    logged = None
    if output is not None and (not answer or is_recorded):
        logged = answer_in_log(folder.printed())
        if logged is None and is_recorded and record is not None:
            logged = answer_in_log(_sessions(caller, folder).log(record.id))
        answer = answer if logged is None else logged.encode()
    # Redacted before messages are cut from it: a part of a secret would not be recognised.
    proof = CallEvidence(
        exit_code=end.exit_code,
        out=caller.clean(end.out),
        err=caller.clean(end.err),
        record=record
        and replace(
            record,
            error_message=caller.clean(record.error_message),
            incomplete=caller.clean(record.incomplete),
        ),
        promised=output is not None,
        answer_bytes=None if answer is None else len(answer.strip()),
        timed_out=end.timed_out,
        is_whole=(is_recorded and logged is not None)
        or (
            has_failed
            and answer is not None
            and caller.has_contract
            and caller.is_whole(answer)
            and not caller.lacks(answer)
        ),
    )
    return Ended(
        answer=answer,
        failure=judge(proof),
        record=record,
        exit_code=end.exit_code,
        stopped=end.stopped,
        is_killed=end.timed_out or end.exit_code > SIGNALLED,
        version=version_in(end.out),
    )


def _sessions(caller: Caller, folder: TryFolder | None = None) -> OracleSessions:
    """Where a try has its session record: with a program of ours its own folder, else oracle's."""
    is_ours = folder is not None and (folder.path / RECORDS).is_dir()
    return OracleSessions(folder.path if folder and is_ours else oracle_home(caller.question.env))


def _folder_of(caller: Caller, earlier: Invocation) -> TryFolder | None:
    private = earlier.intent.private if earlier.intent else None
    return None if private is None else TryFolder(caller.root, private)


def _identity_of(caller: Caller, earlier: Invocation) -> CallIdentity:
    """The names under which a try can be found; also what its tool printed when we were killed."""
    recorded = (earlier.intent.identity if earlier.intent else None) or CallIdentity()
    folder = _folder_of(caller, earlier)
    if folder is None:
        return recorded
    printed = folder.printed()
    is_asked_for = recorded.endpoint is not None
    return replace(
        recorded,
        session=recorded.session or session_id(printed),
        response=recorded.response or (printed_ids(printed).response if is_asked_for else None),
    )


def _session_in(sessions: OracleSessions, folder: TryFolder) -> SessionRecord | None:
    """The session of a try: the one that writes to its folder, by the name that it has printed."""
    named = session_id(folder.printed())
    record = sessions.record(named) if named else None
    if record is not None and (record.output_path is None or folder.is_of(record.output_path)):
        return record
    return next((one for one in sessions.records() if folder.is_of(one.output_path)), None)


def _finished_file(
    caller: Caller, earlier: Invocation, record: SessionRecord | None
) -> Answer | None:
    """The answer of a try whose session record is missing or unfinished.

    The file lies in the folder of the try alone, so it is its answer. It is whole if the tool has
    said so; otherwise it must have the sections that its contract demands, and no sign of a cut.
    One that lacks a section beside an unfinished session may be cut off.
    """
    folder = _folder_of(caller, earlier)
    if folder is None:
        return None
    words = folder.printed()
    data, printed = _written(folder, earlier), answer_in_log(words)
    is_proven = printed is not None or has_saved(words)
    if data is None or not data.strip():
        data = None if printed is None else printed.encode()
    if data is None or not (is_proven or (caller.has_contract and caller.is_whole(data))):
        return None
    missing = caller.lacks(data)
    if missing and record is not None and not is_proven:
        return None
    return Answer(data=data, note=_TAKEN, missing=missing, record=record, is_proven=is_proven)


def _written(folder: TryFolder, earlier: Invocation) -> bytes | None:
    """What the tool of a try has written in its folder."""
    path = earlier.intent.output_path if earlier.intent else None
    return None if path is None else folder.read(AllowedPath(folder.root / path, path))


def _written_before_private_outputs(root: Path, earlier: Invocation) -> bytes | None:
    """The file at the declared path, if it was written since a call of oraclepack 0.2 began."""
    intent = earlier.intent
    place = jail(root, (intent.output_path if intent else None) or "")
    if intent is None or earlier.outcome is not None or not isinstance(place, AllowedPath):
        return None
    data = read_content(place.path).data
    if data is None:
        return None
    moment = rfc3339(datetime.fromtimestamp(place.path.stat().st_mtime, UTC))
    return data if moment >= intent.at[:19] else None


def _still_running(what: str, pid: int | None) -> str:
    return f"{what} still running" + (f", pid {pid}" if pid is not None else "")
