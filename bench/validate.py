"""`validate` of a long pack against one `bash -n`: `python -m bench.validate [ROUNDS]`."""

import shutil
import sys
import tempfile
from pathlib import Path

from bench.big_pack import big_pack
from bench.measure import (
    BIN,
    Contender,
    clean_home,
    compared,
    control,
    medians,
    rounds_asked,
    table,
)

BASH = "bash -n"
GOAL = 25.0
PLAIN = "validate, no shellcheck"
FULL = "validate, with shellcheck"


def bare_program(place: Path) -> list[str]:
    """The same installation under an interpreter that has no shellcheck beside it."""
    bin_dir = place / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    shutil.copy(BIN.parent / "pyvenv.cfg", place / "venv")
    (bin_dir / "python").symlink_to(sys.executable)
    # The very same libraries, .pth files too: start-up must cost what it costs elsewhere.
    (place / "venv" / "lib").symlink_to(BIN.parent / "lib")
    return [str(bin_dir / "python"), str(BIN / "oraclepack")]


def main() -> None:
    pack = big_pack()
    block = pack.split("```bash\n")[1].rsplit("```", 1)[0]
    with clean_home() as env, tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "pack.md").write_text(pack, encoding="utf-8")
        (place / "block.sh").write_text(block, encoding="utf-8")
        without = {"PATH": "/usr/bin:/bin"}
        bash = Contender(BASH, ["bash", "-n", "block.sh"])
        contenders = [
            bash,
            control(bash),
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
