"""The state and report files of a pack in the project root: their names, and whose they are."""

from pathlib import Path

from oraclepack.core.legacy import Maker, file_names, maker_of, own_file_names
from oraclepack.errors import InputError
from oraclepack.system import file_moves, files


def names_for(root: Path, pack_path: str) -> tuple[str, str]:
    """The names of the state and report file of a pack.

    The plain ones, unless they belong to a pack of the same name in another folder, or to
    somebody else. A pack that has got names of its own keeps them.
    """
    own = own_file_names(pack_path)
    if (root / own[0]).is_file():
        return own
    plain = file_names(pack_path)
    return own if any(_is_taken(root, root / name, pack_path) for name in plain) else plain


def _is_taken(root: Path, path: Path, pack_path: str) -> bool:
    data = files.read(path) if path.is_file() else None
    if data is None:
        return False
    maker, owner = maker_of(data)
    if maker is Maker.OURS:
        return owner != pack_path and (root / owner).is_file()
    return maker is Maker.SOMEBODY


def refuse_directories(root: Path, pack_path: str) -> None:
    """Raise where a directory has the name of one of the files: no file can replace it."""
    for name in names_for(root, pack_path):
        place = root / name
        if place.is_dir() and not place.is_symlink():
            raise InputError(
                f"{name} is a directory, and the state of the run is to be written there",
                hint="move it away, or leave these files out with --no-legacy-files",
            )


def files_of_go(root: Path, pack_path: str) -> tuple[str, ...]:
    """The plain files that the Go tool has written, as far as there are any: the state first."""
    names = names_for(root, pack_path)
    if names != file_names(pack_path):
        return ()
    found = {name: files.read(root / name) for name in names if (root / name).is_file()}
    return tuple(name for name, data in found.items() if data and maker_of(data)[0] is Maker.GO)


def may_replace(root: Path, name: str) -> bool:
    """A file of the Go tool is only replaced once there is a copy of it."""
    data = files.read(root / name) if (root / name).is_file() else None
    if data is None or maker_of(data)[0] is not Maker.GO:
        return True
    return _copy_for(root, name).exists()


def keep_original(root: Path, name: str) -> str:
    """Copy a file beside itself before ours replaces it; the name of the copy."""
    copy = _copy_for(root, name)
    if copy.exists():  # of a command that was killed after it
        return copy.name
    try:
        file_moves.copy(root / name, copy)
    except OSError as trouble:
        raise files.cannot("keep a copy of", root / name, trouble) from trouble
    return copy.name


def _copy_for(root: Path, name: str) -> Path:
    """The copy of a file as it is now, or the free name for it."""
    now, number = files.read(root / name), 1
    while True:
        copy = root / f"{name}.bak{'' if number == 1 else f'-{number}'}"
        if not copy.exists() or files.read(copy) == now:
            return copy
        number += 1
