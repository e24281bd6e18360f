"""Claims in the shared database, with fencing tokens.

A claim is taken when it has no holder, or a dead one. The token that it gets then is needed for
everything else, so a holder that was taken for dead can neither spend nor settle.
"""

from collections.abc import Callable

import msgspec
import psycopg

from oraclepack.calls.postgres.database import Database, Row
from oraclepack.calls.postgres.runner_lease import RunnerLease, end_dead_runners
from oraclepack.calls.store import Claim, StoreError
from oraclepack.journal.events import InvocationIntent
from oraclepack.system.digests import canonical_line

_SHORTEST, _LONGEST = 0.1, 2.0
"""Seconds between two looks at a claim of another runner."""


class ClaimLostError(StoreError):
    """Another runner has the claim; nothing was paid for by us."""

    code = "CLAIM_LOST"


class PostgresClaim:
    """A `Claim` whose statements all name its token."""

    is_unsigned = False

    def __init__(self, claims: "PostgresClaims", key: str, row: Row) -> None:
        self._claims = claims
        self._key = key
        self._token = int(row[0])
        self._asker: str | None = row[2]
        self._gates = 0
        self._is_gone = False
        """Its row is deleted: there is nothing to release."""
        intent = row[3]
        self.open_call = None if intent is None else msgspec.convert(intent, InvocationIntent)
        """The call of an earlier holder that has no known end."""

    def note(self, intent: InvocationIntent) -> None:
        """Allow a call whose process waits for it to be paid for. Raises StoreError.

        Before the process is known nothing can be paid for: then only the claim is checked.
        """
        if intent.process is None:
            self._check()
            return
        self._gates += 1
        self._claims.open_gate(self._key, self._token, intent, self.open_call, self._asker)

    def identify(self, intent: InvocationIntent) -> None:
        text = canonical_line(intent).decode()

        def work() -> None:
            self._claims.database.rows(
                "update claim set intent = %s where key = %s and token = %s and state = 'asking'",
                (text, self._key, self._token),
                waits=False,
            )

        self._claims.finish(work)

    def withdraw(self) -> None:
        """Payment may have been allowed, and nothing was paid for."""
        is_first = self._gates <= 1
        self._claims.finish(self._restore if self.open_call and is_first else self._settle)

    def settle(self) -> None:
        self._claims.finish(self._settle)

    def release(self) -> None:
        self._claims.finish(self._release)

    def _check(self) -> None:
        rows = self._claims.database.rows(
            "select 1 from claim where key = %s and token = %s and holder = %s",
            (self._key, self._token, self._claims.runner),
        )
        if not rows:
            raise _lost(self._key)

    def _settle(self) -> None:
        if self._key in self._claims.unstored:
            return  # the next run of this project brings the answer, and ends the claim
        self._claims.database.rows(
            "delete from claim where key = %s and token = %s", (self._key, self._token), waits=False
        )
        self._is_gone = True

    def _restore(self) -> None:
        """Make the earlier call, whose end is not known, the last one again."""
        assert self.open_call is not None
        self._claims.database.rows(
            "update claim set asker = %s, intent = %s where key = %s and token = %s",
            (self._asker, canonical_line(self.open_call).decode(), self._key, self._token),
            waits=False,
        )

    def _release(self) -> None:
        """Delete the claim if nothing was paid for; else only remove its holder."""
        if self._is_gone:
            return
        values = (self._key, self._token)
        self._claims.database.rows(
            "with unpaid as"
            " (delete from claim where key = %s and token = %s and state = 'held')"
            " update claim set holder = null where key = %s and token = %s and state = 'asking'",
            (*values, *values),
            waits=False,
        )


class PostgresClaims:
    """`Claims` of all runners of a store."""

    spans_machines = True

    def __init__(self, database: Database, lease: RunnerLease) -> None:
        self.database = database
        self._lease = lease
        self.runner = lease.id

    def acquire(self, key: str, pause: Callable[[float], bool]) -> Claim | None:
        """The right to ask a question, after waiting for it. Raises StoreError."""
        token = int(self.database.rows("select nextval('claim_token')")[0][0])
        wait = _SHORTEST
        while (taken := self._take(key, token)) is None:
            if not pause(wait):
                return None
            wait = min(wait * 2, _LONGEST)
            end_dead_runners(self.database)
        return taken

    def _take(self, key: str, token: int) -> PostgresClaim | None:
        # If the commit was lost, the repeated statement finds its own token.
        rows = self.database.rows(
            "insert into claim (key, token, holder, state)"
            " values (%s, %s, %s, 'held')"
            " on conflict (key) do update set token = excluded.token, holder = excluded.holder,"
            " owner = session_user"
            " where claim.holder is null or not runner_is_alive(claim.holder)"
            " or claim.token = excluded.token"
            " returning token, state, asker, intent",
            (key, token, self.runner),
        )
        return PostgresClaim(self, key, rows[0]) if rows else None

    def open_gate(
        self,
        key: str,
        token: int,
        intent: InvocationIntent,
        earlier: InvocationIntent | None,
        asker: str | None,
    ) -> None:
        """From here on the call may be paid for; without a row it must not be made."""
        text = canonical_line(intent).decode()

        def work(cursor: psycopg.Cursor[Row]) -> None:
            self._lease.renew_in(cursor)
            cursor.execute(
                "update claim set state = 'asking', asker = %s, intent = %s,"
                " asked = clock_timestamp(), tries = tries + 1"
                " where key = %s and token = %s and holder = %s and runner_is_alive(%s)",
                (self.runner, text, key, token, self.runner, self.runner),
            )
            if cursor.rowcount != 1:
                raise _lost(key)
            if earlier is not None and asker != self.runner:
                cursor.execute(
                    "insert into verdict (key, asker, decided, by_whom, why, intent)"
                    " select %s, %s, 'asked again', %s, %s, %s where not exists (select 1"
                    " from verdict where key = %s and by_whom = %s and asker = %s)",
                    (
                        *(key, asker, self.runner, intent.because),
                        *(canonical_line(earlier).decode(), key, self.runner, asker),
                    ),
                )

        # Repeating it is safe: the same token allows the same call.
        self.database.transaction(work)

    @property
    def unstored(self) -> set[str]:
        """Questions whose answers are not in the store, although they were paid for."""
        return self._lease.unstored

    def finish(self, work: Callable[[], None]) -> None:
        """Do it now, or as soon as the store answers: no answer depends on it."""
        self._lease.finish(work)


def _lost(key: str) -> ClaimLostError:
    return ClaimLostError(
        f"another runner has the claim of question {key[:12]}",
        hint="nothing was paid for; its answer will be in the store",
    )
