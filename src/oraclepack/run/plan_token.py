"""Tokens that let exactly one planned run begin: signed, for a quarter of an hour, used once."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from oraclepack.errors import UsageError
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.entry_points import plan_run
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_report import RunReport
from oraclepack.settings.registry import Settings
from oraclepack.store.database import Cursor
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.digests import keyed_digest, same_digest, sha256_value
from oraclepack.system.trust_key import make_key

SECONDS = 900
_PURPOSE = "plan token"


class ApprovalError(UsageError):
    """A run may not begin: it was not approved, or something else was approved."""

    code = "APPROVAL"


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do, and what lets it begin."""

    plan: RunReport
    """As `run --dry-run` reports it."""
    token: str
    """For `start_run`: once, within a quarter of an hour, for the same pack and settings."""
    expires_in_s: int


class PlanSubject(NamedTuple):
    """What a plan is about."""

    digest: str
    """Of everything that decides what a run does: another value needs another token."""
    pack_hash: str
    """Of the pack that the digest includes; for `RunArguments.expect_pack`."""


def plan_with_token(
    pack: str | Path, settings: Settings, arguments: RunArguments
) -> tuple[RunPlan, tuple[str, ...]]:
    """What a run would do, and a token that lets exactly that begin; also warnings."""
    subject = plan_subject(pack, settings, arguments)
    # The token must be for the pack that the plan shows, although it is read twice.
    shown = msgspec.structs.replace(arguments, expect_pack=subject.pack_hash)
    outcome = plan_run(pack, settings, shown)
    plan = RunPlan(plan=outcome.report, token=issue_token(subject.digest), expires_in_s=SECONDS)
    return plan, outcome.warnings


def redeem(token: str, pack: str | Path, settings: Settings, arguments: RunArguments) -> str:
    """Use a token; the hash of the pack that it was issued for."""
    subject = plan_subject(pack, settings, arguments)
    redeem_token(token, subject.digest)
    return subject.pack_hash


def plan_subject(pack: str | Path, settings: Settings, arguments: RunArguments) -> PlanSubject:
    """What a run of a pack as it is now would be about; the pack is read once."""
    pack_hash = read_pack(Path(pack)).pack_hash
    digest = sha256_value(
        {
            "pack": pack_hash,
            "path": str(Path(pack).resolve()),
            "root": settings.root,
            "settings": sorted((name, repr(value)) for name, value in settings.values.items()),
            "arguments": msgspec.structs.replace(arguments, argv=(), expect_pack=None),
        }
    )
    return PlanSubject(digest, pack_hash)


def issue_token(subject: str, now: float | None = None) -> str:
    """A token for what the subject describes: pack, project, settings and arguments."""
    expires = int((time.time() if now is None else now) + SECONDS)
    nonce = os.urandom(8).hex()
    return f"{expires}.{nonce}.{_mac(subject, expires, nonce)}"


def redeem_token(token: str, subject: str, now: float | None = None) -> None:
    """Use a token; raises ApprovalError where it is wrong, expired, used or for something else."""
    parts = token.split(".")
    if len(parts) != 3 or not parts[0].isdecimal() or not parts[1].isalnum():
        raise _refused("it is no token of plan_run")
    expires, nonce = int(parts[0][:12]), parts[1]
    if not same_digest(parts[2], _mac(subject, expires, nonce)):
        raise _refused("it is not for this pack with these settings, as they are now")
    if (time.time() if now is None else now) > expires:
        raise _refused("it has expired")
    _use(nonce, expires)


def _use(nonce: str, expires: int) -> None:
    """Only one process can enter it; it is kept as long as the token would hold."""

    def work(cursor: Cursor) -> bool:
        cursor.execute("delete from used_plan where expires < %s", (time.time() - SECONDS,))
        cursor.execute(
            "insert into used_plan values (%s, %s) on conflict do nothing", (nonce, expires)
        )
        return cursor.rowcount == 1

    with closing(SqliteDatabase()) as database:
        if not database.transaction(work, durable=True):
            raise _refused("it was used before")


def _mac(subject: str, expires: int, nonce: str) -> str:
    return keyed_digest(
        make_key(), _PURPOSE, subject.encode(), str(expires).encode(), nonce.encode()
    )


def _refused(reason: str) -> ApprovalError:
    return ApprovalError(f"the token is refused: {reason}", hint="call plan_run for a new one")
