"""Runs of a small pack as their journals tell them, and what the disk may show afterwards."""

from collections.abc import Mapping

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.pack.model import Pack, command_hash
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.planner import DiskSnapshot, plan
from oraclepack.run.planning.selection import Selection
from tests.events import created, finished, numbered, output, session, started
from tests.packs import a_pack, some_steps

ASKS = [f"oracle -p 'Why?' --write-output out/{n:02}-answer.md -f src/{n}.py" for n in (1, 2, 3)]
PACK = a_pack("set -e\n" + some_steps(ASKS))


def begun(pack: Pack, step: str) -> j.StepStarted:
    found = pack.step(step)
    assert found is not None
    return msgspec.structs.replace(started(step), command_hash=command_hash(pack, found))


def well(pack: Pack, step: str, attached: Mapping[str, str] | None = None) -> list[j.Event]:
    """A step of the pack that went well, with its output and what was attached."""
    end = msgspec.structs.replace(finished(step), attached=dict(attached or {}))
    return [begun(pack, step), output(step), end]


def a_run(*events: j.Event, pack: Pack = PACK) -> RunState:
    first = created("01", "02", "03", pack_hash=pack.pack_hash)
    return fold(numbered(first, session(), *events))


def intact(state: RunState, changes: Mapping[str, str | None] | None = None) -> DiskSnapshot:
    """Everything as it was recorded, but for the paths that are given with what they hold now."""

    def now(path: str, was: str) -> str | None:
        return changes.get(path, was) if changes else was

    outputs = [out for step in state.steps.values() for out in step.outputs]
    attached = [pair for step in state.steps.values() for pair in step.attached.items()]
    return DiskSnapshot(
        outputs={out.path: now(out.path, out.sha256) for out in outputs},
        declared={
            out.declared_path: now(out.declared_path, out.sha256)
            for out in outputs
            if out.declared_path
        },
        attached={path: now(path, was) for path, was in attached},
    )


def planned(
    state: RunState = EMPTY,
    selection: Selection | None = None,
    seen: DiskSnapshot | None = None,
    pack: Pack = PACK,
) -> Plan:
    made = plan(pack, state, selection or Selection(), seen or intact(state))
    assert isinstance(made, Plan)
    return made


def decisions(made: Plan) -> list[str]:
    return [f"{step.decision}: {step.reason}" for step in made.steps]


NEW = "run: it has not run yet"
DONE = "done: it went well, and its output is as recorded"
FIRST = well(PACK, "01", {"src/1.py": "c" * 64})
