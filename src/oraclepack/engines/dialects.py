"""The APIs that a question is asked over: what is sent, and what a reply says.

The question is the same for all of them; a dialect is a function that shapes it and one that reads
the reply. The texts of files are numbered as oracle numbers them, so that answers cite lines.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import UNSET

from oraclepack.engines.responses import Response, ResponseState, read_response
from oraclepack.system.digests import sha256_text
from oraclepack.tools.usage import Usage

INSTRUCTIONS = (
    "You are Oracle, a focused one-shot problem solver. Emphasize direct answers and cite "
    "referenced files as path:line or path:line-line when line numbers are available."
)
"""What oracle tells every model that takes instructions."""
_MESSAGES_OUTPUT = 32_000
"""Anthropic demands a limit for the answer."""
_ANTHROPIC_VERSION = "2023-06-01"
_ENDINGS = {
    "bash": "bash sh zsh",
    "c": "c h",
    "cpp": "cpp hpp",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "yaml": "yaml yml",
    **{
        name: name
        for name in [
            "css",
            "go",
            "java",
            "js",
            "json",
            "jsx",
            "md",
            "scss",
            "sql",
            "swift",
            "ts",
            "tsx",
        ]
    },
}
"""The languages that oracle names, and the endings of their files."""
_LANGUAGES = {ending: name for name, endings in _ENDINGS.items() for ending in endings.split()}


class Dialect(StrEnum):
    """An API that several providers may speak."""

    RESPONSES = "responses"
    """OpenAI's Responses API, which Azure and xAI serve too."""
    MESSAGES = "messages"
    """Anthropic's Messages API."""
    GEMINI = "gemini"
    CHAT = "chat"
    """OpenAI-compatible chat completions: OpenRouter, Ollama, vLLM, LM Studio."""


class Layout(StrEnum):
    """The order of a question's parts."""

    FILES_FIRST = "files-first"
    """Questions about the same files share their beginning, which providers bill at less."""
    ORACLE = "oracle"
    """The prompt, then the files, as oracle sends them."""


class Question(msgspec.Struct, frozen=True):
    """What a model is asked, whatever the API."""

    model: str
    """The name that its provider knows."""
    prompt: str
    files: Sequence[tuple[str, str]] = ()
    """Names and texts."""
    layout: Layout = Layout.FILES_FIRST
    search: str = ""
    """The provider's tool for searching the web; empty for none."""
    effort: str = ""
    mode: str = ""
    max_output: int | None = None
    background: bool = False
    """The provider computes and keeps the answer, and tells it by its id."""


def path_of(dialect: Dialect, model: str) -> str:
    """What follows the base address."""
    match dialect:
        case Dialect.RESPONSES:
            return "/responses"
        case Dialect.MESSAGES:
            return "/messages"
        case Dialect.GEMINI:
            return f"/models/{model}:generateContent"
        case Dialect.CHAT:
            return "/chat/completions"


def headers_of(dialect: Dialect, key: str) -> dict[str, str]:
    """The headers that carry the key; none where there is no key, as for a local server."""
    headers = {"Content-Type": "application/json"}
    if dialect is Dialect.MESSAGES:
        headers["anthropic-version"] = _ANTHROPIC_VERSION
    if not key:
        return headers
    match dialect:
        case Dialect.MESSAGES:
            return headers | {"x-api-key": key}
        case Dialect.GEMINI:
            return headers | {"x-goog-api-key": key}
        case _:
            return headers | {"Authorization": f"Bearer {key}"}


def body_of(dialect: Dialect, question: Question) -> dict[str, Any]:
    """The body of the request."""
    return {name: value for name, value in _BODIES[dialect](question).items() if value is not None}


def read_reply(dialect: Dialect, data: bytes) -> Response | None:
    """What the body of a successful reply says; None where it is none of this API."""
    if dialect is Dialect.RESPONSES:
        return read_response(data)
    try:
        return _READERS[dialect](data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def files_text(files: Sequence[tuple[str, str]]) -> str:
    """The files as oracle writes them into a prompt, each line with its number."""
    return "\n\n".join(_section(number, *file) for number, file in enumerate(files, 1))


def _section(number: int, path: str, content: str) -> str:
    ticks = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, ticks + 1)
    language = _LANGUAGES.get(posixpath.splitext(path)[1][1:].lower(), "")
    text = content.rstrip()
    lines = text.split("\n") if text else []
    width = len(str(len(lines)))
    numbered = "\n".join(f"{at:>{width}} | {line}" for at, line in enumerate(lines, 1))
    extent = f"Lines: 1-{len(lines)}" if lines else "Lines: 0"
    return f"### File {number}: {path}\n{extent}\n{fence}{language}\n{numbered}\n{fence}"


def _parts(question: Question) -> tuple[str, ...]:
    """The parts of the user's message, in order; the files stand alone to be a common prefix."""
    if not question.files:
        return (question.prompt,)
    if question.layout is Layout.ORACLE:
        return (f"{question.prompt.strip()}\n\n{files_text(question.files)}",)
    return (files_text(sorted(question.files)), question.prompt.strip())


def _responses_body(question: Question) -> dict[str, Any]:
    parts = _parts(question)
    reasoning = {"effort": question.effort, "mode": question.mode}
    reasoning = {name: value for name, value in reasoning.items() if value}
    return {
        "model": question.model,
        "instructions": INSTRUCTIONS,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": part} for part in parts]}
        ],
        "tools": [{"type": question.search}] if question.search else None,
        "reasoning": reasoning or None,
        "max_output_tokens": question.max_output,
        "background": True if question.background else None,
        "store": True if question.background else None,
        "prompt_cache_key": sha256_text(parts[0])[:32] if len(parts) > 1 else None,
    }


