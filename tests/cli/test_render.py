import pytest

from oraclepack.cli.render import as_text
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.system.printable import visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain\ttext\n", "plain\ttext\n", id="tabs and line ends stay"),
        pytest.param("\x1b[31mred\x1b]0;title\x07", "[31mred]0;title", id="escape sequences"),
        pytest.param("a\rb\x00c\x7fd\x9be", "abcde", id="control characters"),
        pytest.param("a\u202eb\u2066c\u061c\u200e", "abc", id="direction overrides"),
        pytest.param("a\x9b31mb\x7f", "a31mb", id="C1 controls and DEL"),
        pytest.param("a\u2028b\u2029c", "a b c", id="line ends of Unicode"),
        pytest.param("a\u200bb\ufeff\U000e0041", "ab", id="nothing seen at all"),
        pytest.param("ن\u200cم 👩\u200d💻", "ن\u200cم 👩\u200d💻", id="joiners are part of words"),
        pytest.param("Grüße — 日本", "Grüße — 日本", id="everything else stays"),
    ],
)
def test_nothing_steers_the_terminal(text: str, expected: str) -> None:
    assert visible(text) == expected


REPLY = Reply(
    text=("a ", Styled("b\x1b", "bold red")),
    talk="by the way",
    warnings=("careful",),
    error=ReplyError("X", "broken", detail="line 1\nline 2", suggestion="fix it"),
)


def test_data_goes_to_stdout_and_talk_to_stderr() -> None:
    printed = as_text(REPLY, color=False)

    assert printed.stdout == b"a b\n"
    assert printed.stderr.decode().splitlines() == [
        "by the way",
        "warning: careful",
        "error: broken",
        "  line 1",
        "  line 2",
        "  hint: fix it",
    ]


def test_colour_is_only_what_we_put_there() -> None:
    printed = as_text(REPLY, color=True)

    assert printed.stdout == b"a \x1b[1;31mb\x1b[0m\n"
    assert b"\x1b[1;33mwarning:\x1b[0m careful" in printed.stderr


def test_an_empty_reply_prints_nothing() -> None:
    printed = as_text(Reply(text=("", Styled("", "red"))), color=True)

    assert (printed.stdout, printed.stderr) == (b"", b"")
