"""How deep one oracle call is: our stack frames from the command line to the tool's process.

`python -m bench.call_frames [PACKAGE]` runs one pack with one call of a fake oracle and prints the
stacks at the moment in which the tool's process is started. PACKAGE is the `src` of another
checkout, to count the same way there.

Counted are the frames of `oraclepack` in the three threads that the call passes through: the
main thread (the command line, down to the wait for the steps), the thread of the step (down to
the wait for its shell) and the thread that serves the call (down to the start of the process).
Frames of libraries are not counted, nor are threads that no call passes through.
"""

import faulthandler
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_PACK = """\
# A pack

```bash
# 01) Ask
oracle -p "Why?" --write-output "answers/01.md"
```
"""
_ORACLE = """\
#!/bin/sh
while [ "$1" != --write-output ]; do shift; done
echo "Because." > "$2"
"""
_GATE = "gate.py"
"""The program that waits for its start to be recorded, and then becomes the tool."""
_THREAD = re.compile(r"(?:Thread|Current thread) 0x")
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)')


class Frame(NamedTuple):
    """One function of ours on a stack."""

    module: str
    name: str


def frames_of_a_call(package: Path | None = None) -> tuple[tuple[Frame, ...], ...]:
    """Our frames of each thread that the call passes through, the outermost first."""
    with tempfile.TemporaryDirectory() as folder:
        place, found = Path(folder, "project"), Path(folder, "stacks")
        _lay_out(place, Path(folder))
        path = os.pathsep.join((str(Path(folder, "bin")), os.environ["PATH"]))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ORACLEPACK_", "XDG_"))}
        env = kept | {"HOME": folder, "PATH": path}
        if package is not None:
            env["PYTHONPATH"] = str(package)
        words = ("run", "pack.md", "--output", "json")
        argv = (sys.executable, "-P", __file__, "--traced", str(found), *words)
        done = subprocess.run(argv, cwd=place, env=env, capture_output=True, check=False)
        if done.returncode != 0 or not found.exists():
            raise SystemExit(
                f"the call was not made:\n{done.stdout.decode()}{done.stderr.decode()}"
            )
        return _threads(found.read_text(encoding="utf-8"))


def _lay_out(place: Path, home: Path) -> None:
    place.mkdir()
    (place / "pack.md").write_text(_PACK, encoding="utf-8")
    oracle = home / "bin" / "oracle"
    oracle.parent.mkdir()
    oracle.write_text(_ORACLE, encoding="utf-8")
    oracle.chmod(0o755)


def _threads(dump: str) -> tuple[tuple[Frame, ...], ...]:
    threads: list[list[Frame]] = []
    for line in dump.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif found := _FRAME.match(line):
            _, ours, module = found["file"].rpartition("/src/oraclepack/")
            if ours and found["name"] != "<module>":
                threads[-1].insert(0, Frame(module.removesuffix(".py"), found["name"]))
    return tuple(tuple(thread) for thread in threads if _is_on_the_way(thread))


def _is_on_the_way(thread: Sequence[Frame]) -> bool:
    names = {frame.name for frame in thread}
    return bool(names & {"main", "run_step", "answer"})


def _run_traced(found: str, argv: Sequence[str]) -> None:
    """Answer a command line; when the tool's process is started, write down all stacks."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        words = args[1] if event == "subprocess.Popen" else ()
        if isinstance(words, Sequence) and any(str(word).endswith(_GATE) for word in words):
            with Path(found).open("w", encoding="utf-8") as file:
                faulthandler.dump_traceback(file, all_threads=True)

    sys.addaudithook(hook)
    sys.argv = ["oraclepack", *argv]
    runpy.run_module("oraclepack", run_name="__main__", alter_sys=True)


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--traced"]:
        _run_traced(words[1], words[2:])
        return
    threads = frames_of_a_call(Path(words[0]).resolve() if words else None)
    for thread in threads:
        print(f"{len(thread)} frames")
        for frame in thread:
            print(f"  {frame.module}:{frame.name}")
    print(f"{sum(map(len, threads))} frames of ours")


if __name__ == "__main__":
    main()
