"""Cached answers, claims and manifests that were cut or changed: nothing of it may be believed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import project_cache
from oraclepack.calls.store import AnswerCache
from oraclepack.journal.events import InvocationIntent
from oraclepack.store.legacy import find_claim
from oraclepack.system.digests import canonical_line
from tests.e2e.program import Ran
from tests.torture.checker import left, paid_twice, unverified
from tests.torture.damaged_runs import tree
from tests.torture.ground import Ground
from tests.torture.journal_damage import MASKS, finished, stride
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

_SETTLED = frozenset({0, 2, 3, 4})
"""How a command may end that was given a damaged manifest; 1 would be our own mistake."""


def damaged(data: bytes, every: int = 1) -> Iterator[tuple[str, bytes]]:
    """A file cut at every byte, with every byte changed in several ways, lost, or doubled."""
    for at in range(0, len(data), every):
        yield f"cut at {at}", data[:at]
        yield f"byte {at} lost", data[:at] + data[at + 1 :]
        yield f"byte {at} doubled", data[: at + 1] + data[at:]
        for mask in MASKS:
            changed = bytes([data[at] ^ mask])
            yield f"byte {at} changed by {mask:#x}", data[:at] + changed + data[at + 1 :]
    yield "NULs", b"\0" * len(data)
    yield "rubbish after it", data + b"rubbish\n"


def read_damaged_cache(scene: Scene) -> Tally:
    """A cached answer and the note beside it are cut at every byte, and every byte is changed in
    several ways: the cache
    returns the verified answer or nothing. A damaged claim blocks no
    question, and a cut one yields the call that it held, or none.
    """
    ground = finished(scene)
    with _key_of(ground):
        trials, broken = _read_entries(ground, stride(scene))
    for name, content in damaged(_claim("k"), stride(scene)):
        trials += 1
        broken += [
            Broken(Promise.ENDING, f"claim, {name}: {what}")
            for what in _claimed(scene, content, None if name.startswith("byte") else _intent("k"))
        ]
    return Tally(trials, broken=tuple(broken))


@contextmanager
def _key_of(ground: Ground) -> Iterator[None]:
    """Lets this process read with the key of the user who is played: without it nothing is good."""
    name = "XDG_STATE_HOME"
    before = os.environ.get(name)
    os.environ[name] = ground.project.variables[name]
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _read_entries(ground: Ground, every: int) -> tuple[int, list[Broken]]:
    """How many times an entry was read after damage, and what was wrong."""
    cache = project_cache(ground.root)
    one, other = sorted(path.stem for path in cache.directory.glob("*.json"))[:2]
    intact = cache.get(one)
    assert intact is not None, one
    assert intact.state == GOOD, intact
    broken: list[Broken] = []
    trials = 0
    for ending in (".md", ".json"):
        place = cache.directory / f"{one}{ending}"
        whole = place.read_bytes()
        exchanged = ("that of another", (cache.directory / f"{other}{ending}").read_bytes())
        answer = b"" if ending == ".md" else cache.directory.joinpath(f"{one}.md").read_bytes()
        for name, content in (*damaged(whole, every), exchanged):
            trials += 1
            place.write_bytes(content)
            found = _served(cache, one, answer)
            broken += [Broken(promise, f"{ending}, {name}: {what}") for promise, what in found]
        place.write_bytes(whole)
    return trials, broken


def _served(cache: AnswerCache, key: str, answer: bytes) -> Iterator[tuple[Promise, str]]:
    """What is wrong with what the cache gives out; a changed answer is never good."""
    try:
        found = cache.get(key)
        list(cache.entries())
    except Exception as problem:  # noqa: BLE001 - that it raises is the finding
        yield Promise.ENDING, f"raised {problem!r}"
        return
    if found is not None and found.state == GOOD and (found.entry.key, found.data) != (key, answer):
        yield Promise.UNVERIFIED, f"served for {key[:12]}: {found.data[:80]!r}"


def _intent(key: str) -> InvocationIntent:
    return InvocationIntent(seq=7, step="01", attempt=1, call=1, tool="oracle", key=key)


def _claim(key: str) -> bytes:
    return canonical_line(_intent(key)) + b"\n"


def _claimed(scene: Scene, content: bytes, noted: InvocationIntent | None) -> Iterator[str]:
    """What is wrong with a claim of this content; `noted` is all that it may tell, if known.

    A claim carries no checksum: a byte changed in it may tell of another call.
    """
    (scene.folder / "k.asking").write_bytes(content)
    try:
        held = find_claim(scene.folder, "k")
    except Exception as problem:  # noqa: BLE001 - that it raises is the finding
        yield f"raised {problem!r}"
        return
    if held is None or held.is_locked:
        yield "it was not read"
        return
    if noted is not None and held.open_call not in (noted, None):
        yield f"it names a call that was never made: {held.open_call}"


class Kind(msgspec.Struct, frozen=True):
    """Files to damage, and what must hold for the commands after it."""

    what: str
    files: Callable[[Ground], list[Path]]
    after: Callable[[Ground, dict[str, bytes], Path], list[Broken]]


def work_on_damaged_files(scene: Scene) -> Tally:
    """Manifests, state file, report and cache entries of a finished run are damaged, one at a time,
    and the program goes on: manifests come back byte for byte, nothing is asked for again,
    since the user's own answers are intact, and no damaged answer is returned.
    """
    chance = Random(scene.seed)
    ground = finished(scene)
    kept = ground.copy(ground.folder.with_name("kept"))
    broken: list[Broken] = []
    trials = 0
    for kind in (MANIFESTS, ENTRIES):
        places = kind.files(ground)
        for place in chance.sample(places, min(len(places), scene.some(2 * len(places)))):
            whole = place.read_bytes()
            for name, content in _few(whole, chance, scene.some(5)):
                trials += 1
                ground.remove()
                kept.copy(ground.folder)
                before = tree(ground.root)
                place.write_bytes(content)
                found = [*kind.after(ground, before, place), *left(ground)]
                about = f"{place.name}, {name}"
                broken += [Broken(one.promise, f"{about}: {one.what}") for one in found]
    return Tally(trials, broken=tuple(broken))


def _few(whole: bytes, chance: Random, count: int) -> list[tuple[str, bytes]]:
    return chance.sample(list(damaged(whole, 11)), count)


def _manifests(ground: Ground) -> list[Path]:
    run = ground.project.run_dir
    names = ("run.json", "steps.json")
    return [*(run / name for name in names), *sorted(ground.root.glob("pack.*.json"))]


def _after_manifest(ground: Ground, before: dict[str, bytes], _place: Path) -> list[Broken]:
    project, run = ground.project, ground.project.run_dir
    broken = []
    for words in (
        ("verify-outputs", str(run)),
        ("runs", "show", run.name),
        ("list", "pack.md"),
        ("why", "pack.md", "01"),
        ("actionize", "--run-dir", str(run), "--out-dir", "elsewhere"),
    ):
        ran = project.start(*words, "--json").wait()
        if ran.code not in _SETTLED:
            broken.append(_ended(" ".join(words), ran))
    rebuilt = project.start("doctor", "--rebuild", "--json").wait()
    now = tree(ground.root)
    if rebuilt.code != 0:
        broken.append(_ended("doctor --rebuild", rebuilt))
    wrong = [name for name in before if now.get(name) != before[name]]
    broken += [Broken(Promise.CORRUPT, f"{name} did not come back") for name in wrong]
    ran = project.run()
    if ran.code != 0:
        broken.append(_ended("run", ran))
    return broken + paid_twice(ground) + unverified(ground)


def _entries(ground: Ground) -> list[Path]:
    cache = ground.root / ".oraclepack/cache"
    return [path for path in sorted(cache.iterdir()) if path.suffix in {".md", ".json"}][:4]


def _after_entry(ground: Ground, _before: dict[str, bytes], place: Path) -> list[Broken]:
    """A new run asks nothing: the user's own answers have what the cache has no more."""
    project = ground.project
    content = place.read_bytes()
    billed = len(ground.billed)
    ran = project.run("--new-run")
    broken = [] if ran.code == 0 else [_ended("run --new-run", ran)]
    if more := len(ground.billed) - billed:
        broken.append(Broken(Promise.PAID_TWICE, f"{more} calls for the damaged entry"))
    listed = project.start("cache", "list", "--json").wait()
    others = [row for row in listed.data["entries"] if row["key"] != place.stem]
    if listed.code != 0 or any(row["state"] != GOOD for row in others):
        broken.append(_ended("cache list", listed))
    if place.suffix == ".md" and content not in tree(ground.root).values():
        broken.append(Broken(Promise.LOST, "an edited answer was overwritten"))
    return broken + unverified(ground)


def _ended(command: str, ran: Ran) -> Broken:
    return Broken(Promise.ENDING, f"{command} ended with {ran.code}: {ran.out}{ran.err}")


MANIFESTS = Kind("manifests", _manifests, _after_manifest)
ENTRIES = Kind("cache entries", _entries, _after_entry)
ATTACKS: dict[str, Attack] = {
    "cache-read": read_damaged_cache,
    "files-continued": work_on_damaged_files,
}
