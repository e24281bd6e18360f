"""Twelve questions, four at a time, a provider that fails in every way: nothing is lost or paid
for twice."""

from collections import Counter

import pytest

from tests.e2e.run.project import Project
from tests.packs import pack_text
from tests.provider import Provider
from tests.real_answers.packs import asking

pytestmark = pytest.mark.slow

FAULTS = {
    1: ("hang first=1", 2, None),
    2: ("rate_soon first=3", 4, None),
    3: ("unavailable first=3", 4, None),
    4: ("cut_clean first=1", 2, None),
    5: ("cut first=1", 2, None),
    6: ("empty first=1", 2, None),
    12: ("quota first=3", 3, "QUOTA"),
}
"""By step: the fault, how many requests it takes, and the code with which it fails.

oracle itself repeats some faults twice, so three of them are one failed call. The last step has the
fault after which no new step begins.
"""
CAP = 3
OPTIONS = ("--max-parallel", "4", "--keep-going", "--call-timeout", "12s")


def question(number: int) -> str:
    fault = f" [[fault={FAULTS[number][0]}]]" if number in FAULTS else ""
    return f"What is number {number:02}?{fault}"


def twelve() -> str:
    files = {9: "-f a.py", 10: "-f a.py b.py", 11: "-f b.py"}
    return "".join(asking(n, question(n), files.get(n, "")) for n in range(1, 13))


def counts(provider: Provider, since: int = 0) -> dict[int, int]:
    """How many requests each question took."""
    numbers = [int(one.prompt[15:17]) for one in provider.requests[since:]]
    return dict(Counter(numbers))


def test_twelve_questions_in_bad_weather(project: Project, provider: Provider) -> None:
    project.pack.write_text(pack_text(twelve()))
    (project.root / "oraclepack.toml").write_text(f"[providers.openai]\nmax_concurrent = {CAP}\n")
    for name in ("a.py", "b.py"):
        (project.root / name).write_text(f"# {name}\n")

    first = project.run(*OPTIONS)

    (run_dir,) = project.run_dirs
    steps = project.steps()
    errors = {int(name): one["last_error"] for name, one in steps.items() if one["last_error"]}
    assert first.code == 3, first.err
    assert {n: one["code"] for n, one in errors.items()} == {12: "QUOTA"}
    assert steps["12"]["invocations"][0]["attempts"] == 1
    assert counts(provider) == {n: FAULTS.get(n, ("", 1))[1] for n in range(1, 13)}
    assert 1 < provider.most_at_once <= CAP

    seen = len(provider.requests)
    assert project.run(*OPTIONS).code == 0
    assert counts(provider, seen) == {12: 1}

    seen = len(provider.requests)
    again = project.run(*OPTIONS)
    fresh = project.run("--new-run", *OPTIONS)
    assert (again.code, fresh.code) == (0, 0)
    assert counts(provider, seen) == {}

    (project.root / "a.py").write_text("# changed\n")
    assert project.run("--new-run", *OPTIONS).code == 0
    assert counts(provider, seen) == {9: 1, 10: 1}

    assert project.run("--run-id", run_dir.name, "--rerun", "changed").code == 0
    assert counts(provider, seen) == {9: 1, 10: 1}
