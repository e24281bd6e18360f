"""Which files the outputs of a step are."""

import pytest

from oraclepack.answers.verify_pack import named_outputs
from oraclepack.pack.model import Step
from tests.packs import a_pack


def a_step(*paths: str) -> Step:
    calls = "".join(f'oracle --write-output "{path}" -p "Q"\n' for path in paths)
    return a_pack(f"# 01) ask\n{calls}").steps[0]


@pytest.mark.parametrize(
    ("declared", "recorded", "expected"),
    [
        pytest.param(["out/a.md"], [], [("out/a.md", "out/a.md")], id="the text tells it"),
        pytest.param(["out/a.md"], ["out/a.md"], [("out/a.md", "out/a.md")], id="so does the run"),
        pytest.param(["$out/a.md"], [], [("$out/a.md", None)], id="it is not given"),
        pytest.param(["$out/a.md"], ["x/a.md"], [("$out/a.md", "x/a.md")], id="the run tells it"),
        pytest.param(["./${o}a.md"], ["xa.md"], [("./${o}a.md", "xa.md")], id="braces, a dot"),
        pytest.param(
            ["out/$(basename x .md)-a.md"],
            ["out/x-a.md"],
            [("out/$(basename x .md)-a.md", "out/x-a.md")],
            id="a command",
        ),
        pytest.param(
            ["out/$s.md"],
            ["out/1.md", "out/2.md", "out/1.md"],
            [("out/$s.md", "out/1.md"), ("out/$s.md", "out/2.md")],
            id="a loop writes many",
        ),
        pytest.param(
            ["$all", "$o-risks-unknowns.md", "$o-direct-answer.md"],
            ["a-direct-answer.md", "a-risks-unknowns.md"],
            [
                ("$all", None),
                ("$o-risks-unknowns.md", "a-risks-unknowns.md"),
                ("$o-direct-answer.md", "a-direct-answer.md"),
            ],
            id="the shape that says most has it",
        ),
        pytest.param(
            ["out/a.md", "out/$x.json"],
            ["out/a.md", "out/b.md"],
            [("out/a.md", "out/a.md"), ("out/$x.json", None), (None, "out/b.md")],
            id="more than the text declares",
        ),
    ],
)
def test_a_path_comes_from_the_text_or_the_run(
    declared: list[str], recorded: list[str], expected: list[tuple[str | None, str | None]]
) -> None:
    found = named_outputs(a_step(*declared), recorded)

    assert [(o.output.path.display_text if o.output else None, o.path) for o in found] == expected
