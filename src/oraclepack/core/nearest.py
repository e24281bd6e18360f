"""The known word a mistyped one most likely meant."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    # difflib is only needed once somebody mistypes something.
    from difflib import get_close_matches  # noqa: PLC0415

    by_lower = {name.lower(): name for name in sorted(known)}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, empty when none is near."""
    found = nearest(word, known)
    return f"did you mean {found}?" if found else ""
