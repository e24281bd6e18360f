"""`manifest`: the whole command line, described for programs."""

import msgspec

from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.system.files import shipped


@command(
    "manifest",
    data="manifest",
    reads_config=False,
    examples=("oraclepack manifest", "oraclepack manifest --json"),
)
def manifest() -> Reply:
    """Describe every command for programs.

    Parameters with types, defaults and variables, what a command changes, its exit codes and
    the schema of its data. Always JSON; with --json inside the envelope.
    """
    # Written by `make docs`: describing the commands takes loading every one of them.
    text = shipped("oraclepack.cli", "manifest.json")
    return Reply(data=msgspec.json.decode(text), text=text.decode())
