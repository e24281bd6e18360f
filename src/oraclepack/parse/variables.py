"""What the text of a script tells about its variables at a given point."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from oraclepack.core.source import Span

LONGEST_VALUE = 100_000
"""Characters. `a=$a$a` in a few lines would fill the memory; nobody writes longer prompts."""


class Value(msgspec.Struct, frozen=True):
    """The value of a word as far as the text tells it."""

    text: str
    """The value, with what is unknown left as it was written."""
    known: bool = True
    splits: bool = False
    globs: bool = False
    origin: Span | None = None

    def joined(self, other: "Value") -> "Value":
        return Value(
            self.text + other.text,
            self.known and other.known,
            self.splits or other.splits,
            self.globs or other.globs,
            self.origin if self.text or self.origin else other.origin,
        )


class Variables(msgspec.Struct):
    """The variables whose value is certain; whatever may have changed is simply not here."""

    values: dict[str, Value] = msgspec.field(default_factory=dict)
    unstable: set[str] = msgspec.field(default_factory=set)
    """Names that a function may change at any time."""

    def copy(self) -> "Variables":
        return Variables(dict(self.values), set(self.unstable))

    def get(self, name: str) -> Value | None:
        return self.values.get(name)

    def assign(self, name: str, value: Value, *, certain: bool) -> None:
        short = len(value.text) <= LONGEST_VALUE
        if certain and short and value.known and name not in self.unstable:
            self.values[name] = replace(value, splits=False, globs=False)
        else:
            self.values.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.values.pop(name, None)

    def distrust(self, names: Iterable[str]) -> None:
        """These may change behind our back from now on."""
        for name in names:
            self.unstable.add(name)
            self.values.pop(name, None)

    def forget_all(self) -> None:
        """Something ran that may have set anything: `source`, `eval`."""
        self.values.clear()
