"""Journals cut at every byte, with every byte changed, with lines moved, lost and doubled."""

import shutil
import signal
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import msgspec

from oraclepack.journal.line_format import AnyEvent, read_lines
from oraclepack.journal.run_state import fold
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.system.digests import canonical_file
from oraclepack.view.legacy_files import legacy_report, legacy_state
from oraclepack.view.manifests import RunManifest, StepsManifest, run_manifest, steps_manifest
from oraclepack.view.run import RunView
from tests.e2e.run.project import asking
from tests.torture.checker import left
from tests.torture.ground import Ground, a_ground
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

STEPS = (
    "set -eu\nmkdir -p out\n"
    + asking(1)
    + "# 02) plain\nprintf 'two\\n' >out/02.txt\n# oraclepack: outputs=out/02.txt\n"
    + asking(3)
    + asking(4, after='printf "more\\n" >>"out/04-topic-4.md"\n')
)
MASKS = (0x01, 0x20, 0x80, 0xFF)
RUBBISH = (
    b"\n",
    b"\0" * 512,
    b"rubbish",
    b"rubbish\n",
    b"{}\n{}\n",
    b'{"crc":"00000000","e":{}}\n',
    b'{"crc":"0000',
    b"\xff\xfe\x80\n",
    b"\x1f\x8b\x08\n\n",
)


class Written(msgspec.Struct, frozen=True):
    """A journal as the program wrote it."""

    data: bytes
    pack: Pack
    events: tuple[AnyEvent, ...]
    ends: tuple[int, ...]
    """Where its whole lines end."""

    @property
    def lines(self) -> list[bytes]:
        return self.data.splitlines(keepends=True)

    def intact(self, damaged: bytes) -> int:
        """How many lines at the beginning are as they were written."""
        ends = (0, *self.ends)
        same = bisect_right(ends, False, key=lambda end: damaged[:end] != self.data[:end])
        return same - 1

    def until(self, lines: int) -> int:
        return self.ends[lines - 1] if lines else 0


def finished(scene: Scene) -> Ground:
    """A run that ended well."""
    ground = a_ground(scene.folder / "finished", scene.zygote, STEPS)
    ran = ground.project.run()
    assert ran.code == 0, ran
    return ground


def interrupted(scene: Scene) -> Ground:
    """A run whose runner was killed amid a line of its journal, after two of three answers."""
    ground = a_ground(scene.folder / "interrupted", scene.zygote, STEPS)
    fault: dict[str, object] = {"notes": str(scene.folder / "notes")}
    fault |= {"only": "write", "path": "journal.jsonl", "kill": 19, "torn": 40}
    ran = ground.project.run(fault=fault)
    assert ran.code == -signal.SIGKILL, ran
    assert not left(ground)
    for hidden in ground.temporary.iterdir():
        shutil.rmtree(hidden)  # a socket cannot be copied
    return ground


def written(ground: Ground) -> Written:
    project = ground.project
    data = (project.run_dir / "journal.jsonl").read_bytes()
    reading = read_lines(data)
    assert reading.damage is None
    sizes = (len(line) for line in data[: reading.good_bytes].splitlines(keepends=True))
    pack = parse_pack(project.pack.read_text(), "pack.md")
    return Written(data, pack, reading.events, tuple(accumulate(sizes)))


def read_damaged(scene: Scene) -> Tally:
    """The journals of a finished and of an interrupted run are cut at every byte, every byte is
    changed in several ways, lines are removed, doubled, swapped, torn and overwritten, and
    random bytes are inserted: a reader accepts exactly the lines before the damage and
    reports the rest."""
    broken: list[Broken] = []
    readings = size = 0
    for ground in (finished(scene), interrupted(scene)):
        journal = written(ground)
        size += len(journal.data)
        for name, damaged in damages(journal, stride(scene)):
            readings += 1
            broken += [Broken(p, f"{name}: {what}") for p, what in misread(journal, damaged)]
        broken += unfolded(journal)
    return Tally(readings, broken=tuple(broken), facts={"bytes of journals": size})


