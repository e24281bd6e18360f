"""The pager and the editor of the user, started while the screen is suspended."""

import shlex
import subprocess
import tempfile
from pathlib import Path

import msgspec

from oraclepack.system.environment import environment
from oraclepack.system.printable import visible

_LINE_FLAG = frozenset({"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe"})
"""Editors that take `+LINE` before the file."""


class OpenTarget(msgspec.Struct, frozen=True):
    """A file, and a line of it."""

    path: Path
    line: int = 0


def editor_words(target: OpenTarget) -> list[str]:
    """The command that edits a file, at a line where the editor is known to take one."""
    variables = environment()
    words = shlex.split(variables.get("VISUAL") or variables.get("EDITOR") or "vi")
    at_line = target.line > 0 and Path(words[0]).name in _LINE_FLAG
    # An absolute path: a name that begins with a dash is no flag.
    return [*words, *([f"+{target.line}"] if at_line else []), str(target.path.absolute())]


def edit_file(target: OpenTarget) -> str:
    """Edit a file; returns what went wrong, if anything."""
    return _run(editor_words(target))


def page_text(text: str) -> str:
    """Show a text in the pager, without what would steer the terminal."""
    words = shlex.split(environment().get("PAGER") or "less")
    with tempfile.TemporaryDirectory(prefix="oraclepack-") as folder:
        file = Path(folder, "text.txt")
        file.write_text(visible(text), encoding="utf-8", errors="replace")
        return _run([*words, str(file)])


def _run(words: list[str]) -> str:
    try:
        code = subprocess.run(words, check=False).returncode
    except OSError as trouble:
        return f"{words[0]}: {trouble.strerror or trouble}"
    return "" if code == 0 else f"{words[0]} ended with exit code {code}"
