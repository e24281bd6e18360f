"""The events about the work tree: what it was before a step, what the step changed."""

from oraclepack.core.event import Event


class TreeSeen(Event, frozen=True, kw_only=True, tag="tree_seen"):
    """The work tree before a step that may change it, as a git tree in the run's own store."""

    step: str
    attempt: int
    tree: str


class TreeChanged(Event, frozen=True, kw_only=True, tag="tree_changed"):
    """What an attempt changed in the work tree."""

    step: str
    attempt: int
    files: tuple[str, ...]
    """For people: bytes of a name that are no UTF-8 are spelled out; the patch has them."""
    patch: str | None = None
    """Relative to the run directory; None when nothing may be taken back from it."""
    head_before: str | None = None
    head_after: str | None = None
    allowed: bool = True
    """The step's policy lets it change these files."""
    patch_sha256: str | None = None
    """Of the patch; None in records of 0.1.0."""


class ChangeUndone(Event, frozen=True, kw_only=True, tag="change_undone"):
    """A recorded change was taken back because the user asked."""

    step: str
    attempt: int
    patch: str
