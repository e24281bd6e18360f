"""Where something stands in a file."""

import msgspec


class Span(msgspec.Struct, frozen=True, order=True):
    """A stretch of a file: lines and columns count from 1, in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def at(cls, line: int, column: int = 1) -> "Span":
        """The empty span at one place."""
        return cls(line, column, line, column)

    def contains(self, other: "Span") -> bool:
        """Whether another stretch lies wholly within this one."""
        begins = (self.line, self.column) <= (other.line, other.column)
        return begins and (other.end_line, other.end_column) <= (self.end_line, self.end_column)

    def holds_line(self, line: int) -> bool:
        return self.line <= line <= self.end_line
