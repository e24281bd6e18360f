"""What faults and kills cost: the same questions under the same faults, by several runners.

    python -m bench.money [--seeds 1 2 3] [--only NAME ...] [--write]

Forty questions; 15 % of the calls meet a rate limit, 10 % a 503, 10 % a cut answer and 5 % an
empty one, and the runner is killed three times. A runner is started again after each kill. One
that remembers what is done is also started again while it reports failures, three times at most,
or until it reports none where it stops at the first one.
`--write` puts the table into bench/money.md and on the pages that show it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.flaky_oracle import whole_answer
from bench.machine import described
from bench.money_runners import AGAIN, ASK, FAST, FORMAT, OURS, QUESTIONS, RUNNERS, Runner, numbers
from bench.page import MONEY, number, renew_fragments
from bench.scene import Place, clean_place

FAULTS = {"rate": 0.15, "busy": 0.10, "cut": 0.10, "empty": 0.05}
KILLS = (10, 20, 30)
"""The runner is killed when so many of the questions have been asked."""
SECONDS = 0.4
"""What a good answer takes."""


@dataclass(frozen=True)
class Bill:
    """What one runner cost and left behind."""

    paid: int
    twice: int
    bad: int
    missing: int
    seconds: float
    commands: int
    parts: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of our seconds: a tool was at work, calls only waited for their next try, neither."""


def measured_bill(runner: Runner, place: Place, seed: int) -> Bill:
    """Start the runner until it is done, and read what it cost from the provider's bill."""
    where, provider = place.path, place.path.parent / f"{place.path.name}-provider"
    provider.mkdir()
    try:
        env = _laid_out(where, provider, seed, place.env) | dict(runner.env)
        argv = runner.write(where)
        subprocess.run(["git", "init", "-q"], cwd=where, env=env, check=True)
        begun = time.perf_counter()
        commands = _until_done(runner, argv, where, provider, env)
        seconds = time.perf_counter() - begun
        calls = [json.loads(line) for line in (provider / "bill.jsonl").read_text().splitlines()]
    finally:
        shutil.rmtree(provider)
    good = Counter(call["question"] for call in calls if not call["fault"])
    kinds = Counter(_kind(where, number) for number in numbers())
    return Bill(
        paid=sum(call["billed"] for call in calls),
        twice=sum(count - 1 for count in good.values()),
        bad=kinds["bad"],
        missing=kinds["missing"],
        seconds=seconds,
        commands=commands,
        parts=_parts(where, seconds),
    )


