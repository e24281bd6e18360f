"""`completed_steps` means the same in all commands that can roll back."""

import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from oraclepack.view.report.schemas import schema_of
from tests.e2e.run.project import Project, Zygote, a_project, asking

QUESTIONS = "mkdir -p out\n" + asking(1) + asking(2)
BREAKS = QUESTIONS + "# 03) breaks\nexit 7\n"
TICKET = "# A ticket\n\n- [ ] do it\n"


def as_it_is(_: Project) -> list[str]:
    return []


def answered(project: Project) -> list[str]:
    project.write(QUESTIONS)
    assert project.run().code == 0
    return ["--run-dir", str(project.run_dir)]


def with_a_ticket(project: Project) -> list[str]:
    (project.root / ".tickets").mkdir()
    (project.root / ".tickets/T-1.md").write_text(TICKET)
    return []


def with_code(project: Project) -> list[str]:
    library = Path(__file__).parents[2] / "data/repositories/library"
    shutil.copytree(library / "ledger", project.root / "src/ledger")
    project.commit()
    return []


COMMANDS = [
    pytest.param("run pack.md", as_it_is, "", ["01", "02"], "03", "run-report", id="run"),
    pytest.param(
        *("pipeline pack.md", as_it_is, "", ["01", "02"], "03", "pipeline-report"), id="pipeline"
    ),
    pytest.param(
        *("actionize", answered, "change-plan.md", ["normalized.jsonl", "backlog.md"]),
        *("change-plan.md", "actionize-report"),
        id="actionize",
    ),
    pytest.param(
        *("ticketify", with_a_ticket, "_actions.md", ["_tickets_index.json", "_actions.json"]),
        *("_actions.md", "ticketify-report"),
        id="ticketify",
    ),
    pytest.param(
        "generate", with_code, "oracle-pack", [], "write", "generate-report", id="generate"
    ),
    pytest.param(
        *(
            "skills install codex claude",
            as_it_is,
            ".claude/",
            ["codex/oracle-pack", "codex/oracle-run"],
        ),
        *("claude/oracle-pack", "skills-install-report"),
        id="skills install",
    ),
]


@pytest.mark.parametrize("back", [False, True], ids=["kept", "taken back"])
@pytest.mark.parametrize(("words", "prepare", "refused", "completed", "failed", "schema"), COMMANDS)
def test_completed_steps_are_reported_whether_or_not_they_were_rolled_back(
    tmp_path: Path,
    zygote: Zygote,
    words: str,
    *,
    prepare: Callable[[Project], list[str]],
    refused: str,
    completed: list[str],
    failed: str,
    schema: str,
    back: bool,
) -> None:
    project = a_project(tmp_path, zygote, BREAKS)
    flags = [*prepare(project), *(["--rollback-on-failure"] if back else [])]
    fault: dict[str, object] = {"fail": 1, "once": True, "only": "rename", "path": refused}
    fault["notes"] = str(tmp_path / "notes")

    ran = project.start(*words.split(), "--json", *flags, fault=fault if refused else None).wait()

    assert ran.code == 3, ran.err
    jsonschema.validate(ran.data, schema_of(schema))
    assert ran.data["completed_steps"] == completed
    assert ran.data["failed_step"] == failed
    assert ran.data["rolled_back_steps"] == (completed if back else [])
    assert ran.data["rollback_status"] == ("completed" if back else "not_attempted")
    assert ran.data["not_rolled_back"] == []
    assert ran.data["resume_from"] == ([*completed, failed][0] if back else failed)
