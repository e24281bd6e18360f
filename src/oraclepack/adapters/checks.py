"""What the world says about a pack: bash, shellcheck, and the paths the pack names."""

from pathlib import Path

from oraclepack.adapters.path_facts import path_facts
from oraclepack.adapters.shellcheck import Shellcheck
from oraclepack.adapters.syntax import check_syntax, start_reading
from oraclepack.core.facts import CheckStatus, Facts
from oraclepack.pack.model import Fence, Pack
from oraclepack.shell.checker import complete

__all__ = ["Started", "complete", "facts_for"]


class Started:
    """Shellcheck and bash at work on a block, while its pack is still being read."""

    def __init__(self, block: Fence | None) -> None:
        # Shellcheck is the slow one: it starts first.
        self.shellcheck = Shellcheck(block)
        self.bash = start_reading(block) if block is not None else None

    def stop(self) -> None:
        """End both: the pack cannot be read, so nobody will ask for their results."""
        self.shellcheck.drop("the pack cannot be read")
        if self.bash is not None:
            self.bash.stop()


def facts_for(pack: Pack, project_root: Path, *, started: Started | None = None) -> Facts:
    """Everything outside the text that the rules may know, asked for now."""
    working = started or Started(pack.block)
    syntax = check_syntax(pack, working.bash)
    paths = path_facts(pack, project_root)
    if syntax.status is CheckStatus.FAILED:
        verdict = working.shellcheck.drop("bash -n found errors; mend them first")
    else:
        verdict = working.shellcheck.result()
    return Facts(syntax, verdict, paths)
