"""The question inside a prompt, and the metadata a generator may have put there."""

from collections.abc import Iterable

from oraclepack.core.call import Prompt, ToolCall
from oraclepack.core.script import Heredoc, Word
from oraclepack.core.step import META_BLOCK, META_OPENS, PromptMeta
from oraclepack.system.text_limits import regex

_PAIR = regex(r"^\s*(?P<key>[A-Za-z]+)\s*:\s*(?P<value>.*?)\s*$")
_ITEM = regex(r"^\s*[-*]\s+(?P<value>.+?)\s*$")


def prompt_of(
    named: Iterable[Word], operands: Iterable[Word], heredocs: Iterable[Heredoc]
) -> Prompt | None:
    """The prompt of an oracle call: the last `-p`, else the first operand."""
    words = list(named) or list(operands)[:1]
    if not words:
        return None
    word = words[-1]
    documents = list(heredocs)
    if word.value == "-" and documents:
        last = documents[-1]
        return Prompt(last.body, last.span, complete=last.quoted)
    return Prompt(word.template, word.origin or word.span, complete=word.value is not None)


def meta_of(calls: Iterable[ToolCall]) -> PromptMeta:
    """The metadata of the first prompt that carries some."""
    for call in calls:
        text = call.prompt.text if call.prompt else ""
        match = META_BLOCK.search(text) if META_OPENS in text else None
        if match is not None:
            return _meta(match["body"])
    return PromptMeta()


def _meta(body: str) -> PromptMeta:
    values: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in body.splitlines():
        pair, item = _PAIR.match(line), _ITEM.match(line)
        if item is not None and key:
            items.setdefault(key, []).append(item["value"])
        elif pair is not None:
            key = pair["key"].lower()
            if pair["value"]:
                values.setdefault(key, pair["value"])
    artifacts = items.get("expectedartifacts")
    if artifacts is None and "expectedartifacts" in values:
        listed = values["expectedartifacts"].strip("[]").split(",")
        artifacts = [name.strip().strip("\"'`") for name in listed if name.strip()]
    return PromptMeta(
        question_id=values.get("questionid"),
        category=values.get("category"),
        reference=values.get("reference"),
        expected_artifacts=tuple(artifacts) if artifacts is not None else None,
    )
