"""Who asks the questions of `bench.money`: each runner with its files and its command."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = 40
AGAIN = 3
"""How often a runner is started again for failures that it reports itself."""
UNTIL_DONE = 100
"""More often than a runner needs that gets an answer further each time."""
GO_STEPS = 20
"""The Go tool takes packs with this many steps and no others."""
FORMAT = (
    "Answer format:\\n### Direct answer\\n### Risks and unknowns\\n"
    "### Next experiment\\n### Missing evidence"
)
"""Spelled as the Go tool looks for it: the headings letter by letter."""
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
    again: int = AGAIN
    """How often it is started again for failures that it reports itself."""
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


def _go(where: Path) -> list[str]:
    """Its steps are login shells, which find the tools by a profile, as on a user's machine."""
    names = []
    for first in range(0, QUESTIONS, GO_STEPS):
        names.append(f"pack{first // GO_STEPS + 1}.md")
        (where / names[-1]).write_text(_pack(numbers()[first : first + GO_STEPS]))
    (where / "home").mkdir()
    (where / "home" / ".profile").write_text(f'PATH="{where}/tools:$PATH"\n')
    body = "oraclepack-go run $pack --no-tui --yes --resume || failed=1"
    return _script(
        where,
        f'export HOME="$PWD/home"\nfailed=0\nfor pack in {" ".join(names)}; do {body}; done\n'
        "exit $failed",
    )


def _ours(where: Path) -> list[str]:
    (where / "pack.md").write_text(_pack(numbers()), encoding="utf-8")
    options = ["--max-parallel", "4", "--keep-going", "--output-retries", "3", "--quiet"]
    return ["oraclepack", "run", "pack.md", *options]


def _pack(questions: Sequence[str]) -> str:
    """These questions as steps, numbered from 1."""
    steps = "".join(
        f"# {step:02}) Question {n}\noracle --write-output out/{n}.md"
        f" -p \"Question {n}?\"$'\\n\\n'$'{FORMAT}'\n"
        for step, n in enumerate(questions, 1)
    )
    return f"# p\n\n```bash\nmkdir -p out\n{steps}```\n"


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
    # It stops at the first failure: its user types the same command until nothing fails.
    Runner("the Go tool, `--resume`", _go, program="oraclepack-go", again=UNTIL_DONE),
    Runner(OURS, _ours, program="oraclepack"),
    Runner(
        FAST,
        _ours,
        program="oraclepack",
        env=(("ORACLEPACK_RETRY_BASE_SECONDS", "0.01"),),
    ),
)
