"""The estimate of tokens beside what the real oracle counts."""

import re
import subprocess
from pathlib import Path

import pytest

from oraclepack.engines.rehearsal import AttachedText, tokens
from oraclepack.tools.oracle_question import OracleQuestion
from tests.keep.pages import ROOT
from tests.real.oracles import RealOracle

pytestmark = pytest.mark.slow

PROMPT = "What do these files promise to their callers, and where do they break it?"


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("src/oraclepack/calls/handler.py",), id="Python"),
        pytest.param(("README.md", "docs/security.md"), id="Markdown"),
        pytest.param(("src/oraclepack/cli/manifest.json",), id="JSON"),
    ],
)
def test_the_estimate_is_within_a_fifth(
    names: tuple[str, ...], real_oracle: RealOracle, tmp_path: Path
) -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8")[:200_000] for name in names]
    files = []
    for name, text in zip(names, texts, strict=True):
        (real_oracle.cwd / Path(name).name).write_text(text, encoding="utf-8")
        files += ["-f", Path(name).name]
    done = subprocess.run(
        real_oracle.argv(PROMPT, *files, "--dry-run", "summary"),
        cwd=real_oracle.cwd,
        env={**real_oracle.env, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    match = re.search(r"with ~([\d,]+) tokens", done.stdout)
    assert match is not None, done.stdout
    counted = int(match[1].replace(",", ""))

    attached = [AttachedText(n, t) for n, t in zip(names, texts, strict=True)]
    estimate = tokens(OracleQuestion(PROMPT), attached)

    assert 0.8 <= estimate / counted <= 1.2, (estimate, counted)
