"""What bash, shellcheck and the disk say about a pack."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.lint.external_checks import facts_for, nearest_files, path_facts
from oraclepack.lint.finding import CheckStatus, PathFact, PathKind
from oraclepack.lint.script_checks import Shellcheck, check_syntax
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.shell.checker import Checker, complete
from tests.packs import a_pack, a_strict_pack, some_steps

Hide = Callable[..., Path]


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Leaves nothing on PATH but the given little programs."""

    def arrange(**programs: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name, text in programs.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr("sys.executable", str(folder / "python"))
        return folder

    return arrange


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("echo hi\n", True, id="a command"),
        pytest.param("", True, id="nothing"),
        pytest.param("# only a comment\n", True, id="a comment"),
        pytest.param("echo 'open\n", False, id="an open quote"),
        pytest.param("if true; then\n", False, id="an open if"),
        pytest.param("cat <<X\nfoo\n", False, id="an open heredoc, which bash only warns of"),
        pytest.param("cat <<X\nfoo\nX\n", True, id="a closed heredoc"),
        pytest.param("case a in @(a|b)) ;; esac\n", True, id="patterns a line before switched on"),
        pytest.param("echo )\n", False, id="a stray bracket"),
        pytest.param("[[ a == b\ntrue\n", False, id="an open condition, which is no failure"),
    ],
)
def test_complete(text: str, expected: bool) -> None:
    assert complete(text) is expected


@pytest.mark.parametrize(
    ("bash", "line", "words"),
    [
        pytest.param("# 01) a\necho )\n", 5, "unexpected token", id="at its line"),
        pytest.param(
            "# 01) a\necho ok\n# 02) b\necho 'open\n# 03) c\necho x\n", 7, "matching", id="its step"
        ),
        pytest.param("# 01) a\nif true; then\n  echo x\n\n\n", 6, "not closed", id="an open if"),
        pytest.param("# 01) a\ncat <<X\nfoo\n# 02) b\n", 5, "no line says X", id="a heredoc"),
        pytest.param("x=(\n# 01) a\necho\n", 4, "matching", id="the prelude"),
        pytest.param("# 01) a\ncase a in @(a|b)) ;; esac\n", 5, "unexpected", id="no extglob"),
    ],
)
def test_bash_names_the_line_of_the_file(bash: str, line: int, words: str) -> None:
    check = check_syntax(a_pack(bash))

    assert check.status is CheckStatus.FAILED
    assert check.diagnostics[0].line == line
    assert words in check.diagnostics[0].message


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param("# 01) a\necho hi\n", id="a good step"),
        pytest.param("shopt -s extglob\n# 01) a\ncase a in @(a|b)) ;; esac\n", id="extglob"),
        pytest.param("# 01) a\ncat <<'X'\n# 02) )( ` \"\nX\n", id="anything in a heredoc"),
    ],
)
def test_bash_has_nothing_to_say(bash: str) -> None:
    assert check_syntax(a_pack(bash)).status is CheckStatus.OK


def test_every_broken_step_is_named() -> None:
    check = check_syntax(a_pack(some_steps(["echo )", "echo fine", "echo (("])))

    assert [found.line for found in check.diagnostics] == [5, 9]


def test_the_real_environment_does_not_reach_bash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "env").write_text("echo )\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert check_syntax(a_pack("# 01) a\necho environment\n")).status is CheckStatus.OK


def test_without_programs_the_checks_are_skipped_and_say_why(only: Hide, tmp_path: Path) -> None:
    only()

    facts = facts_for(a_strict_pack(), tmp_path)

    assert (facts.syntax.status, facts.syntax.reason) == (
        CheckStatus.SKIPPED,
        "bash is not on PATH",
    )
    assert facts.shellcheck.status is CheckStatus.SKIPPED
    assert facts.shellcheck.reason == (
        "shellcheck is neither on PATH nor installed beside oraclepack"
    )
    assert not complete("echo nobody can tell\n")


def test_a_pack_without_block_has_nothing_to_check(tmp_path: Path) -> None:
    facts = facts_for(parse_pack("words\n", "p.md"), tmp_path)

    assert facts.syntax.reason == facts.shellcheck.reason == "the pack has no bash block"


def test_shellcheck_speaks_in_lines_of_the_file() -> None:
    check = Shellcheck(a_pack('# 01) a\nrm -rf "$x/"*\nfor f in $(ls); do :; done\ncd x\n').block)

    found = check.result()

    assert found.status is CheckStatus.FAILED
    assert [(d.line, d.code, d.level) for d in found.diagnostics] == [
        (5, "SC2115", "warning"),
        (6, "SC2045", "error"),
        (7, "SC2164", "warning"),
    ]


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param("# 01) a\nunused=1\n", id="a variable for others"),
        pytest.param("# 01) a\n. ./env.sh\n", id="a sourced file"),
        pytest.param('# 01) a\necho "$from_outside"\n', id="a variable from the environment"),
        pytest.param("# 01) a\nx=(1 2)\n# 02) b\nx=1\necho $x\n", id="a name in two steps"),
        pytest.param("# 01) a\nexec true\n# 02) b\ntrue\n", id="exec in a step"),
        pytest.param('# 01) a\necho "größer → ok"\n', id="letters from elsewhere"),
    ],
)
def test_shellcheck_is_silent_where_it_would_mislead(bash: str) -> None:
    assert Shellcheck(a_pack(bash).block).result().status is CheckStatus.OK


