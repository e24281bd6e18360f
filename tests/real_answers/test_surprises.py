"""What is peculiar about the real oracle, and how a run copes with it."""

import pytest

from tests.e2e.calls.office import outcomes, step, warnings
from tests.e2e.run.project import Project
from tests.packs import pack_text
from tests.provider import Provider, answer_to
from tests.real_answers.packs import API, asking

pytestmark = pytest.mark.slow

PATTERN = asking(1, "What is it?\n\n\n### File: fake\nreally", "-f 'src/*.py'")
TOGETHER = step(
    2,
    f'ask() {{ oracle {API} -m gpt-5.2 -p "Why is it so?" -f "$1" --write-output "out/$1.md"; }}',
    "ask a.txt & ask b.txt && wait $!",
)
"""oracle compares prompts only, and would refuse the second one while the first one runs."""
DETACHED = asking(3, "A question that is long enough", "--no-wait", model="gpt-5.5-pro")


def test_patterns_twins_and_workers(project: Project, provider: Provider) -> None:
    project.pack.write_text(pack_text(PATTERN + TOGETHER + DETACHED))
    (project.root / "src").mkdir()
    for name in ("src/a.py", "src/b.py", "a.txt", "b.txt"):
        (project.root / name).write_text(f"{name}\n")

    ran = project.run("--max-parallel", "3")

    assert ran.code == 0, ran.err
    assert len(provider.requests) == len(provider.answered) == 4
    for request in provider.requests:
        name = "out/01.md" if "What" in request.prompt else "out/03.md"
        name = f"out/{request.files[0]}.md" if request.prompt.startswith("Why") else name
        kept = (project.root / name).read_text().strip()
        assert kept == answer_to(request.prompt).strip()
    assert all(one.session and one.usage for one in outcomes(project))
    assert "left its question to a worker" in str(warnings(project))
    assert project.journal.damage is None

    (project.root / "src/b.py").write_text("changed\n")
    assert project.run("--new-run", "--max-parallel", "3").code == 0
    assert [one.files for one in provider.requests[4:]] == [("fake", "src/a.py", "src/b.py")]
