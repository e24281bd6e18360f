"""The code of all modules in one file: what is loaded is always what the sources say."""

import gc
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.__main__ import main
from oraclepack.kept_code import KeptCode

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import shelf
from oraclepack.kept_code import KeptCode
kept = KeptCode(shelf)
sys.meta_path.insert(0, kept)
from shelf import jars
from shelf.boxes import tin
print(jars.SAYS, tin.SAYS, type(jars.__loader__).__name__, type(tin.__loader__).__name__)
print(jars.__file__, shelf.boxes.__path__, shelf.boxes.__loader__.get_data(sys.argv[2]))
kept.keep()
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A package with a module, a package inside it and a file of data."""
    folder = tmp_path / "here" / "shelf"
    (folder / "boxes").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "jars.py": 'SAYS = "jars"\n',
        "boxes/__init__.py": "",
        "boxes/tin.py": 'SAYS = "tin"\n',
        "boxes/label.txt": "label",
    }.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def _load(shelf: Path, *, before: str = "", **environment: str) -> str:
    """What a new process finds; the first line of it."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    label = str(shelf / "boxes" / "label.txt")
    ended = subprocess.run(
        [sys.executable, "-c", before + _PROGRAM, str(shelf.parent), label],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = ended.stdout.splitlines()
    assert second == f"{shelf}/jars.py ['{shelf}/boxes'] b'label'"
    return first


def _kept(shelf: Path) -> list[Path]:
    return sorted(shelf.glob("__pycache__/*.all*"))


_LOOKED_FOR = "jars tin SourceFileLoader SourceFileLoader"
_KEPT = "jars tin _Loader _Loader"


def test_the_second_command_looks_for_nothing(shelf: Path) -> None:
    assert [_load(shelf), _load(shelf)] == [_LOOKED_FOR, _KEPT]


def test_an_edited_module_is_read_again_and_kept_again(shelf: Path) -> None:
    _load(shelf)
    (shelf / "jars.py").write_text('SAYS = "lid"\n', "utf-8")
    assert _load(shelf) == "lid tin SourceFileLoader _Loader"
    assert _load(shelf) == "lid tin _Loader _Loader"


def test_a_removed_module_is_gone(shelf: Path) -> None:
    _load(shelf)
    (shelf / "jars.py").unlink()
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _load(shelf)
    assert "cannot import name 'jars'" in failed.value.stderr


def test_a_module_that_became_a_package_is_found(shelf: Path) -> None:
    _load(shelf)
    (shelf / "boxes" / "tin.py").unlink()
    (shelf / "boxes" / "tin").mkdir()
    (shelf / "boxes" / "tin" / "__init__.py").write_text('SAYS = "tins"\n', "utf-8")
    assert _load(shelf) == "jars tins _Loader SourceFileLoader"
    assert _load(shelf) == "jars tins _Loader _Loader"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda content: content[:3], id="shorter than the checksum"),
        pytest.param(lambda content: content[:20], id="cut"),
        pytest.param(lambda _: bytes(8), id="nothing but zeros"),
        pytest.param(lambda content: content[:40] + b"?" + content[41:], id="one byte changed"),
        pytest.param(lambda content: content[:4] + b"N", id="of another kind"),
    ],
)
def test_a_damaged_file_is_not_believed(shelf: Path, damage: Callable[[bytes], bytes]) -> None:
    _load(shelf)
    [kept] = _kept(shelf)
    kept.write_bytes(damage(kept.read_bytes()))
    assert [_load(shelf), _load(shelf)] == [_LOOKED_FOR, _KEPT]


def test_a_damaged_length_takes_no_memory(shelf: Path) -> None:
    _load(shelf)
    [kept] = _kept(shelf)
    content = kept.read_bytes()
    kept.write_bytes(content[:4] + b"\x7f" + content[5:])
    within = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
    assert [_load(shelf, before=within), _load(shelf, before=within)] == [_LOOKED_FOR, _KEPT]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:-1], id="cut"),
        pytest.param(lambda content: content[:-1] + b"?", id="one byte changed"),
    ],
)
def test_damaged_code_of_one_module_is_no_matter_of_others(
    shelf: Path, damage: Callable[[bytes], bytes]
) -> None:
    _load(shelf)
    [kept] = _kept(shelf)
    kept.write_bytes(damage(kept.read_bytes()))
    assert _load(shelf) == "jars tin SourceFileLoader _Loader"
    assert _load(shelf) == _KEPT


