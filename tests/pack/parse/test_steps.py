import subprocess
from collections.abc import Callable

import pytest

from oraclepack.pack.parse.read_pack import parse_pack
from tests.packs import a_pack, pack_text


@pytest.mark.parametrize(
    ("bash", "ids"),
    [
        pytest.param("# 01) a\ntrue\n# 02) b\ntrue\n", ["01", "02"], id="two steps"),
        pytest.param("# 01) a\n# 02) b\n", ["01", "02"], id="empty bodies"),
        pytest.param("x=1\n", [], id="a prelude only"),
        pytest.param(
            "# 01) a\ncat <<'E'\n# 02) no\nE\n# 02) yes\n", ["01", "02"], id="in a heredoc"
        ),
        pytest.param("# 01) a\necho 'x\n# 02) no\n'\n", ["01"], id="in a single-quoted string"),
        pytest.param('# 01) a\necho "x\n# 02) no\n"\n', ["01"], id="in a double-quoted string"),
        pytest.param(
            "# 01) a\nx=$(cat <<E\n# 02) no\nE\n)\n", ["01"], id="heredoc in substitution"
        ),
        pytest.param("f() {\n# 01) no\n:\n}\n# 01) yes\nf\n", ["01"], id="in a function"),
        pytest.param("# 01) a\necho x # 02) no\n", ["01"], id="behind a command"),
        pytest.param("# 01) a\ncat <<-E $x\nb $y\n# 02) no\ntrue\n", ["01"], id="endless heredoc"),
        pytest.param(
            "# 01) a\ncat <<-E\n\"$(cat <<'F'\nF\n)\"\n# 02) no\ntrue\n", ["01"], id="nor in two"
        ),
        pytest.param("# 01) a\ntrue \\\n\n# 02) b\ntrue\n", ["01", "02"], id="a backslash before"),
        pytest.param(
            "x `a b` y\n# 01) a\n:\n# 02) b\nx` --w `y\n", ["01", "02"], id="between backquotes"
        ),
        pytest.param("# 01) a\n# b\\\n# 02) b\ntrue\n", ["01", "02"], id="one in a comment"),
        pytest.param("# 01) a\nb;\\\n# 02) b\ntrue\n", ["01", "02"], id="one after a command"),
        pytest.param("# 01) a\nb\\\\\n# 02) b\ntrue\n", ["01", "02"], id="two backslashes"),
        pytest.param("# 01) a\n\\\n# 02) b\ntrue\n", ["01", "02"], id="nothing but one"),
        pytest.param("# 01) a\n  # 02) b\ntrue\n", ["01", "02"], id="indented"),
        pytest.param("# 01) a\n# 1) part one\n# 2) part two\ntrue\n", ["01"], id="numbered notes"),
        pytest.param("# 02) b\n# 01) a\n# 01) a\n", ["02", "01", "01"], id="in any order"),
    ],
)
def test_step_headers_stand_at_the_top_level(bash: str, ids: list[str]) -> None:
    assert [step.id for step in a_pack(bash).steps] == ids


@pytest.mark.parametrize(
    ("bash", "swallowed"),
    [
        pytest.param("# 01) a\nif true; then\n# 02) b\ntrue\nfi\n", ["# 02) b"], id="in an if"),
        pytest.param("# 01) a\ntrue &&\n# 02) b\ntrue\n", ["# 02) b"], id="after &&"),
        pytest.param("# 01) a\nfor x in 1; do\n# 02) b\ntrue\ndone\n", ["# 02) b"], id="in a loop"),
        pytest.param("# 01) a\n{\n# 02) b\ntrue\n}\n", ["# 02) b"], id="in braces"),
        pytest.param("# 01) a\nb\\\n# 02 - b\ntrue\n", ["# 02 - b"], id="glued to a word"),
        pytest.param("# 01) a\nb\\\n\\\n# 02) b\n", ["# 02) b"], id="by two lines"),
        pytest.param("# 01) a\nb\\ \\\n# 02) b\n", ["# 02) b"], id="to an escaped blank"),
        pytest.param("# 01) a\nb\\\n  # 02) b\n", [], id="not glued behind blanks"),
        pytest.param("# 01) a\nb\\\n\t# 02) b\n", [], id="nor behind a tab"),
        pytest.param(
            "# 01) a\nif true; then\n# 07) note\ntrue\nfi\n", [], id="not the next number"
        ),
        pytest.param("f() {\n# 01) note\ntrue\n}\n", [], id="a note in a function"),
        pytest.param(
            "f() {\n# 01) ROI=2 impact=1\ntrue\n}\n", ["# 01) ROI=2 impact=1"], id="with attributes"
        ),
    ],
)
def test_headers_inside_constructs_are_noticed(bash: str, swallowed: list[str]) -> None:
    assert [comment.text for comment in a_pack(bash).swallowed] == swallowed


