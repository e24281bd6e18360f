"""What `cache list` reads: each entry and its answer once, and the key once for all of them."""

from pathlib import Path

from oraclepack.calls.cache import CacheEntry
from oraclepack.calls.file_store import project_cache
from oraclepack.system.digests import sha256_bytes
from tests.e2e.run.project import Project, Zygote, a_project

COUNT = "tests.torture.inside:count_reads"


def fill(project: Project, first: int, last: int) -> None:
    cache = project_cache(project.root)
    for number in range(first, last):
        key, data = sha256_bytes(b"%d" % number), b"answer %d\n" % number
        entry = CacheEntry(
            key=key, parts={}, sha256=sha256_bytes(data), bytes=len(data), stored_at=""
        )
        cache.put(entry, data)


def reads(project: Project, tmp_path: Path, wanted: int) -> int:
    notes = tmp_path / f"{wanted}.reads"
    ran = project.start("cache", "list", "--json", inside={COUNT: {"notes": str(notes)}}).wait()
    assert (ran.code, len(ran.data["entries"])) == (0, wanted)
    return notes.stat().st_size


def test_every_entry_is_two_files_to_read(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote)
    fill(project, 0, 5)
    few = reads(project, tmp_path, 5)
    fill(project, 5, 25)

    assert reads(project, tmp_path, 25) - few == 2 * 20
