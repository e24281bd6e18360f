"""`upgrade`: an old pack made strict."""

import click

from oraclepack.authoring.generation import Upgraded
from oraclepack.authoring.upgrade import upgrade_pack
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.core.envelope import Failure
from oraclepack.errors import ExitCode
from oraclepack.settings.registry import Settings


@command(
    "upgrade",
    data="upgraded",
    changes="nothing; with --write the pack",
    examples=("oraclepack upgrade old-pack.md", "oraclepack upgrade --write old-pack.md"),
)
@click.argument("pack")
@click.option("--write", is_flag=True, help="Write the strict form into the file.")
def upgrade(pack: str, *, write: bool, settings: Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    told = upgrade_pack(pack, settings, write=write)
    if told.upgradable:
        return Reply(data=told, text=told.diff, talk=_talk(told))
    failure = Failure(
        "NOT_UPGRADABLE",
        f"{pack} cannot be made strict without changing what it executes",
        detail="\n".join(told.reasons),
        phase="upgrade",
        suggestion=_advice(told),
    )
    text = "".join(f"- {reason}\n" for reason in told.reasons)
    return Reply(data=told, text=text, exit_code=ExitCode.INVALID, error=failure)


def _talk(told: Upgraded) -> str:
    if not told.changed:
        return f"{told.path} is strict already\n"
    lines = [f"- {note}" for note in told.notes]
    if told.proof is not None:
        lines.append(
            f"proof: {told.proof.commands_before} commands before, {told.proof.commands_after}"
            f" after, the same bash (sha256 {told.proof.sha256_before[:12]})"
        )
    lines.append(f"{told.path}: written" if told.written else "nothing written; --write does it")
    return "".join(f"{line}\n" for line in lines)


def _advice(told: Upgraded) -> str:
    words = " ".join(told.reasons)
    if "questions; --strict wants" in words:
        return "validate it without --strict, or let `oraclepack generate` write twenty questions"
    return "mend these by hand; `oraclepack validate --fix` mends some of them"
