"""A scripted `oracle` to put on a test's PATH: it logs its calls and answers as requested."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("oracle.py")


@dataclass(frozen=True)
class Scripted:
    """A program in a directory of its own, and what it has been asked."""

    program: Path

    @property
    def folder(self) -> Path:
        """To be put on PATH."""
        return self.program.parent

    @property
    def calls(self) -> list[dict[str, Any]]:
        """One entry per call that asked something, in the order they began."""
        log = self.folder / f"{self.program.name}.calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def prompts(self) -> list[str]:
        return [call["prompt"] for call in self.calls]


def scripted_tool(folder: Path, name: str = "oracle") -> Scripted:
    """Install the program in a directory, under any tool's name."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    # Isolated and without site: it starts in a third of the time.
    program.write_text(f"#!{sys.executable} -IS\n{_SOURCE.read_text()}")
    program.chmod(0o755)
    return Scripted(program)
