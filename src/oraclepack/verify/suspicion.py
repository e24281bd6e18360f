"""A sign that an answer is not what it seems."""

import msgspec


class Suspicion(msgspec.Struct, frozen=True):
    """What a careful reader would doubt, and at which line of the answer."""

    code: str
    """`unclosed_fence`, `cut_off`, `placeholder`, `empty_section`, `refusal`, `echo`, `script`."""
    message: str
    line: int
