"""`--export`: which trackers the backlog is written for."""

import click

from oraclepack.errors import UsageError, did_you_mean
from oraclepack.work.backlog import Export

export_option = click.option(
    "--export", "exports", metavar="WORDS", multiple=True, help="Also write github, taskmaster."
)

allow_rehearsal_option = click.option(
    "--allow-rehearsal", is_flag=True, help="Export even what a rehearsal answered, marked as such."
)


def exports_named(given: tuple[str, ...]) -> tuple[Export, ...]:
    """The trackers of all `--export` options, each of which may name several."""
    words = sorted({word.strip() for one in given for word in one.split(",") if word.strip()})
    return tuple(map(_export, words))


def _export(word: str) -> Export:
    try:
        return Export(word)
    except ValueError:
        hint = did_you_mean(word, [*Export]) or f"there are {', '.join(Export)}"
        raise UsageError(f"--export: {word!r} is unknown", hint=hint) from None
