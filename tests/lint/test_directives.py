"""Comments that speak to oraclepack are understood, or pointed at."""

import pytest

from tests.packs import BLOCK_LINE, findings_of, pack_text, places


@pytest.mark.parametrize(
    ("bash", "lines"),
    [
        pytest.param("# 01) a\n# oraclepack: alow OP402 because\ntrue", [2], id="a slip"),
        pytest.param("# 01) a\n# oraclepack: Allow OP402 because\ntrue", [2], id="a capital"),
        pytest.param("# 01) a\n# oraclepack: output=a.md\ntrue", [2], id="a letter is missing"),
        pytest.param("# 01) a\n# oraclepack: ignore OP402\ntrue", [2], id="a word of other tools"),
        pytest.param("# oraclepack: alow OP402\n# 01) a\ntrue", [1], id="before the first step"),
        pytest.param("# oraclepack: policy=owned\n# 01) a\ntrue", [1], id="not heard there"),
        pytest.param("# 01) a\n# oraclepack: policy=readonly\ntrue", [2], id="no such policy"),
        pytest.param("# 01) a\n# oraclepack: policy=read-only\ntrue", [], id="a policy"),
        pytest.param("# 01) a\n# oraclepack: allow OP402 because\ntrue", [], id="allow"),
        pytest.param("# 01) a\n# oraclepack: outputs=a.md\ntrue", [], id="outputs"),
        pytest.param("# 01) a\n# oraclepack: contract=none\ntrue", [], id="contract"),
        pytest.param("# 01) a\n# oraclepack runs this\ntrue", [], id="prose"),
        pytest.param("# 01) a\ncat <<X\n# oraclepack: alow\nX", [], id="text of a heredoc"),
    ],
)
def test_what_is_not_heard(bash: str, lines: list[int]) -> None:
    found = places(findings_of(pack_text(bash), select=("OP115",)))

    assert [line - BLOCK_LINE + 1 for line, _ in found] == lines


def test_the_word_that_was_meant_is_named() -> None:
    text = pack_text("# 01) a\n# oraclepack: contracts=none\ntrue")

    (finding,) = findings_of(text, select=("OP115",))

    assert (finding.message, finding.hint) == (
        "unknown directive: contracts",
        "did you mean contract?",
    )
