"""The names of a run's own copies of the outputs: `outputs/NN-<slug>.md`."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import count
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
            stem = PurePosixPath(path).stem.removeprefix(f"{step_id}-")
            base = f"{FOLDER}/{step_id}-{slug(stem) or slug(title) or 'output'}"
            free = (f"{base}-{number}.md" if number > 1 else f"{base}.md" for number in count(1))
            names[path] = next(name for name in free if name.casefold() not in used)
            used.add(names[path].casefold())
    return names
