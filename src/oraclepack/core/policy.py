"""What a CI policy asks for, and what an exit code says of it."""

from oraclepack.core.exit_codes import ExitCode

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
