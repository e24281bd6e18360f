"""The labelled answers of `corpus/`, as values.

A case is a line `=== name | good or bad | contract | why`, followed by the answer. It is labelled
by what a careful reader would say of the answer, whatever the verifier thinks of it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from oraclepack.pack.contract import DeclaredOutput, OutputContract, infer

CORPUS = Path(__file__).with_name("corpus")
PROMPT = (CORPUS / "prompt.txt").read_text(encoding="utf-8")
_HEAD = re.compile(r"^=== (?P<name>[^|\n]+) \| (?P<label>good|bad) \| (?P<contract>\S+) \| .+$")


@dataclass(frozen=True)
class Case:
    """An answer, what it was asked to hold, and whether it is good."""

    kind: str
    name: str
    good: bool
    contract: OutputContract
    data: bytes


def cases() -> list[Case]:
    """Every labelled answer, file by file."""
    files = sorted(path for path in CORPUS.glob("*.txt") if path.stem != "prompt")
    return [case for path in files for case in _read(path)]


def _read(path: Path) -> list[Case]:
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        head = _HEAD.match(line)
        if head is not None:
            found.append((head, []))
        else:
            found[-1][1].append(line)
    return [_case(path.stem, head, "\n".join(lines)) for head, lines in found]


def _case(kind: str, head: re.Match[str], text: str) -> Case:
    quoted = PROMPT.replace("\n", "\n> ").rstrip("> ")
    filled = text.replace("{prompt}", PROMPT).replace("{quoted}", quoted)
    (contract,) = infer([DeclaredOutput("out/01.md")], "", marker=head["contract"])
    return Case(kind, head["name"], head["label"] == "good", contract, filled.encode())
