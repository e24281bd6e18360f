"""What stands at an output's path, judged by the jail first."""

from collections.abc import Iterable
from pathlib import Path

from oraclepack.adapters import files
from oraclepack.adapters.jail import Refused, jail
from oraclepack.core.content import Content
from oraclepack.core.digest import sha256_bytes


def content_at(root: Path, path: str) -> Content:
    """The bytes of an output inside the project, or why they cannot be had."""
    verdict = jail(root, path)
    if isinstance(verdict, Refused):
        return Content(trouble=verdict.reason)
    return read_content(verdict.path)


def read_content(place: Path) -> Content:
    try:
        return Content(files.read_regular(place))
    except FileNotFoundError:
        return Content(trouble="missing")
    except OSError as trouble:
        return Content(trouble=trouble.strerror or str(trouble))


def hashes_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """SHA-256 of every path that is a readable file; others are left out."""
    found: dict[str, str] = {}
    for path in paths:
        content = read_content(root / path).data
        if content is not None:
            found[path] = sha256_bytes(content)
    return found
