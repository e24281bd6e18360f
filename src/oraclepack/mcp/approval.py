"""The user's approval of a run: a question in the client, or the token of a plan."""

from __future__ import annotations

from typing import NamedTuple

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from oraclepack.errors import UsageError
from oraclepack.mcp import inputs
from oraclepack.mcp.services import Services
from oraclepack.mcp.tools import ApprovedRun, Tool, run_arguments
from oraclepack.run.entry_points import plan_run
from oraclepack.run.plan_token import plan_subject, redeem
from oraclepack.settings import call_settings
from oraclepack.settings.registry import Settings
from oraclepack.view.step_listing import list_steps

Context = ServerRequestContext[object]
_KEY = "approval"
_MODERN = "2026-07-28"
_FORM: dict[str, object] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Run it",
            "description": "Yes, run this pack now.",
        }
    },
    "required": ["approve"],
}


class ApprovalNeededError(UsageError):
    """The client cannot ask its user, and no token was given."""

    code = "APPROVAL_REQUIRED"


class DeclinedError(UsageError):
    """The user said no."""

    code = "DECLINED"


class Question(NamedTuple):
    """What the user is asked, and exactly what that is about."""

    text: str
    subject: str
    pack_hash: str


def redeem_or_describe(services: Services, tool: Tool, asked: inputs.StartRun) -> Question | str:
    """The hash of the pack when a token was given and holds; else the question for the user."""
    services.refuse_disabled()
    pack = services.roots.named(asked.pack)
    settings = services.run_settings(asked)
    if asked.token is not None:
        return redeem(asked.token, pack, settings, run_arguments(asked))
    subject = plan_subject(pack, settings, run_arguments(asked))
    approval = ApprovedRun(asked, subject.pack_hash)
    text = _question(pack, settings, approval)
    return Question(text, f"{tool.name}:{subject.digest}", subject.pack_hash)


def _question(pack: str, settings: Settings, approval: ApprovedRun) -> str:
    """About the pack with this hash; raises where it is another one by now."""
    plan = plan_run(pack, settings, approval.arguments).report
    steps = [step for step in plan.steps if step.decision == "run"]
    read = list_steps(pack, settings)
    if read.pack_hash != approval.pack_hash:
        raise changed_since()
    listed = read.steps
    to_run = {step.step_id for step in steps}
    calls = sum(step.calls for step in listed if step.step_id in to_run)
    tools = sorted({name for step in listed if step.step_id in to_run for name in step.tools})
    limit = settings[call_settings.MAX_COST]
    opening = f"Run {pack} in {settings.root}?\n"
    if not steps:
        return f"{opening}Nothing would be executed or asked: no step is left to run."
    count = f"{len(steps)} of {len(plan.steps)} steps"
    named = f"{calls} tool calls in their text ({', '.join(tools) or 'no tools'})"
    cost = "What they cost is not known before a forecast."
    if limit is not None:
        cost = f"They may cost at most ${limit}."
    return f"{opening}It executes the pack's bash: {count}, with {named}. {cost}"


async def ask_user(
    context: Context, params: types.CallToolRequestParams, question: Question
) -> types.InputRequiredResult | None:
    """None when the user approved; a result that asks, where the protocol asks by results.

    There the subject comes back with the answer, which binds the two.
    """
    have = context.session.client_capabilities
    if have is None or have.elicitation is None:
        raise _cannot_ask()
    if context.protocol_version >= _MODERN:
        return _asked_by_result(params, question)
    try:
        answer = await context.session.elicit_form(question.text, _FORM, context.request_id)
    except MCPError:
        raise _cannot_ask() from None
    _refuse_no(answer)
    return None


def _asked_by_result(
    params: types.CallToolRequestParams, question: Question
) -> types.InputRequiredResult | None:
    answers = params.input_responses or {}
    answer = answers.get(_KEY)
    if answer is None:
        form = types.ElicitRequestFormParams(message=question.text, requested_schema=_FORM)
        return types.InputRequiredResult(
            input_requests={_KEY: types.ElicitRequest(params=form)}, request_state=question.subject
        )
    if not isinstance(answer, types.ElicitResult) or params.request_state != question.subject:
        raise changed_since()
    _refuse_no(answer)
    return None


def _refuse_no(answer: types.ElicitResult) -> None:
    if answer.action != "accept" or not (answer.content or {}).get("approve"):
        raise DeclinedError("the user did not approve the run", hint="nothing was started")


def changed_since() -> DeclinedError:
    return DeclinedError(
        "the pack or its settings are not those that the user was asked about",
        hint="call the tool again",
    )


def _cannot_ask() -> ApprovalNeededError:
    return ApprovalNeededError(
        "this client cannot ask its user for approval",
        hint="call plan_run, show the user its plan, and pass its token to this tool",
    )
