"""A real pack of 80 calls that builds its attachments at run time, beside what oracle counts."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from oraclepack.engines.rehearsal import AttachedText, tokens
from oraclepack.tools.oracle_question import OracleQuestion
from tests.e2e.program import oraclepack
from tests.real.oracles import RealOracle

PACK = Path(__file__).parents[3] / "shared/packs/grouped-tickets-chunked.md"
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not PACK.is_file(), reason="no ../shared/packs beside us"),
]
SAMPLE = ("01", "20")
SPY = """#!/bin/bash
# Asks the real oracle what it would send, and answers in its place.
for word in "$@"; do [[ $last == --write-output ]] && out=$word; last=$word; done
LC_ALL=C "{real}" "$@" --engine api --dry-run summary >>"{log}" 2>&1
printf 'answered\\n' >"$out"
"""


def a_project(folder: Path) -> dict[str, str]:
    """The pack, and a text of our own for each ticket that it names."""
    folder.mkdir()
    text = PACK.read_text()
    (folder / "pack.md").write_text(text)
    match = re.search(r"^- ticket_paths: (.*)$", text, re.MULTILINE)
    assert match is not None
    tickets = {}
    for number, name in enumerate(match[1].split(",")):
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        line = f"- [ ] Row {number}: the importer drops `price`; see src/i{number}.py:4{number}.\n"
        tickets[name.strip()] = f"# Ticket {number}\n\n{line * (20 + 15 * number)}"
        path.write_text(tickets[name.strip()])
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return tickets


def test_every_call_is_planned_as_the_rehearsal_saw_it(
    real_oracle: RealOracle, tmp_path: Path, home: Path
) -> None:
    root = tmp_path / "project"
    tickets = a_project(root)
    log, tools = tmp_path / "oracle.log", tmp_path / "tools"
    tools.mkdir()
    (tools / "oracle").write_text(SPY.format(real=real_oracle.programs / "oracle", log=log))
    (tools / "oracle").chmod(0o755)
    env = {**real_oracle.env, "HOME": str(home)}
    env["PATH"] = f"{tools}:{env['PATH']}"

    planned = oraclepack(root, "plan", "pack.md", "--json", **env)

    assert planned.code == 0, planned.err
    forecast = planned.data
    calls = [call for step in forecast["steps"] for call in step["calls"]]
    assert (len(forecast["steps"]), len(calls), forecast["to_ask"]) == (20, 80, 80)
    size = sum(len(text.encode()) for text in tickets.values())
    assert {(call["files"], call["bytes"]) for call in calls} == {(len(tickets), size)}
    assert forecast["bytes"] == 80 * size
    least = tokens(OracleQuestion(""), [AttachedText(*one) for one in tickets.items()])
    assert all(least < call["input_tokens"] < least + 2000 for call in calls)
    (repeated, *_) = forecast["repeated"]
    assert (repeated["calls"], sorted(repeated["files"])) == (80, sorted(tickets))
    assert forecast["savings"][0]["rule"] == "OP701"

    # What oracle itself counts, for the calls of two steps.
    steps = ("--steps", ",".join(SAMPLE), "--no-output-verify", "--no-validate", "--yes")
    ran = oraclepack(root, "run", "pack.md", "--json", *steps, **env)

    assert ran.code == 0, ran.err
    counted = [
        int(n.replace(",", "")) for n in re.findall(r"with ~([\d,]+) tokens", log.read_text())
    ]
    estimated = [call["input_tokens"] for call in calls if call["step_id"] in SAMPLE]
    assert len(counted) == len(estimated) == 8
    ratios = [one / other for one, other in zip(estimated, counted, strict=True)]
    assert all(0.8 <= ratio <= 1.2 for ratio in ratios), json.dumps(ratios)
