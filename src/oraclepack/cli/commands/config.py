"""`config show`: every setting, its value, and where that came from."""

from oraclepack.cli.frame import Entry, Group, command
from oraclepack.cli.reply import Reply
from oraclepack.core.settings import SETTINGS, Settings

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
    """Show every setting, its value and its origin."""
    rows = [(s.name, str(settings[s]), settings.origin(s)) for s in SETTINGS]
    text = "\n".join(f"{name} = {value}  ({origin.where})" for name, value, origin in rows)
    return Reply(data={}, text=text)
