"""`new`: an empty pack."""

import click

from oraclepack.authoring.blank import TEMPLATES, new_pack
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.settings.registry import CWD, Settings


@command(
    "new",
    data="new-pack",
    changes="one pack file",
    examples=(
        "oraclepack new docs/oracle-pack.md",
        "oraclepack new --template runbook docs/release.md",
    ),
)
@click.argument("pack")
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="single",
    help="One file for an answer, four files, or steps without questions  [default: single]",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def new(pack: str, template: str, *, force: bool, settings: Settings) -> Reply:
    """Write an empty pack that teaches the format.

    It is valid as it is; its comments tell what each part is for.
    """
    made = new_pack(pack, template, settings[CWD], force=force)
    return Reply(data=made, text=f"{made.path}: written from the template {made.template}\n")
