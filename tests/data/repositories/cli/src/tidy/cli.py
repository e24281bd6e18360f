"""The command line."""

import sys

import click

from tidy.config import load_config
from tidy.move import move_all, undo_last
from tidy.rules import Action, compile_rules
from tidy.watch import watch_folder


@click.group()
def main():
    """Sort files into folders."""


@main.command()
@click.argument("folder")
@click.option("--config", default="tidy.toml", help="The rules.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--keep", is_flag=True, help="Copy instead of moving.")
def sort(folder, config, dry_run, force, keep):
    """Sort a folder once."""
    rules = compile_rules(load_config(config))
    moved = move_all(folder, rules, dry_run=dry_run, force=force, keep=keep)
    click.echo(f"{len(moved)} files")


@main.command()
@click.argument("folder")
@click.option("--config", default="tidy.toml", help="The rules.")
@click.option("--every", default=5, help="Seconds between two looks.")
def watch(folder, config, every):
    """Sort a folder whenever something arrives."""
    rules = compile_rules(load_config(config))
    try:
        watch_folder(folder, rules, every)
    except KeyboardInterrupt:
        sys.exit(130)


@main.command()
def undo():
    """Take back the last sorting."""
    if not undo_last():
        raise click.ClickException("there is nothing to take back")


def describe(action):
    """What an action is called on the screen."""
    if action is Action.MOVE:
        return "move"
    if action is Action.COPY:
        return "copy"
    return str(action)
