"""The right to ask a question, locked by one command at a time, so that it is paid for once.

A claim is *held* (nothing is paid for yet; the death of its holder frees it) or *asking* (a tool
was started; only an answer, a known end or a decision of the user frees it). It is taken when it
has no holder, or a dead one. The token that it gets then is needed for everything else, so a holder
that was taken for dead can neither spend nor settle.
"""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import LiteralString

import msgspec

from oraclepack.journal.events import InvocationIntent
from oraclepack.store import legacy
from oraclepack.store.database import Cursor, Database, Row, StoreError
from oraclepack.store.runner import Runner, end_dead_runners
from oraclepack.system.digests import canonical_line


class ClaimLostError(StoreError):
    """Another runner has the claim; nothing was paid for by us."""

    code = "CLAIM_LOST"


class Claim:
    """The right to ask one question; this one is of a question without a key, which needs none.

    One that is no longer ours is neither settled nor released.
    """

    open_call: InvocationIntent | None = None
    """The call of an earlier holder that has no known end."""
    is_unsigned = False
    """A file of 0.1 or 0.2 names calls that are not signed with the user's key."""

    def note(self, intent: InvocationIntent) -> None:
        """Allow a call whose process waits for it to be paid for. Raises StoreError.

        Before the process is known nothing can be paid for: then only the claim is checked.
        """

    def identify(self, intent: InvocationIntent) -> None:
        """Write down under which names the noted call can be found. Failing is not an error."""

    def withdraw(self) -> None:
        """The tool of the last note did not begin: what was known before holds again."""

    def settle(self) -> None:
        """Everything that was noted has come to a known end."""

    def release(self) -> None:
        """Let the next one ask; what is not settled stays written down."""


class StoredClaim(Claim):
    """A `Claim` whose statements all name its token."""

    def __init__(self, database: Database, runner: Runner, key: str, row: Row) -> None:
        self._database = database
        self._runner = runner
        self._key = key
        self._token, self._asker, intent = row
        self._gates = 0
        self._is_gone = False
        """Its row is deleted: there is nothing to release."""
        self.open_call = None if intent is None else _intent(intent)
        self.is_unsigned = False
        self._file: Path | None = None
        """A file of 0.1 or 0.2 that is not ours, renamed when the question is settled."""

    def inherit(self, file: legacy.ClaimFile) -> None:
        """Adopt what a file of 0.1 or 0.2 says."""
        if file.open_call is not None and self.open_call is None:
            self.open_call = file.open_call
            self._database.rows(
                "update claim set state = 'asking', intent = %s where key = %s and token = %s",
                (_text(file.open_call), self._key, self._token),
                durable=True,
            )
        self.is_unsigned = file.is_unsigned and self.open_call is None
        if file.is_unsigned:
            self._file = file.path
        else:
            file.remove()

    def note(self, intent: InvocationIntent) -> None:
        if intent.process is None:
            rows = self._database.rows(
                "select 1 from claim where key = %s and token = %s and holder = %s",
                (self._key, self._token, self._runner.id),
            )
            if not rows:
                raise _lost(self._key)
            return
        self._gates += 1
        # Repeating it is safe: the same token allows the same call.
        self._database.transaction(lambda cursor: self._open_gate(cursor, intent))

    def _open_gate(self, cursor: Cursor, intent: InvocationIntent) -> None:
        """From here on the call may be paid for; without a row it must not be made."""
        runner = self._runner.id
        if self._database.spans_machines:
            self._runner.renew_in(cursor)
        cursor.execute(
            "update claim set state = 'asking', asker = %s, intent = %s, asked = unix_now(),"
            " tries = tries + 1"
            " where key = %s and token = %s and holder = %s and runner_is_alive(%s)",
            (runner, _text(intent), self._key, self._token, runner, runner),
        )
        if cursor.rowcount != 1:
            raise _lost(self._key)
        if self.open_call is not None and self._asker != runner:
            cursor.execute(
                "insert into verdict (at, key, asker, decided, by_whom, why, intent)"
                " select unix_now(), %s, %s, 'asked again', %s, %s, %s where not exists (select 1"
                " from verdict where key = %s and by_whom = %s and asker = %s)",
                (
                    *(self._key, self._asker, runner, intent.because),
                    *(_text(self.open_call), self._key, runner, self._asker),
                ),
            )

    def identify(self, intent: InvocationIntent) -> None:
        self._finish(
            "update claim set intent = %s where key = %s and token = %s and state = 'asking'",
            _text(intent),
        )

    def withdraw(self) -> None:
        """Payment may have been allowed, and nothing was paid for."""
        if self.open_call and self._gates <= 1:
            # The earlier call, whose end is not known, is the last one again.
            self._finish(
                "update claim set asker = %s, intent = %s where key = %s and token = %s",
                *(self._asker, _text(self.open_call)),
            )
        else:
            self.settle()

    def settle(self) -> None:
        self._runner.finish(self._settle)
        if self._file is not None:
            legacy.move_foreign(self._file)
            self._file = None

    def release(self) -> None:
        self._runner.finish(self._release)

    def _settle(self) -> None:
        if self._key in self._runner.unstored:
            return  # the next run of this project brings the answer, and ends the claim
        self._database.rows(
            "delete from claim where key = %s and token = %s", (self._key, self._token), waits=False
        )
        self._is_gone = True

    def _release(self) -> None:
        """Delete the claim if nothing was paid for; else only remove its holder."""
        if self._is_gone:
            return
        values = (self._key, self._token)

        def work(cursor: Cursor) -> None:
            cursor.execute(
                "delete from claim where key = %s and token = %s and state = 'held'", values
            )
            cursor.execute("update claim set holder = null where key = %s and token = %s", values)

        self._database.transaction(work, waits=False)

    def _finish(self, statement: LiteralString, *values: object) -> None:
        """Do it now, or as soon as the store answers: no answer depends on it."""

        def work() -> None:
            self._database.rows(statement, (*values, self._key, self._token), waits=False)

        self._runner.finish(work)


