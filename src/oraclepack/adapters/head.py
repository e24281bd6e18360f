"""HEAD of a repository, read from its files: cheap enough to look after every step."""

from pathlib import Path


def peek(root: Path) -> str | None:
    """The commit HEAD stands on; None where the files do not tell (worktrees, packed oddities)."""
    folder = root / ".git"
    try:
        head = (folder / "HEAD").read_text(encoding="ascii").strip()
        if not head.startswith("ref: "):
            return head or None
        name = head.removeprefix("ref: ")
        loose = folder / name
        if loose.is_file():
            return loose.read_text(encoding="ascii").strip() or None
        for line in (folder / "packed-refs").read_text(encoding="utf-8").splitlines():
            sha, _, packed = line.partition(" ")
            if packed == name:
                return sha
    except (OSError, UnicodeDecodeError):
        return None
    return None
