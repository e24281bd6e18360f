"""What a CI policy asks for, and what an exit code says of it."""

import msgspec

from oraclepack.errors import ExitCode

_ROUNDING = 1e-9


def falls_short(count: int, whole: int, required: float) -> bool:
    """Less than the required share; of nothing, nothing can be missing."""
    return count < required * whole - _ROUNDING


def completion_shortfall(ok: int, to_run: int, required: float) -> str | None:
    """Why the steps that went well are not enough, if they are not."""
    if not falls_short(ok, to_run, required):
        return None
    share = f"completion {ok / to_run:.2f} ({ok} of {to_run})"
    return f"{share} is below --min-completion {required:g}"


class YieldTold(msgspec.Struct, frozen=True, kw_only=True):
    """How much work came out of the answers."""

    actionable: int
    answered: int
    figure: float
    """Actionable tasks per answered step; 0 when nothing was answered."""
    required: float

    @property
    def shortfall(self) -> str | None:
        """Why that is not enough, if it is not."""
        if not falls_short(self.actionable, max(self.answered, 1), self.required):
            return None
        share = (
            f"yield {self.figure:.2f} ({self.actionable} actionable from {self.answered} answered)"
        )
        return f"{share} is below --min-yield {self.required:g}"


class YieldPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The CI policy of `actionize`: the yield alone, also where it does not decide."""

    applies: bool
    """`--ci` was given, so the policy decides about the exit code."""
    met: bool
    action_yield: YieldTold


def yield_of(actionable: int, answered: int, required: float) -> YieldTold:
    """The figures of the yield."""
    return YieldTold(
        actionable=actionable,
        answered=answered,
        figure=round(actionable / answered, 4) if answered else 0.0,
        required=required,
    )


def weigh(*, failed: bool, met: bool | None, unweighable: bool) -> ExitCode:
    """What steps come to. In CI the policy decides, except where nothing is left to weigh.

    That is so after a rollback, a failed prelude, or a backlog that could not be written.
    `met` is None where no policy applies.
    """
    if unweighable:
        return ExitCode.STEP_FAILED
    if met is not None:
        return ExitCode.DONE if met else ExitCode.POLICY
    return ExitCode.STEP_FAILED if failed else ExitCode.DONE
