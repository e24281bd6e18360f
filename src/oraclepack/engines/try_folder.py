"""The folder of one try of a call: the tool writes and prints there, and nowhere else.

    .oraclepack/runs/<run>/calls/<step>.<attempt>.<call>.<try>-<nonce>/
        out/<the declared path>    stdout    stderr

The file at the declared path is not touched before a whole answer is published there. The name of
the folder is the identity of the try: oracle's own record of the session holds it, so that the
try is found again after a kill, also when the project was moved or another home is used.
"""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.system import files
from oraclepack.system.environment import nonce
from oraclepack.system.path_jail import AllowedPath, jail, read_content, stays_inside
from oraclepack.tools.argv import ParsedArgv
from oraclepack.tools.flag_tables import Role

FOLDER = "calls"
STDOUT, STDERR = "stdout", "stderr"
_LONGEST_OUTPUT = 16_000_000


class TryFolder(msgspec.Struct, frozen=True):
    """Where one try of a call writes and prints."""

    root: Path
    name: str
    """Relative to the project root."""

    @classmethod
    def make(
        cls, root: Path, run_dir: Path, numbers: str, outputs: Sequence[AllowedPath]
    ) -> "TryFolder":
        """A new folder for a try, with the directories of its outputs."""
        path = run_dir / FOLDER / f"{numbers}-{nonce()}"
        folder = cls(root, Path(os.path.relpath(path, root)).as_posix())
        # Nothing that a tool writes is synced before it is kept elsewhere.
        places = (folder.place(output).parent for output in outputs)
        files.make_private(path, *places, durable=False)
        return folder

    @property
    def path(self) -> Path:
        return self.root / self.name

    def place(self, output: AllowedPath) -> Path:
        """Where the tool is to write an output."""
        return self.path / "out" / output.relative

    def argv(self, parsed: ParsedArgv, argv: Sequence[str], cwd: str) -> tuple[str, ...]:
        """A call with the private path in place of each path that it promises an answer at."""
        words = list(argv)
        for use in parsed.with_role(Role.OUTPUT):
            verdict = jail(self.root, use.value or "", Path(cwd))
            if use.value_at is not None and isinstance(verdict, AllowedPath):
                place = self.place(verdict)
                words[use.value_at] = words[use.value_at][: use.value_offset] + str(place)
        return tuple(words)

    def files(self) -> Iterator[str]:
        """What the tool has written, relative to the project root."""
        top = self.path / "out"
        for parent, _, names in files.walk(top):
            for name in sorted(names):
                yield Path(parent, name).relative_to(top).as_posix()

    def read(self, output: AllowedPath) -> bytes | None:
        """What the tool has written; None when there is no regular file."""
        place = self.place(output)
        return read_content(place).data if stays_inside(self.path, place) else None

    def mode(self, output: AllowedPath) -> int | None:
        """The permissions that the tool gave to an output."""
        try:
            return stat.S_IMODE(self.place(output).lstat().st_mode)
        except OSError:
            return None

    def printed(self) -> str:
        """What the tool has printed so far; empty when that is not known."""
        try:
            data = files.read_regular(self.path / STDOUT, _LONGEST_OUTPUT)
        except OSError:
            return ""
        return data.decode("utf-8", "replace")

    def is_of(self, path: str | None) -> bool:
        """Whether a path, perhaps of another place or machine, names an output of this try."""
        return path is not None and f"/{self.name}/" in path

    def remove(self) -> None:
        """The try is over, and what is worth keeping of it is kept elsewhere."""
        try:
            files.remove_tree(self.path)
        except (OSError, OraclePackError):
            return  # it is removed with the run


def sweep_folders(run_dir: Path, root: Path, open_calls: Collection[str]) -> None:
    """Remove the folders of calls that have ended, which a kill has left."""
    for path in sorted((run_dir / FOLDER).glob("*-*")):
        name = Path(os.path.relpath(path, root)).as_posix()
        if name not in open_calls:
            TryFolder(root, name).remove()
