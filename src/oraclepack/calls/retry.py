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


def next_try(
    failure: Failure, tries: int, spent: tuple[int, float], policy: RetryPolicy, chance: float
) -> float | str:
    """The seconds until one more try after the n-th, or why there is none.

    `spent` are the tries and the seconds of waiting that the run has used up; `chance` is drawn
    from [0, 1): full jitter.
    """
    if not failure.is_transient:
        return "trying again would not help"
    if tries >= policy.tries:
        return f"{tries} tries were made"
    if spent[0] >= policy.run_tries:
        return f"the run's retry budget of {policy.run_tries} tries is used up"
    longest = min(policy.cap, policy.base * 2.0 ** (tries - 1))
    wait = max(chance * longest, failure.wait or 0.0)
    if spent[1] + wait > policy.run_seconds:
        return f"the run's retry budget of {policy.run_seconds:g} s of waiting is used up"
    return wait


def cause(failure: Failure) -> str:
    """Why a call is tried again, as short as can be: `429`, `overloaded`."""
    return "429" if failure.code == "RATE_LIMITED" else failure.code.lower().replace("_", " ")


def waiting_note(failure: Failure, wait: float, tries: int, policy: RetryPolicy) -> str:
    """For the person who watches: "rate limited, next try in 41 s (2 of 5)"."""
    what = failure.code.lower().replace("_", " ")
    seconds = f"{wait:.0f} s" if wait >= 1 else f"{wait * 1000:.0f} ms"
    return f"{what}, next try in {seconds} ({tries + 1} of {policy.tries})"
