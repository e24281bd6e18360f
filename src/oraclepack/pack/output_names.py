"""The names of a run's own copies of the outputs: `outputs/NN-<slug>.md`."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

LONGEST_SLUG = 60
FOLDER = "outputs"

_OTHER = re.compile(r"[^a-z0-9]+")


def slug(text: str) -> str:
    """Lower-case letters, digits and single dashes; empty when nothing of the text is left."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = _OTHER.sub("-", plain.lower()).strip("-")
    if len(words) <= LONGEST_SLUG:
        return words
    cut = words[: LONGEST_SLUG + 1].rpartition("-")[0]
    return cut or words[:LONGEST_SLUG]


def output_names(
    step_id: str, title: str, declared: Iterable[str], known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Where a run keeps a copy of each declared output, relative to its directory.

    Names given before (`known`, by declared path) stay, whatever is declared now; a name that
    is taken gets `-2`, `-3`, … Names that differ only in case count as equal, as on some disks.
    """
    names = dict(known or {})
    used = {name.casefold() for name in names.values()}
    for path in declared:
        if path not in names:
            names[path] = _free(f"{FOLDER}/{step_id}-{_stem(step_id, title, path)}", used)
            used.add(names[path].casefold())
    return names


def _stem(step_id: str, title: str, path: str) -> str:
    stem = PurePosixPath(path).stem.removeprefix(f"{step_id}-")
    return slug(stem) or slug(title) or "output"


def _free(base: str, existing: Iterable[str]) -> str:
    used = set(existing)
    candidate, number = f"{base}.md", 1
    while candidate.casefold() in used:
        number += 1
        candidate = f"{base}-{number}.md"
    return candidate
