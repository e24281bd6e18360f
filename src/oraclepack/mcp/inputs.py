"""What each tool takes. Names and meanings are those of the command line."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=1000)]
Cursor = Annotated[str | None, Meta(description="next_cursor of the page before.")]
Offset = Annotated[int, Meta(ge=0, description="Characters to leave out.")]
Chars = Annotated[int, Meta(ge=1, le=32000, description="At most so many characters.")]
Run = Annotated[
    str, Meta(description="The name of a run, the beginning of it, or latest.", max_length=300)
]
Step = Annotated[str, Meta(description="The number of a step: 07.", max_length=8)]
PackPath = Annotated[
    str, Meta(description="A pack, relative to the first root or absolute.", max_length=4096)
]
Root = Annotated[str, Meta(description="Which root; by default the first.", max_length=4096)]


class ToolInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool."""


class ListPacks(ToolInput, frozen=True, kw_only=True):
    root: Root = "."
    folder: Annotated[str, Meta(description="Where to look.", max_length=4096)] = "."
    limit: Limit = 100
    cursor: Cursor = None


class ReadFile(ToolInput, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)]
    offset: Offset = 0
    limit: Chars = 16000


class ValidatePack(ToolInput, frozen=True, kw_only=True):
    packs: Annotated[list[PackPath], Meta(min_length=1, max_length=100)]
    strict: bool = False
    fix: Annotated[bool, Meta(description="Also correct what is safe to correct.")] = False


class ListSteps(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    limit: Limit = 100
    cursor: Cursor = None


class Survey(ToolInput, frozen=True, kw_only=True):
    root: Root = "."
    focus: Annotated[list[str], Meta(description="Only these paths.")] = []
    since: Annotated[str, Meta(description="Also what changed since this commit.")] = ""
    max_tokens: Annotated[int, Meta(ge=500, le=16000)] = 8000


class PlanRun(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    steps: Annotated[str | None, Meta(description="Only these: 01,03-07.")] = None
    rerun: Annotated[str | None, Meta(description="all, failed, changed, or a list.")] = None
    run_id: Annotated[str | None, Meta(description="Continue this run.")] = None
    new_run: bool = False
    max_parallel: Annotated[int, Meta(ge=1, le=64)] | None = None
    keep_going: bool | None = None
    max_cost: Annotated[str | int | float | None, Meta(description="US dollars for the calls.")] = (
        None
    )
    max_calls: Annotated[int, Meta(ge=0)] | None = None
    engine: Literal["pack", "api", "browser", "rehearsal"] | None = None
    refresh: Annotated[bool | None, Meta(description="Ask again what was answered.")] = None


class StartRun(PlanRun, frozen=True, kw_only=True):
    token: Annotated[str | None, Meta(description="From plan_run with the same values.")] = None


class OneRun(ToolInput, frozen=True, kw_only=True):
    root: Root = "."
    run: Run = "latest"


class WaitRun(OneRun, frozen=True, kw_only=True):
    seconds: Annotated[float, Meta(ge=0, le=55, description="Return after this long.")] = 25.0


class RunStatus(OneRun, frozen=True, kw_only=True):
    show: Annotated[
        Literal["status", "events", "report", "runs"],
        Meta(description="Of the run its status, events or report; or the list of all runs."),
    ] = "status"
    limit: Limit = 50
    cursor: Cursor = None
    offset: Offset = 0


class ControlRun(OneRun, frozen=True, kw_only=True):
    action: Annotated[
        Literal["stop", "pause", "resume", "answer", "accept"],
        Meta(description="answer decides what a call waits for; accept takes an answer as it is."),
    ]
    step: Annotated[
        str | None, Meta(description="stop: only this step; answer, accept: whose.")
    ] = None
    call: Annotated[int, Meta(ge=1)] | None = None
    now: Annotated[bool, Meta(description="stop: cancel running calls; they may cost.")] = False
    answer: Annotated[str, Meta(description="answer: one of the options of the decision.")] = ""
    pack: Annotated[str, Meta(description="accept: the pack of the run.", max_length=4096)] = ""
    reason: Annotated[str, Meta(description="accept: why; recorded.", max_length=2000)] = ""


class ReadAnswer(OneRun, frozen=True, kw_only=True):
    step: Step
    section: Annotated[
        str,
        Meta(description="direct-answer, risks-unknowns, next-experiment, missing-evidence, all."),
    ] = "all"
    output: Annotated[str, Meta(description="Which answer, where a step has several.")] = ""
    offset: Offset = 0
    limit: Chars = 16000


class Actionize(OneRun, frozen=True, kw_only=True):
    exports: list[Literal["github", "taskmaster"]] = []
    allow_rehearsal: bool = False


class ReadWork(OneRun, frozen=True, kw_only=True):
    limit: Limit = 20
    cursor: Cursor = None


class Explain(ToolInput, frozen=True, kw_only=True):
    rule: Annotated[str | None, Meta(description="A rule by id or name.")] = None
    pack: Annotated[str | None, Meta(description="With step: why it ran or would run.")] = None
    step: Annotated[str | None, Meta(description="The number of a step: 07.")] = None
    limit: Limit = 20
    cursor: Cursor = None
