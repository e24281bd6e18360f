"""Names of models are resolved as the real oracle resolves them."""

import json
import os
import subprocess
from pathlib import Path

from oraclepack.tools.oracle_models import DEFAULT_MODEL, ORACLE_MODELS, api_name, resolve_model

NAMES = (
    "GPT-5.5 Pro",
    "gpt-5.5",
    "5.5",
    "chatgpt-5.5-pro",
    "gpt-5.4-mini",
    "5.4 pro",
    "gpt-5",
    "gpt-5-pro",
    "gpt5-pro",
    "gpt-5.0",
    "5.1-pro",
    "gpt-5.1-pro-x",
    "gpt-5.1-mini",
    "gpt-5.2-thinking",
    "5.2 pro",
    "gpt-5.3",
    "gpt-5.1-codex-max",
    "codex",
    "gpt-5.6-luna",
    "gpt-5.6-pro",
    "gpt-5.6 sol pro",
    "gpt-5.6-sol",
    "chatgpt 5.6",
    "5_6-pro",
    "gpt-5.6-prototype",
    "gpt-6",
    "gpt_6",
    "gpt-6-astra",
    "gpt 6 astra",
    "gpt-6-pro",
    "latest",
    "gpt-6-luna",
    "claude",
    "sonnet",
    "opus",
    "claude-4.1",
    "claude-opus-5",
    "claude-sonnet-5",
    "my-sonnet",
    "sonnets",
    "haiku",
    "grok",
    "grok-4",
    "xgrok",
    "gemini",
    "gemini-3",
    "gemini-3.1",
    "gemini_3_1",
    "gemini-3.1-flash",
    "gemini-3.1-flash-lite",
    "gemini-3.5-flash",
    "gemini-3.5",
    "gemini-deep-think",
    "deepthink",
    "o3",
    "o3-pro",
    "pro",
    "openai/gpt-5.2",
    "mistral-large",
    "llama-professional",
)

SCRIPT = """
const { resolveApiModel } = await import(process.argv[1] + "/dist/src/cli/options.js");
const { MODEL_CONFIGS, DEFAULT_MODEL } =
  await import(process.argv[1] + "/dist/src/oracle/config.js");
const { resolveGeminiModelId } = await import(process.argv[1] + "/dist/src/oracle/geminiModels.js");
const resolved = {};
for (const name of JSON.parse(process.argv[2])) {
  try { resolved[name] = resolveApiModel(name); } catch { resolved[name] = null; }
}
const models = {};
for (const [name, config] of Object.entries(MODEL_CONFIGS)) {
  const sent = config.apiModel ?? resolveGeminiModelId(name);
  models[name] = [config.provider, config.inputLimit, sent];
}
console.log(JSON.stringify({ resolved, models, standard: DEFAULT_MODEL }));
"""


def test_names_stand_for_what_oracle_takes_them_for(programs: Path) -> None:
    package = programs.parent / "@steipete/oracle"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, str(package), json.dumps(NAMES)],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
        timeout=120,
    )
    resolution = json.loads(done.stdout)

    assert {name: resolve_model(name) for name in NAMES} == resolution["resolved"]
    assert resolution["standard"] == DEFAULT_MODEL
    assert {
        name: [model.provider, model.input_limit, api_name(name)]
        for name, model in ORACLE_MODELS.items()
    } == resolution["models"]
