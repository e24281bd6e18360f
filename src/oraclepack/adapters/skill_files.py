"""The canonical prompt in the package, and copies of it on disk."""

from pathlib import Path

from oraclepack.system import files

_PROMPT = Path(__file__).parent.parent / "generate" / "prompt.md"


def canonical_prompt() -> str:
    """The one text that every skill contains."""
    return _PROMPT.read_text(encoding="utf-8")


def installed(path: Path) -> str | None:
    """The text of a skill at its place, if there is one."""
    content = files.read(path)
    return None if content is None else content.decode("utf-8", "replace")
