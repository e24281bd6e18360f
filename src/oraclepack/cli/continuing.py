"""The command that continues a run, spelled so that it can be pasted into a shell."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from shlex import join

from oraclepack.journal.run_state import RunState
from oraclepack.run.planning.plan import Plan

_ONCE = frozenset({"--new-run", "--resume", "--no-resume"})
"""They would begin another run, or say what is so anyway."""
_ONCE_WITH_VALUE = frozenset({"--import-state", "--rerun"})


def continuing(argv: Sequence[str], plan: Plan, state: RunState) -> str:
    """The words of this command without those that must not be said twice.

    A rerun goes on with exactly the steps it did not get to: the others may have been ok
    before, so that only `--rerun` picks them.
    """
    words = list(_lasting(argv))
    if _is_rerun(argv):
        left = [step.step_id for step in plan.to_run if not _is_settled(state, step.step_id)]
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = ["--rerun", ranges(left)] if left else []
    return join(["oraclepack", *words])


def ranges(ids: Iterable[str]) -> str:
    """Step ids as `--rerun` and `--steps` take them: `03,07-09`."""
    ordered = sorted(ids)
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if int(two) - int(one) > 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])] if ordered else []
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _is_settled(state: RunState, step_id: str) -> bool:
    """It went well in the last command; an earlier success does not count for a rerun."""
    began = state.sessions[-1].started.at if state.sessions else ""
    step = state.step(step_id)
    return step.status.is_settled and (step.finished_at or "") >= began


def _is_rerun(argv: Sequence[str]) -> bool:
    options = argv[: list(argv).index("--")] if "--" in argv else argv
    return any(word.partition("=")[0] == "--rerun" for word in options)


def _lasting(argv: Sequence[str]) -> Iterator[str]:
    rest = iter(argv)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word == "--":
            yield word
            yield from rest
        elif name in _ONCE_WITH_VALUE:
            if not equals:
                next(rest, None)
        elif name not in _ONCE:
            yield word
