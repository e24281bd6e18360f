"""What a simple command really calls, through every wrapper we know."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.tools.argv import PartialWord
from oraclepack.tools.wrappers import UnwrappedCommand, unwrap


def words_of(line: str) -> list[str | None]:
    """The words of a plain command line; `?` stands for one that only the shell knows."""
    return [None if word == "?" else word for word in shlex.split(line)]


@pytest.mark.parametrize(
    ("line", "tool", "at", "wrappers"),
    [
        ("oracle -p x", "oracle", 0, ()),
        ("tm list", "task-master", 0, ()),
        ("task-master next", "task-master", 0, ()),
        ("codex exec hi", "codex", 0, ()),
        ("gemini -p hi", "gemini", 0, ()),
        ("env oracle -p x", "oracle", 1, ("env",)),
        ("env A=b C=d oracle", "oracle", 3, ("env",)),
        ("env ? oracle", "oracle", 2, ("env",)),
        ("env -u HOME oracle", "oracle", 3, ("env",)),
        ("env -uHOME oracle", "oracle", 2, ("env",)),
        ("env --unset HOME -C sub oracle", "oracle", 5, ("env",)),
        ("env --chdir=sub oracle", "oracle", 2, ("env",)),
        ("env -- A=b oracle", "oracle", 3, ("env",)),
        ("/usr/bin/env oracle", "oracle", 1, ("env",)),
        ("command oracle", "oracle", 1, ("command",)),
        ("command -p oracle", "oracle", 2, ("command",)),
        ("exec oracle", "oracle", 1, ("exec",)),
        ("exec -a name oracle", "oracle", 3, ("exec",)),
        ("builtin command oracle", "oracle", 2, ("builtin", "command")),
        ("nohup oracle", "oracle", 1, ("nohup",)),
        ("time -p oracle", "oracle", 2, ("time",)),
        ("timeout 5m oracle", "oracle", 2, ("timeout",)),
        ("timeout ? oracle", "oracle", 2, ("timeout",)),
        ("timeout -k 5 -s INT 60 oracle", "oracle", 6, ("timeout",)),
        ("timeout --kill-after=5 --foreground 60 oracle", "oracle", 4, ("timeout",)),
        ("timeout -- 60 oracle", "oracle", 3, ("timeout",)),
        ("nice oracle", "oracle", 1, ("nice",)),
        ("nice -n 10 oracle", "oracle", 3, ("nice",)),
        ("nice -10 oracle", "oracle", 2, ("nice",)),
        ("ionice -c2 -n 7 oracle", "oracle", 4, ("ionice",)),
        ("stdbuf -oL -e 0 oracle", "oracle", 4, ("stdbuf",)),
        ("setsid -w oracle", "oracle", 2, ("setsid",)),
        ("xargs oracle -p x -f", "oracle", 1, ("xargs",)),
        ("xargs -0 -n 1 -I{} oracle -f {}", "oracle", 5, ("xargs",)),
        ("env A=b timeout 9 nice oracle", "oracle", 5, ("env", "timeout", "nice")),
        ("npx @steipete/oracle -p x", "oracle", 1, ("npx",)),
        ("npx -y @steipete/oracle@0.21.2 -p x", "oracle", 2, ("npx",)),
        ("npx --yes oracle", "oracle", 2, ("npx",)),
        ("npx -p @steipete/oracle oracle -p x", "oracle", 3, ("npx",)),
        ("npx --package=@steipete/oracle oracle", "oracle", 2, ("npx",)),
        ("npx @openai/codex exec x", "codex", 1, ("npx",)),
        ("npx @google/gemini-cli@latest", "gemini", 1, ("npx",)),
        ("npx task-master-ai list", "task-master", 1, ("npx",)),
        ("timeout 60 npx -y oracle@latest", "oracle", 4, ("timeout", "npx")),
    ],
)
def test_a_tool_is_found_behind_its_wrappers(
    line: str, tool: str, at: int, wrappers: tuple[str, ...]
) -> None:
    found = unwrap(words_of(line))

    assert found is not None
    assert (found.tool, found.at, found.wrappers, found.escapes) == (tool, at, wrappers, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/usr/local/bin/oracle -p x", "is a path"),
        ("./oracle -p x", "is a path"),
        ("env bin/codex exec", "is a path"),
        ("env -i oracle", "empties the environment"),
        ("env - oracle", "empties the environment"),
        ("env --ignore-environment oracle", "empties the environment"),
        ("env -iu HOME oracle", "empties the environment"),
        ("env -i ./oracle", "empties the environment"),
        ("exec -c oracle", "empties the environment"),
        ("env PATH=/opt/bin oracle", "a PATH of its own"),
        ("sudo oracle", "sudo"),
        ("sudo -u build -E A=b oracle", "sudo"),
        ("bunx @steipete/oracle", "bunx starts the package"),
        ("bun x @steipete/oracle", "bun x starts"),
        ("pnpm dlx @steipete/oracle@1", "pnpm dlx starts"),
        ("yarn dlx @steipete/oracle", "yarn dlx starts"),
        ("npm exec -- oracle", "npm exec starts"),
        ("/usr/bin/npx oracle", "is a path"),
    ],
)
def test_a_call_that_escapes_says_why(line: str, reason: str) -> None:
    found = unwrap(words_of(line))

    assert found is not None
    assert found.tool in {"oracle", "codex"}
    assert reason in (found.escapes or "")


@pytest.mark.parametrize(
    ("line", "script_at", "wrappers", "escapes"),
    [
        ("sh -c 'oracle -p x'", 2, ("sh -c",), False),
        ("bash -c ?", 2, ("bash -c",), False),
        ("bash -lc 'oracle'", 2, ("bash -lc",), False),
        ("bash -l -c 'oracle'", 3, ("bash -lc",), False),
        ("bash --login -c 'oracle'", 3, ("bash -lc",), False),
        ("bash -euo pipefail -c 'oracle'", 4, ("bash -c",), False),
        ("bash -ceuo pipefail 'oracle'", 3, ("bash -c",), False),
        ("bash --rcfile f -c 'oracle'", 4, ("bash -c",), False),
        ("/bin/sh -c 'oracle'", 2, ("sh -c",), False),
        ("sh -lc 'oracle'", 2, ("sh -lc",), True),
        ("zsh -lc 'oracle'", 2, ("zsh -lc",), True),
        ("env -i bash -c 'oracle'", 4, ("env", "bash -c"), True),
        ("xargs -I{} sh -c 'oracle -f {}'", 4, ("xargs", "sh -c"), False),
        ("env -S 'oracle -p x'", 2, ("env",), False),
        ("npx -c 'oracle -p x'", 2, ("npx",), True),
    ],
)
def test_a_script_text_is_handed_back(
    line: str, script_at: int, wrappers: tuple[str, ...], *, escapes: bool
) -> None:
    found = unwrap(words_of(line))

    assert found is not None
    assert (found.tool, found.script_at, found.wrappers) == (None, script_at, wrappers)
    assert (found.escapes is not None) is escapes


@pytest.mark.parametrize(
    "line",
    [
        "",
        "?",
        "echo oracle",
        "env",
        "env ?",
        "env A=b",
        "command -v oracle",
        "command -V codex",
        "command -pv oracle",
        "sudo -l oracle",
        "timeout 5",
        "timeout oracle",
        "nice ? oracle",
        "bash script.sh",
        "bash -c",
        "bash -l",
        "env -S",
        "xargs env --split-string",
        "npx",
        "npx -c",
        "npx ?",
        "npx cowsay oracle",
        "npx @other/oracle",
        "pnpm install oracle",
        "oracle-cli -p x",
        "exec ?",
    ],
)
def test_everything_else_calls_no_tool(line: str) -> None:
    assert unwrap(words_of(line)) is None


def test_the_name_of_a_half_known_assignment_counts() -> None:
    found = unwrap(["env", PartialWord("PATH=/opt/bin:"), PartialWord("A"), "oracle"])

    assert found is not None
    assert (found.at, found.escapes) == (3, "env sets a PATH of its own")


def test_xargs_adds_arguments_at_the_end() -> None:
    assert unwrap(words_of("xargs oracle -f")) == UnwrappedCommand(
        tool="oracle", at=1, wrappers=("xargs",), more_arguments=True
    )


def test_a_thousand_wrappers_are_looked_through() -> None:
    found = unwrap(["env"] * 5000 + ["oracle"])

    assert found is not None
    assert found.at == 5000


WORDS = ["env", "-i", "-S", "timeout", "5", "sh", "-c", "npx", "-p", "oracle", "A=b", "--", "-", ""]


@given(st.lists(st.none() | st.sampled_from(WORDS) | st.text(max_size=4), max_size=8))
def test_no_words_are_too_strange(words: list[str | None]) -> None:
    found = unwrap(words)

    assert found is None or (found.at is None) != (found.script_at is None)
    assert found is None or (found.at or found.script_at or 0) < len(words)
