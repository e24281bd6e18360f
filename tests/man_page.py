"""The manual page oraclepack(1), made from the command manifest."""

import re

from oraclepack import __version__
from oraclepack.cli.command_manifest import describe
from oraclepack.cli.root import HELP, root
from oraclepack.errors import ExitCode

_FILES = (
    (".oraclepack/", "Runs, rehearsals and the cache of a project."),
    ("oraclepack.toml", "Settings of a project; it may only tighten limits."),
    ("~/.config/oraclepack/config.toml", "Your own settings."),
)


def man_page() -> str:
    """In roff, with the macros of man(7). The same commands give the same bytes."""
    lines = [
        '.\\" Made from the program itself by "make docs"; do not edit.',
        f'.TH ORACLEPACK 1 "" "oraclepack {__version__}" "User Commands"',
        ".SH NAME",
        f"oraclepack \\- {_text(HELP.partition(chr(10))[0].rstrip('.').lower())}",
        ".SH SYNOPSIS",
        ".B oraclepack",
        '.RI [ OPTIONS ] " COMMAND " [ ARGS ]...',
        ".SH DESCRIPTION",
        _text(" ".join(HELP.split())),
        "Each command has its own help with examples:",
        '.BR "oraclepack COMMAND \\-\\-help" .',
        ".SH COMMANDS",
    ]
    for command in describe(root()).commands:
        words = " ".join([command.name, *(word.upper() for word in command.arguments)])
        lines += [".TP", f".B {_text(words)}", _text(command.summary)]
        lines += [f"Changes: {_text(command.changes)}."]
    lines += [".SH EXIT STATUS"]
    for code in ExitCode:
        lines += [".TP", f".B {int(code)}", _text(code.meaning)]
    lines += [".SH FILES"]
    for path, meaning in _FILES:
        lines += [".TP", f".I {_text(path)}", _text(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        "Every setting has a variable, ORACLEPACK_NAME;",
        ".B oraclepack config show",
        "lists them with their values and sources. NO_COLOR is respected.",
        ".SH SEE ALSO",
        ".BR bash (1),",
        ".BR git (1)",
    ]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Text that roff prints as it is, also at the beginning of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    escaped = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
