"""`manifest`: the whole command line, described for programs."""

from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.core.digest import canonical_file


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
    from oraclepack.cli.describe import describe  # noqa: PLC0415 - it imports every command
    from oraclepack.cli.table import root  # noqa: PLC0415 - the table names this module

    described = describe(root())
    return Reply(data=described, text=canonical_file(described).decode())
