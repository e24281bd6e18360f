"""The journal of a run explains where the time of every call went."""

import re
from pathlib import Path

from oraclepack.journal.timeline import SegmentKind, call_timelines
from tests.e2e.calls.office import ask, events, step
from tests.e2e.run.project import Zygote, a_project
from tests.events import totals_by_reason

LONGEST_GAP_MS = 50


def test_no_gap_without_a_reason(tmp_path: Path, zygote: Zygote) -> None:
    slow = [step(n, ask(f"Question {n}? [[fault=slow]]", f"out/{n}.md")) for n in (1, 2, 3)]
    busy = step(4, ask("Busy? [[fault=overloaded first=1]]", "out/4.md"))
    same = step(5, ask("Question 1? [[fault=slow]]", "out/5.md"))
    project = a_project(tmp_path, zygote, "".join([*slow, busy, same]))
    (project.root / "oraclepack.toml").write_text("[providers.openai]\nmax_concurrent = 1\n")

    ran = project.run("--max-parallel", "5", ORACLEPACK_RETRY_BASE_SECONDS="0.2")
    again = project.run("--new-run", "--max-parallel", "5")

    assert (ran.code, again.code) == (0, 0)
    first, second = (call_timelines(events(project, run)) for run in project.run_dirs)
    for timeline in (*first, *second):
        assert sum(one.milliseconds() for one in timeline.segments) == timeline.milliseconds()
        gaps = [one for one in timeline.segments if one.kind is SegmentKind.GAP]
        assert [one for one in gaps if one.milliseconds() > LONGEST_GAP_MS] == []
    spent = totals_by_reason(first)
    assert spent["try"] >= 3 * 300
    assert min(spent["slot"], spent["retry"], spent["same_question"]) > 0
    assert [one.cache_hit for one in second] == [True] * 5

    shown = project.start("runs", "show", project.run_dirs[0].name, "--json").wait()
    calls = {one["step_id"]: one for one in shown.data["calls"]}
    assert {reason for one in calls.values() for reason in one["waits"]} >= {"slot", "retry"}
    # Steps 01 and 05 have the same question: whichever comes first asks it.
    assert sorted(calls[one]["tries"] for one in ("01", "05")) == [0, 1]
    assert calls["04"]["tries"] == 2
    text = project.start("runs", "show", project.run_dirs[0].name).wait().out
    assert re.search(r"step +call +tool +end +time", text), text
