"""Calls that ask nothing of oracle, paths that may not be written, secrets, rehearsals."""

import os
from pathlib import Path

import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import Cache
from oraclepack.pack.answer_sections import ALL_SECTIONS, NOTICE, missing_sections
from oraclepack.store.limits import Limit
from tests.calls.office import ANSWER, ASK, Act, Office, ScriptedShim, answering, failing, saying
from tests.packs import ANSWER_FORMAT

OK = saying(ToolEnd(0, "done\n"))


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("--version",), id="the version"),
        pytest.param(("status",), id="a look at the sessions"),
        pytest.param((*ASK, "--dry-run"), id="a dry run"),
        pytest.param((), id="no words at all"),
    ],
)
def test_what_asks_no_model_goes_through_untouched(tmp_path: Path, argv: tuple[str, ...]) -> None:
    office, shim = Office(tmp_path), ScriptedShim(saying(ToolEnd(3)))
    made = office.call(shim, *(argv or ("--help",)))

    assert made == 3
    assert shim.orders[0].argv == (argv or ("--help",))
    assert office.invocations == ()


@pytest.mark.parametrize(
    ("tool", "argv", "end", "code", "provider"),
    [
        pytest.param("codex", ("exec", "hi"), ToolEnd(0), None, "openai", id="codex"),
        pytest.param("gemini", ("-p", "hi"), ToolEnd(41), "EXIT_CODE", "google", id="gemini"),
        pytest.param("task-master", ("list",), ToolEnd(0), None, None, id="task-master"),
        pytest.param(
            "codex",
            ("exec", "hi"),
            ToolEnd(137, timed_out=True),
            "CALL_TIMEOUT",
            "openai",
            id="slow",
        ),
        pytest.param(
            "codex",
            ("exec", "hi"),
            ToolEnd(130, stopped=True),
            "INTERRUPTED",
            "openai",
            id="stopped",
        ),
        pytest.param(
            "codex",
            ("exec",),
            ToolEnd(127, trouble="no codex"),
            "TOOL_MISSING",
            "openai",
            id="gone",
        ),
        pytest.param("oracle", ("restart", "s"), ToolEnd(0), None, None, id="a session again"),
    ],
)
def test_the_other_tools_are_recorded(
    tmp_path: Path,
    tool: str,
    argv: tuple[str, ...],
    end: ToolEnd,
    code: str | None,
    provider: str | None,
) -> None:
    office, shim = Office(tmp_path), ScriptedShim(saying(end))

    assert office.call(shim, *argv, tool=tool) == end.exit_code
    assert shim.orders[0].argv == argv
    assert (office.last.error.code if office.last.error else None) == code
    assert (office.last.tool, office.last.provider, office.last.cache) == (
        tool,
        provider,
        Cache.OFF,
    )


def test_the_crash_of_another_tool_is_reported_by_its_error_line(tmp_path: Path) -> None:
    crash = "TypeError: x is undefined\n    at f (/a.js:1:1)\n\nNode.js v24.1.0\n"
    office = Office(tmp_path)

    office.call(ScriptedShim(saying(ToolEnd(1, "", crash))), "-p", "hi", tool="gemini")

    assert office.last.error is not None
    assert office.last.error.message == "exit code 1: TypeError: x is undefined"


def test_the_other_tools_are_limited(tmp_path: Path) -> None:
    office = Office(tmp_path, limits={"google": Limit(0)})
    shim = ScriptedShim(OK, patience=3)

    assert office.call(shim, "-p", "hi", tool="gemini") == 130
    assert shim.orders == []


HOSTILE = (
    *(
        "../x.md",
        "../../x.md",
        "out/../../x.md",
        "out/../x.md",
        "/etc/x.md",
        "/x.md",
        "~/x.md",
        "~root/x.md",
    ),
    *("-", "", ".", "..", "out/", "out/..", "link/x.md", "link/deep/x.md", "loop/x.md"),
    *(".git/config", ".GIT/hooks/x", "sub/.git/x", ".oraclepack/cache/x.md", "here/../.git/x"),
    *(
        ".oraclepack/runs/r/journal.jsonl",
        ".oraclepack/runs/x.md",
        "./.oraclepack/cache/../cache/x",
    ),
    *("a\nb.md", "a\rb.md", "a\0b.md", "a\x1b[0m.md", "a\tb.md", "/proc/self/x.md", "/proc/1/x"),
    *("/dev/null", "/dev/stdout", "n" * 300 + ".md", "d/" * 2100 + "x.md", "dir", "fifo"),
    *("file/x.md", "out-link.md", "hard/../../x.md", "\udcff.md/../../x", "gitlink/x"),
)


