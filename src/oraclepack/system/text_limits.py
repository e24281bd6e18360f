"""How large a text may be: a larger one is refused with a reason, since reading it takes minutes.

Every reader takes time in proportion to a text of this size. Known files are far below: the largest
pack has 145 kB, the largest answer 30 kB, the longest line 600 characters.
"""

import msgspec


class TextLimit(msgspec.Struct, frozen=True):
    """The largest text of one kind."""

    size: int
    """Bytes."""
    lines: int
    line: int
    """Characters of the longest line."""

    def excess(self, text: str) -> str | None:
        """In what a text goes beyond the limit; None when it does not."""
        # A character has at most four bytes: most texts need not be encoded.
        if len(text) * 4 > self.size and len(text.encode("utf-8", "replace")) > self.size:
            return f"more than {self.size} bytes"
        if text.count("\n") + text.count("\r") > self.lines:
            return f"more than {self.lines} lines"
        if len(text) > self.line and max(map(len, text.split("\n"))) > self.line:
            return f"a line of more than {self.line} characters"
        return None


PACK = TextLimit(1024 * 1024, 10_000, 1024 * 1024)
TICKET = TextLimit(1024 * 1024, 10_000, 100_000)
ANSWER = TextLimit(1024 * 1024, 10_000, 100_000)
LARGEST_OUTPUT = 16 * 1024 * 1024
"""Bytes of an output that owes no sections. A larger one passes no check: nobody would read it."""
