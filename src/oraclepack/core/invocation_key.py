"""The key of an invocation: a value that can be printed, compared and hashed."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from oraclepack.system.digests import sha256_value

RECIPE = 1
"""Raised when keys are made in another way: no older answer is then found any more."""

Parts: TypeAlias = Mapping[str, str]
"""What a key is made of, by name: `prompt`, `file:src/a.py`, `flag:--search`, `model`, …"""


class InvocationKey(msgspec.Struct, frozen=True):
    """Two invocations with the same key ask the same question of the same model."""

    value: str
    parts: Parts

    @classmethod
    def of(cls, parts: Parts) -> "InvocationKey":
        return cls(sha256_value({"recipe": RECIPE, "parts": dict(parts)}), parts)


class NoKey(msgspec.Struct, frozen=True):
    """Why an invocation has no key: nothing is cached for it."""

    reason: str


class PartChange(msgspec.Struct, frozen=True):
    """A part in which two keys differ. None: that key has no such part."""

    part: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.part} is new ({_short(self.after)})"
        if self.after is None:
            return f"{self.part} is gone (was {_short(self.before)})"
        return f"{self.part} changed from {_short(self.before)} to {_short(self.after)}"


def differences(before: Parts, after: Parts) -> tuple[PartChange, ...]:
    """The parts in which two keys differ, by name."""
    return tuple(
        PartChange(name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def _short(text: str | None) -> str:
    shown = text or "nothing"
    return shown if len(shown) <= 16 else shown[:12] + "…"  # noqa: PLR2004 - a hash at a glance
