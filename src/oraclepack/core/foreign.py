"""Records that nobody can prove to be ours: shown as foreign, and never acted upon."""

from enum import StrEnum

import msgspec

from oraclepack.errors import InputError


class Kind(StrEnum):
    """How a record shows that it may have come from somebody else."""

    UNSIGNED = "unsigned"
    """It has no signature: oraclepack 0.1.0 wrote it, or anybody."""
    OTHER_KEY = "other_key"
    """Its signature is not one of this user's key."""
    TRACKED = "tracked"
    """Git tracks it, so it changes with every pull."""
    LINKED = "linked"
    """A symbolic link stands for it, or on the way to it."""


_TELLING = {
    Kind.UNSIGNED: "it is not signed (oraclepack 0.1.0 signed nothing)",
    Kind.OTHER_KEY: "it is not signed with your key",
}
_ADOPTABLE = frozenset(_TELLING)


class Foreign(msgspec.Struct, frozen=True):
    """Why a record is not taken for ours."""

    kind: Kind
    path: str = ""
    """What git tracks, or the link; relative to the project root."""

    @property
    def reason(self) -> str:
        if self.kind is Kind.TRACKED:
            return f"git tracks {self.path}"
        if self.kind is Kind.LINKED:
            return f"{self.path} is a symbolic link"
        return _TELLING[self.kind]

    @property
    def may_be_ours(self) -> bool:
        """Whether the user can say so with `oraclepack trust`."""
        return self.kind in _ADOPTABLE

    @property
    def way_out(self) -> str:
        """What to do where a link or git stands in the way."""
        if self.kind is Kind.TRACKED:
            return f"if it is yours: `git rm -r --cached {self.path}`, and ignore .oraclepack/"
        return f"put a real directory in the place of {self.path}"


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """What `trust` took over."""

    run_id: str | None = None
    reason: str | None = None
    """Why the run was foreign."""
    answers: tuple[str, ...] = ()
    """The keys of the answers that are signed now."""
    claims: int = 0
    """Calls under way, or cut off, that are signed now."""
    left: tuple[str, ...] = ()
    """What stays foreign, and why."""


class ForeignError(InputError):
    """What a command would act upon is not ours."""

    code = "FOREIGN"


def foreign_run(run_id: str, foreign: Foreign, ways: str = "") -> ForeignError:
    """The error where a run would have to be acted upon that is not ours."""
    trust = f"`oraclepack trust {run_id}` takes it over, if you know where it comes from"
    hint = trust if foreign.may_be_ours else foreign.way_out
    return ForeignError(
        f"run {run_id} is foreign: {foreign.reason}", hint=f"{hint}{ways and '; '}{ways}"
    )
