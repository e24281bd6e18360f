"""OP7xx: advice about what calls cost. None of it is a fault."""

import re
from collections.abc import Iterator

from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.tool_call import Attachment, AttachmentKind, ToolCall
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.providers import BROWSER

_FEWEST_CALLS = 5
"""With fewer calls, sending a file again costs little."""
_LONGEST_PROMPT = 6_000
"""Characters. Questions of real packs have at most some thousands."""
_MOST_LINES = 12
_SHORT_QUESTION = 240
_CLOSED = (
    r"(?i)(?:is|are|was|were|does|do|did|can|could|has|have|should|will|would)\b[^?\n]*\?\s*"
    r"(?:(?:please )?(?:answer|reply)[^.\n]*\b(?:yes|no)\b[^.\n]*\.?\s*)?\Z"
)
_OPEN = (
    r"(?i)\b(?:why|how|where|which|what|who|list|explain|describe|propose|design|compare|and if)\b"
)


@rule("OP701", Severity.ADVICE)
def sent_with_most_calls(subject: Subject) -> Iterator[Problem]:
    """No file is sent with more than half of the calls of a pack.

    Why: every call pays for all that it attaches. A file that goes along with most questions often
    costs more than all answers; `oraclepack plan PACK` says how much.
    Fix: attach it only where the question needs it, or send an extract. Packs with fewer than five
    calls are left alone.

    Bad::
        # 01) five calls
        oracle -p "Where is it parsed?" -f docs/all.md --write-output a.md
        oracle -p "Who calls the cache?" -f docs/all.md --write-output b.md
        oracle -p "Which jobs retry?" -f docs/all.md --write-output c.md
        oracle -p "What is logged?" -f src/log.py --write-output d.md
        oracle -p "Who may delete?" -f src/roles.py --write-output e.md

    Good::
        # 01) five calls
        oracle -p "Where is it parsed?" -f src/parse.py --write-output a.md
        oracle -p "Who calls the cache?" -f docs/all.md --write-output b.md
        oracle -p "Which jobs retry?" -f docs/all.md --write-output c.md
        oracle -p "What is logged?" -f src/log.py --write-output d.md
        oracle -p "Who may delete?" -f src/roles.py --write-output e.md
    """
    calls = [call for step in subject.pack.steps for call in asking_calls(step)]
    if len(calls) < _FEWEST_CALLS:
        return
    senders: dict[str, list[Attachment]] = {}
    for call in calls:
        for one in {each.value: each for each in call.attachments}.values():
            if one.kind in {AttachmentKind.LITERAL, AttachmentKind.GLOB}:
                senders.setdefault(one.value, []).append(one)
    for name, places in sorted(senders.items(), key=lambda item: item[1][0].span.line):
        if len(places) * 2 > len(calls):
            message = f"{name} is sent with {len(places)} of {len(calls)} calls"
            hint = "attach it where it is needed; `oraclepack plan` says what sending it costs"
            yield Problem(places[0].span, message, hint)


@rule("OP702", Severity.ADVICE)
def material_in_prompt(subject: Subject) -> Iterator[Problem]:
    """A prompt holds the question, and files hold the material.

    Why: what is in a prompt is paid for with every call and every retry, and a copy in
    the pack becomes outdated. Twelve indented lines in a row, or more than
    6,000 characters in all, are more than a question deserves.
    Fix: write the material to a file and attach it where it is needed, or cut it.

    Bad::
        # 01) one
        oracle -p "Which of these lines is wrong?
            a = 1
            b = 2
            c = 3
            d = 4
            e = 5
            f = 6
            g = 7
            h = 8
            i = 9
            j = 10
            k = 11
            l = 13" --write-output a.md

    Good::
        # 01) one
        oracle -p "Which of these lines is wrong?" -f lines.py --write-output a.md
    """
    for step in subject.pack.steps:
        for call in asking_calls(step):
            prompt = call.prompt
            reason = _too_large(prompt.text) if prompt is not None else ""
            if prompt is not None and reason:
                hint = "put the material into a file and attach it where it is needed"
                yield Problem(prompt.span, f"the prompt has {reason}", hint)


def _too_large(text: str) -> str:
    if len(text) > _LONGEST_PROMPT:
        return f"{len(text):,} characters"
    if "\n    " not in text and "\n\t" not in text:  # at most the first line is indented
        return ""
    longest = row = 0
    for line in text.split("\n"):
        row = row + 1 if line.startswith(("    ", "\t")) and line.strip() else 0
        longest = max(longest, row)
    return f"{longest} indented lines in a row" if longest >= _MOST_LINES else ""


def is_pro_for_yes_or_no(call: ToolCall) -> bool:
    """A Pro model is asked a question that a yes or a no answers."""
    if call.prompt is None or not call.prompt.complete:
        return False
    if any(word.value == BROWSER for word in call.values("--engine")):
        return False
    names = [word.value for word in call.values("--model")]
    model = resolve_model(names[-1]) if names and names[-1] is not None else resolve_model(None)
    text = call.prompt.text.strip()
    if model is None or not model.endswith("-pro") or (names and names[-1] is None):
        return False
    return (
        len(text) <= _SHORT_QUESTION
        and bool(re.match(_CLOSED, text))
        and not re.search(_OPEN, text)
    )


@rule("OP703", Severity.ADVICE)
def pro_model_for_yes_or_no(subject: Subject) -> Iterator[Problem]:
    """A question that a yes or a no answers does not ask a Pro model.

    Why: a Pro model costs ten to twenty times as much, and thinks for minutes; its answer to such a
    question is not worth more. Without `--model` oracle asks its default, which is a Pro model.
    Fix: name a smaller model, such as `-m gpt-5.2`, or ask for what only the large one can give.

    Bad::
        # 01) one
        oracle -m gpt-5.5-pro -p "Is the cache cleared after an import?" --write-output a.md

    Good::
        # 01) one
        oracle -m gpt-5.2 -p "Is the cache cleared after an import?" --write-output a.md
    """
    for step in subject.pack.steps:
        for call in asking_calls(step):
            if is_pro_for_yes_or_no(call) and call.prompt is not None:
                message = "a Pro model is asked what a yes or a no answers"
                yield Problem(call.prompt.span, message, "name a smaller model: -m gpt-5.2")
