"""What standing between a step and its tools costs: `python -m bench.interception [ROUNDS]`.

Everything is on: keys, journal, copies, contract, cache. Twenty calls in a step are compared with
the same calls by the tool's own path, which nobody intercepts.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.measure import BIN, Contender, clean_home, medians, rounds_asked

CALLS = 20
EMPTY, DIRECT, ASKED, CACHED = "a step without calls", "direct", "intercepted", "from the cache"
ORACLE = "oracle --version"
MOST_MS, MOST_RATIO = 60.0, 0.15
START_MS = 550.0
"""What oracle takes to start where the goal was set: a slower machine gets as much more."""
TOOL = '#!/bin/sh\nfor last; do :; done\necho "an answer" >"$last"\n'
"""Writes an answer where its last word says, and nothing else."""


def pack(body: str) -> str:
    return f"# p\n\n```bash\n# 01) step\nmkdir -p out\n{body}\n```\n"


def calls(program: str, question: str) -> str:
    """Each call asks something else, so none is answered by another one's answer."""
    ask = f'{program} -e api -p "{question} $n?" --write-output "out/$n.md"'
    return f"set -e\nfor ((n = 0; n < {CALLS}; n++)); do {ask}; done"


def prepare(project: Path, tools: Path) -> None:
    tools.mkdir()
    tool = tools / "oracle"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    for name, body in {
        "empty.md": "true",
        "direct.md": calls('"$TOOL"', "Why"),
        "asked.md": calls("oracle", "Why"),
        "cached.md": calls("oracle", "How"),
    }.items():
        (project / name).write_text(pack(body))
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)


def contenders(real: Path | None) -> list[Contender]:
    found = [
        _ours(EMPTY, "empty.md"),
        _ours(DIRECT, "direct.md"),
        _ours(ASKED, "asked.md", "--no-cache"),
        _ours(CACHED, "cached.md"),
    ]
    if real is not None:
        path = {"PATH": f"{real.parent}:/usr/bin:/bin"}
        found.append(Contender(ORACLE, [str(real), "--version"], env=path))
    return found


def _ours(name: str, *args: str) -> Contender:
    return Contender(name, [str(BIN / "oraclepack"), "run", "--quiet", "--new-run", *args])


def real_oracle() -> Path | None:
    """The one the tests use, else the one on PATH."""
    kept = sorted(Path(__file__).parents[1].glob(".tools/*/node_modules/.bin/oracle"))
    on_path = shutil.which("oracle")
    return kept[-1] if kept else (Path(on_path) if on_path else None)


def told(times: Mapping[str, float]) -> str:
    more = (times[ASKED] - times[DIRECT]) / CALLS * 1000
    cached = (times[CACHED] - times[EMPTY]) / CALLS
    lines = [
        f"interception, per call, {CALLS} calls in a step",
        f"  more than the tool called directly  {more:6.1f} ms  (goal {MOST_MS:g} ms)",
        f"  answered from the cache             {cached * 1000:6.1f} ms",
    ]
    if ORACLE not in times:
        missing = "no oracle here to compare with: run the tests once, they install it"
        return "\n".join([*lines, f"  {missing}\n"])
    start = times[ORACLE] * 1000
    lines += [
        f"  {ORACLE}                    {start:6.1f} ms",
        f"  more, against that                  {_verdict(more / start, MOST_MS / START_MS)}",
        f"  from the cache, against that        {_verdict(cached * 1000 / start, MOST_RATIO)}",
    ]
    return "\n".join(lines) + "\n"


def _verdict(value: float, goal: float) -> str:
    return f"{value:6.3f}     <= {goal:.2f} {'ok' if value <= goal else 'MISSED'}"


def main() -> None:
    with clean_home() as env, tempfile.TemporaryDirectory() as place:
        project, tools = Path(place, "project"), Path(place, "tools")
        project.mkdir()
        prepare(project, tools)
        env["PATH"] = f"{tools}:{env['PATH']}"
        env["TOOL"] = str(tools / "oracle")
        # The first round only warms up, and so fills the cache.
        print(told(medians(contenders(real_oracle()), rounds_asked(7), env, project)))


if __name__ == "__main__":
    main()
