"""The values of a script's variables at a given point, as far as its text shows."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from oraclepack.pack.script import Expansion, Span, Word

LONGEST_VALUE = 100_000
"""Characters. `a=$a$a` in a few lines would fill the memory; prompts are shorter."""


_MOST_EXPANSIONS = 500
"""Of one variable: texts that are put together from each other would double them each time."""


class Value(msgspec.Struct, frozen=True):
    """The value of a word as far as the text shows it."""

    text: str
    """The value, with what is unknown left as it was written."""
    known: bool = True
    splits: bool = False
    globs: bool = False
    origin: Span | None = None
    expansions: tuple[Expansion, ...] = ()
    """What bash expands in its texts."""

    def joined(self, other: "Value") -> "Value":
        return Value(
            self.text + other.text,
            self.known and other.known,
            self.splits or other.splits,
            self.globs or other.globs,
            self.origin if self.text or self.origin else other.origin,
            self.expansions + other.expansions,
        )


class Variables(msgspec.Struct):
    """The variables whose value is certain; whatever may have changed is simply not here."""

    values: dict[str, Value] = msgspec.field(default_factory=dict)
    unstable: set[str] = msgspec.field(default_factory=set)
    """Names that a function may change at any time."""
    texts: dict[str, tuple[Expansion, ...]] = msgspec.field(default_factory=dict)
    """What bash expands in the texts that a variable may hold, known or not."""
    held: dict[str, dict[Expansion, None]] = msgspec.field(default_factory=dict)
    """The same for every text they ever took; copies share it."""
    out_dirs: list[Word] = msgspec.field(default_factory=list)
    """Every assignment to `out_dir` so far; copies share it."""

    def copy(self) -> "Variables":
        return Variables(
            dict(self.values), set(self.unstable), dict(self.texts), self.held, self.out_dirs
        )

    def get(self, name: str) -> Value | None:
        return self.values.get(name)

    def assign(self, name: str, value: Value, *, certain: bool) -> None:
        self.hold(name, value.expansions, certain=certain)
        short = len(value.text) <= LONGEST_VALUE
        if certain and short and value.known and name not in self.unstable:
            self.values[name] = replace(value, splits=False, globs=False)
        else:
            self.values.pop(name, None)

    def hold(self, name: str, expansions: tuple[Expansion, ...], *, certain: bool) -> None:
        """Remember what is expanded in a text that a variable takes, or may take."""
        if expansions:
            self.held.setdefault(name, {}).update(dict.fromkeys(expansions[:_MOST_EXPANSIONS]))
        before = () if certain else self.texts.get(name, ())
        if held := tuple(dict.fromkeys((*before, *expansions))):
            self.texts[name] = held[:_MOST_EXPANSIONS]
        else:
            self.texts.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.values.pop(name, None)

    def distrust(self, names: Iterable[str]) -> None:
        """These may change at any time from now on."""
        for name in names:
            self.unstable.add(name)
            self.values.pop(name, None)

    def forget_all(self) -> None:
        """Something ran that may have set anything: `source`, `eval`."""
        self.values.clear()
