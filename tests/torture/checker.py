"""Decides whether the promise held: from the provider's log, the run directories and the system.

    before = Snapshot.of(ground)
    …attack, then let the next command end it…
    found = check(ground, before, ran=ran, wanted=undisturbed)

Each part can be had alone: `paid_twice`, `lost`, `unverified`, `corrupt`, `touched`, `left`,
`leaked_secrets`.
"""

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from oraclepack.calls.file_store import project_cache
from oraclepack.journal.journal_file import load
from tests.e2e.program import Ran
from tests.e2e.run.project import Project
from tests.torture.ground import MARK, Ground
from tests.torture.outcome import differences, outcome, ran_again
from tests.torture.store_grounds import left_in_store, stored_answers
from tests.torture.tally import Broken, Promise

OWNED = (
    r"project/\.oraclepack(/|$)",
    r"project/out(/|$)",
    r"project/pack\.(state|report)\.json$",
    r"home/\.oracle(/|$)",
    r"home/\.local(/|$)",
)
"""What oraclepack, a declared output or the tool itself may change, from the ground's folder."""
_PRIVATE = re.compile(r"/\.oraclepack/runs/[^/]+/calls/[^/]+/out/(.+)")
_TEMPORARY = re.compile(r"\.oraclepack-.*\.tmp")
_PATIENCE = 5.0


class Mark(msgspec.Struct, frozen=True):
    """What may be noticed of a file: its kind and mode, its time unless a folder, its content."""

    mode: int
    changed_ns: int
    content: str


class Snapshot(msgspec.Struct, frozen=True):
    """Everything in a project and its home that must stay unchanged."""

    marks: dict[str, Mark]
    owned: tuple[str, ...] = OWNED

    @classmethod
    def of(cls, ground: Ground, *more_owned: str) -> "Snapshot":
        """As it is now; `more_owned` are patterns as in OWNED, such as `project/\\.git(/|$)`."""
        owned = (*OWNED, *more_owned)
        return cls({name: _mark(path) for name, path in _others(ground, owned)}, owned)


def check(
    ground: Ground,
    before: Snapshot,
    *,
    ran: Ran | None = None,
    wanted: dict[str, Any] | None = None,
    secrets: Sequence[str] = (),
) -> list[Broken]:
    """Every promise that does not hold, after the command that was to put all right.

    `ran` is how that command ended; `wanted` is the `outcome` of an undisturbed run.
    """
    found: list[Broken] = []
    if ran is not None and ran.code != 0:
        found.append(Broken(Promise.ENDING, f"it ended with {ran.code}: {ran.out}{ran.err}"))
    elif wanted is not None:
        again = [f"step {step} ran again" for step in ran_again(ground)]
        messages = [*again, *differences(outcome(ground), wanted)]
        found += [Broken(Promise.ENDING, one) for one in messages]
    found += paid_twice(ground) + unverified(ground) + corrupt(ground) + left(ground)
    if ran is not None and ran.code == 0:
        found += [Broken(Promise.ENDING, one) for one in left_in_store(ground.folder)]
    found += touched(ground, before) + leaked_secrets(ground, secrets)
    return found + (lost(ground) if ran is not None and ran.code == 0 else [])


def paid_twice(ground: Ground, allowed: Iterable[str] = ()) -> list[Broken]:
    """Questions whose good answer was billed more than once; `allowed` prompts once more."""
    good = (bill for bill in ground.billed if bill["good"])
    often = Counter((bill["prompt"], bill.get("model", "")) for bill in good)
    more = Counter(allowed)
    return [
        Broken(Promise.PAID_TWICE, f"{count} times: {prompt.splitlines()[0]}")
        for (prompt, _model), count in sorted(often.items())
        if count - more[prompt] > 1
    ]


def lost(ground: Ground) -> list[Broken]:
    """Good answers that are not at their path, or neither in the cache nor in the run's outputs."""
    kept = [path.read_bytes() for path in _kept(ground)] + stored_answers(ground.folder)
    found = []
    for place, answers in sorted(good_answers(ground).items()):
        path = ground.root / place
        there = path.read_bytes() if path.is_file() else b""
        if not any(there.startswith(answer) for answer in answers):
            found.append(Broken(Promise.LOST, f"{place} is not the answer: {there[-80:]!r}"))
        if not any(one.startswith(answer) for answer in answers for one in kept):
            found.append(Broken(Promise.LOST, f"the answer for {place} was not kept"))
    return found


def unverified(ground: Ground) -> list[Broken]:
    """Outputs of ok steps, and cached answers, that are not a whole answer of the provider."""
    good = good_answers(ground)
    asked = {place_of(ground, call) for call in ground.asked}
    found = []
    for run_dir in ground.project.run_dirs:
        for output in _accepted(run_dir):
            place = output["declared_path"]
            data = _read(run_dir / output["path"])
            if hashlib.sha256(data).hexdigest() != output["sha256"]:
                found.append(f"{output['path']} is not what was recorded")
            if place in asked and not any(data.startswith(one) for one in good.get(place, ())):
                found.append(f"{output['path']} was taken for an answer: {data[-80:]!r}")
    whole = {answer for answers in good.values() for answer in answers}
    cache = project_cache(ground.root)
    for one in cache.entries():
        cached = cache.get(one.entry.key)
        # By its hash: the key of the user who is played lies in another home.
        is_whole = cached and hashlib.sha256(cached.data).hexdigest() == one.entry.sha256
        if cached is not None and is_whole and cached.data not in whole:
            found.append(f"the cache has {cached.data[-80:]!r}")
    stored = (data for data in stored_answers(ground.folder) if data not in whole)
    found += [f"the store has {data[-80:]!r}" for data in stored]
    return [Broken(Promise.UNVERIFIED, one) for one in found]


