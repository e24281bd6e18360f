"""A disk that forgets: what was never synced is gone after a power cut.

Inside the program a hook remembers what each sync has made durable, and at the cut writes that
down and dies. Afterwards `forget` makes the files what such a disk would still have.
"""

import json
import os
import shutil
import signal
import stat
from pathlib import Path
from threading import Lock

from oraclepack.system import disk

LOST, HOLLOW = "lost", "hollow"
"""Neither names nor contents outlive the cut unless synced; or names do, but contents do not."""
Listing = dict[str, int]
"""The names in a folder, and the number of the file behind each."""


def begin(*, record: str, notes: str, cut: int = 0) -> None:
    """To be called in the process that becomes the program; it dies before operation `cut`."""
    disk.set_hook(_Memory(record, notes, cut))


class _Memory:
    """What the disk would still have. Files are held open, so that no number is given out twice."""

    def __init__(self, record: str, notes: str, cut: int) -> None:
        self._record = record
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._cut = cut
        self._count = 0
        self._lock = Lock()
        self._contents: dict[int, str] = {}
        self._modes: dict[int, int] = {}
        self._names: dict[str, Listing] = {}
        self._held: dict[int, int] = {}

    def __call__(self, operation: str, path: str) -> None:
        with self._lock:
            self._count += 1
            os.write(self._notes, f"{operation} {Path(path).name}\n".encode())
            if self._count == self._cut:
                self._die()
            if operation == "sync":
                self._keep(path)
            elif operation == "sync_directory":
                self._names[path] = listing(path)

    def _keep(self, path: str) -> None:
        found = os.stat(path)
        if found.st_ino not in self._held:
            self._held[found.st_ino] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._contents[found.st_ino] = Path(path).read_bytes().hex()
        self._modes[found.st_ino] = stat.S_IMODE(found.st_mode)

    def _die(self) -> None:
        record = {"contents": self._contents, "modes": self._modes, "names": self._names}
        Path(self._record).write_text(json.dumps(record))
        os.kill(os.getpid(), signal.SIGKILL)


def listing(folder: str | Path) -> Listing:
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat(follow_symlinks=False).st_ino for entry in entries}


class Durable:
    """What is on the disk for good: as the program found it, and what it synced since."""

    def __init__(self, folder: Path) -> None:
        """All that is there now is durable."""
        folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        self._names = {str(path): listing(path) for path in folders}
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        self._contents = {path.stat().st_ino: path.read_bytes() for path in files}
        self._modes: dict[int, int] = {}

    def learn(self, record: Path) -> None:
        """What the program made durable before it died."""
        data = json.loads(record.read_text())
        self._names |= data["names"]
        self._contents |= {int(k): bytes.fromhex(v) for k, v in data["contents"].items()}
        self._modes |= {int(k): v for k, v in data["modes"].items()}

    def forget(self, folder: Path, how: str) -> None:
        """Leave in a folder only what the disk would still have."""
        names = listing(folder)
        if how == LOST:
            kept = self._names.get(str(folder), {})
            for name in names.keys() - kept.keys():
                _remove(folder / name)
            names = kept
        for name, number in sorted(names.items()):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                self.forget(path, how)
            elif not path.is_symlink():
                self._refill(path, number)

    def _refill(self, path: Path, number: int) -> None:
        """The content as it was synced last; none at all if it never was."""
        content = self._contents.get(number, b"")
        if path.exists() and path.read_bytes() == content:
            return
        kept = self._modes.get(number)
        mode = kept if kept is not None else (path.stat().st_mode if path.exists() else 0o600)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(stat.S_IMODE(mode))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
