"""Questions that only a person can answer: put at the terminal, or left for `runs answer`."""

from collections.abc import Sequence

from oraclepack.calls.context import CallContext, PersonAnswer
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.waiting import recorded_wait
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CallWait, Wait

ACCEPT, RETRY, FAIL = "accept", "retry", "fail"
_AT_TERMINAL = "the person at the terminal"
_POLL_SECONDS = 0.2


def decide(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    question: str,
    options: Sequence[str] = (RETRY, FAIL),
) -> str | None:
    """What a person decides; None where no one can be asked, or the call is given up.

    At the terminal the question is yes or no: the first option or the last.
    """
    desk = context.desk
    if context.ask is None and desk is None:
        return None
    choices = tuple(options)
    context.record(
        j.DecisionNeeded(step=call.step, call=call.number, question=question, options=choices)
    )
    wait = CallWait(call=call.number, reason=f"decision needed: {question}")
    message = f"{question} (oraclepack runs answer: {', '.join(choices)})"
    with recorded_wait(context, call, shim, Wait.DECISION, message, wait) as pause:
        if context.ask is not None:
            yes = context.ask(question, pause)
            person_answer = PersonAnswer(choices[0] if yes else choices[-1], _AT_TERMINAL)
        else:
            assert desk is not None
            desk.put_question(call.step, call.number, question, choices)
            taken = desk.take_answer(call.step, call.number)
            while taken is None:
                if not pause(_POLL_SECONDS):
                    desk.withdraw_question(call.step, call.number)
                    return None
                taken = desk.take_answer(call.step, call.number)
            person_answer = taken
    context.record(
        j.DecisionMade(
            step=call.step,
            call=call.number,
            question=question,
            answer=person_answer.answer,
            by=person_answer.by,
        )
    )
    return person_answer.answer
