"""What a word is worth, checked against the real bash."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oraclepack.pack.parse.bash_script import read_script
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.variables import Variables
from oraclepack.pack.script import SimpleCommand


def commands_of(text: str) -> tuple[SimpleCommand, ...]:
    lines = text.split("\n")
    place = Locator(tuple(line.encode() for line in lines), 1, (0,) * len(lines))
    return read_script(place, Variables())[0].commands


def ours(text: str) -> list[str | None]:
    """The arguments of the `show` command, as far as the text tells."""
    command = next(command for command in commands_of(text) if command.name == "show")
    return [word.value for word in command.words[1:]]


def from_bash(text: str) -> list[str]:
    """The arguments that `show` really receives."""
    script = "show() { printf '%s\\0' \"$@\"; }\n" + text
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=10)
    return done.stdout.decode().split("\0")[:-1]


KNOWN = [
    "show plain 'single $x' \"double\" a'b'\"c\"d",
    r"show a\ b \$x \\ \"",
    r'show "a\"b" "c\$d" "e\\f" "g\h" "i\`j"',
    'show "a\\\nb" c\\\nd',
    r"show $'a\nb\t\x41\u00e9\'q\\'",
    'x=1\nshow $x ${x} "$x" "${x}y"',
    "x='a b'\nshow \"$x\"",
    "x=a\nx+=b\nshow $x",
    "export x=1; readonly y=2\nshow $x $y",
    'x=$(cat <<\'E\'\none\n"two" $three\n\nE\n)\nshow "$x"',
    "show \"$(cat <<'E'\nhello\nE\n)\"",
    "show \"$(cat <<-'E'\n\thello\n\t\tthere\n\tE\n)\"",
    "IFS= read -r -d '' x <<'E' || true\none\ntwo\nE\nshow \"$x\"",
    'y=in\nshow "$(cat <<E\nhello $y \\$z\nE\n)"',
    "show \"$(cat <<'E'\n\n\n  indented\n at first\nE\n)\"",
    'show "$(cat <<E\n\tsaid \\"so\\" \\\n\tand went\nE\n)"',
    'show "$(cat <<-E\n\tsaid \\\n\tand went\n\t\tfar\n\tE\n)"',
    "IFS= read -r -d '' x <<-'E' || true\n\tone\n\t\ttwo\n\tE\nshow \"$x\"",
    "show --flag=value -x \"\" ''",
    "show \"a  b\"   'c   d'",
    'show ünïcode "日本 語"',
    "x=outer\n(x=inner)\nshow $x",
    "x=a; show 1 2>&1 >/dev/stdout $x",
    "show \"{a,b}\" '{1..3}'",
    "show a <<'E' b\n\\begin here $x\nE",
    "cat /dev/null <<'E' | show a\n\\begin here\nE",
    "show \"$(cat <<'E'\n\n \\begin 'here\n\\end\nE\n)\"",
    'show "$(cat <<E\n\\\\begin here\nE\n)"',
    r"show 'glued'\$x \"so\"\ too",
    "show a\\\n>/dev/stdout b",
    r"show $'cut\0off' $'\x0'",
]

UNKNOWN = [
    "show $HOME_OF_NOBODY",
    'show "$(date)"',
    'show "${x:-default}"',
    'x=1; if true; then x=2; fi; show "$x"',
    'x=1; for i in 1; do x=$i; done; show "$x"',
    'x=1; f() { x=2; }; f; show "$x"',
    'x=1; . /dev/null; show "$x"',
    'x=1; read -r x <<< y; show "$x"',
    'x=1; unset x; show "$x"',
    "show ~/x",
    'x=a:~/b; show "$x"',
    'declare -u x=a; x=b; show "$x"',
    'declare -l x; x=B; show "$x"',
    r"x=`show \$HOME`",
    r'show "so"\ too',
    r"show \ first",
    'show "$(cat <<E\n```\nE\n)"',
    'show "$(cat <<E\n\\\\begin $here\nE\n)"',
    'x=; : "${x:=default}"; show "$x"',
    'x=; f() { : "${x=default}"; }; f; show "$x"',
    "show $((1+1))",
    'a=(1 2); show "${a[@]}"',
    'show "$@"',
    "show {a,b}",
    "x='a b'; show $x",
]


@pytest.mark.parametrize("text", KNOWN)
def test_a_known_word_is_what_bash_passes(text: str) -> None:
    assert ours(text) == from_bash(text)


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_only_the_running_shell_knows_is_not_guessed(text: str) -> None:
    assert ours(text)[0] is None


FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["'a b'", '"c d"', "e", r"f\ g", r"\"", '"$v"', "$v", "${v}", "''", "$'\\t'"]
        ),
        st.text("abc é", min_size=1, max_size=4).map(lambda text: f'"{text}"'),
        st.text('ab$`"\\ \n', max_size=4).map(lambda text: f"'{text}'"),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(FRAGMENTS.map("".join), min_size=1, max_size=4))
def test_any_word_is_unknown_or_exactly_what_bash_passes(words: list[str]) -> None:
    text = "v=val\nshow " + " ".join(words)
    found = ours(text)

    if None not in found:
        assert found == from_bash(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("show > out.md", [(">", None, "out.md")]),
        ("show >> out.md 2>err", [(">>", None, "out.md"), (">", 2, "err")]),
        ("show &> all.log", [("&>", None, "all.log")]),
        ("show < in.txt", [("<", None, "in.txt")]),
        ("d=x; show a > $d/out b", [(">", None, "x/out")]),
        ("true && show > out.md", [(">", None, "out.md")]),
        ("cat | show > out.md", [(">", None, "out.md")]),
        ("show <<E > out.md\nx\nE", [(">", None, "out.md")]),
    ],
)
def test_redirections_belong_to_their_command(
    text: str, expected: list[tuple[str, int | None, str]]
) -> None:
    command = next(command for command in commands_of(text) if command.name == "show")

    found = [(r.operator, r.descriptor, r.target.value) for r in command.redirects]
    assert found == expected


def test_deep_nesting_is_no_crash() -> None:
    assert commands_of("echo " + "$(echo " * 400 + ")" * 400) is not None


def test_a_very_long_command_is_read_in_linear_time() -> None:
    (command,) = commands_of("show " + " \\\n  word" * 5000)

    assert len(command.words) == 5001


@pytest.mark.parametrize("doubling", ["x=$x$x", "x+=$x", 'x="$x $x"'])
def test_a_variable_that_grows_without_end_is_unknown_in_time(doubling: str) -> None:
    text = "x=0123456789\n" + f"{doubling}\n" * 60 + 'show "$x"'

    assert ours(text) == [None]