@pytest.mark.parametrize(
    ("bash", "misnumbered"),
    [
        ("# 1) ROI=2 impact=1\ntrue\n", ["# 1) ROI=2 impact=1"]),
        ("# 1) only a note\ntrue\n", []),
        ("  # 1) ROI=2\ntrue\n", ["# 1) ROI=2"]),
        ("".join(f"# {n:02}) x\ntrue\n" for n in range(1, 101)), ["# 100) x"]),
    ],
)
def test_headers_with_a_slip_are_noticed(bash: str, misnumbered: list[str]) -> None:
    assert [comment.text for comment in a_pack(bash).misnumbered] == misnumbered


def by_bash(text: str) -> bool:
    """What the real shell says: complete commands, nothing open at the end."""
    done = subprocess.run(
        ["bash", "-n"], input=text, capture_output=True, text=True, check=False, timeout=10
    )
    return done.returncode == 0 and not done.stderr


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param(
            "# 01) a\ncat <<A <<B\na\nA\n# 02) no\nB\n# 02) yes\ntrue\n", id="two heredocs"
        ),
        pytest.param(
            "# 01) a\nshopt -s extglob\nls !(x|y) @(a|b)\n# 02) yes\ntrue\n", id="extglob"
        ),
        pytest.param("# 01) a\ncoproc NAME { cat; }\n# 02) yes\ntrue\n", id="coproc"),
    ],
)
def test_bash_decides_where_the_tree_misreads(bash: str) -> None:
    pack = parse_pack(pack_text(bash), "pack.md", by_bash)

    assert [step.header.title for step in pack.steps] == ["a", "yes"]


@pytest.mark.parametrize("asked", [None, by_bash], ids=["the tree alone", "bash"])
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param("cat <<A <<B\na\nA\nb\nB\n", id="two heredocs"),
        pytest.param("shopt -s extglob\nls !(x|y) @(a|b)\n", id="extglob"),
        pytest.param("coproc NAME { cat; }\n", id="coproc"),
    ],
)
def test_an_indented_header_behind_what_the_tree_misreads(
    odd: str, asked: Callable[[str], bool] | None
) -> None:
    pack = parse_pack(pack_text(f"# 01) a\n{odd}  # 02) b\ntrue\n"), "pack.md", asked)

    assert [step.id for step in pack.steps] == ["01", "02"]


_UNREADABLE = "# 04) d\ncase a in a) true;& b) true;; esac\n"


@pytest.mark.parametrize("behind", ["", _UNREADABLE], ids=["", "and a step only bash can read"])
@pytest.mark.parametrize("asked", [None, by_bash], ids=["the tree alone", "bash"])
@pytest.mark.parametrize(
    "heredoc",
    [
        pytest.param("cat <<E\nAbout $x.\n# Context\n# 02) no\nE\n", id="a heading before"),
        pytest.param("cat <<E\n${x}\n## Notes\n# 02) no\nls\nE\n", id="a smaller one"),
        pytest.param("cat <<E\n$(date)\n  # note\n# 02) no\nE\n", id="an indented note"),
        pytest.param("cat <<E\nfoo\n  E\n# 02) no\nE\n", id="its word, indented"),
        pytest.param("cat <<E\nfoo\n\tE\n# 02) no\nE\n", id="its word behind a tab"),
        pytest.param("cat <<E\nfoo\nE \n# 02) no\nE\n", id="its word before a blank"),
        pytest.param("cat <<-E\nfoo\n E\n# 02) no\n\tE\n", id="blanks where tabs may be"),
        pytest.param("cat <<'E F'\n$x\n# 02) no\nE F\n", id="a word of two"),
        pytest.param("cat > f <<E\na \\\nE\n# 02) no\nE\n", id="its word, joined to a line"),
        pytest.param("cat <<-E\na\\\\\\\n\tE\n# 02) no\n\tE\n", id="by the third backslash"),
        pytest.param("cat <<E\n# 02) no\nb\\\\\nE\n", id="two backslashes join nothing"),
        pytest.param("cat <<'E'\n# 02) no\nb \\\nE\n", id="nor does one where it is quoted"),
        pytest.param("cat <<END\n# 02) no\nE\\\nND\n", id="its word on two lines"),
    ],
)
def test_a_heredoc_ends_at_its_word_alone(
    heredoc: str, asked: Callable[[str], bool] | None, behind: str
) -> None:
    bash = f"# 01) a\n{heredoc}true\n# 03) c\ntrue\n{behind}"
    steps = parse_pack(pack_text(bash), "p.md", asked).steps

    assert [step.id for step in steps][:3] == (["01", "03", "04"] if behind else ["01", "03"])