def test_shellcheck_is_not_heard_when_bash_has_failed(tmp_path: Path) -> None:
    facts = facts_for(a_pack("# 01) a\necho )\n"), tmp_path)

    assert facts.syntax.status is CheckStatus.FAILED
    assert facts.shellcheck.reason == "bash -n found errors; fix them first"


def test_what_only_shellcheck_cannot_read_is_no_verdict() -> None:
    check = Shellcheck(a_pack("# 01) a\n{{tool}} x\n").block).result()

    assert check.status is CheckStatus.SKIPPED
    assert "though bash can" in check.reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param("exec sleep 60", "did not end within 0.05 s", id="it hangs"),
        pytest.param("echo oops >&2; exit 4", "could not be understood: oops", id="it fails"),
        pytest.param("echo '{}'", "could not be understood: no report", id="another shape"),
    ],
)
def test_a_shellcheck_that_misbehaves_is_skipped(only: Hide, program: str, reason: str) -> None:
    only(shellcheck=program.replace("sleep", "/bin/sleep"))

    check = Shellcheck(a_pack("# 01) a\ntrue\n").block).result(
        patience=0.05 if "60" in program else 9
    )

    assert check.status is CheckStatus.SKIPPED
    assert reason in check.reason


def test_a_block_too_long_for_shellcheck_is_skipped() -> None:
    check = Shellcheck(a_pack(f"# 01) a\n# {'x' * 1_000_000}\n").block)

    assert "longer than" in check.result().reason
    assert "longer than" in check.drop("x").reason


def test_a_program_that_cannot_start_says_so() -> None:
    checker = Checker(["/nonexistent/program"], "text")

    checker.stop()
    assert "cannot be started" in checker.finish(1).trouble


def test_paths_as_they_stand_in_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("12345")
    (tmp_path / "secret").write_text("x")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "away").symlink_to(tmp_path)
    names = ["src/a.py", "src", "none.py", "link", "../secret", "away/x.md", "src/a.py/x"]
    files = " ".join(f"-f '{name}'" for name in [*names, "n" * 300, "src/*.py", "!x"])

    found = path_facts(a_pack(f"# 01) a\noracle -p q {files} --write-output out/a.md\n"), root)

    assert found == {
        "src/a.py": PathFact(PathKind.FILE, 5),
        "src": PathFact(PathKind.DIRECTORY),
        "none.py": PathFact(PathKind.MISSING),
        "link": PathFact(PathKind.OUTSIDE),
        "../secret": PathFact(PathKind.OUTSIDE),
        "away/x.md": PathFact(PathKind.OUTSIDE),
        "src/a.py/x": PathFact(PathKind.MISSING),
        "n" * 300: PathFact(PathKind.MISSING),
        "out/a.md": PathFact(PathKind.MISSING),
    }


@pytest.mark.parametrize(
    ("missing", "near"),
    [
        pytest.param("lib/shop/stock.py", "src/shop/stock.py", id="in another folder"),
        pytest.param("stock.py", "src/shop/stock.py", id="without its folder"),
        pytest.param("src/shop/stok.py", "src/shop/stock.py", id="mistyped"),
        pytest.param("src/web/index.py", "src/web/ui/index.py", id="most folders in common"),
        pytest.param("node/left.py", None, id="not among what others installed"),
        pytest.param("src/shop/unlike.md", None, id="like nothing"),
    ],
)
def test_the_file_that_may_be_meant(tmp_path: Path, missing: str, near: str | None) -> None:
    for name in (
        *("src/shop/stock.py", "src/web/ui/index.py", "tools/index.py"),
        *("node_modules/left.py", ".git/left.py"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert nearest_files(str(tmp_path), [missing]).get(missing) == near


def test_the_facts_of_a_good_pack(tmp_path: Path) -> None:
    facts = facts_for(a_strict_pack(), tmp_path)

    assert facts.syntax.status is CheckStatus.OK
    assert facts.shellcheck.status is CheckStatus.OK
    assert len(facts.paths) == 40


def test_text_of_any_kind_is_answered() -> None:
    for text in ("\0\0", "\x7fELF", "a\0b )", "é" * 9):
        assert complete(text) in {True, False}
