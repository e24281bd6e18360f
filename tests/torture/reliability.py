"""Writes RELIABILITY.md: the promise, how it is tested, and the results."""

import inspect
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.torture.attacks import ATTACKS
from tests.torture.bugs import BUGS
from tests.torture.power import AGAIN
from tests.torture.tally import Promise, Tally
from tests.torture.victims import ENDED_BY_FORCE

_ALWAYS = frozenset({AGAIN, ENDED_BY_FORCE})
"""Figures that the limits refer to; they are shown even when they are 0."""
Played = Mapping[str, tuple[Tally, float]]

_HEAD = """\
# Reliability

A call that was paid for is never paid for again, and its answer is never lost or accepted
unverified, whatever is killed. This page describes how that promise is tested and gives the
results. `make torture` writes it; do not edit it by hand.

## Method

The tests run the real program against a scripted `oracle` that behaves like the real one: it
writes a session record before it asks and updates it after the answer, refuses a prompt that is
already being asked, and records every answer that it bills. The attacks named `real-oracle-…` use
the real `oracle` with a provider on loopback that records what it bills.

After every kill, disk fault or power cut, the next command is run, and a checker compares the
provider's bill with the project:

- each good answer was billed once;
- each good answer is at its path, and in the cache or the run directory, byte for byte;
- no cut, empty or missing answer counts as answered;
- every file can be parsed, the checksums of the journal are correct, and no temporary file is left;
- nothing else in the project or the home directory changed in content, mode or time;
- no process is left running;
- the run ends in the same state as an undisturbed run.

Attacks on other parts check what their description below says. `make test` runs a small share of
some attacks; `make soak` repeats all of them at random for an hour.
"""
_LIMITS = """\
## Limits

- **Submit window.** If the tool itself is killed after the provider billed an answer and before
  the tool recorded it, this machine has no trace of the answer, and the question is asked again.
  With the browser engine this window lasts as long as the model thinks. The figures above count
  how often it happened. Killing the runner, the shim or the shell does not kill the tool.
- **Cancelling may cost twice.** A second Ctrl-C or TERM, `runs stop --now`, `--step-timeout` and
  `--call-timeout` also end the tool, and an answer that was on its way is lost; the first Ctrl-C
  or TERM waits for it. A detached worker of the tool continues, and the next command takes its
  answer.
- **Real bills are not visible.** What a provider charges for failed, cut or repeated requests, and
  for repeats by the tool's own client, is known only for the scripted provider.
- **Power cuts are simulated.** A model of the disk drops everything that was not synced, with or
  without the names of new files. No power was cut, and a disk that reports a sync too early is not
  covered. An answer that the tool had, and that we had not synced yet, is asked for again.
- **Disk faults are injected** where the program accesses the disk. Faults in what bash and the tool
  write are not simulated. Running out of file descriptors is real.
- **Hidden descendants**: a process in a new session, with a cleaned environment and a dead parent,
  cannot be attributed to a step.
- The figures are from one Linux machine. macOS, bash 3.2 and network file systems were not tested.
"""


def page(played: Played, seed: int, command: str) -> str:
    """The whole page."""
    tallies = {name: tally for name, (tally, _) in played.items()}
    parts = [_HEAD, _figures(tallies, seed, command), _attacks(tallies), _bugs(tallies)]
    return "\n".join([*parts, _kills(tallies), _LIMITS])


def _figures(tallies: Mapping[str, Tally], seed: int, command: str) -> str:
    broken = Counter(one.promise for tally in tallies.values() for one in tally.broken)
    kills = sum(tally.kills for tally in tallies.values())
    trials = sum(tally.trials for tally in tallies.values())
    rows = [f"| {promise} | {broken[promise]} |" for promise in Promise]
    skipped = [name for name, tally in tallies.items() if tally.not_played]
    head = [
        "## Results",
        "",
        f"Command `{command}`, seed {seed}, commit {_commit()}, {_machine()}:",
        f"{trials:,} trials with {kills:,} kills by `kill -9`.",
        *([f"Not run here: {', '.join(skipped)} (reasons below)."] if skipped else []),
        "",
        "| what must never happen | occurrences |",
        "|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _machine() -> str:
    cores = f"{os.cpu_count()} cores"
    return f"{platform.system()}, {cores}, Python {platform.python_version()}"


def _attacks(tallies: Mapping[str, Tally]) -> str:
    rows = ["## Attacks", ""]
    for name, tally in tallies.items():
        facts = {} if name == "deliberate-bugs" else tally.facts
        details = "".join(
            f", {count:,} {what}" for what, count in facts.items() if count or what in _ALWAYS
        )
        kills = f", {tally.kills:,} kills" if tally.kills else ""
        doc = " ".join((inspect.getdoc(ATTACKS[name]) or "").split())
        if tally.not_played:
            rows.append(f"- **{name}** (not run: {tally.not_played}): {doc}")
            continue
        rows.append(f"- **{name}** ({tally.trials:,} trials{kills}{details}): {doc}")
    return "\n".join([*rows, ""])


def _bugs(tallies: Mapping[str, Tally]) -> str:
    tally = tallies.get("deliberate-bugs")
    if tally is None:
        return ""
    rows = [
        "## Deliberate bugs",
        "",
        f"To show that the tests can fail, {len(BUGS)} bugs are put into the running program,",
        "one at a time. Each must break the promise that it is aimed at.",
        "",
        "| bug | attack that catches it | broken promise |",
        "|---|---|---|",
    ]
    caught: dict[tuple[str, str], list[str]] = {}
    for fact in tally.facts:
        bug, where, promise = fact.split(" | ")
        caught.setdefault((bug, where), []).append(promise)
    rows += [f"| {bug} | {where} | {', '.join(as_)} |" for (bug, where), as_ in caught.items()]
    rows += [f"| {one.what} | **not caught** | |" for one in tally.broken]
    return "\n".join([*rows, ""])


def _kills(tallies: Mapping[str, Tally]) -> str:
    where: Counter[str] = Counter()
    for name, tally in tallies.items():
        if name.startswith(("kills-", "recovery-", "power-", "real-oracle-kills")):
            where.update({_folded(place): count for place, count in tally.where.items()})
    if not where:
        return ""
    rows = sorted(where.items(), key=lambda row: (-row[1], row[0]))
    head = ["## Where the runner was killed", "", "Immediately before, or during:", ""]
    return "\n".join([*head, *(f"- {count:,} × {place}" for place, count in rows), ""])


def _folded(place: str) -> str:
    """Without the names of runs and of the folders of steps."""
    operation, _, name = place.partition(" ")
    return f"{operation} a folder" if "__" in name or name.replace(".", "").isdigit() else place


def _commit() -> str:
    result = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout.strip() or "unknown"
