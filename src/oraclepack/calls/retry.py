"""Whether and when a failed call is made again."""

import msgspec

from oraclepack.tools.oracle_failures import Failure


class RetryPolicy(msgspec.Struct, frozen=True):
    """The limits of retries, for one call and for a whole run."""

    tries: int = 5
    """Per invocation, the first one included."""
    base: float = 2.0
    cap: float = 120.0
    run_tries: int = 40
    """Repeated calls in a run, all invocations together."""
    run_seconds: float = 1800.0
    """Waiting in a run, all invocations together."""


class RetryUsage(msgspec.Struct, frozen=True):
    """What of a run's retry budget is used up."""

    tries: int = 0
    seconds: float = 0.0

    def plus(self, seconds: float) -> "RetryUsage":
        return RetryUsage(self.tries + 1, self.seconds + seconds)


class RetryAfter(msgspec.Struct, frozen=True):
    """Try again, so many seconds later."""

    seconds: float


class GiveUp(msgspec.Struct, frozen=True):
    """Do not try again, and why."""

    reason: str


def next_try(
    failure: Failure, tries: int, spent: RetryUsage, policy: RetryPolicy, chance: float
) -> RetryAfter | GiveUp:
    """What to do after the n-th try failed. `chance` is drawn from [0, 1): full jitter."""
    if not failure.is_transient:
        return GiveUp("trying again would not help")
    if tries >= policy.tries:
        return GiveUp(f"{tries} tries were made")
    if spent.tries >= policy.run_tries:
        return GiveUp(f"the run's retry budget of {policy.run_tries} tries is used up")
    wait = max(chance * _window(tries, policy), failure.wait or 0.0)
    if spent.seconds + wait > policy.run_seconds:
        return GiveUp(f"the run's retry budget of {policy.run_seconds:g} s of waiting is used up")
    return RetryAfter(wait)


def _window(tries: int, policy: RetryPolicy) -> float:
    """The longest wait after the n-th try."""
    return min(policy.cap, policy.base * 2.0 ** (tries - 1))


def cause(failure: Failure) -> str:
    """Why a call is tried again, as short as can be: `429`, `overloaded`."""
    return "429" if failure.code == "RATE_LIMITED" else failure.code.lower().replace("_", " ")


def waiting_note(failure: Failure, wait: RetryAfter, tries: int, policy: RetryPolicy) -> str:
    """For the person who watches: "rate limited, next try in 41 s (2 of 5)"."""
    what = failure.code.lower().replace("_", " ")
    seconds = f"{wait.seconds:.0f} s" if wait.seconds >= 1 else f"{wait.seconds * 1000:.0f} ms"
    return f"{what}, next try in {seconds} ({tries + 1} of {policy.tries})"
