"""A real browser for tests of pages: Chromium of the system, driven by playwright, and axe-core.

Both are installed by the tests that need them: Chromium by apt-get where that is possible, axe-core
by npm. Where one cannot be had, the tests are skipped and say why.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.real.install import NotToBeHadError, programs_of

AXE = "4.14.0"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LONGEST = 600.0


@cache
def chromium() -> str:
    """The browser's program. Raises NotToBeHadError."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is not None:
        return found
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NotToBeHadError("Chromium is not installed, and only root could install it")
    for words in (["update", "-qq"], ["install", "-y", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run(["apt-get", *words], capture_output=True, timeout=_LONGEST, check=True)
        except (OSError, subprocess.SubprocessError) as trouble:
            raise NotToBeHadError(f"apt-get {words[0]}: {trouble}") from trouble
    installed = shutil.which("chromium")
    if installed is None:
        raise NotToBeHadError("apt-get installed no program named chromium")
    return installed


@cache
def axe_script() -> str:
    """The text of axe-core. Raises NotToBeHadError."""
    programs = programs_of("axe", f"axe-core@{AXE}")
    return (programs.parent / "axe-core/axe.min.js").read_text(encoding="utf-8")


@contextmanager
def browser() -> Iterator[Any]:
    """The browser, started. Raises NotToBeHadError."""
    program = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as trouble:
        raise NotToBeHadError("playwright is not installed") from trouble
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program)
        try:
            yield started
        finally:
            started.close()


class OpenPage:
    """A page that was opened from disk without a network, and what went wrong on it."""

    def __init__(self, started: Any, path: Path, **options: Any) -> None:
        self.trouble: list[str] = []
        self.requests: list[str] = []
        size = options.pop("size", (1280, 900))
        self.context = started.new_context(
            offline=True, viewport={"width": size[0], "height": size[1]}, **options
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda said: self.trouble.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda shown: self.trouble.append(f"dialog: {shown.message}"))
        self.address = path.as_uri()
        self.page.goto(self.address)
        self.page.wait_for_timeout(100)

    @property
    def foreign_requests(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(self.address)]

    def close(self) -> None:
        self.context.close()


def violations(opened: OpenPage) -> list[str]:
    """What axe-core finds on a page, one line each. The context must bypass its policy."""
    opened.page.evaluate(axe_script())
    found = opened.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