def corrupt(
    ground: Ground, *, settled: bool = True, project: Project | None = None
) -> list[Broken]:
    """Files of ours that cannot be read, and, once `settled`, temporary or torn ones."""
    bad: list[str] = []
    project = project or ground.project
    for path in (*project.root.glob("*.json"), *project.root.glob(".oraclepack/**/*.json")):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            bad.append(f"{path.name}: {path.read_bytes()[:80]!r}")
    for run_dir in project.run_dirs:
        reading = load(run_dir / "journal.jsonl")
        if reading.damage is not None:
            bad.append(f"journal: {reading.damage.reason}")
        elif settled and reading.torn:
            bad.append(f"journal: {reading.torn[:80]!r} is left")
    if settled:
        everything = (*project.root.rglob("*"), *ground.home.rglob("*"))
        bad += [f"{path} is left" for path in everything if _TEMPORARY.fullmatch(path.name)]
        bad += [f"{path} is left" for path in ground.temporary.iterdir()]
    return [Broken(Promise.CORRUPT, one) for one in bad]


def touched(ground: Ground, before: Snapshot) -> list[Broken]:
    """What is not ours and is no longer as it was, or new."""
    now = {name: _mark(path) for name, path in _others(ground, before.owned)}
    names = sorted(now.keys() | before.marks.keys())
    found = (name for name in names if now.get(name) != before.marks.get(name))
    return [
        Broken(Promise.TOUCHED, f"{name}: {before.marks.get(name)} became {now.get(name)}")
        for name in found
    ]


def left(ground: Ground) -> list[Broken]:
    """Processes of the trial that still live; what is just dying gets a little time."""
    deadline = monotonic() + _PATIENCE
    while (pids := alive(ground)) and monotonic() < deadline:
        sleep(0.02)
    return [Broken(Promise.LEFT, f"process {pid}: {_command(pid)!r}") for pid in pids]


def alive(ground: Ground) -> list[int]:
    """The processes that carry the trial's mark in their environment."""
    mark = f"{MARK}={ground.folder}".encode()
    return [pid for pid in _pids() if mark in _read(Path(f"/proc/{pid}/environ")).split(b"\0")]


def leaked_secrets(ground: Ground, secrets: Sequence[str]) -> list[Broken]:
    """Secrets in anything that was written down: run directories, state, report, what we keep."""
    found = []
    places = (ground.root / ".oraclepack", ground.home / ".local")
    files = [path for place in places for path in sorted(place.rglob("*"))]
    for path in (*files, *ground.root.glob("*.json")):
        data = _read(path)
        found += [Broken(Promise.DISCLOSED, str(path)) for one in secrets if one.encode() in data]
    return found


def good_answers(ground: Ground) -> dict[str, set[bytes]]:
    """The whole answers that the provider gave, by the path they were wanted at."""
    answers: dict[str, set[bytes]] = {}
    for bill in ground.billed:
        if bill["good"] and bill["output"]:
            answers.setdefault(place_of(ground, bill), set()).add(bill["answer"].encode())
    return answers


def place_of(ground: Ground, call: dict[str, Any]) -> str:
    """Where an answer was wanted, from the project root: tools write to paths of their calls."""
    path = Path(call["cwd"], call["output"])
    private = _PRIVATE.search(str(path))
    # The call may have been made in the ground that this one is a copy of.
    return private[1] if private else os.path.relpath(path, ground.root)


def _accepted(run_dir: Path) -> Iterator[dict[str, Any]]:
    """The outputs of the steps that are ok."""
    data = _read(run_dir / "steps.json")
    for step in json.loads(data)["steps"] if data else ():
        if step["status"] == "ok":
            yield from step["outputs"]


def _kept(ground: Ground) -> Iterator[Path]:
    yield from ground.root.glob(".oraclepack/cache/*.md")
    yield from ground.root.glob(".oraclepack/runs/*/answers/*.md")
    yield from ground.root.glob(".oraclepack/runs/*/outputs/*")


def _others(ground: Ground, owned: Sequence[str]) -> Iterator[tuple[str, Path]]:
    ours = re.compile("|".join(owned))
    for place in (ground.root, ground.home):
        for path in (place, *sorted(place.rglob("*"))):
            name = str(path.relative_to(ground.folder))
            if not ours.match(name):
                yield name, path


def _mark(path: Path) -> Mark:
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode):
        return Mark(found.st_mode, 0, "")
    content = str(path.readlink()) if path.is_symlink() else _read(path).hex()
    return Mark(found.st_mode, found.st_mtime_ns, content)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _command(pid: int) -> bytes:
    return _read(Path(f"/proc/{pid}/cmdline")).replace(b"\0", b" ")
