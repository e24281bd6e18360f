"""OP5xx: where answers may go."""

import pytest

from tests.lint.judging import FOLDER, OUTSIDE, findings, only
from tests.packs import some_steps


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("oracle -p q --write-output a.md", [], id="written"),
        pytest.param("oracle -p q", ["OP501"], id="not written"),
        pytest.param("oracle -p q > a.md", [], id="redirected"),
        pytest.param("oracle -p q > /dev/null", ["OP501"], id="thrown away"),
        pytest.param('oracle -p q "${flags[@]}"', [], id="perhaps among the hidden flags"),
        pytest.param("echo a.md | xargs oracle -p q --write-output", [], id="given by xargs"),
        pytest.param("oracle status", [], id="asks nothing"),
        pytest.param("oracle --dry-run -p q", [], id="only shows"),
        pytest.param("codex exec x", [], id="codex need not"),
        pytest.param("oracle -p q --write-output ../a.md", ["OP503"], id="above"),
        pytest.param("oracle -p q --write-output '~/a.md'", ["OP503"], id="a quoted tilde"),
        pytest.param("oracle -p q --write-output ~/a.md", [], id="a tilde that bash expands"),
        pytest.param("oracle -p q --write-output .git/a.md", ["OP503"], id="in .git"),
        pytest.param("oracle -p q --write-output .oraclepack/runs/a", ["OP503"], id="in the runs"),
        pytest.param("oracle -p q --write-output .oraclepack/a.md", [], id="in our own folder"),
        pytest.param("oracle -p q --write-output docs/../a.md", ["OP503"], id="a detour within"),
        pytest.param("oracle -p q --write-output /away/a.md", ["OP503"], id="absolute, outside"),
        pytest.param("oracle -p q --write-output /unknown/a.md", [], id="absolute, not looked up"),
        pytest.param("oracle -p q --write-output link/a.md", ["OP503"], id="a link leads away"),
        pytest.param(
            'oracle -p q --write-output "$d/../a.md"',
            ["OP503"],
            id="a detour from an unknown place",
        ),
        pytest.param(
            "cd sub\noracle -p q --write-output ../a.md", ["OP503"], id="a detour from elsewhere"
        ),
        pytest.param("oracle -p q --write-output a..b/..c.md", [], id="dots in names"),
        pytest.param("codex exec x -o ../a.md", ["OP503"], id="codex above"),
        pytest.param("# oraclepack: outputs=../a.md\ntrue", ["OP503"], id="a directive above"),
        pytest.param(
            "oracle -p q --write-output a.md > /away/a.md", [], id="a log beside the answer"
        ),
        pytest.param("oracle -p q --write-output -", ["OP505"], id="a dash"),
        pytest.param("oracle -p q --write-output ''", ["OP507"], id="empty"),
        pytest.param("oracle -p q --write-output docs/", ["OP507"], id="a directory by name"),
        pytest.param("oracle -p q --write-output docs", ["OP507"], id="a directory on disk"),
        pytest.param("oracle -p q --models a,b --write-output x.md", ["OP506"], id="two models"),
        pytest.param("oracle -p q --models a --write-output x.md", [], id="one model"),
        pytest.param('oracle -p q --models "$m" --write-output x.md', [], id="unknown models"),
        pytest.param("# oraclepack: contract=all-sections\ntrue", [], id="a known contract"),
        pytest.param("# oraclepack: contract=all\ntrue", ["OP504"], id="an unknown contract"),
        pytest.param(
            "# oraclepack: contract=direct-answer\n"
            "oracle -p 'Return only: Risks/unknowns' --write-output a.md",
            ["OP504"],
            id="a marker against the prompt",
        ),
        pytest.param(
            "# oraclepack: contract=none\n"
            "oracle -p 'Return only: Risks/unknowns' --write-output a-direct-answer.md",
            [],
            id="a marker that asks for nothing",
        ),
    ],
)
def test_outputs(body: str, expected: list[str]) -> None:
    paths = {"/away/a.md": OUTSIDE, "link/a.md": OUTSIDE, "docs": FOLDER}

    assert [each.rule for each in findings(body, only("OP5"), paths=paths)] == expected


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param(["oracle -p a --write-output a.md", "oracle -p b > a.md"], ["02"], id="two"),
        pytest.param(
            ["oracle -p a --write-output a.md", "oracle -p b --write-output ./a.md"],
            ["02"],
            id="spelled otherwise",
        ),
        pytest.param(
            ["oracle -p a --write-output a.md\noracle -p b --write-output a.md"],
            ["01"],
            id="two calls of one step",
        ),
        pytest.param(
            ["oracle -p a --write-output a.md || oracle -p b --write-output a.md"],
            [],
            id="the one or the other",
        ),
        pytest.param(["codex exec a >> l.md", "codex exec b >> l.md"], [], id="appended"),
        pytest.param(
            ["tm analyze-complexity -o a.json", "tm analyze-complexity -o a.json"],
            [],
            id="task-master keeps its own files up to date",
        ),
        pytest.param(
            ["# oraclepack: outputs=a.md\noracle -p a --write-output a.md"],
            [],
            id="declared and written",
        ),
        pytest.param(
            ["# oraclepack: outputs=a.md\nmake a", "oracle -p a --write-output a.md"],
            ["02"],
            id="declared here, written there",
        ),
        pytest.param(
            ['oracle -p a --write-output "$f"', 'oracle -p b --write-output "$f"'],
            [],
            id="unknown names",
        ),
        pytest.param(
            ["cd a\noracle -p a --write-output x.md", "cd b\noracle -p b --write-output x.md"],
            [],
            id="in other directories",
        ),
        pytest.param(
            ["oracle -p a --write-output x.md --write-output y.md", "oracle -p b > x.md"],
            [],
            id="the last flag counts",
        ),
    ],
)
def test_collisions(bodies: list[str], expected: list[str]) -> None:
    found = findings(some_steps(bodies), only("OP502"))

    assert [each.step_id for each in found] == expected


def test_a_contradiction_is_shown_at_its_line() -> None:
    bash = (
        "oracle --write-output a-direct-answer.md -p \"$(cat <<'P'\n"
        'Why?\nReturn only: Risks/unknowns\nP\n)"'
    )

    (found,) = findings(bash, only("OP5"))

    assert (found.rule, found.span.line) == ("OP504", 7)
