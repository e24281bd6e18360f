"""Applying every fix, as `validate --fix` does."""

from oraclepack.lint.fix import apply_fixes
from tests.packs import findings_of


def fixed(text: str) -> str:
    """The text with every fix, applied until none is left."""
    for _ in range(8):
        after = apply_fixes(text, findings_of(text))
        if after == text:
            break
        text = after
    return text
