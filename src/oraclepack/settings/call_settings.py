"""The settings about calls of tools: which engine, the cache, retries, limits."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from oraclepack.settings.declaration import NOT_A_FLAG, OWN, OWN_NOT_A_FLAG, Setting, switch
from oraclepack.settings.project_rules import (
    CHATGPT_PAGES,
    FALSE,
    HIGHER,
    LISTED_FLAGS,
    LISTED_STEP_FLAGS,
    LOWER,
    LOWER_OF_GIVEN,
    LOWER_OF_LIMITED,
    PROGRAM,
    TRUE,
    USER_ONLY,
    ranked,
)
from oraclepack.settings.value_kinds import (
    Amount,
    Choice,
    Count,
    Duration,
    Int,
    NamedUrls,
    Path,
    Prices,
    Text,
    Texts,
)
from oraclepack.tools.prices import TokenPrice

REHEARSAL = "rehearsal"
"""The engine with which oraclepack answers calls itself; also the provider of these answers."""
DIRECT, BATCH = "direct", "batch"
"""Engines that ask over HTTP, without oracle: at once, or all together at half the price."""

ENGINE = Setting(
    "engine",
    Choice(("pack", "api", "browser", DIRECT, BATCH, REHEARSAL)),
    "pack",
    "What answers: the pack's own choice, oracle's api or browser, direct over HTTP without "
    "oracle, batch (the same, later, at half the price), or a free rehearsal.",
    project=ranked(("pack", "api", "browser", DIRECT, BATCH), (REHEARSAL,)),
)
ORACLE_BIN = Setting(
    "oracle_bin",
    Path(),
    "",
    "The oracle program to call instead of the one on PATH.",
    project=PROGRAM,
)
ORACLE_FLAG = Setting(
    "oracle_flag",
    Texts(),
    (),
    "A flag for every oracle call, such as --model=gpt-5.2.",
    project=LISTED_FLAGS,
)
OVERRIDE = Setting(
    "override",
    Texts(),
    (),
    "A flag for the oracle calls of some steps: 03,07:--engine=api.",
    project=LISTED_STEP_FLAGS,
)
CACHE = switch("cache", "Answer unchanged questions from the cache.", default=True, project=TRUE)
ANSWERS = Setting(
    "answers",
    Choice(("user", "project")),
    "user",
    "Where paid answers are kept: also in your own data directory, for every checkout, or in the "
    "project only.",
    sources=NOT_A_FLAG,
    project=ranked(("user",), ("project",)),
)
REFRESH = switch("refresh", "Ask again, and replace the cached answers.", project=FALSE)
CALL_TIMEOUT = Setting(
    "call_timeout", Duration(), 7200.0, "Stop a call that takes longer.", project=LOWER_OF_LIMITED
)
ON_UNKNOWN = Setting(
    "on_unknown",
    Choice(("ask", "retry", "fail")),
    "ask",
    "What to do when a crash leaves open whether a call was paid for; without a terminal, ask "
    "means fail.",
    project=ranked(("retry",), ("ask",), ("fail",)),
)
RETRY_BUDGET = Setting(
    "retry_budget", Int(0), 40, "How many repeated calls a run may make.", project=LOWER
)
RETRY_BASE_SECONDS = Setting(
    "retry_base_seconds",
    Duration(),
    2.0,
    "The first pause before a repeated call; it doubles.",
    project=HIGHER,
)
MAX_COST: Setting[Decimal | None] = Setting(
    "max_cost",
    Amount(),
    None,
    "Most US dollars that this command may spend; none is no limit.",
    project=LOWER_OF_GIVEN,
)
MAX_CALLS: Setting[int | None] = Setting(
    "max_calls",
    Count(),
    None,
    "Most calls of this command, with repeated ones; none is no limit.",
    project=LOWER_OF_GIVEN,
)
MAX_TOKENS: Setting[int | None] = Setting(
    "max_tokens",
    Count(),
    None,
    "Most tokens that this command may use; none is no limit.",
    project=LOWER_OF_GIVEN,
)
ON_UNKNOWN_PRICE = Setting(
    "on_unknown_price",
    Choice(("ask", "allow", "refuse")),
    "ask",
    "What to do about a call of unknown price while a cost limit is set; without a terminal, "
    "ask means refuse.",
    project=ranked(("allow",), ("ask",), ("refuse",)),
)
CONFIRM_ABOVE: Setting[Decimal | None] = Setting(
    "confirm_above",
    Amount(),
    Decimal(20),
    "Ask at the terminal before a run that is likely to cost more US dollars; none never asks.",
    project=LOWER_OF_GIVEN,
)
OUTPUT_RETRIES = Setting(
    "output_retries",
    Int(0, 10),
    0,
    "How often a complete answer that misses its contract is asked for again.",
    project=LOWER,
)
CHATGPT_URL = Setting(
    "chatgpt_url",
    Text(),
    "",
    "The ChatGPT page that browser calls use: a URL, or a name from chatgpt_urls.",
    sources=OWN,
    project=USER_ONLY,
)

CALL_SETTINGS: tuple[Setting[Any], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Setting)
)

PROVIDERS = ("openai", "anthropic", "google", "xai", "openrouter", "browser")
MAX_CONCURRENT = {
    name: Setting(
        f"providers.{name}.max_concurrent",
        Int(0),
        1 if name == "browser" else 0,
        f"How many calls to {name} may be under way at once; 0 means no limit.",
        project=LOWER_OF_LIMITED,
    )
    for name in PROVIDERS
}
REQUESTS_PER_MINUTE = {
    name: Setting(
        f"providers.{name}.requests_per_minute",
        Int(0),
        0,
        f"How many calls to {name} may begin in a minute; 0 means no limit.",
        project=LOWER_OF_LIMITED,
    )
    for name in PROVIDERS
}
PROVIDER_SETTINGS: tuple[Setting[Any], ...] = (
    *MAX_CONCURRENT.values(),
    *REQUESTS_PER_MINUTE.values(),
)
"""Limits shared by all oraclepack processes of the user; set in config files and variables only."""

STORE = Setting(
    "store",
    Text(),
    "",
    "The PostgreSQL database in which machines share answers, claims and limits; empty: files.",
    sources=OWN,
    project=USER_ONLY,
)
STORE_LEASE = Setting(
    "store_lease",
    Duration(),
    60.0,
    "How long a runner counts as alive in the shared store without a renewal.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
SHARING_SETTINGS: tuple[Setting[Any], ...] = (STORE, STORE_LEASE)

CHATGPT_URLS: Setting[Mapping[str, str]] = Setting(
    "chatgpt_urls",
    NamedUrls(),
    {},
    "Names for ChatGPT pages, such as those of projects; --chatgpt-url takes them.",
    sources=NOT_A_FLAG,
    project=CHATGPT_PAGES,
)

PRICES: Setting[Mapping[str, TokenPrice]] = Setting(
    "prices",
    Prices(),
    {},
    "Your own prices by model, in dollars for a million input and output tokens.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
PER_RUN, PER_DAY, PER_MONTH = (
    Setting[Decimal | None](
        f"budget.{name}",
        Amount(),
        None,
        f"How many US dollars calls may cost {extent}; none is no limit.",
        sources=NOT_A_FLAG,
        project=LOWER_OF_GIVEN,
    )
    for name, extent in (
        ("per_run", "in one run, all its commands together"),
        ("per_day", "on one day (UTC), in all your projects together"),
        ("per_month", "in one month (UTC), in all your projects together"),
    )
)
BUDGET_OUTPUT_TOKENS: Setting[int | None] = Setting(
    "budget.output_tokens",
    Count(),
    None,
    "Output tokens to reserve for a call without --max-output; none is the most its model gives.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
