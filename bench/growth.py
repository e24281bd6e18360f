"""How lists and new runs grow: thousands of runs and of cached answers in one project.

    python -m bench.growth [--runs 5000] [--answers 100000]

One pack is run once; the other runs are copies of that one, signed under their own names, and the
answers are signed as those of calls are. Each figure is processor seconds of one command.
"""

import argparse
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from bench.process import spent
from bench.run import pack
from bench.scene import BIN, Place, clean_place
from oraclepack.calls.cache import CacheEntry
from oraclepack.calls.file_store import project_cache
from oraclepack.journal.events import RunCreated
from oraclepack.journal.journal_file import load
from oraclepack.journal.line_format import Link, Signer, Unknown, encode_line
from oraclepack.journal.run_dir import RunDir, run_ids
from oraclepack.system.digests import sha256_bytes, sha256_text
from oraclepack.system.trust_key import make_key

ANSWER = b"## Direct answer\n\nYes.\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--answers", type=int, default=100_000)
    args = parser.parse_args()
    with clean_place() as place:
        os.environ["HOME"] = place.env["HOME"]  # the key that signs is that of the clean home
        subprocess.run(["git", "init", "-q"], check=True)
        Path("p.md").write_text(pack(*(f"echo {number}" for number in range(20))), encoding="utf-8")
        report(place, "the first run", ["run", "--quiet", "p.md"])
        copy_runs(place.path, args.runs - 2)
        report(place, f"run {args.runs - 1:,}", ["run", "--quiet", "--new-run", "p.md"])
        report(place, f"run {args.runs:,}", ["run", "--quiet", "--new-run", "p.md"])
        report(place, "run: all is done", ["run", "--quiet", "p.md"])
        report(place, "runs list", ["runs", "list"])
        report(place, "runs list again", ["runs", "list"])
        report(place, "runs list --limit 20 --json", ["runs", "list", "--limit", "20", "--json"])
        store_answers(place.path, args.answers)
        report(place, "cache list", ["cache", "list"])
        report(place, "cache list again", ["cache", "list"])
        report(place, "cache list --limit 20 --json", ["cache", "list", "--limit", "20", "--json"])
        report(place, "run: all is done", ["run", "--quiet", "p.md"])


def report(place: Place, what: str, words: Sequence[str]) -> None:
    used = spent([str(BIN / "oraclepack"), *words], place.env)
    print(
        f"{what:30} {used.seconds:8.2f} s {used.cpu:8.2f} s cpu {used.memory:6.0f} MB", flush=True
    )


def copy_runs(root: Path, count: int) -> None:
    """Runs with the events of the only one there is."""
    (first,) = run_ids(root)
    created, *others = load(RunDir(root, first).journal).events
    assert isinstance(created, RunCreated)
    for number in range(2, count + 2):
        run = RunDir(root, f"{first}__{number}")
        run.create()
        signer, end, lines = Signer(make_key(), run.run_id), Link(), []
        for event in (replace(created, number=number), *others):
            assert not isinstance(event, Unknown)
            line, end = encode_line(event, end, signer)
            lines.append(line)
        run.journal.write_bytes(b"".join(lines))


def store_answers(root: Path, count: int) -> None:
    cache = project_cache(root)
    cache.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(count):
        entry = CacheEntry(
            key=sha256_text(f"question {number}"),
            parts={"prompt": sha256_text(f"prompt {number}"), "file:README.md": sha256_text("x")},
            sha256=sha256_bytes(ANSWER),
            bytes=len(ANSWER),
            stored_at=f"2026-{number % 12 + 1:02}-01T00:00:00.{number % 1_000_000:06}Z",
            step=f"{number % 20 + 1:02}",
            output_path=f"out/{number % 20 + 1:02}.md",
            model="gpt-5.2",
        )
        (cache.directory / f"{entry.key}.json").write_bytes(cache.signed(entry, make_key()))
        (cache.directory / f"{entry.key}.md").write_bytes(ANSWER)


if __name__ == "__main__":
    main()