class Claims:
    """The claims of a store."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        file: Callable[[str], legacy.ClaimFile | None] = lambda _: None,
        prefix: str = "",
    ) -> None:
        """`file` finds the claim of oraclepack 0.2; `prefix` keeps those of a run apart."""
        self._database = database
        self._runner = runner
        self._file = file
        self._prefix = prefix
        self.spans_machines = database.spans_machines
        """Every machine claims here, so a claim without a call proves that none is open."""

    def acquire(self, key: str, pause: Callable[[float], bool]) -> StoredClaim | None:
        """The right to ask a question, after waiting for it; None when `pause` says to give up.

        Raises OraclePackError: the question must not be asked without a claim.
        """
        token = uuid.uuid4().hex
        wait, longest = (0.1, 2.0) if self.spans_machines else (0.05, 0.5)
        while (taken := self._take(key, token)) is None:
            if not pause(wait):
                return None
            wait = min(wait * 2, longest)
            if self.spans_machines:
                self._database.transaction(lambda cursor: end_dead_runners(cursor, self._database))
        return taken

    def _take(self, key: str, token: str) -> StoredClaim | None:
        file = self._file(key)
        if file is not None and file.is_locked:
            return None  # a command of 0.2 asks now
        # If the commit was lost, the repeated statement finds its own token.
        rows = self._database.rows(
            "insert into claim (key, token, holder, state) values (%s, %s, %s, 'held')"
            " on conflict (key) do update set token = excluded.token, holder = excluded.holder"
            " where claim.holder is null or not runner_is_alive(claim.holder)"
            " or claim.token = excluded.token"
            " returning token, asker, intent",
            (self._prefix + key, token, self._runner.id),
        )
        if not rows:
            return None
        claim = StoredClaim(self._database, self._runner, self._prefix + key, rows[0])
        if file is not None:
            claim.inherit(file)
        return claim


def _text(intent: InvocationIntent) -> str:
    return canonical_line(intent).decode()


def _intent(text: str) -> InvocationIntent:
    return msgspec.json.decode(text, type=InvocationIntent)


def _lost(key: str) -> ClaimLostError:
    return ClaimLostError(
        f"another runner has the claim of question {key[:12]}",
        hint="nothing was paid for; its answer will be in the store",
    )
