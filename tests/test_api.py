"""`import oraclepack`: what a program calls in place of the command line."""

import ast
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import oraclepack
from oraclepack.errors import ExitCode, UsageError
from oraclepack.journal import events
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import RunState
from oraclepack.lint.validate import validate_packs
from oraclepack.run.entry_points import run_pack
from oraclepack.run.planning.plan import Decision
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.project_records import (
    ProjectRuns,
)
from oraclepack.run.run_display import RunPreview
from oraclepack.run.verify_outputs import verify_outputs
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from tests.packs import pack_text

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/how-to/use-from-a-program.md"
TWO_STEPS = "# 01) first\necho one\n\n# 02) second\necho two\n"


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack.md").write_text(pack_text(TWO_STEPS), encoding="utf-8")
    return "pack.md"


class Watcher:
    """A display that records what it receives."""

    def __init__(self) -> None:
        self.preview: RunPreview | None = None
        self.kinds: list[str] = []
        self.began = threading.Event()

    def begin(self, preview: RunPreview) -> None:
        self.preview = preview

    def event(self, event: KnownEvent, state: RunState) -> None:
        self.kinds.append(type(event).__name__)
        if isinstance(event, events.StepSpawned) and state.step(event.step).attempts:
            self.began.set()


def snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_program_of_the_page_runs_a_pack(pack: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(snippets()[0], encoding="utf-8")

    done = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, capture_output=True, check=True, timeout=60
    )

    lines = done.stdout.decode().splitlines()
    assert Path(pack).exists()
    assert lines[0].startswith("2 steps, logs in ")
    assert lines[1] == "1 RunCreated"
    assert lines[-1] == "[('01', 'ok'), ('02', 'ok')]"
    assert done.stderr == b""


def test_the_settings_of_the_page_are_settings(pack: str) -> None:
    found: dict[str, object] = {"oraclepack": oraclepack}

    for snippet in snippets()[1:3]:
        exec(compile(snippet, str(PAGE), "exec"), found)

    plan, outcome = found["plan"], found["outcome"]
    assert [step.decision for step in plan.report.steps] == ["run", "not_selected"]  # type: ignore[attr-defined]
    assert [step.status for step in outcome.report.steps] == ["ok", "pending"]  # type: ignore[attr-defined]
    assert Path(pack).exists()


def test_a_display_learns_of_the_plan_and_of_every_event(pack: str) -> None:
    watcher = Watcher()

    outcome = run_pack(pack, display=watcher)

    assert outcome.exit_code is ExitCode.DONE
    assert watcher.preview is not None
    assert [(s.step_id, s.title, s.decision) for s in watcher.preview.steps] == [
        ("01", "first", Decision.RUN),
        ("02", "second", Decision.RUN),
    ]
    assert watcher.kinds[0] == "RunCreated"
    assert watcher.kinds.count("StepFinished") == 2
    assert watcher.kinds[-1] == "SessionFinished"


def test_another_thread_stops_a_run_and_the_next_one_continues_it(pack: str) -> None:
    slow = "# 01) slow\n[ -e go ] || sleep 60\n\n# 02) next\ntrue\n"
    Path(pack).write_text(pack_text(slow), encoding="utf-8")
    watcher = Watcher()

    with Stop() as stop:

        def ask() -> None:
            assert watcher.began.wait(60)
            stop.ask(StopLevel.POLITE)

        asker = threading.Thread(target=ask)
        asker.start()
        stopped = run_pack(pack, display=watcher, stop=stop)
        asker.join()
    Path("go").touch()
    continued = run_pack(pack)

    assert stopped.exit_code is ExitCode.INTERRUPTED
    assert stopped.report.interrupted_steps == ("01",)
    assert continued.report.continued
    assert continued.report.run_id == stopped.report.run_id
    assert continued.report.completed_steps == ("01", "02")


def test_a_refused_run_reaches_no_display_and_writes_nothing(pack: str) -> None:
    watcher = Watcher()

    with pytest.raises(UsageError, match="99"):
        run_pack(pack, arguments=RunArguments(steps="99"), display=watcher)

    assert watcher.preview is None
    assert not Path(".oraclepack").exists()


def test_records_are_reached_by_the_root_of_the_project(pack: str) -> None:
    ran = run_pack(pack)

    assert [run.run_id for run in ProjectRuns(".").list().runs] == [ran.report.run_id]
    assert ProjectRuns(".").ids() == (ran.report.run_id,)


def test_one_pack_or_several_are_checked(pack: str) -> None:
    run_pack(pack)

    assert validate_packs(pack).ok
    assert validate_packs([pack, pack]).checked[0].report.path == pack
    assert verify_outputs(pack).totals.steps == 2


def test_every_public_name_is_there_and_documented() -> None:
    names = set(oraclepack.__all__) - {"__version__"}

    assert [name for name in names if not hasattr(oraclepack, name)] == []
    assert names <= set(dir(oraclepack))
    page = PAGE.read_text("utf-8")
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = oraclepack.no_such_name  # type: ignore[attr-defined]


def test_type_checkers_and_python_find_a_name_in_the_same_module() -> None:
    tree = ast.parse(Path(oraclepack.__file__ or "").read_text(encoding="utf-8"))
    typed = {
        alias.asname: f"{node.module}:{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert typed == oraclepack._HOMES


def test_no_public_name_is_a_folder_or_a_module() -> None:
    """An imported module becomes an attribute of its package."""
    inside = {path.stem for path in Path(oraclepack.__file__ or "").parent.iterdir()}

    assert inside & set(oraclepack.__all__) == set()


ENCODED = """
import decimal, uuid, msgspec
import oraclepack
assert oraclepack.run_pack("pack.md").exit_code == 0
print(msgspec.json.encode([uuid.UUID(int=1), decimal.Decimal("1.50")]).decode())
"""


def test_uuid_and_decimal_encode_after_a_command(pack: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENCODED], cwd=tmp_path, capture_output=True, check=True, timeout=60
    )

    assert Path(pack).exists()
    assert done.stdout.decode() == '["00000000-0000-0000-0000-000000000001","1.50"]\n'
