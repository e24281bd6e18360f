"""Which steps a command is about: `--rerun`, `--steps`, `--resume-from`, `--roi-threshold`."""

import math
import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from oraclepack.errors import Refusal, did_you_mean
from oraclepack.pack.model import Step
from oraclepack.run.planning.plan import listed

_NUMBER = re.compile(r"\d{1,2}", re.ASCII)


class Rerun(StrEnum):
    """Which steps run although they may be done."""

    ALL = "all"
    FAILED = "failed"
    CHANGED = "changed"


class RoiMode(StrEnum):
    """On which side of the threshold steps are selected."""

    OVER = "over"
    """At least the threshold."""
    UNDER = "under"
    """Less than the threshold."""


class Selection(msgspec.Struct, frozen=True):
    """What the user asked for, in the words of the flags; nothing asked is every step."""

    rerun: str | None = None
    """`all`, `failed`, `changed` or a list of steps."""
    steps: str | None = None
    """A list such as `01,03-07`."""
    resume_from: str | None = None
    roi_threshold: float | None = None
    """Zero and less is no threshold, as in the Go tool."""
    roi_mode: RoiMode = RoiMode.OVER
    refresh: bool = False
    """Ask again, also what was answered before."""


class Existing(StrEnum):
    """What becomes of answers that are there before a run asks, and that no record knows."""

    ADOPT = "adopt"
    """Those that meet their contracts are taken; the others are asked for."""
    REPLACE = "replace"
    """All are asked for; the files that are replaced are kept."""


class RunArguments(msgspec.Struct, frozen=True):
    """The arguments of a command that runs a pack, beyond its settings."""

    rerun: str | None = None
    """`all`, `failed`, `changed` or a list of steps: these run although they may be done."""
    steps: str | None = None
    """Only these, a list such as `01,03-07`."""
    resume_from: str | None = None
    """Leave out the steps before this one."""
    run_id: str | None = None
    """Continue this run."""
    new_run: bool = False
    """Start another run, whatever there is already."""
    import_state: str | None = None
    """A state file of the Go tool to take over."""
    in_place: bool = False
    """A rehearsal runs its steps in the project itself, not in a copy."""
    existing: Existing | None = None
    """What becomes of outputs that this run has not recorded; None asks at a terminal, and
    refuses elsewhere."""
    wait_for: str | None = None
    """Begin the steps after this run has ended."""
    expect_pack: str | None = None
    """The SHA-256 of the pack that was approved (`Pack.pack_hash`): another one is refused."""
    detached: bool = False
    """There is no terminal: questions to a person wait for `runs answer`."""
    argv: tuple[str, ...] = ()
    """The words of the command line, for the journal and for the command that continues."""


class ResolvedSelection(msgspec.Struct, frozen=True):
    """A selection that was read against the steps of a pack."""

    rerun: Rerun | None = None
    named: frozenset[str] | None = None
    """The steps that `--rerun` names."""
    steps: frozenset[str] | None = None
    resume_from: str | None = None
    threshold: float | None = None
    roi_mode: RoiMode = RoiMode.OVER

    def against(self, step: Step) -> str | None:
        """Why a step is left out, whatever its state; None when it is not."""
        if self.steps is not None and step.id not in self.steps:
            return "--steps does not name it"
        if self.named is not None and step.id not in self.named:
            return "--rerun does not name it"
        if self.resume_from is not None and step.id < self.resume_from:
            return f"it comes before step {self.resume_from}, given by --resume-from"
        return self._too_far(step)

    def _too_far(self, step: Step) -> str | None:
        """A step without a number for its ROI counts as 0, as in the Go tool."""
        if self.threshold is None:
            return None
        roi = step.number("ROI")
        is_under = (roi or 0) < self.threshold
        if is_under is (self.roi_mode is RoiMode.UNDER):
            return None
        figure = "it has no ROI: 0" if roi is None else f"its ROI {roi:g}"
        return f"{figure} is {'' if is_under else 'not '}under the threshold {self.threshold:g}"


def choose(selection: Selection, known: Sequence[str]) -> ResolvedSelection | Refusal:
    """Read a selection against the ids of a pack's steps."""
    words = {rerun.value: rerun for rerun in Rerun}
    rerun = words.get(selection.rerun or "")
    named = _ids("--rerun", None if rerun else selection.rerun, known)
    if isinstance(named, Refusal):
        return _with_words(named, selection.rerun or "")
    steps = _ids("--steps", selection.steps, known)
    if isinstance(steps, Refusal):
        return steps
    first = _id("--resume-from", selection.resume_from, known)
    if isinstance(first, Refusal):
        return first
    threshold = selection.roi_threshold
    if threshold is not None and not math.isfinite(threshold):
        return Refusal(f"--roi-threshold {threshold} is not a number to compare with")
    minimum = threshold if threshold is not None and threshold > 0 else None
    chosen = ResolvedSelection(rerun, named, steps, first, minimum, selection.roi_mode)
    return _contradiction(chosen) or chosen


def _ids(flag: str, text: str | None, known: Sequence[str]) -> frozenset[str] | Refusal | None:
    """The steps of a list such as `01,03-07`; None when the flag is not given."""
    if text is None:
        return None
    ids: set[str] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [_id(flag, end, known) for end in ((first, last) if dash else (first,))]
        names = [end for end in ends if isinstance(end, str)]
        if len(names) < len(ends):
            return next(end for end in ends if isinstance(end, Refusal))
        if names[0] > names[-1]:
            return Refusal(f"{flag}: the range {part.strip()} runs backwards")
        ids.update(one for one in known if names[0] <= one <= names[-1])
    return frozenset(ids)


def _id(flag: str, text: str | None, known: Sequence[str]) -> str | Refusal | None:
    if text is None:
        return None
    word = text.strip()
    step_id = word.zfill(2)
    if _NUMBER.fullmatch(word) and step_id in known:
        return step_id
    has = f"the pack has the steps {listed(known)}" if known else "the pack has no steps"
    if not word:
        return Refusal(f"{flag} lacks a step number", hint=has)
    return Refusal(f"{flag}: there is no step {word}", hint=has)


def _with_words(refusal: Refusal, text: str) -> Refusal:
    """Say also which words `--rerun` takes, when no number was meant."""
    if any(sign.isdigit() for sign in text):
        return refusal
    near = did_you_mean(text, Rerun)
    hint = f"{near + ' ' if near else ''}--rerun takes all, failed, changed or a list of steps"
    return Refusal(f"--rerun {text}: neither a list of steps nor a known word", hint=hint)


def _contradiction(chosen: ResolvedSelection) -> Refusal | None:
    for flag, ids in (("--rerun", chosen.named), ("--steps", chosen.steps)):
        early = sorted(one for one in ids or () if one < (chosen.resume_from or ""))
        if early:
            return Refusal(
                f"{flag} names step {listed(early)}, but --resume-from begins at "
                f"{chosen.resume_from}",
                hint=f"leave --resume-from out, or the earlier steps out of {flag}",
            )
    if chosen.named is not None and chosen.steps is not None and chosen.named - chosen.steps:
        return Refusal(
            f"--rerun names step {listed(sorted(chosen.named - chosen.steps))}, which --steps "
            "leaves out",
            hint="give one of the two, or the same steps to both",
        )
    return None
