"""The key of a call of oracle: everything that decides its answer, and nothing else."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from oraclepack.errors import Refusal
from oraclepack.system.digests import sha256_text, sha256_value
from oraclepack.system.printable import readable
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import config_part, keyed_engine, model_of

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
    shortened = text or "nothing"
    return shortened if len(shortened) <= 16 else shortened[:12] + "…"  # a hash at a glance


_MAKES_IMAGES = ("--generate-image", "--edit-image", "--aspect")
_LOGIN = re.compile(r"//[^/@]*@")


def unkeyed(question: OracleQuestion) -> Refusal | None:
    """Why a question has no key whatever its files are."""
    if not question.prompt:
        return Refusal("there is no prompt")
    if question.models:
        return Refusal("several models answer at once")
    if question.output is None:
        return Refusal("there is no --write-output: the answer goes to the screen only")
    if question.flags.keys() & set(_MAKES_IMAGES):
        return Refusal("the answer is an image")
    if "--exec-session" in question.flags:
        return Refusal("it continues a stored session")
    return None


def key_of(
    question: OracleQuestion, attached: Iterable[tuple[str, str]], around: OracleContext
) -> InvocationKey | Refusal:
    """The key, from the question, the (path, SHA-256) of its files, and oracle's configuration."""
    reason = unkeyed(question)
    if reason is not None:
        return reason
    parts = {"prompt": sha256_text(question.prompt), "engine": keyed_engine(question, around)}
    parts |= {f"file:{path}": digest for path, digest in attached}
    parts["model"] = model_of(question, around) or "the tool's own choice"
    for name, values in question.flags.items():
        parts[f"flag:{name}"] = _LOGIN.sub("//", ",".join(values))
    for name, value in around.variables.items():
        parts[f"variable:{name}"] = _LOGIN.sub("//", value)
    config = config_part(around)
    if config is not None:
        parts["config"] = config
    return InvocationKey.of({readable(k): readable(v) for k, v in sorted(parts.items())})
