"""A project with one source file, one pack, one run, and answers made by hand."""

from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.system.digests import sha256_text
from oraclepack.work.actionize import ActionizeRequest, ActionizeResult, actionize_request
from oraclepack.work.backlog import Export, Record
from tests.events import created, finished, started, write_journal
from tests.packs import pack_text
from tests.work.answers import direct

RUN_ID = "2026-03-01__abc1234__55555555"
SOURCE = "line\n" * 40
FIX = direct("Fix the loop in `src/a.py:12`.")


def a_question(number: int, outputs: str = "", attach: str = "-f src/a.py") -> str:
    out = outputs or f"out/{number:02}-q.md"
    return (
        f"# {number:02}) ROI=4 effort=1 category=invariants reference=src/a.py\n"
        f'oracle {attach} --write-output "{out}" -p "What about {number}?"\n'
    )


def recorded(step: str, text: str, path: str = "", declared: str = "") -> j.OutputRecorded:
    return j.OutputRecorded(
        step=step,
        attempt=1,
        path=path or f"outputs/{step}-q.md",
        declared_path=declared or f"out/{step}-q.md",
        sha256=sha256_text(text),
        bytes=len(text),
    )


def called(step: str, **files: str) -> j.InvocationIntent:
    parts = {f"file:src/{name}.py": sha for name, sha in files.items()}
    parts["prompt"] = "p"
    return j.InvocationIntent(step=step, attempt=1, call=1, tool="oracle", key_parts=parts)


class Project:
    """A project with one source file, one pack and one run."""

    def __init__(self, root: Path, bash: str) -> None:
        self.root = root
        self.run = root / ".oraclepack/runs" / RUN_ID
        (self.run / "outputs").mkdir(parents=True)
        (root / "src").mkdir()
        (root / "src/a.py").write_text(SOURCE)
        text = pack_text(bash)
        (root / "pack.md").write_text(text)
        self.pack = parse_pack(text, "pack.md")
        self.events: list[j.KnownEvent] = [
            created("01", "02", "03", pack_path="pack.md", pack_hash=self.pack.pack_hash)
        ]

    def answer(self, step: str, text: str, *calls: j.KnownEvent, **where: str) -> None:
        output = recorded(step, text, **where)
        (self.run / output.path).write_text(text)
        self.events += [started(step), *calls, output, finished(step)]

    def actionize(self, *exports: Export) -> ActionizeResult:
        write_journal(self.run, *self.events)
        return actionize_request(
            ActionizeRequest(run_dir=str(self.run), exports=exports), self.root
        )

    def records(self) -> dict[str, Record]:
        return {record.task_id[-5:]: record for record in self.actionize().work.records}


def by_hand(project: Project, **files: str) -> ActionizeRequest:
    folder = project.root / "answers"
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')[1:]}.md").write_text(text)
    return ActionizeRequest(answers=str(folder), pack=str(project.root / "pack.md"))
