"""Questions go over the routes that the real oracle chooses, with its keys."""

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from oraclepack.tools.oracle_config import oracle_context
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import api_route

MODELS = (
    "gpt-5.5-pro",
    "gpt-5.2",
    "claude-4.6-sonnet",
    "gemini-3.1-pro",
    "grok-4.1",
    "o3",
    "mistral-large",
    "openai/gpt-5.2",
    "anthropic/claude-x",
)
MODES: tuple[str | None, ...] = (None, "openai", "azure")
AZURE = (None, "https://unit.openai.azure.com/")
BASES = (
    None,
    "https://api.openai.com/v1",
    "https://eu.api.openai.com/v1",
    "https://openrouter.ai/api/v1",
    "http://127.0.0.1:9/v1",
)
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {},
    {"OPENAI_API_KEY": "o"},
    {"OPENROUTER_API_KEY": "r"},
    {"OPENAI_API_KEY": "o", "OPENROUTER_API_KEY": "r", "AZURE_OPENAI_API_KEY": "a"},
    {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
    {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://eu.api.openai.com/v1"},
    {"ANTHROPIC_API_KEY": "c", "GEMINI_API_KEY": "g", "XAI_API_KEY": "x"},
)

SCRIPT = """
const { resolveProviderRoute } =
  await import(process.argv[1] + "/dist/src/oracle/providerRoutePlan.js");
const { isCustomBaseUrl } = await import(process.argv[1] + "/dist/src/oracle/baseUrl.js");
const { buildAzureResponsesBaseUrl } = await import(process.argv[1] + "/dist/src/oracle/client.js");
const { readFileSync } = await import("node:fs");
const cases = JSON.parse(readFileSync(0, "utf8"));
const routes = cases.map(({ model, mode, azure, base, env }) => {
  const route = resolveProviderRoute({
    model, providerMode: mode ?? "auto", baseUrl: base ?? undefined, env,
    azure: azure ? { endpoint: azure, deployment: "d" } : undefined,
  });
  const failed = route.error && !route.error.startsWith("Missing ");
  const chat = route.providerLabel === "OpenRouter" || isCustomBaseUrl(route.baseUrl);
  const native = chat || ["anthropic", "google"].includes(route.nativeProvider);
  return failed ? null : {
    keys: route.keyPresent ? null : route.keySource,
    key: route.apiKey ?? "",
    responses: route.isAzureOpenAI ? buildAzureResponsesBaseUrl(route.azureEndpoint)
      : native ? "" : (route.baseUrl ?? "https://api.openai.com/v1"),
  };
});
console.log(JSON.stringify(routes));
"""


def cases() -> list[dict[str, Any]]:
    names = ("model", "mode", "azure", "base", "env")
    table = itertools.product(MODELS, MODES, AZURE, BASES, ENVIRONMENTS)
    return [dict(zip(names, row, strict=True)) for row in table]


def route_of(case: dict[str, Any]) -> dict[str, Any]:
    flags = {
        "--provider": case["mode"],
        "--azure-endpoint": case["azure"],
        "--base-url": case["base"],
    }
    question = OracleQuestion("x", flags={name: (value,) for name, value in flags.items() if value})
    route = api_route(question, case["model"], oracle_context(case["env"], {}, ()), case["env"])
    key = route.key(case["env"])
    return {"keys": None if key else "|".join(route.keys), "key": key, "responses": route.responses}


def test_every_route_and_its_key_are_those_of_oracle(programs: Path) -> None:
    package = programs.parent / "@steipete/oracle"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, str(package)],
        input=json.dumps(cases()),
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )

    theirs = json.loads(done.stdout)

    wrong = [
        (case, route_of(case), route)
        for case, route in zip(cases(), theirs, strict=True)
        if route is not None and route_of(case) != route
    ]
    assert wrong == []
    assert sum(route is not None for route in theirs) > len(theirs) // 2
