"""What the real oracle reports reaches every record, and costs tokens times price."""

import json
from decimal import Decimal
from pathlib import Path
from shlex import join

from oraclepack.store.budget import Budget
from oraclepack.store.sqlite import SqliteDatabase
from tests.e2e.program import oraclepack
from tests.packs import pack_text
from tests.provider import Provider
from tests.real.oracles import RealOracle


def test_usage_and_cost_reach_every_record(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path, home: Path
) -> None:
    own = home / ".config/oraclepack/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[prices."gpt-5.2"]\ninput = 1000\noutput = 5000\n')
    call = join(
        ["oracle", *real_oracle.argv("What is it?", "--write-output", "x.md", "--wait")[1:]]
    )
    (tmp_path / "pack.md").write_text(pack_text(f"# 01) x\n{call}\n"))
    env = {**real_oracle.env, "HOME": str(home)}

    first = oraclepack(tmp_path, "run", "pack.md", "--no-validate", "--json", **env)
    again = oraclepack(tmp_path, "run", "pack.md", "--no-validate", "--new-run", "--no-tui", **env)

    assert first.code == 0, first.err
    assert len(provider.requests) == 1
    tokens = real_oracle.sessions[0]["usage"]
    cost = Decimal(tokens["inputTokens"] * 1000 + tokens["outputTokens"] * 5000) / 1_000_000
    folder = tmp_path / first.data["run_dir"]
    run = json.loads((folder / "run.json").read_text())
    (step,) = json.loads((folder / "steps.json").read_text())["steps"]
    (made,) = step["invocations"]
    listed = oraclepack(tmp_path, "runs", "list", "--json", **env).data["runs"][-1]
    for total in (first.data["cost"], run["cost"], step["cost"], listed["cost"]):
        assert Decimal(total["cost"]) == cost
        assert (total["source"], total["calls"], total["unknown_calls"]) == ("computed", 1, 0)
        assert total["input_tokens"] == tokens["inputTokens"]
    assert Decimal(made["usage"]["cost"]) == cost
    assert made["usage"]["price_source"] == "settings"
    assert Decimal(str(made["usage"]["cost_usd"])) == Decimal(str(tokens["cost"]))
    # The ledger of the day, and the forecast that a later one learns from.
    ledger = Budget(SqliteDatabase(home / ".local/state/oraclepack")).ledger()
    assert ledger.reservations == {}
    assert [one.spent.cost for one in ledger.sums] == [cost]
    assert [one.spent.tokens for one in ledger.sums] == [
        tokens["inputTokens"] + tokens["outputTokens"]
    ]
    assert Decimal(first.data["forecast"]["actual"]) == cost
    database = SqliteDatabase(home / ".local/state/oraclepack")
    assert database.rows("select output_tokens from answer_figures") == [(tokens["outputTokens"],)]
    # The second run pays nothing, and says what it saved.
    assert again.code == 0, again.err
    assert f"cost of the run so far: ${cost:.2f} saved by earlier answers" in again.out
    shown = oraclepack(tmp_path, "runs", "show", listed["run_id"], **env).out
    assert f"cost: ${cost:.2f} for 1 call" in shown


def test_a_try_without_an_answer_is_counted_too(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path, home: Path
) -> None:
    prompt = "What is it? [[fault=empty first=1]]"
    call = join(["oracle", *real_oracle.argv(prompt, "--write-output", "x.md", "--wait")[1:]])
    (tmp_path / "pack.md").write_text(pack_text(f"# 01) x\n{call}\n"))
    env = {**real_oracle.env, "HOME": str(home)}

    ran = oraclepack(
        tmp_path, "run", "pack.md", "--no-validate", "--retry-base-seconds", "0", "--json", **env
    )

    assert ran.code == 0, ran.err
    assert len(provider.requests) == 2
    tokens = [session["usage"]["inputTokens"] for session in real_oracle.sessions]
    assert ran.data["cost"]["input_tokens"] == sum(tokens)
    assert len(tokens) == 2
