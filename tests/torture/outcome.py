"""What a run comes to, apart from what may differ because something was killed on the way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oraclepack.journal.events import StepFinished, StepStarted
from oraclepack.journal.statuses import Status
from tests.torture.ground import Ground

_TIMES = frozenset(
    {"accepted_at", "created_at", "started_at", "finished_at", "duration_ms", "waited_ms"}
)
_ATTEMPTS = frozenset({"attempts", "stdout_log", "stderr_log", "sessions", "heads"})
_CACHE = frozenset({"cache", "from_cache", "session", "usage", "cost", "saved"})
"""An answer that was paid for before the kill comes from the cache or a session afterwards."""
_BY_THE_WAY = frozenset(
    {"orphans", "rollback", "retry", "slot", "same_question", "same_output", "earlier_call"}
    | {"browser"}
)
"""Warnings about what was killed, about waiting, and those that each command says once."""


def outcome(ground: Ground) -> dict[str, Any]:
    """The manifests of the only run without times and attempts, and all answers."""
    run_dir = ground.project.run_dir
    parts = [json.loads((run_dir / name).read_bytes()) for name in ("run.json", "steps.json")]
    kept = {str(path.relative_to(ground.root)): path.read_bytes() for path in _answers(ground)}
    return {"parts": [_stripped(part) for part in parts], "files": kept}


def differences(one: Any, other: Any, where: str = "outcome") -> list[str]:
    """Where two outcomes differ, each place as a line."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [d for name in one for d in differences(one[name], other[name], f"{where}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [d for index, (a, b) in pairs for d in differences(a, b, f"{where}[{index}]")]
    return [] if one == other else [f"{where}: {one!r} instead of {other!r}"]


def ran_again(ground: Ground) -> list[str]:
    """Steps that started after they had ended well."""
    ended: set[str] = set()
    again = []
    for event in ground.project.journal.events:
        if isinstance(event, StepFinished) and event.status is Status.OK:
            ended.add(event.step)
        elif isinstance(event, StepStarted) and event.step in ended:
            again.append(event.step)
    return again


def _answers(ground: Ground) -> Iterator[Path]:
    for folder in (ground.root / "out", ground.project.run_dir / "outputs"):
        for path in sorted(folder.rglob("*")):
            # What oracle writes beside the answers of several models has its own time and place.
            is_answer = path.is_file() and not path.name.endswith(".oracle.json")
            if is_answer and "_failed" not in path.parts:
                yield path


def _stripped(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            name: _warnings(value) if name == "warnings" else _stripped(value)
            for name, value in part.items()
            if name not in _TIMES | _ATTEMPTS | _CACHE
        }
    return [_stripped(one) for one in part] if isinstance(part, list) else part


def _warnings(warnings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what is only said because of a kill or a wait; each once, in an order of its own."""
    kept = (_stripped(one) for one in warnings if one["code"] not in _BY_THE_WAY)
    return [json.loads(one) for one in sorted({json.dumps(one, sort_keys=True) for one in kept})]
