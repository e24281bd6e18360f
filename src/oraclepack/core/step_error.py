"""Why a step, a call or the prelude failed, as a value."""

import msgspec


class StepError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a step, a call or the prelude failed."""

    code: str
    message: str
    transient: bool = False
    retry_after: float | msgspec.UnsetType = msgspec.UNSET
    """Seconds after which the provider asks to be tried again; left out where it does not say."""

    @property
    def known_wait(self) -> float | None:
        return None if self.retry_after is msgspec.UNSET else self.retry_after
