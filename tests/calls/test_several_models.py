"""`--models a,b`: each model is a call of its own."""

import json
from pathlib import Path

import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from tests.calls.office import ASK, Office, ScriptedShim, answering, failing

MODELS = ("-p", "why?", "-e", "api", "--models", "gpt-5.2,gpt-5.1", "--write-output", "out/x.md")


def model_of(order: ToolRun) -> str:
    return next(word for word in order.argv if word.startswith("--models=")).partition("=")[2]


class TwoModels(ScriptedShim):
    """Each model answers for itself; those of `failing` fail."""

    def __init__(self, *failing_models: str) -> None:
        super().__init__(self.act)
        self.failing = set(failing_models)

    def act(self, order: ToolRun) -> ToolEnd:
        model = model_of(order)
        if model in self.failing:
            return failing("You exceeded your current quota")(order)
        return answering(f"## Direct answer\nof {model}\n".encode())(order)

    @property
    def asked(self) -> list[str]:
        return [model_of(order) for order in self.orders]


def test_each_has_its_file_and_its_key(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), TwoModels()

    assert office.call(shim, *MODELS) == 0

    assert shim.asked == ["gpt-5.2", "gpt-5.1"]
    assert office.out("out/x.gpt-5.2.md") == b"## Direct answer\nof gpt-5.2\n"
    assert office.out("out/x.gpt-5.1.md") == b"## Direct answer\nof gpt-5.1\n"
    assert office.out("out/x.md") is None
    manifest = json.loads(office.out("out/x.oracle.json") or b"")
    assert (manifest["status"], [one["model"] for one in manifest["models"]]) == (
        "completed",
        ["gpt-5.2", "gpt-5.1"],
    )
    assert len({one.outcome.key for one in office.invocations if one.outcome}) == 2


def test_one_that_fails_costs_no_other_again(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), TwoModels("gpt-5.1")
    assert office.call(shim, *MODELS) == 1
    shim.failing.clear()

    assert office.call(shim, *MODELS) == 0

    assert shim.asked == ["gpt-5.2", "gpt-5.1", "gpt-5.1"]


@pytest.mark.parametrize("flag", ["--allow-partial", "--partial=ok"])
def test_a_part_of_the_answers_is_enough_where_the_pack_says_so(tmp_path: Path, flag: str) -> None:
    office, shim = Office(tmp_path), TwoModels("gpt-5.1")

    assert office.call(shim, *MODELS, flag) == 0

    assert json.loads(office.out("out/x.oracle.json") or b"")["status"] == "partial"


def test_the_same_question_to_one_model_is_the_same_question(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), TwoModels()
    office.call(shim, *MODELS)
    alone = ScriptedShim(failing("nothing is asked"))

    assert office.call(alone, *ASK) == 0
    assert alone.orders == []


def test_each_must_meet_the_contract(tmp_path: Path) -> None:
    prompt = "why?\nAnswer format:"
    words = ("-p", prompt, *MODELS[2:])
    step = f"# 01) step\noracle -p '{prompt}' --models gpt-5.2,gpt-5.1 --write-output out/x.md\n"
    office = Office(tmp_path, step)

    assert office.call(TwoModels(), *words) == 1
    assert office.last.error is not None
    assert office.last.error.code == "CONTRACT"
