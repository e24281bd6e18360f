"""The use case behind `new`: an empty pack that teaches."""

from pathlib import Path

from oraclepack.core.generation import NewPack
from oraclepack.errors import UsageError
from oraclepack.generate.blank import blank
from oraclepack.system import files
from oraclepack.system.environment import refuse_to_write_out


def new_pack(path: str, template: str, cwd: str = "", *, force: bool = False) -> NewPack:
    """Write a pack by a template. A file that stands there is only replaced by force."""
    target = Path(path)
    if target.is_dir() or not target.name:
        raise UsageError(f"{path} is a directory", hint="name the file, such as docs/pack.md")
    refuse_to_write_out(target.parent, cwd)
    if files.read(target) is not None and not force:
        raise UsageError(f"{path} exists", hint="pass --force, or choose another name")
    title = target.stem.replace("-", " ").replace("_", " ").strip().capitalize() or "Oracle pack"
    shown = "PACK" if set(path) & set("`\n") else path
    files.make_directories(target.absolute().parent)
    files.sweep(target.parent)
    files.write_atomic(target, blank(template, shown, " ".join(title.split())).encode())
    return NewPack(target.as_posix(), template)