def _messages_body(question: Question) -> dict[str, Any]:
    *prefix, last = ({"type": "text", "text": part} for part in _parts(question))
    marked = [{**part, "cache_control": {"type": "ephemeral"}} for part in prefix]
    return {
        "model": question.model,
        "max_tokens": question.max_output or _MESSAGES_OUTPUT,
        "system": INSTRUCTIONS,
        "messages": [{"role": "user", "content": [*marked, last]}],
    }


def _gemini_body(question: Question) -> dict[str, Any]:
    limit = {"maxOutputTokens": question.max_output} if question.max_output else None
    return {
        "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
        "contents": [{"role": "user", "parts": [{"text": part} for part in _parts(question)]}],
        "tools": [{"googleSearch": {}}] if question.search else None,
        "generationConfig": limit,
    }


def _chat_body(question: Question) -> dict[str, Any]:
    return {
        "model": question.model,
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            # One text: not every server takes a list of parts.
            {"role": "user", "content": "\n\n".join(_parts(question))},
        ],
        "reasoning_effort": question.effort or None,
        "max_completion_tokens": question.max_output,
    }


_BODIES: Mapping[Dialect, Callable[[Question], dict[str, Any]]] = {
    Dialect.RESPONSES: _responses_body,
    Dialect.MESSAGES: _messages_body,
    Dialect.GEMINI: _gemini_body,
    Dialect.CHAT: _chat_body,
}


class _TextPart(msgspec.Struct, frozen=True):
    text: str | None = None


def _joined(parts: Sequence[_TextPart] | None) -> str:
    return "".join(part.text or "" for part in parts or ())


class _MessagesUsage(msgspec.Struct, frozen=True):
    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None


class _MessagesReply(msgspec.Struct, frozen=True):
    content: tuple[_TextPart, ...]
    id: str = ""
    stop_reason: str | None = None
    usage: _MessagesUsage | None = None


def _read_messages(data: bytes) -> Response:
    found = msgspec.json.decode(data, type=_MessagesReply)
    used, text = found.usage or _MessagesUsage(), _joined(found.content)
    read, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    usage = Usage(
        input_tokens=(used.input_tokens or 0) + read + written,
        cached_tokens=read or UNSET,
        cache_write_tokens=written or UNSET,
        output_tokens=used.output_tokens,
    )
    return _ended(text, usage, {"end_turn", "stop_sequence", None}, found.stop_reason)


class _GeminiContent(msgspec.Struct, frozen=True):
    parts: tuple[_TextPart, ...] | None = None


class _GeminiCandidate(msgspec.Struct, frozen=True, rename="camel"):
    content: _GeminiContent | None = None
    finish_reason: str | None = None


class _GeminiUsage(msgspec.Struct, frozen=True, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class _GeminiReply(msgspec.Struct, frozen=True, rename="camel"):
    candidates: tuple[_GeminiCandidate, ...] | None = None
    usage_metadata: _GeminiUsage | None = None


def _read_gemini(data: bytes) -> Response:
    found = msgspec.json.decode(data, type=_GeminiReply)
    used = found.usage_metadata or _GeminiUsage()
    first = found.candidates[0] if found.candidates else _GeminiCandidate()
    usage = Usage(
        input_tokens=used.prompt_token_count,
        cached_tokens=used.cached_content_token_count or UNSET,
        output_tokens=(used.candidates_token_count or 0) + (used.thoughts_token_count or 0),
        reasoning_tokens=used.thoughts_token_count,
    )
    text = _joined(first.content.parts if first.content else None)
    return _ended(text, usage, {"STOP", None}, first.finish_reason)


class _ChatMessage(msgspec.Struct, frozen=True):
    content: str | tuple[_TextPart, ...] | None = None


class _ChatChoice(msgspec.Struct, frozen=True):
    message: _ChatMessage
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None


class _ChatUsage(msgspec.Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _ChatReply(msgspec.Struct, frozen=True):
    choices: tuple[_ChatChoice, ...] | None = None
    usage: _ChatUsage | None = None


def _read_chat(data: bytes) -> Response:
    found = msgspec.json.decode(data, type=_ChatReply)
    usage = None
    if found.usage is not None:
        details = found.usage.prompt_tokens_details or _PromptDetails()
        usage = Usage(
            input_tokens=found.usage.prompt_tokens,
            cached_tokens=details.cached_tokens or UNSET,
            output_tokens=found.usage.completion_tokens,
        )
    first = found.choices[0] if found.choices else _ChatChoice(_ChatMessage())
    content = first.message.content
    text = content if isinstance(content, str) else _joined(content)
    return _ended(text, usage, {"stop", None}, first.finish_reason)


def _ended(
    text: str, usage: Usage | None, whole_ends: set[str | None], reason: str | None
) -> Response:
    """An answer that has ended, whole or cut off for a reason."""
    if reason not in whole_ends:
        return Response(ResponseState.INCOMPLETE, usage=usage, detail=reason or "")
    whole = text if not text or text.endswith("\n") else f"{text}\n"
    return Response(ResponseState.COMPLETED, text=whole, usage=usage)


_READERS: Mapping[Dialect, Callable[[bytes], Response]] = {
    Dialect.MESSAGES: _read_messages,
    Dialect.GEMINI: _read_gemini,
    Dialect.CHAT: _read_chat,
}