@pytest.mark.parametrize("asked", [None, by_bash], ids=["the tree alone", "bash"])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("time {", "}"),
        ("time -p {", "}"),
        ("! {", "}"),
        ("! time ! {", "}"),
        ("coproc X {", "}"),
        ("coproc {", "}"),
        ("true && time \\\n{", "}"),
        ("{ time {\ntrue\n}", "}"),
        ("time if true; then", "fi"),
        ("! while false; do", "done"),
        ("time for x in 1; do", "done"),
        ("time case a in a)", ";; esac"),
    ],
)
def test_a_word_before_a_construct_does_not_open_it(
    opening: str, closing: str, asked: Callable[[str], bool] | None
) -> None:
    bash = f"# 01) a\n{opening}\n# 02) no\noracle -p q\n{closing}\n# 03) c\noracle -p r\n"
    pack = parse_pack(pack_text(bash), "p.md", asked)

    assert [(step.id, len(step.calls)) for step in pack.steps] == [("01", 1), ("03", 1)]
    assert [comment.text for comment in pack.swallowed] == ["# 02) no"]


@pytest.mark.parametrize("asked", [None, by_bash], ids=["the tree alone", "bash"])
@pytest.mark.parametrize("false_end", ["about \\\nE", "about\n  E", "about\nE "])
def test_what_stands_behind_a_false_end_is_text(
    false_end: str, asked: Callable[[str], bool] | None
) -> None:
    bash = f'# 01) a\noracle -p "$(cat <<E\n{false_end}\noracle -p no\nE\n)"\noracle -p yes\n'
    (step,) = parse_pack(pack_text(bash), "p.md", asked).steps
    text = false_end.replace("\\\n", "")

    assert [call.prompt.text for call in step.calls if call.prompt] == [
        f"{text}\noracle -p no",
        "yes",
    ]


@pytest.mark.parametrize("asked", [None, by_bash], ids=["the tree alone", "bash"])
@pytest.mark.parametrize("opening", ["<<EO\\\nF", "<<-EO\\\nF > x", "<<EO\\\nF | cat"])
def test_the_word_of_a_heredoc_may_stand_on_two_lines(
    opening: str, asked: Callable[[str], bool] | None
) -> None:
    bash = f"# 01) a\ncat {opening}\noracle -p no\n# 02) no\nEOF\noracle -p yes\n# 02) b\n"
    step, _ = parse_pack(pack_text(bash), "p.md", asked).steps

    assert [call.prompt.text for call in step.calls if call.prompt] == ["yes"]


def test_a_broken_step_does_not_hide_the_others() -> None:
    bash = "# 01) a\ntrue\n# 02) b\necho 'never closed\n# 03) c\ntrue\n"

    assert [step.id for step in parse_pack(pack_text(bash), "p.md", by_bash).steps] == [
        "01",
        "02",
        "03",
    ]


def test_a_second_heredoc_of_a_line_hides_no_call() -> None:
    bash = "# 01) a\ncat <<A <<B\na\nA\noracle -p no\nB\noracle -p yes --write-output x.md\n"
    (step,) = parse_pack(pack_text(bash), "p.md", by_bash).steps

    assert [call.prompt.text for call in step.calls if call.prompt] == ["yes"]


def test_a_header_with_thousands_of_digits_is_no_crash() -> None:
    assert a_pack(f"# {'9' * 5000}) x\ntrue\n").steps == ()


@pytest.mark.parametrize("before", ["cat <<E\nE", "time {\ntrue\n}"], ids=["heredoc", "time"])
def test_very_deep_nesting_is_no_crash(before: str) -> None:
    deep = f"{'( ' * 900}true{' )' * 900}"

    assert len(a_pack(f"# 01) a\n{before}\n{deep}\n# 02) b\ntrue\n").steps) == 2
