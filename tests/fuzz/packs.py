"""Sends damaged packs through `validate`: `python -m tests.fuzz.packs --count 10000 --seed 1`."""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oraclepack.cli.finding_text import as_text
from oraclepack.errors import InputError
from oraclepack.lint.rule_docs import explain_rules
from oraclepack.lint.validate import CheckedPack, check_pack
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, STRICT, Settings, SettingValue
from oraclepack.view.report.github import annotations
from oraclepack.view.report.sarif import sarif
from tests.fuzz.mutate import mutate
from tests.fuzz.target import cpu_seconds
from tests.packs import strict_text

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Passage:
    """How one damaged pack went through."""

    seed: int
    text: bytes
    seconds: float
    cpu: float
    """Seconds that we and our children worked: on a busy machine the rest was waiting."""
    crash: str = ""
    readable: bool = True


def sound_packs() -> tuple[bytes, ...]:
    """What the damage starts from: the examples, a strict pack, and each rule's own examples."""
    whole = [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.md"))]
    parts = [part for doc in explain_rules().rules for part in (doc.bad, doc.good)]
    short = [f"# p\n\n```bash\n{part}\n```\n".encode() for part in parts]
    # Whole packs are few and short ones many: as many turns for both.
    long = [*whole, strict_text().encode(), b"".join(short[:6])]
    return (*long * (len(short) // len(long)), *short)


def validate(file: Path) -> CheckedPack | None:
    """The strict judgement of a file; None for what is not text at all."""
    try:
        return check_pack(file, _settings(file))
    except InputError:
        return None


def use(file: Path, checked: CheckedPack) -> None:
    """Print a judgement in every format, then let the fixes work."""
    findings = {checked.report.path: checked.report.findings}
    as_text((checked,))
    sarif(findings, explain_rules().rules, "0")
    annotations(findings)
    if any(finding.fix for finding in checked.report.findings):
        check_pack(file, _settings(file), fix=True)


def _settings(file: Path) -> Settings:
    flags = {
        STRICT.name: SettingValue("true", "--strict"),
        CWD.name: SettingValue(str(file.parent), "--cwd"),
    }
    return load_settings(None, flags)


def passages(count: int, seed: int, folder: Path) -> Iterator[Passage]:
    """One damaged pack after the other; the time is that of the first judgement alone."""
    packs = sound_packs()
    file = folder / "pack.md"
    for number in range(seed, seed + count):
        text = mutate(number, packs)
        file.write_bytes(text)
        started, worked = time.perf_counter(), cpu_seconds()
        checked, crash, seconds, cpu = None, "", 0.0, 0.0
        try:
            checked = validate(file)
            seconds, cpu = time.perf_counter() - started, cpu_seconds() - worked
            if checked:
                use(file, checked)
        except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
            crash = traceback.format_exc()
        yield Passage(number, text, seconds, cpu, crash, readable=checked is not None)


def without_shellcheck() -> None:
    """Its time is not ours. It is looked for on PATH and beside the interpreter."""
    sys.executable = "/nowhere/python"


def main() -> int:
    parser = argparse.ArgumentParser(description="Validate damaged packs.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="write crashing and slow packs here")
    parser.add_argument("--shellcheck", action="store_true", help="ask shellcheck too")
    asked = parser.parse_args()
    if not asked.shellcheck:
        without_shellcheck()
    return int(judge(asked.count, asked.seed, asked.keep))


def judge(count: int, seed: int, keep: Path | None = None) -> bool:
    """Send that many packs through and print the figures; whether any crashed or took long."""
    bad: list[Passage] = []
    slowest: list[Passage] = []
    texts, total, work, longest = 0, 0.0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for passage in passages(count, seed, Path(folder)):
            texts += passage.readable
            total += passage.seconds
            work += passage.cpu
            slowest = sorted((passage, *slowest), key=lambda one: -one.cpu)[:5]
            longest = max(longest, passage.seconds)
            if passage.crash or passage.cpu > 1:
                bad.append(passage)
    for one in bad:
        _show(one, keep)
    crashes = sum(bool(one.crash) for one in bad)
    worst = ", ".join(f"{one.cpu:.2f} s (seed {one.seed})" for one in slowest)
    sys.stdout.write(
        f"{count} packs, {texts} of them text, {total:.0f} s, {work:.0f} s of work\n"
        f"{crashes} crashes, {len(bad) - crashes} over a second of work; slowest {worst}; "
        f"longest by the clock {longest:.2f} s\n"
    )
    return bool(bad)


def _show(one: Passage, keep: Path | None) -> None:
    sys.stdout.write(
        f"seed {one.seed}: {one.seconds:.2f} s, {one.cpu:.2f} s of work\n{one.crash}\n"
    )
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{one.seed}.md").write_bytes(one.text)


if __name__ == "__main__":
    sys.exit(main())
