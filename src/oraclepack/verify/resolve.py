"""Which files the outputs of a step are: as the text names them, or as a run recorded them."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.pack.model import Output, Step
from oraclepack.system.text_limits import regex

_EXPANSION = regex(r"\$\{[^}]*\}|\$\(.*\)|`[^`]*`|\$\w+|\$[@*#?!$-]|\*+|\?|\[[^\]]*\]", re.DOTALL)


class NamedOutput(msgspec.Struct, frozen=True):
    """An output and its path relative to the project root."""

    output: Output | None
    """None: the run recorded it, but the text declares nothing of the kind."""
    path: str | None
    """None: only the running shell knew it, and no run recorded it."""


def named_outputs(step: Step, recorded: Iterable[str] = ()) -> tuple[NamedOutput, ...]:
    """The outputs of a step in the order of the text, then what else a run recorded for it.

    A path with variables stands for every recorded path of its shape: one call in a loop writes
    many files. Where several shapes fit, the one that says most has it.
    """
    told = {output.path.value for output in step.outputs}
    spare = [path for path in dict.fromkeys(recorded) if path not in told]
    unknown = [output for output in step.outputs if output.path.value is None]
    owners = {path: _owner(path, unknown) for path in spare}
    found: list[NamedOutput] = []
    for output in step.outputs:
        if output.path.value is not None:
            found.append(NamedOutput(output, output.path.value))
            continue
        paths = [path for path, owner in owners.items() if owner is output]
        found.extend(NamedOutput(output, path) for path in paths)
        if not paths:
            found.append(NamedOutput(output, None))
    found.extend(NamedOutput(None, path) for path, owner in owners.items() if owner is None)
    return tuple(found)


def _owner(path: str, unknown: Sequence[Output]) -> Output | None:
    fitting = [output for output in unknown if _shape(output).fullmatch(path)]
    return max(fitting, key=_said, default=None)


def _shape(output: Output) -> re.Pattern[str]:
    literal = _EXPANSION.split(output.path.shown.removeprefix("./"))
    return re.compile(".*".join(map(re.escape, literal)), re.DOTALL)


def _said(output: Output) -> int:
    """How many characters of a path the text tells."""
    return len(_EXPANSION.sub("", output.path.shown))
