"""What to look at after trouble: files that do not parse, and steps that ran again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from oraclepack.journal.events import StepFinished, StepStarted
from oraclepack.journal.statuses import Status
from tests.e2e.run.project import Project


def copy_of(template: Project, name: str) -> Project:
    root = template.root.parent / name
    shutil.copytree(template.root, root, symlinks=True)
    return replace(template, root=root)


def broken_files(root: Path) -> list[str]:
    """JSON files of ours that do not parse."""
    bad = []
    for path in (*root.glob("*.json"), *root.glob(".oraclepack/**/*.json")):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            bad.append(str(path))
    return bad


def ran_again(project: Project) -> list[str]:
    """Steps that started after they had ended well."""
    ended: set[str] = set()
    again = []
    for event in project.journal.events:
        if isinstance(event, StepFinished) and event.status is Status.OK:
            ended.add(event.step)
        elif isinstance(event, StepStarted) and event.step in ended:
            again.append(event.step)
    return again
