"""Who asks the questions of `bench.money`: each runner with its files and its command."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = 40
FORMAT = (
    "Answer format:\\n1) Direct answer\\n2) Risks/unknowns\\n"
    "3) Next smallest concrete experiment\\n4) If evidence is insufficient, name it."
)
ASK = """\
#!/usr/bin/env bash
# ask.sh NN: one question, its answer in out/NN.md
exec oracle --write-output "out/$1.md" -p "Question $1?"$'\\n\\n'$'{format}'
"""


@dataclass(frozen=True)
class Runner:
    """A way to ask forty questions."""

    name: str
    write: Callable[[Path], list[str]]
    """Lays out its files and says how it is called."""
    remembers: bool = True
    """Whether it knows on its next start what is done already."""
    program: str = "bash"
    env: tuple[tuple[str, str], ...] = ()


def numbers() -> list[str]:
    return [f"{number:02}" for number in range(1, QUESTIONS + 1)]


def _loop(where: Path) -> list[str]:
    return _script(where, f"for n in {' '.join(numbers())}; do ./ask.sh $n; done")


def _skipping(where: Path) -> list[str]:
    body = "[ -e out/$n.md ] || ./ask.sh $n || failed=1"
    return _script(
        where, f"failed=0\nfor n in {' '.join(numbers())}; do {body}; done\nexit $failed"
    )


def _xargs(where: Path) -> list[str]:
    return _script(where, f"printf '%s\\n' {' '.join(numbers())} | xargs -P4 -n1 ./ask.sh")


def _parallel(where: Path) -> list[str]:
    options = "--will-cite -j4 --retries 5 --resume-failed --joblog jobs.log"
    return _script(where, f"parallel {options} ./ask.sh ::: {' '.join(numbers())}")


def _make(where: Path) -> list[str]:
    files = " ".join(f"out/{number}.md" for number in numbers())
    rule = "out/%.md:\n\t./ask.sh $*\n"
    (where / "Makefile").write_text(f".DELETE_ON_ERROR:\nall: {files}\n{rule}")
    return ["make", "-s", "-k", "-j4"]


def _snakemake(where: Path) -> list[str]:
    names = json.dumps(numbers())
    (where / "Snakefile").write_text(
        f'rule all:\n    input: expand("out/{{n}}.md", n={names})\n'
        'rule ask:\n    output: "out/{n}.md"\n    shell: "./ask.sh {wildcards.n}"\n'
    )
    options = ["--retries", "5", "--keep-going", "--rerun-incomplete", "--nolock"]
    return ["snakemake", "--quiet", "all", "-c4", *options]


def _ours(where: Path) -> list[str]:
    steps = "".join(
        f"# {n}) Question {n}\noracle --write-output out/{n}.md"
        f" -p \"Question {n}?\"$'\\n\\n'$'{FORMAT}'\n"
        for n in numbers()
    )
    (where / "pack.md").write_text(f"# p\n\n```bash\nmkdir -p out\n{steps}```\n", encoding="utf-8")
    options = ["--max-parallel", "4", "--keep-going", "--output-retries", "3", "--quiet"]
    return ["oraclepack", "run", "pack.md", *options]


def _script(where: Path, body: str) -> list[str]:
    (where / "run.sh").write_text(f"{body}\n")
    return ["bash", "run.sh"]


OURS, FAST = "oraclepack", "oraclepack, waits of retries cut to 10 ms"
RUNNERS = (
    Runner("bash loop, run again", _loop, remembers=False),
    Runner("bash loop that skips existing files", _skipping),
    Runner("xargs, `-P4`", _xargs, remembers=False, program="xargs"),
    Runner("GNU parallel, `--retries 5 --resume-failed`", _parallel, program="parallel"),
    Runner("make, `-k -j4`", _make, program="make"),
    Runner("snakemake, `-c4 --retries 5`", _snakemake, program="snakemake"),
    Runner(OURS, _ours, program="oraclepack"),
    Runner(
        FAST,
        _ours,
        program="oraclepack",
        env=(("ORACLEPACK_RETRY_BASE_SECONDS", "0.01"),),
    ),
)
