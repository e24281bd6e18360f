"""What `undo` tells."""

import msgspec


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken back."""

    step_id: str
    run_id: str
    patch: str
    files: tuple[str, ...]
