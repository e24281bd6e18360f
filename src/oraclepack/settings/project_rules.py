"""What a project may set: three kinds of settings, and how a project's value is judged.

A project is a repository: its `oraclepack.toml`, its `pyproject.toml`, its `.env`. Users who clone
it did not write them, so they may not reach further than the user's own settings allow. A `.env`
that git does not track is the user's, and so is what `config trust` recorded: they may be less
strict, but they never set what is user-only.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from oraclepack.settings.value_kinds import AUTO
from oraclepack.system.path_jail import guarded_place, inside
from oraclepack.tools.argv import refused_flag


class SettingScope(StrEnum):
    """Who may set a setting."""

    FREE = "free"
    """A project may set it."""
    TIGHTEN_ONLY = "tighten-only"
    """A project may only be stricter than the user, or than the default, unless it is trusted."""
    USER_ONLY = "user-only"
    """A project may not set it."""


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a project's value."""

    value: Any = None
    is_accepted: bool = True
    """Otherwise the user's value, or the default, stays."""
    reasons: tuple[str, ...] = ()
    """Why the value, or part of it, is ignored."""
    is_loosening: bool = False
    """Only its strictness stands against it: a file that the user trusts may set it."""


Judge = Callable[[Any, Any], Verdict]
"""Judges a project's value, given the user's own value or the default."""


class ProjectRule(msgspec.Struct, frozen=True):
    """What a project may do with a setting."""

    scope: SettingScope
    judge: Judge
    limit: str = ""
    """What holds for a project's value, in words: what is stricter, or what is accepted."""
    unless_allowed: bool = False
    """User-only, unless the user lets projects name programs."""


def _accept(value: object, _own: object) -> Verdict:
    return Verdict(value)


def _refuse(_value: object, _own: object) -> Verdict:
    return Verdict(is_accepted=False, reasons=("a project may not set this",))


def _tighten(limit: str, strictness: Callable[[Any], float]) -> ProjectRule:
    def judge(value: object, own: object) -> Verdict:
        if strictness(value) >= strictness(own):
            return Verdict(value)
        reason = f"{_spelled(value)} is less strict than your {_spelled(own)} ({limit})"
        return Verdict(value, is_accepted=False, reasons=(reason,), is_loosening=True)

    return ProjectRule(SettingScope.TIGHTEN_ONLY, judge, limit)


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


FREE = ProjectRule(SettingScope.FREE, _accept)
USER_ONLY = ProjectRule(SettingScope.USER_ONLY, _refuse)
PROGRAM = ProjectRule(
    SettingScope.USER_ONLY, _refuse, "unless you set allow_project_programs", unless_allowed=True
)
LOWER = _tighten("lower is stricter", lambda value: -value)
FEWER_AT_ONCE = _tighten(
    "lower is stricter, auto comes after 1",
    lambda value: -1.5 if value == AUTO else -value,
)
LOWER_OF_LIMITED = _tighten(
    "lower is stricter, 0 means no limit", lambda value: -value if value else float("-inf")
)
LOWER_OF_GIVEN = _tighten(
    "lower is stricter, none is no limit",
    lambda value: float("-inf") if value is None else -float(value),
)
HIGHER = _tighten("higher is stricter", lambda value: value)
TRUE = _tighten("true is stricter", int)
FALSE = _tighten("false is stricter", lambda value: -int(value))


def ranked(*weakest_first: tuple[str, ...]) -> ProjectRule:
    """Choices in groups; a project may choose within the user's group or a later one."""
    ranks = {choice: rank for rank, group in enumerate(weakest_first) for choice in group}
    limit = " is stricter than ".join(" and ".join(group) for group in reversed(weakest_first))
    return _tighten(limit, lambda value: ranks[value])


def _added_names(values: tuple[str, ...], own: tuple[str, ...]) -> Verdict:
    # A pattern could make everything secret that records are about.
    accepted = tuple(name for name in values if name.replace("_", "").isalnum())
    wrong = tuple(f"{name!r} is a pattern, not a name" for name in values if name not in accepted)
    return Verdict((*own, *accepted), is_accepted=bool(accepted), reasons=wrong)


ADDED_NAMES = ProjectRule(
    SettingScope.TIGHTEN_ONLY, _added_names, "names are added to yours, patterns are not"
)


def _inside_project(value: str, _own: object) -> Verdict:
    relative = inside("/project", value)
    if relative is None or value.startswith("~") or not value.isprintable():
        return Verdict(is_accepted=False, reasons=("the path leads out of the project",))
    place = guarded_place(relative)
    if place is not None:
        return Verdict(is_accepted=False, reasons=(f"the path lies in {place}",))
    return Verdict(value)


INSIDE_PROJECT = ProjectRule(SettingScope.FREE, _inside_project, "only a path inside the project")


def _listed_flags(*, per_step: bool) -> ProjectRule:
    def judge(values: tuple[str, ...], own: tuple[str, ...]) -> Verdict:
        # The table of flags is data that few commands need.
        refusals = {text: refused_flag(text, per_step=per_step) for text in values}
        accepted = tuple(text for text in values if refusals[text] is None)
        reasons = dict.fromkeys(
            f"a project may not set {flag}" for flag in refusals.values() if flag is not None
        )
        # The user's own flags stay: a project that adds one must not take a `--base-url` away.
        return Verdict((*own, *accepted), is_accepted=bool(accepted), reasons=tuple(reasons))

    return ProjectRule(
        SettingScope.FREE, judge, "only flags that name no host, program, key or file"
    )


LISTED_FLAGS = _listed_flags(per_step=False)
LISTED_STEP_FLAGS = _listed_flags(per_step=True)

_CHATGPT = ("https://chatgpt.com/", "https://chat.openai.com/")


def _chatgpt_pages(values: dict[str, str], own: dict[str, str]) -> Verdict:
    accepted = {name: url for name, url in values.items() if url.startswith(_CHATGPT)}
    reasons = tuple(f"{name} is no page of chatgpt.com" for name in values if name not in accepted)
    # A name of the user's means the user's page: a project must not send questions elsewhere.
    return Verdict(accepted | own, is_accepted=bool(accepted), reasons=reasons)


CHATGPT_PAGES = ProjectRule(
    SettingScope.FREE, _chatgpt_pages, "only pages of chatgpt.com, and no name of yours"
)
