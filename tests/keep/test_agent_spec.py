"""The page about the CLI agent spec names every requirement once, and counts right."""

import re
from collections import Counter

from tests.generated import ROOT

COUNTS = {"F": 66, "C": 26, "O": 41}


def test_every_requirement_is_answered_once() -> None:
    text = (ROOT / "docs/agent-spec.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([FCO])-(\d{3}) \| (\S+) \| (.+) \|$", text, re.MULTILINE)

    named = [f"{family}-{number}" for family, number, _, _ in rows]
    assert named == [
        f"{family}-{number:03}" for family, most in COUNTS.items() for number in range(1, most + 1)
    ]
    found = Counter(status for _, _, status, _ in rows)
    assert set(found) == {"yes", "partly", "no", "-"}
    said = (
        f"{found['yes']} hold, {found['partly']} partly, {found['no']} do not, {found['-']} do not"
    )
    assert said in text
