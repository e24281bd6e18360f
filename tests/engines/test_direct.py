"""Where a question goes that we ask ourselves, and with what."""

import pytest

from oraclepack.engines.dialects import Dialect
from oraclepack.engines.direct_request import DirectRequest, direct_request
from oraclepack.errors import Refusal
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import oracle_context
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_question import read_question
from oraclepack.tools.providers import api_route

LOCAL = "http://127.0.0.1:9/v1"
OPENAI = {"OPENAI_API_KEY": "sk-1"}
AZURE = "--azure-endpoint https://a.example --azure-deployment d --provider azure"


def requested(words: str, env: dict[str, str], configs: tuple[str, ...] = ()) -> object:
    argv = ("-p", "why?", *words.split())
    question = read_question(parse_argv(table_of("oracle"), argv), argv)
    around = oracle_context(env, {}, configs)
    model = resolve_model(question.model) or ""
    route = api_route(question, model, around, env)
    return direct_request(question, model, route, around, env)


@pytest.mark.parametrize(
    ("words", "env", "dialect", "address", "model"),
    [
        pytest.param(
            "", OPENAI, Dialect.RESPONSES, "https://api.openai.com/v1", "gpt-5.5-pro", id="default"
        ),
        pytest.param(
            "-m gpt-5.2",
            OPENAI | {"OPENAI_BASE_URL": LOCAL},
            Dialect.RESPONSES,
            LOCAL,
            "gpt-5.2",
            id="an address of the user's environment is native",
        ),
        pytest.param(
            f"-m llama3 --base-url {LOCAL}/",
            {},
            Dialect.CHAT,
            LOCAL,
            "llama3",
            id="--base-url means chat",
        ),
        pytest.param(
            f"-m gpt-5.5-pro {AZURE}",
            {"AZURE_OPENAI_API_KEY": "k"},
            Dialect.RESPONSES,
            "https://a.example/openai/v1",
            "d",
            id="a deployment of Azure",
        ),
        pytest.param(
            "-m claude-4.6-sonnet",
            {"ANTHROPIC_API_KEY": "k"},
            Dialect.MESSAGES,
            "https://api.anthropic.com/v1",
            "claude-sonnet-4-6",
            id="Anthropic",
        ),
        pytest.param(
            "-m opus",
            {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
            Dialect.MESSAGES,
            LOCAL,
            "claude-opus-4-1",
            id="another address of Anthropic's API",
        ),
        pytest.param(
            "-m gemini-3.1-pro",
            {"GEMINI_API_KEY": "k"},
            Dialect.GEMINI,
            "https://generativelanguage.googleapis.com/v1beta",
            "gemini-3.1-pro-preview",
            id="Gemini",
        ),
        pytest.param(
            "-m llama3 --base-url https://elsewhere.example/v1",
            {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://a.example"},
            Dialect.RESPONSES,
            "https://a.example/openai/v1",
            "llama3",
            id="the key of Azure goes to Azure alone",
        ),
        pytest.param(
            "-m grok-4.1",
            {"XAI_API_KEY": "k", "XAI_BASE_URL": LOCAL, "OPENAI_BASE_URL": "https://o.example"},
            Dialect.RESPONSES,
            LOCAL,
            "grok-4-1-fast-reasoning",
            id="that of xAI to xAI",
        ),
        pytest.param(
            "-m openai/gpt-5 --base-url https://api.x.ai/v1",
            {"OPENROUTER_API_KEY": "k"},
            Dialect.CHAT,
            "https://openrouter.ai/api/v1",
            "openai/gpt-5",
            id="that of OpenRouter to OpenRouter",
        ),
        pytest.param(
            "-m meta/llama",
            {"OPENROUTER_API_KEY": "k"},
            Dialect.CHAT,
            "https://openrouter.ai/api/v1",
            "meta/llama",
            id="OpenRouter",
        ),
    ],
)
def test_a_question_goes_where_oracle_would_send_it(
    words: str, env: dict[str, str], dialect: Dialect, address: str, model: str
) -> None:
    found = requested(words, env)
    assert isinstance(found, DirectRequest), found
    assert (found.dialect, found.address, found.model) == (dialect, address, model)


def test_what_oracle_sends_by_default_is_sent() -> None:
    found = requested("", OPENAI)
    assert isinstance(found, DirectRequest)
    assert (found.search, found.effort, found.background) == ("web_search_preview", "xhigh", True)


def test_flags_change_what_is_sent() -> None:
    words = "-m gpt-5.6 --search off --reasoning-effort low --max-output 900"
    found = requested(words, OPENAI)
    assert isinstance(found, DirectRequest)
    assert (found.search, found.effort, found.max_output) == ("", "low", 900)


@pytest.mark.parametrize(
    "words",
    ["--followup abc", "--generate-image x.png", "--exec-session s", "--remote-host h:1"],
)
def test_flags_that_mean_nothing_here_are_refused_by_name(words: str) -> None:
    found = requested(words, OPENAI)
    assert isinstance(found, Refusal)
    assert words.partition(" ")[0] in found.reason


def test_no_key_goes_to_an_address_without_tls() -> None:
    found = requested("-m llama3 --base-url http://example.com/v1", OPENAI)
    assert isinstance(found, Refusal)
