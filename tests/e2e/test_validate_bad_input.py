"""Bad input gets a clear message and exit code 2; nothing is written."""

import os
from pathlib import Path

import pytest

from oraclepack.pack.pack_files import LARGEST, MOST_LINES
from tests.e2e.program import oraclepack, tree
from tests.packs import pack_text, some_steps

GOOD = pack_text("# 01) x\ntrue\n")
FIVE_MB = 5_000_000
FULL = LARGEST - 100
"""About as many bytes as a pack may have."""
LINES = MOST_LINES // 10


def steps(number: int) -> str:
    return "".join(f"# {n:02}) step\ntrue\n" for n in range(1, number + 1))


BAD = [
    pytest.param(b"", "OP101", id="an empty file"),
    pytest.param(bytes(range(256)) * 9, "holds a NUL byte", id="a binary file"),
    pytest.param(b"\x89PNG\r\n\x1a\n" * 9, "is not UTF-8", id="an image without NUL bytes"),
    pytest.param(b"# caf\xe9\n" + GOOD.encode(), "line 1 is not UTF-8", id="Latin-1"),
    pytest.param(GOOD.encode().replace(b"x", b"\0"), "line 4 holds a NUL byte", id="a NUL byte"),
    pytest.param(GOOD.encode("utf-16"), "UTF-16", id="UTF-16"),
    pytest.param(b"\n```bash\n# 01) x\ntrue\n", "OP104", id="an unclosed fence"),
    pytest.param(b"# p\n\n```bash", "OP104", id="a fence opened on the last line"),
    pytest.param(b"# only prose\n", "OP101", id="no bash block"),
    pytest.param(pack_text("true\n").encode(), "OP105", id="no steps"),
    pytest.param(pack_text(steps(100)).encode(), "OP109", id="a hundred steps"),
    pytest.param(pack_text("# 01) x\nif true\n").encode(), "OP203", id="bash that does not parse"),
    pytest.param(b"x" * FIVE_MB, "too large for a pack", id="5 MB of a letter"),
    pytest.param(b"\0" * FIVE_MB, "too large for a pack", id="5 MB of NUL bytes"),
    pytest.param(pack_text("$(" * (FIVE_MB // 2)).encode(), "too large", id="5 MB of bash"),
    pytest.param(b"x" * FULL, "OP101", id="a full size of a letter"),
    pytest.param(b"\n" * FIVE_MB, "too large", id="5 MB of empty lines"),
    pytest.param(b"a\r" * (FULL // 2), "lines are too many for a pack", id="old Mac line ends"),
    pytest.param(b"\n" * FULL, "lines are too many for a pack", id="a full size of empty lines"),
    pytest.param(b"`" * FULL, "OP101", id="a full size of backticks"),
    pytest.param(b"> " * (FULL // 2), "OP101", id="a full size of quotation marks"),
    pytest.param(b"[" * FULL, "OP101", id="a full size of brackets"),
    pytest.param(b"- a\n" * LINES, "OP101", id="thousands of list items"),
    pytest.param(b"\0" * FULL, "NUL byte", id="a full size of NUL bytes"),
    pytest.param(
        pack_text("$(" * (FULL // 8)).encode(), "opening operators", id="a megabyte of $("
    ),
    pytest.param(pack_text("{ " * (FULL // 8)).encode(), "operators", id="a megabyte of {"),
    pytest.param(pack_text("# 01) x\n" * LINES).encode(), "OP108", id="thousands of step headers"),
    pytest.param(
        pack_text("# 01) x\n" + '  -p "y"\n' * LINES).encode(),
        "OP201",
        id="thousands of orphaned flags",
    ),
]

FINE = [
    pytest.param(GOOD.replace("\n", "\r\n").encode(), id="CRLF"),
    pytest.param(b"\xef\xbb\xbf" + GOOD.encode(), id="a byte order mark"),
    pytest.param(GOOD.replace("```", "~~~").encode(), id="tilde fences"),
    pytest.param(GOOD.replace("```", "`````").encode(), id="a longer fence"),
    pytest.param(GOOD.rstrip("\n").encode(), id="no newline at the end"),
    pytest.param(pack_text(steps(99)).encode(), id="99 steps"),
    pytest.param(
        pack_text(some_steps(["cat <<'END'\n# 03) no step\n-p no flag ``` '\nEND\n"])).encode(),
        id="a heredoc full of traps",
    ),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_a_bad_file_is_refused(tmp_path: Path, home: Path, content: bytes, message: str) -> None:
    (tmp_path / "pack.md").write_bytes(content)
    before = tree(tmp_path, home)

    ran = oraclepack(tmp_path, "validate", "pack.md")

    assert ran.code == 2
    assert message in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
    assert tree(tmp_path, home) == before


@pytest.mark.parametrize("content", FINE)
def test_unusual_but_sound_files_pass(tmp_path: Path, home: Path, content: bytes) -> None:
    (tmp_path / "pack.md").write_bytes(content)
    before = tree(tmp_path, home)

    ran = oraclepack(tmp_path, "validate", "pack.md")

    assert (ran.code, ran.err) == (0, "next: oraclepack plan pack.md\n")
    assert tree(tmp_path, home) == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["none.md"], "none.md: no such file", id="a missing file"),
        pytest.param(["."], "no packs below this directory", id="a directory without packs"),
        pytest.param([], "PACK|DIR", id="no pack named"),
        pytest.param(["--strickt", "x.md"], "--strict", id="an unknown flag"),
        pytest.param(["--format", "xml", "x.md"], "xml", id="an unknown format"),
        pytest.param(["--select", "OP999", "x.md"], "no rule 'OP999'", id="an unknown rule"),
        pytest.param(["--strict=maybe", "x.md"], "maybe", id="a strange boolean"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_bad_command_line_is_refused(
    tmp_path: Path, home: Path, args: list[str], message: str, form: list[str]
) -> None:
    before = tree(tmp_path, home)

    ran = oraclepack(tmp_path, "validate", *args, *form)

    assert ran.code == 2
    error = ran.err if not form else ran.envelope["error"]["message"]
    more = "" if not form else ran.envelope["error"]["suggestion"]
    assert message in f"{error}{more}"
    assert "Traceback" not in ran.out + ran.err
    assert tree(tmp_path, home) == before


def test_an_unknown_config_key_is_named_with_its_neighbour(tmp_path: Path, home: Path) -> None:
    (tmp_path / "oraclepack.toml").write_text("strikt = true\n", encoding="utf-8")
    (tmp_path / "pack.md").write_text(GOOD, encoding="utf-8")
    before = tree(tmp_path, home)

    ran = oraclepack(tmp_path, "validate", "pack.md")

    assert ran.code == 2
    assert "oraclepack.toml: strikt: unknown setting" in ran.err
    assert "did you mean strict?" in ran.err
    assert tree(tmp_path, home) == before


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pack.md")

    ran = oraclepack(tmp_path, "validate", "pack.md")

    assert ran.code == 2
    assert "pack.md is a named pipe" in ran.err


def test_a_refused_pack_leaves_no_shellcheck_behind(tmp_path: Path) -> None:
    tool = tmp_path / "bin/shellcheck"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/pid"\nexec sleep 600\n')
    tool.chmod(0o755)
    (tmp_path / "pack.md").write_text(pack_text("$(" * 10_000))

    ran = oraclepack(tmp_path, "validate", "pack.md", PATH=f"{tool.parent}:{os.environ['PATH']}")

    assert ran.code == 2
    assert "opening operators" in ran.err
    if (tmp_path / "pid").exists():  # else it was ended before it began
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
