"""Plays attacks, two at a time, each in a process of its own with a home of its own."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from tests.e2e.run.project import Zygote
from tests.torture.attacks import ATTACKS
from tests.torture.store_grounds import STORE_VARIABLE
from tests.torture.tally import Broken, Promise, Scene, Tally

_WORKERS = 3
"""On two processors: some of the time an attack only waits."""
_TELL_EVERY = 10.0
LONGEST = frozenset({"detached", "many-packs", "provider-chaos", "secrets", "writes-killed"})
"""They are played first, so that none of them is alone at the end."""


def play(name: str, folder: Path, seed: int, share: float) -> tuple[Tally, float]:
    """One attack from beginning to end, and how many seconds it took."""
    began = time.monotonic()
    home = folder / "home"
    home.mkdir(parents=True)
    for variable in list(os.environ):
        if variable.startswith(("ORACLEPACK_", "XDG_", "_ORACLEPACK_")):
            del os.environ[variable]
    os.environ |= {"HOME": str(home), "TMPDIR": str(folder)}
    zygote = Zygote()
    if STORE_VARIABLE in os.environ:
        # A fork then does not import the client of the database.
        zygote.ask(do="import", name="oraclepack.calls.fleet_store")
    try:
        tally = ATTACKS[name](Scene(folder, zygote, seed, share))
    finally:
        zygote.close()
    return tally, time.monotonic() - began


def play_all(
    names: Sequence[str],
    folder: Path,
    seed: int,
    share: float,
    tell: Callable[[str], None],
) -> dict[str, tuple[Tally, float]]:
    """All of them; what each came to, and its seconds. Tells how it goes."""
    results: dict[str, tuple[Tally, float]] = {}
    with ProcessPoolExecutor(
        _WORKERS, mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        # Short folders: sockets lie below them.
        waiting = {
            pool.submit(play, name, folder / str(number), seed, share): name
            for number, name in enumerate(sorted(names, key=lambda name: name not in LONGEST))
        }
        began = time.monotonic()
        while waiting:
            done, _ = wait(waiting, _TELL_EVERY, FIRST_COMPLETED)
            for future in done:
                name = waiting.pop(future)
                results[name] = result_of(future)
                tell(line(name, *results[name]))
            if not done:
                busy = ", ".join(name for future, name in waiting.items() if future.running())
                tell(f"{time.monotonic() - began:5.0f} s  at work: {busy}")
    return {name: results[name] for name in names}


def line(name: str, tally: Tally, seconds: float) -> str:
    """The figures of an attack."""
    if tally.not_played:
        return f"{name}: not played: {tally.not_played}"
    facts = "".join(f", {count} {what}" for what, count in tally.facts.items())
    return (
        f"{name}: {tally.trials} trials, {tally.kills} kills, {len(tally.broken)} broken"
        f" promises{facts} ({seconds:.0f} s)"
    )


def result_of(future: Future[tuple[Tally, float]]) -> tuple[Tally, float]:
    """An attack that fails by itself has proved nothing: that counts as broken."""
    try:
        return future.result()
    except Exception as trouble:  # noqa: BLE001 - reported, and the other attacks go on
        what = f"the attack itself failed: {trouble!r}"
        return Tally(0, broken=(Broken(Promise.ENDING, what),)), 0.0


def to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
