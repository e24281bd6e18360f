"""Start-up against the bare interpreter: `python -m bench.startup [ROUNDS]`."""

import sys
import tempfile
from pathlib import Path

from bench.measure import (
    BIN,
    Contender,
    clean_home,
    compared,
    control,
    installed,
    medians,
    rounds_asked,
    table,
)

BARE = "python -c pass"
OURS = (
    ("oraclepack --version", 1.3),
    ("oraclepack --help", 1.3),
    ("oraclepack schema", 5.0),
    ("oraclepack explain OP201", 5.0),
    ("oraclepack config show", 5.0),
    ("oraclepack completion bash", 5.0),
    ("oraclepack manifest", 5.0),
    ("oraclepack list pack.md", 5.0),
    ("oraclepack validate pack.md", 5.0),
)
"""The static answers may cost 1.3, other commands 5 plus their own work."""

PACK = "# p\n\n```bash\n# 01) one\ntrue\n```\n"
RIVALS = {
    "just --version": ["just", "--version"],
    "parallel --version": ["parallel", "--version"],
    "doit --version": ["doit", "--version"],
    "snakemake --version": ["snakemake", "--version"],
    "inspect --version": ["inspect", "--version"],
}


def main() -> None:
    python = Contender(BARE, [sys.executable, "-c", "pass"])
    ours = [Contender(line, [str(BIN / "oraclepack"), *line.split()[1:]]) for line, _ in OURS]
    rivals, missing = installed(RIVALS)
    with clean_home() as env, tempfile.TemporaryDirectory() as place:
        (Path(place) / "pack.md").write_text(PACK, encoding="utf-8")
        times = medians(
            [python, control(python), *ours, *rivals], rounds_asked(21), env, Path(place)
        )
    print(table("start-up", BARE, compared(times, BARE, dict(OURS)), missing))


if __name__ == "__main__":
    main()