@pytest.mark.parametrize("path", HOSTILE)
def test_no_output_leaves_the_project(tmp_path: Path, path: str) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    outside = tmp_path / "outside"
    outside.mkdir()
    (office.root / "link").symlink_to(outside)
    (office.root / "loop").symlink_to("loop")
    (office.root / "out-link.md").symlink_to(outside / "x.md")
    (office.root / ".git").mkdir()
    (office.root / "gitlink").symlink_to(".git")
    (office.root / "dir").mkdir()
    (office.root / "file").write_bytes(b"")
    os.mkfifo(office.root / "fifo")

    assert office.call(shim, "-p", "why?", "--write-output", path) == 1
    assert shim.orders == []
    assert office.last.error is not None
    assert office.last.error.code == "OUTPUT_PATH"
    assert "OUTPUT_PATH" in shim.stderr
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("tool", "argv"),
    [
        pytest.param("codex", ("exec", "-o", "../x.md", "hi"), id="codex"),
        pytest.param("task-master", ("analyze-complexity", "--output", "/x"), id="task-master"),
        pytest.param("oracle", ("-p", "x", "--perf-trace-path", "../t"), id="a side file"),
        pytest.param(
            "oracle",
            ("-p", "x", "--write-output", "o.md", "--models", "a,../../../b"),
            id="a model",
        ),
        pytest.param("oracle", ("-p", "x", "--render", "--write-output", "../x"), id="a rendering"),
    ],
)
def test_every_tools_paths_are_checked(tmp_path: Path, tool: str, argv: tuple[str, ...]) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())

    assert office.call(shim, *argv, tool=tool) == 1
    assert shim.orders == []


def test_no_secret_is_written_or_said(tmp_path: Path) -> None:
    office = Office(tmp_path)
    shim = ScriptedShim(failing("Incorrect API key provided: sentinel-secret"), answering())
    secret = "sentinel-secret"
    flags = ("--base-url", f"http://h/{secret}", "--remote-token", secret, "--search", secret)
    office.call(shim, "-p", f"why {secret}?", "--write-output", "out/x.md", *flags)
    office.call(shim, "-p", f"why {secret}?", "--write-output", "out/x.md", *flags)
    office.call(shim, "-p", "why?", "--write-output", f"../{secret}.md")
    rehearsed = Office(tmp_path / "second", engine="rehearsal")
    rehearsed.put("a.md", secret.encode())
    rehearsed.call(shim, "-p", f"why {secret}?", "--write-output", "out/y.md", "-f", "a.md")

    ours = [*(tmp_path / "project").rglob("*"), rehearsed.root / "out/y.md"]
    ours += list(rehearsed.run_dir.rglob("*"))
    written = [path for path in ours if path.is_file() and secret.encode() in path.read_bytes()]
    assert written == []
    assert secret not in shim.stderr + shim.stdout
    assert office.cache.find("") != ()


def test_a_rehearsal_answers_in_the_requested_sections(tmp_path: Path) -> None:
    bash = f'# 01) step\noracle -p "{ANSWER_FORMAT}" --write-output out/x.md\n'
    office, shim = Office(tmp_path, bash, engine="rehearsal"), ScriptedShim(OK)
    office.put("src/a.py", b"def f():\n    pass\n")
    office.put("dist/b.js", b"x\n")

    made = office.call(shim, "-p", ANSWER_FORMAT, *ASK[2:], "-f", "src", "dist/*.js")

    assert made == 0
    assert shim.orders == []
    answer = (office.out() or b"").decode()
    assert answer.startswith(NOTICE)
    assert missing_sections(answer, ALL_SECTIONS) == ()
    assert "`src/a.py:1`" in answer
    assert "Skipping default-ignored path: dist/b.js" in shim.stdout
    assert "would call gpt-5.2 with ~" in shim.stdout
    assert (office.last.provider, office.last.cache) == ("rehearsal", Cache.OFF)
    assert office.last.key is not None
    assert list(office.context.store.cache.entries()) == []


@pytest.mark.parametrize(
    ("argv", "said", "code"),
    [
        pytest.param(("-p", "x", "--nosuch"), "unknown option", "USAGE", id="a bad flag"),
        pytest.param(("-m", "x"), "Prompt is required", "USAGE", id="no prompt"),
        pytest.param((*ASK, "-f", "no"), "✖ Missing file", "BAD_ATTACHMENT", id="no such file"),
        pytest.param((*ASK, "-f", "*.no"), "✖ No files", "BAD_ATTACHMENT", id="no match"),
        pytest.param((*ASK, "-f", "big"), "✖ The following", "BAD_ATTACHMENT", id="a big file"),
    ],
)
def test_a_rehearsal_refuses_what_the_tool_would(
    tmp_path: Path, argv: tuple[str, ...], said: str, code: str
) -> None:
    office, shim = Office(tmp_path, engine="rehearsal"), ScriptedShim(OK)
    office.put("big", b"x" * 1_048_577)

    assert office.call(shim, *argv) == 1
    assert said in shim.stderr + shim.stdout
    assert office.last.error is not None
    assert office.last.error.code == code


def test_a_rehearsal_without_a_file_answers_on_the_screen(tmp_path: Path) -> None:
    office, shim = Office(tmp_path, engine="rehearsal"), ScriptedShim(OK)

    assert office.call(shim, "-p", "why?") == 0
    assert NOTICE in shim.stdout
    assert office.last.key is None


def test_a_rehearsal_calls_no_tool_at_all(tmp_path: Path) -> None:
    office, shim = Office(tmp_path, engine="rehearsal"), ScriptedShim(OK)

    assert office.call(shim, "--version") == 0
    assert shim.orders == []


