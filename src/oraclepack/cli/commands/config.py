"""`config show`: every setting, its value, and where that came from."""

from oraclepack.cli.columns import columns
from oraclepack.cli.frame import Entry, Group, command
from oraclepack.cli.reply import Reply
from oraclepack.settings.registry import Settings, shown

config = Group(
    "config",
    entries={"show": Entry(f"{__name__}:show", "Show every setting, its value and its origin.")},
    help="Look at the settings.",
)


@command(
    "show",
    data="config",
    examples=("oraclepack config show", "oraclepack config show --json"),
)
def show(settings: Settings) -> Reply:
    """Show every setting, its value and its origin.

    Stronger first: flag, ORACLEPACK_* variable, .env, oraclepack.toml or [tool.oraclepack],
    your own config file, default. A project may set what is free; of what is tighten-only it may
    only choose a stricter value than yours; what is user-only is yours alone. What a project set
    and may not set is ignored, and listed below the table.
    """
    config = shown(settings)
    rows = [(row.name, _spelled(row.value), row.scope, row.where) for row in config.settings]
    text = f"project root: {config.root}\n\n"
    text += columns(("setting", "value", "project", "origin"), rows)
    notes = [f"{one.where}: {one.reason}" for one in config.ignored]
    text += "".join(("\nignored:\n", *(f"  {note}\n" for note in notes))) if notes else ""
    return Reply(data=config, text=text)


def _spelled(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value)) or "-"
        case _:
            return str(value) or "-"
