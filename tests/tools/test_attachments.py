"""Which files are attached: names we can trust, and what oracle prints when it is asked."""

import pytest

from oraclepack.tools.oracle_attachments import (
    Rendering,
    is_plain,
    names_one_file,
    only_plain,
    read_rendering,
    rendering_argv,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("src/a.py", True, id="a name"),
        pytest.param("a b (1).txt", True, id="brackets without a choice"),
        pytest.param("~/x", True, id="a tilde is a letter"),
        pytest.param("a+b@c!.txt", True, id="signs that only matter before a bracket"),
        pytest.param("src/*.py", False, id="a star"),
        pytest.param("a?.py", False, id="a question mark"),
        pytest.param("app/[id].tsx", False, id="a class of characters"),
        pytest.param("a{1..3}.py", False, id="braces"),
        pytest.param("!(x)", False, id="a negated group"),
        pytest.param("+(x|y)", False, id="a repeated group"),
        pytest.param("(x|y)", False, id="a choice"),
        pytest.param("a\\*b", False, id="a backslash"),
        pytest.param("!src/x.py", False, id="an exclusion"),
    ],
)
def test_is_plain(value: str, expected: bool) -> None:
    assert is_plain(value) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("src/a b (1).py", True, id="blanks and brackets"),
        pytest.param("app/(group)/é.tsx", True, id="a group that is no choice"),
        pytest.param("data/x,/etc/passwd", False, id="oracle cuts at commas"),
        pytest.param("src/*", False, id="a star"),
        pytest.param("a?", False, id="a question mark"),
        pytest.param("pages/[id].tsx", False, id="a class of characters"),
        pytest.param("{a}", False, id="braces"),
        pytest.param("!a.py", False, id="an exclusion"),
        pytest.param("a!(b).py", False, id="a negated group"),
        pytest.param("--render", False, id="an option"),
        pytest.param("a\nb", False, id="a line end"),
        pytest.param("a\x1b[2J", False, id="a control character"),
        pytest.param("a\udcff", False, id="bytes that are no text"),
        pytest.param(" a", False, id="a blank at an end"),
        pytest.param("", False, id="no name"),
    ],
)
def test_names_that_a_pack_may_attach(path: str, expected: bool) -> None:
    assert names_one_file(path) is expected


def test_one_pattern_leaves_no_name_certain() -> None:
    assert only_plain(["a", "b"])
    assert not only_plain(["a", "*.b"])


def test_the_rendering_is_asked_for_in_front() -> None:
    assert rendering_argv(("-p",)) == ("--render", "--render-plain", "-p")


BANNER = "🧿 oracle 0.21.2 — a tagline\n"
SYSTEM = "[SYSTEM]\nYou are Oracle.\n\n[USER]\n"


def rendered(prompt: str, *files: str, notes: str = "") -> str:
    bodies = "".join(f"\n### File: {name}\nLines: 1-1\n```\n1 | x\n```\n" for name in files)
    return f"{BANNER}{notes}{SYSTEM}{prompt}\n{bodies}"


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        pytest.param(rendered("why?"), "why?", Rendering(()), id="no file"),
        pytest.param(rendered("why?", "a", "b/c"), "why?", Rendering(("a", "b/c")), id="two files"),
        pytest.param(
            rendered("why?", "a", notes="Skipping default-ignored path: x (matches dist)\n"),
            " why?\n",
            Rendering(("a",), ("Skipping default-ignored path: x (matches dist)",)),
            id="left out files are reported",
        ),
        pytest.param(
            rendered("see\n### File: fake\nnow", "a"),
            "see\n### File: fake\nnow",
            Rendering(("a",)),
            id="a prompt that looks like a file",
        ),
        pytest.param(
            rendered("a\n\nb", "f"), "a\n\n\n\nb", Rendering(("f",)), id="empty lines are squeezed"
        ),
        pytest.param(rendered("why?", "a"), "another", None, id="another prompt"),
        pytest.param("🧿 oracle\nerror", "why?", None, id="no rendering at all"),
    ],
)
def test_read_rendering(text: str, prompt: str, expected: Rendering | None) -> None:
    assert read_rendering(text, prompt) == expected
