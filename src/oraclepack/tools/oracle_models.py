"""The models that oracle knows: what a name stands for, what is sent, how much fits.

Names are resolved as oracle 0.21 does over the API; `tests/real/test_models.py` compares the two.
"""

import re

import msgspec

DEFAULT_MODEL = "gpt-5.5-pro"
"""The model that oracle asks by default."""

_DEFAULT_LIMIT = 200_000
"""Input tokens that oracle allows a model it does not know."""

_DEFAULT_OUTPUT = 128_000
"""The most output tokens of most models, and of unknown models."""


class OracleModel(msgspec.Struct, frozen=True):
    """A model of oracle's own list."""

    provider: str
    input_limit: int
    """Input tokens. oracle refuses a larger question before it asks."""
    api_name: str = ""
    """The name that is sent to the provider, where it is another one."""
    output_limit: int = _DEFAULT_OUTPUT
    """The most output tokens that the provider gives, those of reasoning among them."""


ORACLE_MODELS = {
    "gpt-6-astra": OracleModel("openai", 272_000),
    "gpt-5.6": OracleModel("openai", 272_000),
    "gpt-5.6-sol": OracleModel("openai", 272_000),
    "gpt-5.5-pro": OracleModel("openai", 1_050_000),
    "gpt-5.5": OracleModel("openai", 1_050_000),
    "gpt-5.4-pro": OracleModel("openai", 196_000),
    "gpt-5.4": OracleModel("openai", 196_000),
    "gpt-5.2-pro": OracleModel("openai", 196_000, "gpt-5.5-pro"),
    "gpt-5.2-instant": OracleModel("openai", 196_000, "gpt-5.2-chat-latest"),
    "gpt-5.2": OracleModel("openai", 196_000),
    "gpt-5.1-pro": OracleModel("openai", 196_000, "gpt-5.5-pro"),
    "gpt-5.1-codex": OracleModel("openai", 196_000),
    "gpt-5.1": OracleModel("openai", 196_000),
    "gpt-5-pro": OracleModel("openai", 196_000, output_limit=272_000),
    "gemini-3.5-flash": OracleModel("google", 1_048_576),
    "gemini-3.1-flash-lite": OracleModel("google", 1_048_576),
    "gemini-3.1-pro": OracleModel("google", 200_000, "gemini-3.1-pro-preview"),
    "gemini-3-pro": OracleModel("google", 200_000, "gemini-3-pro-preview"),
    "claude-4.6-sonnet": OracleModel("anthropic", 200_000, "claude-sonnet-4-6"),
    "claude-4.1-opus": OracleModel("anthropic", 200_000, "claude-opus-4-1"),
    "grok-4.1": OracleModel("xai", 2_000_000, "grok-4-1-fast-reasoning"),
}


def _holding(*parts: str) -> str:
    """Names that hold all of these, in any order."""
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)


_RULES: tuple[tuple[str, str | None], ...] = (
    (r"gpt[-_ ]?6[-_ ]pro\Z", None),
    (r"(?:latest|gpt[-_ ]?6(?:[-_ ]astra)?)\Z", "gpt-6-astra"),
    # A variant of GPT-5.6 with the word "pro" in it: a reasoning mode, not a model.
    (
        r"(?:(?:chat)?gpt[\s._-]*)?5[._-]6[\s._-]+(?:.*[^a-z0-9])?pro(?:[^a-z0-9]|\Z)",
        None,
    ),
    (_holding("grok"), "grok-4.1"),
    (_holding("claude", "sonnet"), "claude-4.6-sonnet"),
    (_holding("claude", "opus"), "claude-4.1-opus"),
    (_holding("5.5", "pro"), "gpt-5.5-pro"),
    (_holding("5.5"), "gpt-5.5"),
    (_holding("5.4", "pro"), "gpt-5.4-pro"),
    (_holding("5.4"), "gpt-5.4"),
    (r"(?s)claude\Z|.*\bsonnet\b", "claude-4.6-sonnet"),
    (r"(?:opus|claude-4\.1)\Z", "claude-4.1-opus"),
    (_holding("5.0"), "gpt-5-pro"),
    (r"(?s)gpt-5\Z|(?=.*5-pro)(?!.*5\.1)", "gpt-5-pro"),
    (_holding("5.2", "pro"), "gpt-5.2-pro"),
    (_holding("5.1", "pro"), "gpt-5.1-pro"),
    (_holding("codex", "max"), None),
    (_holding("codex"), "gpt-5.1-codex"),
    (_holding("gemini", "deep"), None),
    (r"(?s).*deep[-_]?think", None),
    (_holding("gemini", "3.5", "flash"), "gemini-3.5-flash"),
    (
        r"(?s)(?=.*3[._]1)(?=.*gemini)(?=.*flash)(?=.*lite)",
        "gemini-3.1-flash-lite",
    ),
    (r"(?s)(?=.*3[._]1)(?=.*gemini)", "gemini-3.1-pro"),
    (_holding("gemini"), "gemini-3-pro"),
    (_holding("pro"), DEFAULT_MODEL),
)
"""What a name stands for, in oracle's order; None is refused. Compiled when a name is resolved."""


def resolve_model(name: str | None) -> str | None:
    """The model that oracle means by a name over the API; None where oracle refuses the name.

    A name that oracle does not know stands for itself.
    """
    given = (name or "").strip().lower()
    if not given:
        return DEFAULT_MODEL
    if given in ORACLE_MODELS or "/" in given:
        return given
    return next((model for pattern, model in _RULES if re.match(pattern, given)), given)


def api_name(model: str) -> str:
    """The name under which a resolved model is sent to its provider, and billed."""
    known = ORACLE_MODELS.get(model)
    return known.api_name or model if known else model


def input_limit(model: str) -> int:
    """The input tokens that oracle sends to a resolved model at most."""
    known = ORACLE_MODELS.get(model)
    return known.input_limit if known else _DEFAULT_LIMIT


def output_limit(model: str) -> int:
    """The output tokens that a resolved model gives at most, unless the call asks for fewer."""
    known = ORACLE_MODELS.get(model)
    return known.output_limit if known else _DEFAULT_OUTPUT
