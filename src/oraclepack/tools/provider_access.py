"""The variables by which the tools reach a provider: keys, endpoints, logins, homes."""

PREFIXES = (
    "ANTHROPIC_",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_",
    "CLAUDE_",
    "CODEX_",
    "DEEPSEEK_",
    "GEMINI_",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_GEMINI_",
    "GOOGLE_GENAI_",
    "GOOGLE_VERTEX_",
    "GROQ_",
    "MISTRAL_",
    "OLLAMA_",
    "OPENAI_",
    "OPENROUTER_",
    "ORACLE_BROWSER_",
    "ORACLE_HOME_DIR",
    "ORACLE_REMOTE_",
    "PERPLEXITY_",
    "VERTEX_",
    "XAI_",
)
"""How their names begin; not `ORACLE_` alone, which belongs to a database as well."""


def gives_access(name: str) -> bool:
    """Whether a variable holds the key, the endpoint or the login of some provider."""
    return name.startswith(PREFIXES) or name.endswith("_API_KEY")
