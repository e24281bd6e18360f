"""What each tool takes. Names and meanings are those of the command line."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=1000, description="At most so many.")]
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


class OfProject(ToolInput, frozen=True, kw_only=True):
    root: Root = "."


class ListPacks(OfProject, frozen=True, kw_only=True):
    folder: Annotated[str, Meta(description="Where to look.", max_length=4096)] = "."
    limit: Limit = 100
    cursor: Cursor = None


class ValidatePack(ToolInput, frozen=True, kw_only=True):
    packs: Annotated[list[PackPath], Meta(min_length=1, max_length=100)]
    strict: bool = False


class ExplainRule(ToolInput, frozen=True, kw_only=True):
    rule: Annotated[str | None, Meta(description="An id or a name; without it, all.")] = None
    limit: Limit = 20
    cursor: Cursor = None


class ListSteps(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    limit: Limit = 100
    cursor: Cursor = None


class PlanRun(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    steps: Annotated[str | None, Meta(description="Only these: 01,03-07.")] = None
    rerun: Annotated[str | None, Meta(description="all, failed, changed, or a list.")] = None
    resume_from: Annotated[str | None, Meta(description="Leave out the steps before.")] = None
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


class WaitRun(OfProject, frozen=True, kw_only=True):
    run: Run = "latest"
    seconds: Annotated[float, Meta(ge=0, le=55, description="Return after this long.")] = 25.0


class OneRun(OfProject, frozen=True, kw_only=True):
    run: Run = "latest"


class RunEvents(OneRun, frozen=True, kw_only=True):
    limit: Limit = 50
    cursor: Cursor = None


class StopRun(OneRun, frozen=True, kw_only=True):
    step: Annotated[str | None, Meta(description="Only this step.")] = None
    now: Annotated[bool, Meta(description="Cancel running calls; they may cost money.")] = False


class PauseRun(OneRun, frozen=True, kw_only=True):
    resume: Annotated[bool, Meta(description="Let a paused run go on instead.")] = False


class AnswerDecision(OfProject, frozen=True, kw_only=True):
    run: Run
    step: Step
    answer: Annotated[str, Meta(description="One of the options of the decision.")]
    call: Annotated[int, Meta(ge=1)] | None = None


class ReadAnswer(OneRun, frozen=True, kw_only=True):
    step: Step
    section: Annotated[
        str,
        Meta(description="direct-answer, risks-unknowns, next-experiment, missing-evidence, all."),
    ] = "all"
    output: Annotated[str, Meta(description="Which answer, where a step has several.")] = ""
    offset: Offset = 0
    limit: Chars = 16000


class VerifyOutputs(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    strict: bool = False


class AcceptAnswer(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    step: Step
    reason: Annotated[str, Meta(description="Why; kept in the journal.", max_length=2000)]
    outputs: list[str] = []
    run_id: str | None = None


class Actionize(OneRun, frozen=True, kw_only=True):
    exports: list[Literal["github", "taskmaster"]] = []
    allow_rehearsal: bool = False


class ListWork(OneRun, frozen=True, kw_only=True):
    limit: Limit = 20
    cursor: Cursor = None


class ReadReport(OneRun, frozen=True, kw_only=True):
    offset: Offset = 0
    limit: Chars = 16000


class Why(ToolInput, frozen=True, kw_only=True):
    pack: PackPath
    step: Step


class ListRuns(OfProject, frozen=True, kw_only=True):
    limit: Limit = 20
    cursor: Cursor = None


class DiffRuns(OfProject, frozen=True, kw_only=True):
    first: Run
    second: Run


class GeneratePack(OfProject, frozen=True, kw_only=True):
    out: Annotated[str, Meta(description="The pack; by default docs/oracle-pack-<date>.md.")] = ""
    focus: list[str] = []
    exclude: list[str] = []
    since: str = ""
    count: Annotated[int, Meta(ge=1, le=99)] | None = None
    force: bool = False


class FollowupPack(OneRun, frozen=True, kw_only=True):
    out: str = ""
    force: bool = False


class Ticketify(OfProject, frozen=True, kw_only=True):
    tickets_dir: str = ""
    mode: Literal["backlog", "pipelines", "autopilot", "codex", "gemini"] | None = None
    top_n: Annotated[int, Meta(ge=1, le=200)] | None = None
    force: bool = False


class ReadFile(ToolInput, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="A file inside the roots.", max_length=4096)]
    offset: Offset = 0
    limit: Chars = 16000