def stride(scene: Scene) -> int:
    """Every byte at full share."""
    return max(1, round(1 / scene.share))


def damages(journal: Written, every: int) -> Iterator[tuple[str, bytes]]:
    """Each with a name."""
    data = journal.data
    for at in range(0, len(data), every):
        yield f"cut at {at}", data[:at]
        for mask in MASKS:
            changed = bytes([data[at] ^ mask])
            yield f"byte {at} changed by {mask:#x}", data[:at] + changed + data[at + 1 :]
        yield f"newline for byte {at}", data[:at] + b"\n" + data[at + 1 :]
        yield f"byte {at} lost", data[:at] + data[at + 1 :]
    yield from _of_lines(journal.lines)
    for number, rubbish in enumerate(RUBBISH):
        yield f"rubbish {number} at the end", data + rubbish
        yield f"rubbish {number} at the beginning", rubbish + data


def _of_lines(lines: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for at, line in enumerate(lines):
        before, after = lines[:at], lines[at + 1 :]
        changes = {
            "removed": [],
            "doubled": [line, line],
            "blotted out": [b"\0" * len(line)],
            "torn, and more after it": [line[: len(line) // 2]],
            "torn at its end, and more after it": [line[:-1]],
            "with another line end": [line[:-1] + b"\r\n"],
            "twice in one line": [line[:-1] + line],
            "after rubbish": [b"rubbish\n", line],
            "in place of the first": [lines[0]],
        }
        for how, changed in changes.items():
            yield f"line {at + 1} {how}", b"".join([*before, *changed, *after])
        swapped = [*before, *after[:1], line, *after[1:]]
        yield f"line {at + 1} swapped with the next", b"".join(swapped)


def misread(journal: Written, damaged: bytes) -> Iterator[tuple[Promise, str]]:
    """What reading a damaged journal gets wrong."""
    try:
        reading = read_lines(damaged)
    except Exception as problem:  # noqa: BLE001 - that it raises is the finding
        yield Promise.ENDING, f"reading raised {problem!r}"
        return
    known = journal.intact(damaged)
    good = journal.until(known)
    rest = damaged[good:]
    if reading.events[known:] or reading.good_bytes > good:
        yield Promise.UNVERIFIED, f"believed {len(reading.events)} lines, {known} are intact"
    if reading.events[:known] != journal.events[:known] or reading.good_bytes < good:
        yield Promise.LOST, f"forgot some of {known} intact lines"
    if reading.damage is None and reading.torn != rest:
        yield Promise.CORRUPT, f"reported {len(reading.torn)} bytes, dropped {len(rest)}"
    if reading.damage is None and b"\n" in rest[:-1]:
        yield Promise.CORRUPT, "took lines of damage for one torn line"
    if reading.damage is not None and reading.damage.line != known + 1:
        yield Promise.CORRUPT, f"blamed line {reading.damage.line} instead of {known + 1}"


def unfolded(journal: Written) -> Iterator[Broken]:
    """Beginnings of a journal that do not come to a state that all files can be made of."""
    for known in range(len(journal.events) + 1):
        state = fold(journal.events[:known])
        try:
            view = RunView(state=state, pack=journal.pack)
            steps = steps_manifest(view)
            again = msgspec.json.decode(canonical_file(steps), type=StepsManifest)
            run = run_manifest(view)
            if run is not None:
                msgspec.json.decode(canonical_file(run), type=RunManifest)
                legacy_state(view), legacy_report(view)
        except Exception as problem:  # noqa: BLE001 - that it raises is the finding
            yield Broken(Promise.ENDING, f"the first {known} lines cannot be folded: {problem!r}")
            continue
        if again != steps:
            yield Broken(Promise.CORRUPT, f"steps.json of the first {known} lines reads otherwise")


ATTACKS: dict[str, Attack] = {"journal-read": read_damaged}
