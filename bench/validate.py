"""`validate` of a long pack against one `bash -n`: `python -m bench.validate [ROUNDS]`."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench.big_pack import big_pack
from bench.measure import BIN, Contender, clean_home, compared, medians, rounds_asked, table

BASH = "bash -n"
GOAL = 25.0
PLAIN = "validate, no shellcheck"
FULL = "validate, with shellcheck"


def bare_program(place: Path) -> list[str]:
    """The program from an environment that has no shellcheck beside the interpreter."""
    bin_dir = place / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    shutil.copy(BIN.parent / "pyvenv.cfg", place / "venv")
    (bin_dir / "python").symlink_to(sys.executable)
    return [str(bin_dir / "python"), str(BIN / "oraclepack")]


def main() -> None:
    pack = big_pack()
    block = pack.split("```bash\n")[1].rsplit("```", 1)[0]
    with clean_home() as env, tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "pack.md").write_text(pack, encoding="utf-8")
        (place / "block.sh").write_text(block, encoding="utf-8")
        without = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
        contenders = [
            Contender(BASH, ["bash", "-n", "block.sh"]),
            Contender(PLAIN, [*bare_program(place), "validate", "pack.md"], env=without),
        ]
        if shutil.which("shellcheck", path=env["PATH"]):
            whole = [str(BIN / "oraclepack"), "validate", "pack.md"]
            contenders += [
                Contender(FULL, whole),
                Contender("shellcheck alone", ["shellcheck", "-s", "bash", "block.sh"], code=None),
            ]
        times = medians(contenders, rounds_asked(9), env, place)
    title = f"validate, {pack.count(chr(10))} lines, {pack.count('oracle ' + chr(92))} calls"
    print(table(title, BASH, compared(times, BASH, {PLAIN: GOAL})))


if __name__ == "__main__":
    main()