def test_a_config_that_cannot_be_read_leaves_no_key(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    (office.oracle_home / "config.json").mkdir()

    assert office.call(shim) == 0
    assert office.last.key is None
    assert office.out() == ANSWER


def test_words_that_are_no_text(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.put("\udcff.py", b"x")

    made = office.call(shim, *ASK, "-f", "\udcff.py", "--search", "\udcfe", "-m", "\udcfd")

    assert made == 0
    assert office.last.model == "\\udcfd"
    assert office.last.key is not None


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(ASK, id="a question"),
        pytest.param((*ASK, "--dry-run"), id="a dry run"),
        pytest.param(("status",), id="a sub-command"),
    ],
)
def test_oracle_is_not_called_where_a_project_would_steer_it(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    (office.root / ".env").write_text("OPENAI_BASE_URL: http://elsewhere.invalid/v1\n")

    assert office.call(shim, *argv) == 1

    assert shim.orders == []
    assert "which sets OPENAI_BASE_URL: your key" in shim.stderr
    assert office.last.error is not None
    assert (office.last.error.code, office.last.attempts) == ("PROJECT_ENV", 0)


def test_a_variable_of_ones_own_is_not_steered_away(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    (office.root / ".env").write_text("OPENAI_BASE_URL=http://elsewhere.invalid/v1\n")

    assert office.call(shim, *ASK, OPENAI_BASE_URL="http://mine.invalid/v1") == 0


def test_a_project_may_steer_oracle_where_its_user_lets_it(tmp_path: Path) -> None:
    office, shim = Office(tmp_path, trust_project=True), ScriptedShim(answering())
    (office.root / ".env").write_text("OPENAI_BASE_URL=http://elsewhere.invalid/v1\n")

    assert office.call(shim, *ASK) == 0


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        pytest.param("key.py", True, id="a link to a file outside"),
        pytest.param("folder/key", True, id="a file behind a link to a folder outside"),
        pytest.param("folder/*", True, id="a pattern behind such a link"),
        pytest.param("a.py,key.py", True, id="one of several"),
        pytest.param("inner.py", False, id="a link inside of the project"),
        pytest.param("!key.py", False, id="one that is left out"),
        pytest.param("{outside}/key", False, id="a place outside that the pack names"),
    ],
)
def test_what_lies_behind_a_link_out_of_the_project_is_not_sent(
    tmp_path: Path, value: str, *, is_refused: bool
) -> None:
    office, shim = Office(tmp_path / "project"), ScriptedShim(answering())
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("S3CRET")
    office.put("a.py", b"x")
    for name, target in (
        ("key.py", "../outside/key"),
        ("folder", "../outside"),
        ("inner.py", "a.py"),
    ):
        (office.root / name).symlink_to(target)

    office.call(shim, *ASK, "-f", "a.py", value.replace("{outside}", str(outside)))

    assert (shim.orders == []) is is_refused
    code = office.last.error.code if office.last.error else None
    assert (code == "ATTACHED_LINK") is is_refused


def test_a_link_out_is_sent_where_the_user_trusts_the_project(tmp_path: Path) -> None:
    office = Office(tmp_path / "project", trust_project=True)
    (tmp_path / "key").write_text("x")
    (office.root / "key.py").symlink_to("../key")

    assert office.call(ScriptedShim(answering()), *ASK, "-f", "key.py") == 0


def test_a_pipe_as_env_file_is_not_handed_to_oracle(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    os.mkfifo(office.root / ".env")

    assert office.call(shim, *ASK) == 1
    assert shim.orders == []


def writing(flag: str, data: bytes, exit_code: int = 0) -> Act:
    """A tool that appends to the file it is to write."""

    def act(order: ToolRun) -> ToolEnd:
        place = Path(order.argv[order.argv.index(flag) + 1])
        with place.open("ab") as file:
            file.write(data)
        return ToolEnd(exit_code)

    return act


@pytest.mark.parametrize(
    ("tool", "argv", "exit_code", "expected"),
    [
        pytest.param("codex", ("exec", "-o", "a/x.md", "hi"), 0, b"new", id="the file is whole"),
        pytest.param("codex", ("exec", "-o", "a/x.md", "hi"), 1, b"old", id="a failed one is not"),
        pytest.param(
            "task-master",
            ("parse-prd", "prd.md", "--append", "-o", "a/x.md"),
            *(0, b"oldnew"),
            id="one that reads its output first",
        ),
    ],
)
def test_other_tools_do_not_write_to_the_path_of_the_user(
    tmp_path: Path, tool: str, argv: tuple[str, ...], exit_code: int, expected: bytes
) -> None:
    office = Office(tmp_path)
    office.put("a/x.md", b"old")
    during: list[bytes | None] = []

    def act(order: ToolRun) -> ToolEnd:
        end = writing("-o", b"new", exit_code)(order)
        during.append(office.out("a/x.md"))
        return end

    assert office.call(ScriptedShim(act), *argv, tool=tool) == exit_code
    assert (during, office.out("a/x.md")) == ([b"old"], expected)
