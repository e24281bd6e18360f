"""Where and when the figures were taken, in a few words and without names of places."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench import rivals
from bench.scene import Place
from bench.startup import RIVALS as STARTED

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+(?:\.\d+)+|\d{8}")


def described(place: Place, before: float) -> str:
    """Machine, programs, commit and day, and the load before and after the measuring."""
    today = datetime.now(tz=UTC).date().isoformat()
    programs = ", ".join(f"{name} {found}" for name in names() if (found := version(name, place)))
    return (
        f"{today}, commit {commit()}: {os.cpu_count()} cores,"
        f" {platform.system()} {platform.release().split('-')[0]} {platform.machine()},"
        f" Python {platform.python_version()}, {programs}; {load(before, os.getloadavg()[0])}."
    )


def names() -> list[str]:
    """The programs that are compared, each once."""
    programs = (rivals.PROGRAMS.get(name, name) for name in (*rivals.ALL, *STARTED))
    return list(dict.fromkeys(programs))


def missing(place: Place) -> list[str]:
    return [name for name in names() if not place.found(name)]


def version(program: str, place: Place) -> str:
    if not place.found(program):
        return ""
    done = subprocess.run(
        [program, "--version"], env=dict(place.env), capture_output=True, check=False
    )
    found = VERSION.search(done.stdout.decode(errors="replace"))
    return found[0] if found else "of unknown version"


def commit() -> str:
    """The short name of it, and whether the sources are another than it says."""
    asked = ["git", "-C", str(ROOT)]
    head = subprocess.run(
        [*asked, "rev-parse", "--short", "HEAD"], capture_output=True, check=False
    )
    if head.returncode:
        return "unknown"
    changed = subprocess.run(
        [*asked, "status", "--porcelain", "--", "src", "bench"], capture_output=True, check=False
    )
    return head.stdout.decode().strip() + (" with changes" if changed.stdout else "")


def load(before: float, after: float) -> str:
    """Whether others were at work. We ourselves are one of those that the load counts."""
    cores = os.cpu_count() or 1
    quiet = before < 0.3 * cores and after < 1 + 0.3 * cores
    state = "a quiet machine" if quiet else "others were at work"
    return f"{state} (load {before:.1f} before, {after:.1f} after)"
