"""Kills a runner at moments spread over its operations on the disk, and lets the next one end it.

    python -m tests.e2e.run.kills --count 200

Afterwards all files must parse, no finished step may have run again, and the manifests must equal
those of an undisturbed run, apart from times and attempts.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from oraclepack.core.journal import StepFinished, StepStarted
from oraclepack.core.result import Status
from tests.e2e.run.project import Project, Zygote, a_project, asking

TEARS = (None, 0, 1, 70)
"""How much of a write the disk takes before the kill; the moments take turns."""
OLDER = "an older answer\n"
STEPS = (
    "set -eu\nmkdir -p out\nsay() { printf '%s\\n' \"$1\"; }\n"
    + asking(1)
    + asking(2)
    + "# 03) plain\nsay three >out/03.txt\n# oraclepack: outputs=out/03.txt\n"
    + "# 04) commits\n"
    "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m four\n"
    + asking(5, after='say more >>"out/05-topic-5.md"\n')
)
_TIMES = frozenset({"created_at", "started_at", "finished_at", "duration_ms", "waited_ms"})
_ATTEMPTS = frozenset({"attempts", "stdout_log", "stderr_log", "sessions", "heads"})
_CACHE = frozenset({"cache", "from_cache"})
"""An answer that was paid for before the kill comes from the cache afterwards."""
QUESTIONS = 3


def prepared(parent: Path, zygote: Zygote) -> Project:
    """The project every run starts from; the second answer replaces a file."""
    project = a_project(parent, zygote, STEPS, name="template")
    older = project.root / "out/02-topic-2.md"
    older.parent.mkdir()
    older.write_text(OLDER)
    return project


def copy_of(template: Project, name: str) -> Project:
    root = template.root.parent / name
    shutil.copytree(template.root, root, symlinks=True)
    return replace(template, root=root)


def outcome(project: Project) -> dict[str, Any]:
    """Everything that must not depend on having been killed."""
    parts = [
        json.loads((project.run_dir / name).read_bytes()) for name in ("run.json", "steps.json")
    ]
    kept = {str(p.relative_to(project.root)): p.read_bytes() for p in _answers(project)}
    return {"parts": [_stripped(part) for part in parts], "files": kept}


def _answers(project: Project) -> Iterable[Path]:
    folders = (project.root / "out", project.run_dir / "outputs")
    files = (path for folder in folders for path in sorted(folder.rglob("*")))
    return [path for path in files if path.is_file() and "_failed" not in path.parts]


def _stripped(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            name: _warnings(value) if name == "warnings" else _stripped(value)
            for name, value in part.items()
            if name not in _TIMES | _ATTEMPTS | _CACHE
        }
    return [_stripped(one) for one in part] if isinstance(part, list) else part


def _warnings(warnings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what is only said because a command was killed."""
    return [one for one in warnings if one["code"] not in {"orphans", "rollback"}]


def differences(one: Any, other: Any, where: str = "outcome") -> list[str]:
    """Where two outcomes differ, each place as a line."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [d for name in one for d in differences(one[name], other[name], f"{where}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [d for index, (a, b) in pairs for d in differences(a, b, f"{where}[{index}]")]
    return [] if one == other else [f"{where}: {one!r} instead of {other!r}"]


def broken_files(root: Path) -> list[str]:
    """JSON files of ours that do not parse, and temporary ones that nobody removed."""
    bad = []
    for path in (*root.glob("*.json"), *root.glob(".oraclepack/**/*.json")):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            bad.append(str(path))
    return bad


def ran_again(project: Project) -> list[str]:
    """Steps that started after they had ended well."""
    ended: set[str] = set()
    again = []
    for event in project.journal.events:
        if isinstance(event, StepFinished) and event.status is Status.OK:
            ended.add(event.step)
        elif isinstance(event, StepStarted) and event.step in ended:
            again.append(event.step)
    return again


def moments(total: int, count: int) -> list[int]:
    """Evenly spread over 1 to total."""
    return sorted({1 + index * total // count for index in range(min(count, total))})


def trial(template: Project, number: int, expected: dict[str, Any]) -> tuple[str, list[str]]:
    """Kill at one moment and continue: where it was, and what is wrong afterwards."""
    project = copy_of(template, f"killed-{number}")
    notes = project.root.parent / f"notes-{number}"
    tear = TEARS[number % len(TEARS)]
    asked = len(project.oracle.calls)
    killed = project.run(fault={"notes": str(notes), "kill": number, "torn": tear})
    seen = notes.read_text().splitlines()
    where = _named(seen[number - 1]) if len(seen) >= number else "(it had ended before)"
    wrong = (
        [] if killed.code in {0, -signal.SIGKILL} else [f"ended with {killed.code}: {killed.err}"]
    )
    wrong += broken_files(project.root)
    after = project.run()
    if after.code != 0:
        return where, [*wrong, f"continuing: {after.code} {after.out} {after.err}"]
    wrong += [f"step {step} ran again" for step in ran_again(project)]
    wrong += broken_files(project.root)
    wrong += [str(path) for path in project.root.rglob(".oraclepack-*.tmp")]
    calls = len(project.oracle.calls) - asked
    if calls > QUESTIONS + 1:  # the one that was under way may have to be asked again
        wrong.append(f"{calls} calls for {QUESTIONS} questions")
    wrong += differences(outcome(project), expected)
    if not wrong:
        shutil.rmtree(project.root)
    return where, wrong


def _named(note: str) -> str:
    operation, _, name = note.partition(" ")
    kinds = {".tmp": "a temporary file", ".log": "a log", ".md": "an answer", ".txt": "an answer"}
    return f"{operation} {kinds.get(Path(name).suffix, name)}"


def kill_everywhere(folder: Path, zygote: Zygote, count: int) -> tuple[Counter[str], list[str]]:
    """The histogram of where runners were killed, and everything that went wrong."""
    template = prepared(folder, zygote)
    undisturbed = copy_of(template, "undisturbed")
    notes = folder / "notes"
    ran = undisturbed.run(fault={"notes": str(notes)})
    assert ran.code == 0, ran
    expected = outcome(undisturbed)
    histogram: Counter[str] = Counter()
    wrong: list[str] = []
    for number in moments(len(notes.read_text().splitlines()), count):
        where, found = trial(template, number, expected)
        histogram[where] += 1
        wrong += [f"killed at {number} ({where}): {one}" for one in found]
    return histogram, wrong


def told(histogram: Counter[str]) -> str:
    rows = sorted(histogram.items(), key=lambda row: (-row[1], row[0]))
    return "\n".join(f"{count:4}  {where}" for where, count in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    zygote = Zygote()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        histogram, wrong = kill_everywhere(Path(folder), zygote, count)
    zygote.close()
    print(f"killed at {histogram.total()} moments, before or in:\n{told(histogram)}")  # noqa: T201
    print("\n".join(wrong) or "every run was ended by the next command as if nothing had happened")  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
