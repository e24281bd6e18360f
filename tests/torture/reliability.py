"""Writes RELIABILITY.md: the promise, how it is attacked, and what came of that."""

import inspect
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.torture.attacks import ATTACKS
from tests.torture.power import AGAIN
from tests.torture.tally import Promise, Tally
from tests.torture.victims import ENDED_BY_FORCE

_ALWAYS = frozenset({AGAIN, ENDED_BY_FORCE})
"""Figures that the limits refer to, and that say something when they are 0."""
Played = Mapping[str, tuple[Tally, float]]

_HEAD = """\
# Reliability

A call that was paid for is never paid for again, and its answer is never lost or accepted
unverified, whatever is killed. This page says how that sentence is tested, and what came of it.
It is written by `make torture`; do not edit it.

The tests run the real program against a scripted `oracle` that behaves as the real one does:
it keeps a session record from before it asks until after it is answered, refuses a prompt that
is being asked, and notes every answer it bills. The attacks called `real-oracle-…` run the real
one, and a provider on loopback keeps the account. After kills, faults of the disk and power cuts a
checker compares that account with the run directories: each good answer was billed once; each lies
at its path and in the cache or the run, byte for byte; nothing that is cut, empty or missing counts
as answered; all files parse, the journal's checksums hold, no temporary file is left; nothing else
in the project or the home changed, in content, mode or time; no process is left; and the run ends
as one that nobody disturbed. The other attacks look at the part of this that they aim at, as said
of each below. `make test` plays some attacks in a short form.
"""
_LIMITS = """\
## Limits

- **The submit window.** If the tool itself is killed after the provider billed an answer and
  before the tool wrote down that it has it, nobody on this machine can know; the question is asked
  again. With the browser engine this window is as long as the model thinks. The figures above
  count how often that happened here. Whoever kills runner, shim or shell kills no tool.
- **Cancelling may cost twice.** A second Ctrl-C or TERM, `runs stop --now`, `--step-timeout` and
  `--call-timeout` end the tool too, and with it what it has asked; a first one waits for it. A
  worker that the tool has left behind goes on; the next command takes its answer.
- **Billing is not ours to see.** What a provider charges for failed, cut or repeated requests, and
  what the tool's own client repeats, is counted by the scripted provider only.
- **Power cuts are simulated.** A model of the disk forgets what was never synced, with or without
  the names of files; no plug was pulled, and a disk that lies about syncing is not covered. An
  answer that the tool had and that was not yet synced by us is asked for again.
- **Faults of the disk are given to the program** at its one door to the disk; what the tool and
  bash write for themselves goes past it. Running out of descriptors is real.
- **Descendants that hide** (a new session, a cleaned environment and a parent that is gone) cannot
  be told from strangers.
- Figures are of one machine with Linux. macOS, bash 3.2 and network file systems were not tried.
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
    head = [
        "## Figures",
        "",
        f"`{command}`, seed {seed}, commit {_commit()}: {trials:,} trials, {kills:,} kills with",
        "`kill -9`.",
        "",
        "| what must never happen | times |",
        "|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _attacks(tallies: Mapping[str, Tally]) -> str:
    rows = ["## Attacks", ""]
    for name, tally in tallies.items():
        facts = {} if name == "deliberate-bugs" else tally.facts
        told = "".join(
            f", {count:,} {what}" for what, count in facts.items() if count or what in _ALWAYS
        )
        kills = f", {tally.kills:,} kills" if tally.kills else ""
        doc = " ".join((inspect.getdoc(ATTACKS[name]) or "").split())
        if tally.not_played:
            rows.append(f"- **{name}** (not played: {tally.not_played}): {doc}")
            continue
        rows.append(f"- **{name}** ({tally.trials:,} trials{kills}{told}): {doc}")
    return "\n".join([*rows, ""])


def _bugs(tallies: Mapping[str, Tally]) -> str:
    tally = tallies.get("deliberate-bugs")
    if tally is None:
        return ""
    rows = [
        "## Do the tests notice?",
        "",
        "The tests put five bugs into the running program, one at a time; all must be caught.",
        "",
        "| bug | caught by | as |",
        "|---|---|---|",
    ]
    caught: dict[tuple[str, str], list[str]] = {}
    for told in tally.facts:
        bug, where, promise = told.split(" | ")
        caught.setdefault((bug, where), []).append(promise)
    rows += [f"| {bug} | {where} | {', '.join(as_)} |" for (bug, where), as_ in caught.items()]
    rows += [f"| {one.what} | **nobody** | |" for one in tally.broken]
    return "\n".join([*rows, ""])


def _kills(tallies: Mapping[str, Tally]) -> str:
    where: Counter[str] = Counter()
    for name, tally in tallies.items():
        if name.startswith(("kills-", "recovery-", "power-", "real-oracle-kills")):
            where.update({_folded(place): count for place, count in tally.where.items()})
    if not where:
        return ""
    rows = sorted(where.items(), key=lambda row: (-row[1], row[0]))
    head = ["## Where the runner was killed", "", "Right before, or in the middle of:", ""]
    return "\n".join([*head, *(f"- {count:,} × {place}" for place, count in rows), ""])


def _folded(place: str) -> str:
    """Without the names of runs and of the folders of steps."""
    operation, _, name = place.partition(" ")
    return f"{operation} a folder" if "__" in name or name.replace(".", "").isdigit() else place


def _commit() -> str:
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"
