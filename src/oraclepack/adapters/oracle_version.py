"""Which oracle is installed, told by its package where possible: asking it takes half a second."""

import json
from pathlib import Path

from oraclepack.system.programs import find_program, probe

_PACKAGE = "@steipete/oracle"


def version_of_oracle(program: str = "") -> str | None:
    """The version of the oracle that would be called; None when it does not tell."""
    found = program or find_program("oracle")
    if found is None:
        return None
    return _from_package(Path(found)) or _asked(found)


def _from_package(program: Path) -> str | None:
    try:
        place = program.resolve(strict=True)
        for folder in place.parents:
            manifest = folder / "package.json"
            if manifest.is_file():
                told = json.loads(manifest.read_text(encoding="utf-8"))
                is_oracle = isinstance(told, dict) and told.get("name") == _PACKAGE
                return str(told["version"]) if is_oracle and "version" in told else None
    except (OSError, ValueError):
        return None
    return None


def _asked(program: str) -> str | None:
    answer = probe([program, "--version"], timeout=5.0)
    words = answer.answer.split() if answer.exit_code == 0 else []
    return next((word for word in words if word[:1].isdigit()), None)
