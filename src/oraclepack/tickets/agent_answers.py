"""Answers of agents: extracted, checked, and written to a file, or refused."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, TypeVar

import msgspec

from oraclepack.tickets.ticket import (
    Acceptance,
    Action,
    ActionKind,
    Actions,
    CriteriaAnswer,
    NextWork,
    TicketIndex,
    TicketSelection,
)

T = TypeVar("T")

MOST_CRITERIA = 100
"""The most judgements in one answer."""

_MOST_BRACES = 500
"""Where an object may begin in an answer; text of nothing but braces must not take forever."""


@dataclass(frozen=True, slots=True)
class UnusableAnswer:
    """An answer that cannot be used, and why."""

    reason: str


def text_of(raw: str) -> str | UnusableAnswer:
    """The words of an answer: of gemini's JSON the `response`, else the text itself."""
    text = raw.strip()
    if not text:
        return UnusableAnswer("the answer is empty")
    envelope = _as_object(text)
    if envelope is not None and isinstance(envelope.get("error"), dict):
        message = envelope["error"].get("message") or "no message"
        return UnusableAnswer(f"the tool answered with an error: {message}")
    if envelope is not None and "response" in envelope:
        response = envelope["response"]
        if not isinstance(response, str) or not response.strip():
            return UnusableAnswer("the response in the tool's JSON is empty")
        return response.strip()
    return text


def selection(raw: str, index: TicketIndex, actions: Actions) -> NextWork | UnusableAnswer:
    """The next piece of work, if the answer names one that is really open."""
    decoded = _decoded(raw, TicketSelection)
    if isinstance(decoded, UnusableAnswer):
        return decoded
    ticket = next((t for t in index.tickets if t.ticket_id == decoded.ticket_id), None)
    if ticket is None:
        return UnusableAnswer(f"there is no ticket {decoded.ticket_id!r} in the index")
    known = {action.action_id: action for action in actions.actions}
    for one in decoded.action_ids:
        action = known.get(one)
        if action is None or action.ticket_id != ticket.ticket_id:
            return UnusableAnswer(f"ticket {ticket.ticket_id!r} has no action {one!r}")
        if action.done:
            return UnusableAnswer(f"action {one!r} is already done")
    return NextWork(
        ticket_id=ticket.ticket_id,
        ticket_path=ticket.path,
        title=ticket.title,
        action_ids=tuple(dict.fromkeys(decoded.action_ids)),
        reason=" ".join(decoded.reason.split()),
    )


def criteria_of(work: NextWork, actions: Actions) -> tuple[Action, ...]:
    """What the work is judged by: its ticket's criteria, else the actions it names."""
    own = [action for action in actions.actions if action.ticket_id == work.ticket_id]
    accepted = [action for action in own if action.kind is ActionKind.ACCEPTANCE]
    criteria = accepted or [action for action in own if action.action_id in work.action_ids]
    return tuple(criteria[:MOST_CRITERIA])


def judgement(raw: str, work: NextWork, actions: Actions) -> Acceptance | UnusableAnswer:
    """The verdicts, if the answer has exactly one on each criterion."""
    decoded = _decoded(raw, CriteriaAnswer)
    if isinstance(decoded, UnusableAnswer):
        return decoded
    expected = [action.action_id for action in criteria_of(work, actions)]
    by_id = {criterion.action_id: criterion for criterion in decoded.criteria}
    if len(by_id) != len(decoded.criteria):
        return UnusableAnswer("the answer judges a criterion twice")
    lacking = [one for one in expected if one not in by_id]
    if lacking:
        return UnusableAnswer(f"the answer says nothing about {', '.join(lacking)}")
    surplus = sorted(set(by_id) - set(expected))
    if surplus:
        return UnusableAnswer(f"the answer judges what was not asked: {', '.join(surplus)}")
    return Acceptance(ticket_id=work.ticket_id, criteria=tuple(by_id[one] for one in expected))


def _decoded(raw: str, shape: type[T]) -> T | UnusableAnswer:
    """The one JSON object in an answer, also when a fence or some words are around it."""
    text = text_of(raw)
    if isinstance(text, UnusableAnswer):
        return text
    objects = list(_objects(text))
    if not objects:
        return UnusableAnswer("the answer holds no JSON object")
    reasons: list[str] = []
    for value in objects:
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as trouble:
            reasons.append(str(trouble))
    return UnusableAnswer(f"the JSON of the answer does not fit: {reasons[0]}")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that begins at some brace, outermost ones only."""
    # The standard library reports where a value ends; msgspec needs the whole text.
    decoder = JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_BRACES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (JSONDecodeError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            yield value
        at = text.find("{", end)


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def open_actions(actions: Iterable[Action]) -> tuple[Action, ...]:
    return tuple(action for action in actions if not action.done)
