"""Where the real tools are, and the environment they are called with."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from oraclepack.adapters.shim_dir import find_beyond, without
from oraclepack.system.environment import MARKER_VARIABLE

_OURS = ("BASH_ENV", MARKER_VARIABLE)
"""What we changed in a step's environment; the tool gets what stood there before us."""


class RealTool(msgspec.Struct, frozen=True):
    """A program, and the PATH on which it was found."""

    program: str
    path: str


class Toolbox(msgspec.Struct, frozen=True):
    """Finds the tools as oraclepack sees them first, then as the step does.

    A login profile may put an old Node first on a step's PATH, while the person who started
    oraclepack has a PATH on which the tools work.
    """

    shim_dir: Path
    own: Mapping[str, str]
    """Oraclepack's own environment."""
    chosen: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Programs the user named, by tool."""

    def find(self, name: str, step_path: str) -> RealTool | None:
        """The real program of this name, or None."""
        own_path = without(self.shim_dir, self.own.get("PATH", os.defpath))
        step_path = without(self.shim_dir, step_path)
        named = self.chosen.get(name)
        for search in (own_path,) if named else (own_path, step_path):
            program = find_beyond(self.shim_dir, named or name, search)
            if program:
                return RealTool(os.path.abspath(program), search)  # noqa: PTH100  keeps links
        return None

    def environment(self, tool: RealTool, env: Mapping[str, str]) -> dict[str, str]:
        """The step's environment, with the PATH the tool works on and without our marks.

        The tool outlives us: without the mark of the attempt, nobody who tidies up after the
        step mistakes a paid call for one of its leftovers.
        """
        kept = {name: value for name, value in env.items() if name not in _OURS}
        before = {name: self.own[name] for name in _OURS if name in self.own}
        return {**kept, **before, "PATH": tool.path}
