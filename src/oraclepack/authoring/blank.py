"""Packs to begin with: empty, valid, and full of comments that teach the format."""

from pathlib import Path

from oraclepack.authoring.answer_contract import RETURN_ONLY, answer_format
from oraclepack.authoring.generation import NewPack
from oraclepack.errors import AlreadyExistsError, UsageError
from oraclepack.system import files
from oraclepack.system.environment import refuse_to_write_out

_FOLDER = Path(__file__).parent / "templates"
TEMPLATES = ("short", "review", "chunked", "runbook")
"""`review` has the metadata that a strict pack needs; it was called `single`."""


def blank(template: str, path: str, title: str) -> str:
    """The text of a new pack; `path` is where it will stand, for the commands it mentions."""
    text = (_FOLDER / f"{template}.md").read_text(encoding="utf-8")
    values = {
        "ANSWER FORMAT": answer_format(),
        "CHUNKED FORMAT": answer_format(is_chunked=True),
        **{part.name: words for part, words in RETURN_ONLY.items()},
        "PATH": path,
        "TITLE": title,
    }
    for name, value in values.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def new_pack(path: str, template: str = "short", cwd: str = "", *, force: bool = False) -> NewPack:
    """Write a pack by a template. A file that is there is only replaced by force."""
    target = Path(path)
    if target.is_dir() or not target.name:
        raise UsageError(f"{path} is a directory", hint="name the file, such as docs/pack.md")
    refuse_to_write_out(target.parent, cwd)
    if files.read(target) is not None and not force:
        raise AlreadyExistsError(f"{path} exists", hint="pass --force, or choose another name")
    title = target.stem.replace("-", " ").replace("_", " ").strip().capitalize() or "Oracle pack"
    display_path = "PACK" if set(path) & set("`\n") else path
    files.make_directories(target.absolute().parent)
    files.sweep(target.parent)
    files.write_atomic(target, blank(template, display_path, " ".join(title.split())).encode())
    return NewPack(target.as_posix(), template)