def _parts(where: Path, seconds: float) -> tuple[float, float, float]:
    """What a run of ours did with its seconds, from its journal."""
    working: list[tuple[float, float]] = []
    waiting: list[tuple[float, float]] = []
    for journal in where.glob(".oraclepack/runs/*/journal.jsonl"):
        begun: dict[tuple[str, int], float] = {}
        for line in journal.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)["e"]
            at = datetime.fromisoformat(event["at"]).timestamp()
            if event["kind"] == "try_started":
                begun[event["step"], event["call"]] = at
            elif event["kind"] == "try_finished":
                working.append((begun.pop((event["step"], event["call"]), at), at))
            elif event["kind"] == "wait_started":
                waiting.append((at, at + (event.get("seconds") or 0.0)))
    at_work = covered(working)
    only_waiting = covered(working + waiting) - at_work
    return at_work, only_waiting, seconds - at_work - only_waiting


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The seconds that lie in at least one of the spans."""
    total, until = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _laid_out(where: Path, provider: Path, seed: int, env: Mapping[str, str]) -> dict[str, str]:
    (where / "out").mkdir()
    (where / "tools").mkdir()
    source = Path(__file__).with_name("flaky_oracle.py").read_text(encoding="utf-8")
    for path, text in (
        (where / "ask.sh", ASK.format(format=FORMAT)),
        (where / "tools" / "oracle", f"#!{sys.executable} -IS\n{source}"),
    ):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    script = {"seed": seed, "faults": FAULTS, "seconds": SECONDS, "kills": KILLS}
    (provider / "script.json").write_text(json.dumps(script))
    (provider / "bill.jsonl").touch()
    path_list = f"{where / 'tools'}{os.pathsep}{env['PATH']}"
    return {**env, "PATH": path_list, "FLAKY": str(provider), "OPENAI_API_KEY": "sk-test"}


def _until_done(
    runner: Runner, argv: Sequence[str], where: Path, provider: Path, env: Mapping[str, str]
) -> int:
    """How many commands it took."""
    commands = failures = 0
    while True:
        commands += 1
        with (provider / "log").open("ab") as log:
            started = subprocess.Popen(
                argv,
                cwd=where,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
            (provider / "runner").write_text(str(started.pid))
            code = started.wait()
        if code < 0:
            continue
        failures += code != 0
        if code == 0 or not runner.remembers or failures > runner.again:
            return commands


def _kind(where: Path, number: str) -> str:
    """Whether an answer lies where it belongs, and is the whole one."""
    path = where / "out" / f"{number}.md"
    if not path.is_file():
        return "missing"
    return (
        "good" if path.read_text(encoding="utf-8") == whole_answer(f"Question {number}?") else "bad"
    )


def all_bills(seeds: Sequence[int], only: Sequence[str]) -> Iterator[tuple[Runner, list[Bill]]]:
    for runner in RUNNERS:
        if only and not any(word in runner.name for word in only):
            continue
        bills = []
        for seed in seeds:
            with clean_place() as place:
                if place.found(runner.program):
                    bills.append(measured_bill(runner, place, seed))
                    print(f"{runner.name}, seed {seed}: {bills[-1]}", file=sys.stderr, flush=True)
        yield runner, bills


HEAD = (
    "",
    "calls paid",
    "good answers paid twice",
    "bad answers taken for good",
    "missing",
    "seconds",
    "commands",
)
INTRO = """\
The same {questions} questions under the same script of faults: 15 % of the calls meet a rate
limit (which says: again in 350 ms), 10 % a 503, 10 % a cut answer with exit code 0, 5 % an empty
one. The fault of a call depends on the question and on how often it was asked, so every runner
meets the same ones. A good answer takes {seconds} s. The runner's process group is killed with
SIGKILL when a quarter, half and three quarters of the questions have been asked, and started
again. Runners that remember what is done are also started again while they report failures,
{again} times at most; loop and xargs, which would ask everything again, are not. The Go tool stops
at the first failure and is started again until it reports none. The loops and the Go tool ask
one at a time, the others four. An answer is paid for when its question arrives. Least and most
over the seeds {seeds}."""
PARTS = """\
Where our seconds go: {work} s a tool was at work, {wait} s calls only waited for their next try,
{rest} s neither (start of {commands} commands, recovery after the kills, checks and records
between calls). With the waits cut to 10 ms: {fast} s. The others do not wait after a refusal:
their next command asks at once, and a provider that means its limit refuses again."""


def table(found: Sequence[tuple[Runner, list[Bill]]]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    for runner, bills in found:
        cells = ["not installed", *[""] * 5]
        if bills:
            columns: list[list[float]] = [
                [one.paid for one in bills],
                [one.twice for one in bills],
                [one.bad for one in bills],
                [one.missing for one in bills],
                [one.seconds for one in bills],
                [one.commands for one in bills],
            ]
            cells = [_span(column) for column in columns]
        lines.append(f"| {' | '.join([runner.name, *cells])} |")
    return "\n".join(lines)


def text_of(found: Sequence[tuple[Runner, list[Bill]]], seeds: Sequence[int], machine: str) -> str:
    """The part of the page: how it was measured, the table, where our seconds go."""
    intro = INTRO.format(
        questions=QUESTIONS, seconds=SECONDS, again=AGAIN, seeds=", ".join(map(str, seeds))
    )
    bills = {runner.name: bills for runner, bills in found}
    ours, fast = bills.get(OURS), bills.get(FAST)
    parts = [intro, table(found)]
    if ours and fast:
        work, wait, rest = (_span([one.parts[part] for one in ours]) for part in range(3))
        commands = _span([one.commands for one in ours])
        seconds = _span([one.seconds for one in fast])
        parts.append(PARTS.format(work=work, wait=wait, rest=rest, commands=commands, fast=seconds))
    return "\n\n".join([*parts, machine]) + "\n"


def _span(figures: Sequence[float]) -> str:
    """The least and the most, or the one figure that all seeds gave."""
    texts = [
        str(one) if isinstance(one, int) else number(one) for one in (min(figures), max(figures))
    ]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]}–{texts[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.money", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", default=[], help="runners whose name holds this")
    parser.add_argument("--write", action="store_true", help="renew the pages with the table")
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("--write takes no --only: the table holds every runner or is not written")
    before = os.getloadavg()[0]
    found = list(all_bills(args.seeds, args.only))
    with clean_place() as place:
        text = text_of(found, args.seeds, described(place, before))
    if args.write:
        MONEY.write_text(text, encoding="utf-8")
        renew_fragments()
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
