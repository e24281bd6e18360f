import pytest

from oraclepack.pack.model import StepId
from oraclepack.run.planning.edges import edges_of, is_barrier, only_asks
from tests.packs import a_pack, a_strict_pack, some_steps


def ask(name: str, *files: str) -> str:
    attached = " ".join(f'-f "{file}"' for file in files)
    return f"oracle -p 'What now?' --write-output {name} {attached}"


@pytest.mark.parametrize(
    ("first", "second", "needs", "after"),
    [
        pytest.param(ask("out/a.md"), ask("out/b.md"), [], [], id="strangers"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/a.md"), ["01"], [], id="reads the file"),
        pytest.param(ask("./out/a.md"), ask("b.md", "out//a.md"), ["01"], [], id="spelled oddly"),
        pytest.param(ask("out/a.md"), ask("b.md", "x.md,out/a.md"), ["01"], [], id="in a list"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/"), ["01"], [], id="reads its directory"),
        pytest.param(ask("out/x/a.md"), ask("b.md", "./out"), ["01"], [], id="a directory above"),
        pytest.param(ask("a.md"), ask("b.md", "./."), ["01"], [], id="reads the whole project"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/*.md"), ["01"], [], id="a pattern"),
        pytest.param(ask("out/x/a.md"), ask("b.md", "out/*.md"), [], [], id="a star is one level"),
        pytest.param(ask("out/x/a.md"), ask("b.md", "out/*/"), ["01"], [], id="below a match"),
        pytest.param(ask("out/x/a.md"), ask("b.md", "out/**/*.md"), ["01"], [], id="two stars"),
        pytest.param(ask("out/a.md"), ask("b.md", "./out/**/*.md"), ["01"], [], id="or no level"),
        pytest.param(ask("out/x/a.md"), ask("b.md", "out/**"), ["01"], [], id="all below"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/[ab].md"), ["01"], [], id="a class"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/?.md"), ["01"], [], id="one sign"),
        pytest.param(ask("out/a.md"), ask("b.md", "out/{a,z}.md"), ["01"], [], id="braces"),
        pytest.param(ask("out/a.md"), ask("b.md", "!out/a.md"), [], [], id="an exclusion"),
        pytest.param(ask("out/a.md"), 'cat "$where/a.md"', ["01"], [], id="an unknown directory"),
        pytest.param(ask("out/a.md"), 'cat "${where}/z.md"', [], [], id="of another file"),
        pytest.param(ask("a.md"), ask("b.md", "/etc/a.md"), [], [], id="an absolute path"),
        pytest.param("echo x > out", "cat out/a.md", ["01"], [], id="below what was written"),
        pytest.param(ask("out/a.md"), ask("out/a.md"), [], ["01"], id="both write it"),
        pytest.param("rm out/*.md", ask("out/a.md"), [], ["01"], id="one removes it by pattern"),
        pytest.param("rm out/*.md", "cat out/a*", ["01"], [], id="two patterns may meet"),
        pytest.param(ask("b.md", "a.md"), ask("a.md"), [], ["01"], id="overwrites what was read"),
    ],
)
def test_edges(first: str, second: str, needs: list[str], after: list[str]) -> None:
    steps = a_pack(some_steps([first, second])).steps

    edges = edges_of(steps)

    assert (edges[StepId("01")].needs, edges[StepId("01")].after) == ((), ())
    assert (list(edges[StepId("02")].needs), list(edges[StepId("02")].after)) == (needs, after)


def test_the_questions_of_a_usual_pack_do_not_wait_for_each_other() -> None:
    edges = edges_of(a_strict_pack().steps)

    assert {edge.needs + edge.after for edge in edges.values()} == {()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(ask("a.md"), False, id="a question"),
        pytest.param("make test", False, id="a plain command"),
        pytest.param("codex exec 'do it'", True, id="codex"),
        pytest.param("gemini -p 'look'", True, id="gemini"),
        pytest.param("tm list", True, id="Task Master by its short name"),
        pytest.param(ask('"$where/a.md"'), True, id="an output only the shell knows"),
    ],
)
def test_barriers(body: str, expected: bool) -> None:
    assert is_barrier(a_pack(some_steps([body])).steps[0]) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(ask("a.md", "src/x.py"), True, id="one question"),
        pytest.param(f"mkdir -p out\n{ask('out/a.md')}\necho done", True, id="a folder, a word"),
        pytest.param(f"topic=x\n{ask('a.md')} 2>/dev/null", True, id="a variable, no errors"),
        pytest.param(f"{ask('a.md')}\n{ask('b.md')}", True, id="two questions"),
        pytest.param(f"timeout 60 {ask('a.md')}", True, id="by way of timeout"),
        pytest.param("oracle -e browser -p 'Why?' --write-output a.md", False, id="a browser"),
        pytest.param("make test", False, id="a command of its own"),
        pytest.param(f"{ask('a.md')}\nmake test", False, id="a question and a command"),
        pytest.param(f"{ask('a.md')}\necho x > b.md", False, id="a question and a file"),
        pytest.param("codex exec 'Do it'", False, id="another tool"),
        pytest.param(f"{ask('a.md')}\ncodex exec 'Do it'", False, id="with another tool"),
    ],
)
def test_what_only_asks_questions(body: str, expected: bool) -> None:
    (step,) = a_pack(some_steps([body])).steps

    assert only_asks(step) is expected
