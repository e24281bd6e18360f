"""Calling the real oracle by hand, and what it leaves."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.provider import Provider


def quick_start(programs: Path) -> dict[str, str]:
    """Lets Node keep what it has compiled: a quarter less of each start."""
    return {"NODE_COMPILE_CACHE": str(programs.parent.parent / "compiled")}


@dataclass(frozen=True)
class RealOracle:
    """The program, its environment, and the directories it works in."""

    programs: Path
    home: Path
    """Its own home, where it keeps its sessions."""
    cwd: Path
    provider: Provider

    @property
    def env(self) -> Mapping[str, str]:
        """Everything it needs to reach the loopback provider and nothing else."""
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "ORACLE_HOME_DIR": str(self.home),
            "OPENAI_API_KEY": "sk-loopback",
            "LANG": "C.UTF-8",
            **quick_start(self.programs),
        }

    @property
    def flags(self) -> tuple[str, ...]:
        """What makes a call go to the provider."""
        return ("--engine", "api", "--base-url", self.provider.base_url)

    def argv(self, prompt: str, *more: str, model: str = "gpt-5.2") -> list[str]:
        program = str(self.programs / "oracle")
        return [program, *self.flags, "-m", model, "-p", prompt, *more]

    def ask(self, prompt: str, *more: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """One call to its end."""
        return subprocess.run(
            self.argv(prompt, *more, **how),
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def begin(self, prompt: str, *more: str, **how: Any) -> subprocess.Popen[str]:
        """One call, under way; its words go nowhere."""
        return subprocess.Popen(
            self.argv(prompt, *more, **how),
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """Its own records, by name."""
        found = sorted(self.home.glob("sessions/*/meta.json"))
        return [json.loads(path.read_text()) for path in found]