def test_nothing_is_kept_where_python_keeps_nothing(shelf: Path) -> None:
    assert _load(shelf, PYTHONDONTWRITEBYTECODE="1") == _LOOKED_FOR
    assert _kept(shelf) == []


def test_what_cannot_be_written_is_done_without(shelf: Path) -> None:
    _load(shelf)
    [kept] = _kept(shelf)
    kept.unlink()
    kept.mkdir()
    assert [_load(shelf), _load(shelf)] == [_LOOKED_FOR, _LOOKED_FOR]
    assert _kept(shelf) == [kept]


def test_a_pipe_in_its_place_is_not_waited_for(shelf: Path) -> None:
    _load(shelf)
    [kept] = _kept(shelf)
    kept.unlink()
    os.mkfifo(kept)
    assert [_load(shelf), _load(shelf)] == [_LOOKED_FOR, _KEPT]


def test_code_names_its_own_files_after_a_move(shelf: Path, tmp_path: Path) -> None:
    _load(shelf)
    there = tmp_path / "there"
    shutil.copytree(shelf.parent, there, copy_function=shutil.copy2)
    assert _load(there / "shelf") == _LOOKED_FOR
    assert _load(there / "shelf") == _KEPT


def test_modules_that_went_are_forgotten(shelf: Path) -> None:
    (shelf / "lid.py").write_text("", "utf-8")
    (shelf / "jars.py").write_text("from shelf import lid\nSAYS = 'jars'\n", "utf-8")
    _load(shelf)
    (shelf / "lid.py").unlink()
    (shelf / "jars.py").write_text("SAYS = 'jars'\n", "utf-8")
    _load(shelf)
    [kept] = _kept(shelf)
    assert b"shelf.jars" in kept.read_bytes()
    assert b"shelf.lid" not in kept.read_bytes()


def test_nothing_is_kept_where_times_tell_nothing(shelf: Path) -> None:
    by_content = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(shelf / "__init__.py"), invalidation_mode=by_content)
    assert [_load(shelf), _load(shelf)] == [_LOOKED_FOR, _LOOKED_FOR]
    assert _kept(shelf) == []


def test_trouble_with_keeping_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: KeptCode) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KeptCode, "keep", interrupted)
    monkeypatch.setattr(sys, "argv", ["oraclepack", "explain", "no such rule"])
    finders = list(sys.meta_path)
    try:
        assert main() == 2
    finally:
        sys.meta_path[:] = finders
        gc.unfreeze()
    assert "no such rule" in capsys.readouterr().err


def test_it_lies_where_python_was_told_to_keep_code(shelf: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    assert _load(shelf, PYTHONPYCACHEPREFIX=elsewhere) == _LOOKED_FOR
    assert _load(shelf, PYTHONPYCACHEPREFIX=elsewhere) == _KEPT
    assert _kept(shelf) == []


def test_code_of_an_optimised_python_is_kept_apart(shelf: Path) -> None:
    _load(shelf)
    assert _load(shelf, PYTHONOPTIMIZE="1") == _LOOKED_FOR
    assert len(_kept(shelf)) == 2


def test_many_at_once_leave_one_whole_file(shelf: Path) -> None:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    label = str(shelf / "boxes" / "label.txt")
    argv = [sys.executable, "-c", _PROGRAM, str(shelf.parent), label]
    crowd = [
        subprocess.Popen(argv, env=inherited, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    assert [(one.communicate()[1], one.returncode) for one in crowd] == [(b"", 0)] * 8
    assert len(_kept(shelf)) == 1
    assert _load(shelf) == _KEPT


def test_from_an_archive_python_loads_as_always(shelf: Path, tmp_path: Path) -> None:
    archive = tmp_path / "shelf.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(shelf.rglob("*.*")):
            file.write(path, path.relative_to(shelf.parent))
    label = f"{archive}/shelf/boxes/label.txt"
    argv = [sys.executable, "-c", _PROGRAM, str(archive), label]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[0] == "jars tin zipimporter zipimporter"
