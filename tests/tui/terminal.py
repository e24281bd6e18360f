"""A real terminal for the screens: tmux, with a server of its own and keys typed one at a time."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

PATIENCE = 60.0
_EVERY = 0.05
COMMAND = (sys.executable, "-m", "oraclepack", "tui")


class Terminal:
    """One window of tmux with a program in it."""

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        self._socket = folder / "tmux.sock"
        self.written = folder / "written"
        """Every byte that the program wrote to its terminal."""
        self.columns, self.lines = size

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", str(self._socket), *words],
            check=False,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def start(self, *words: str, folder: Path) -> None:
        """Start a program in place of the last one; the window stays when it has ended."""
        if not self._socket.exists():
            size = ("-x", str(self.columns), "-y", str(self.lines))
            self._tmux("new-session", "-d", "-s", "t", *size, "-c", str(folder), "sleep 600")
            self._tmux("set-option", "-g", "remain-on-exit", "on")
            self._tmux("set-option", "-g", "status", "off")
            self._tmux("set-option", "-s", "escape-time", "0")
        self._tmux("pipe-pane", "-t", "t", f"cat > {self.written}")
        # These variables would count more than the size of the window.
        bare = ("env", "-u", "COLUMNS", "-u", "LINES")
        self._tmux("respawn-pane", "-k", "-t", "t", "-c", str(folder), *bare, *words)

    def close(self) -> None:
        self._tmux("kill-server")

    @property
    def pid(self) -> int:
        return int(self._tmux("display-message", "-p", "-t", "t", "#{pane_pid}"))

    def is_over(self) -> bool:
        return self._tmux("display-message", "-p", "-t", "t", "#{pane_dead}").strip() == "1"

    def title(self) -> str:
        """The title that programs gave the window."""
        return self._tmux("display-message", "-p", "-t", "t", "#{pane_title}")

    def pause(self) -> None:
        """Give the program a moment, between two looks at what another process did."""
        sleep(_EVERY)

    def wait_for_end(self) -> None:
        """Wait until the program has ended."""
        deadline = monotonic() + PATIENCE
        while not self.is_over():
            if monotonic() > deadline:
                raise AssertionError(f"the program does not end:\n{self.text()}")
            self.pause()

    def text(self) -> str:
        """What the window shows."""
        return self._tmux("capture-pane", "-p", "-t", "t")

    def shows(self, *texts: str, gone: str = "") -> str:
        """Wait until the window shows all of the texts, and another one no more."""
        deadline = monotonic() + PATIENCE
        while True:
            text = self.text()
            if all(one in text for one in texts) and not (gone and gone in text):
                return text
            if monotonic() > deadline:
                raise AssertionError(f"the window never showed {texts}:\n{text}")
            sleep(_EVERY)

    def press(self, key: str, *then: str, gone: str = "") -> None:
        """Press one key, and wait until the window shows what it leads to.

        Escape and a key right after it reach the program as one key with alt, as in every
        terminal: wait for what escape does.
        """
        self._tmux("send-keys", "-t", "t", key)
        if then or gone:
            self.shows(*then, gone=gone)

    def type(self, text: str, *then: str) -> None:
        """Type a text as it is, then wait until the window shows it, or something else."""
        self._tmux("send-keys", "-t", "t", "-l", text)
        self.shows(*(then or (text,)))


@contextmanager
def terminal(folder: Path, size: tuple[int, int]) -> Iterator[Terminal]:
    """A terminal whose programs find nothing of the user's; it is closed at the end."""
    # A path of a socket may have no more than 107 characters.
    place = Path(f"/tmp/oraclepack-tui-{os.getpid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    one = Terminal(place, size)
    try:
        yield one
    finally:
        one.close()
        shutil.rmtree(place, ignore_errors=True)
