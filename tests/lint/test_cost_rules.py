"""OP7xx: advice about what calls cost."""

import pytest

from tests.lint.judging import findings, only

ASK = 'oracle -m gpt-5.2 -p "Where is part {0} parsed, and why there?" {1} --write-output {0}.md\n'


def pack_of(*files: str) -> str:
    return "".join(
        f"# {number:02d}) part\n{ASK.format(number, file)}" for number, file in enumerate(files, 1)
    )


@pytest.mark.parametrize(
    ("bash", "ids"),
    [
        pytest.param(pack_of(*["-f a.md"] * 3, "", ""), ["OP701"], id="three of five"),
        pytest.param(pack_of(*["-f a.md"] * 3, "", "", ""), [], id="half of them"),
        pytest.param(pack_of(*["-f a.md"] * 4), [], id="a small pack"),
        pytest.param(
            pack_of(*["-f a.md -f b.md"] * 5), ["OP701", "OP701"], id="two files, each once"
        ),
        pytest.param(pack_of(*["-f a.md -f a.md", "", "", "", ""]), [], id="twice in one call"),
        pytest.param(pack_of(*["--files-report"] * 5), [], id="a table that costs nothing"),
    ],
)
def test_what_is_sent(bash: str, ids: list[str]) -> None:
    assert [each.rule for each in findings(bash, only("OP7"))] == ids


@pytest.mark.parametrize(
    ("model", "question", "ids"),
    [
        pytest.param("-m gpt-5.5-pro", "Is it safe?", ["OP703"], id="a Pro model"),
        pytest.param("-m pro", "Does it retry?", ["OP703"], id="an alias of one"),
        pytest.param("", "Can it fail? Answer yes or no.", ["OP703"], id="the default is one"),
        pytest.param("-m gpt-5.2", "Is it safe?", [], id="a smaller model"),
        pytest.param("-e browser", "Is it safe?", [], id="the browser has no price per token"),
        pytest.param("-m pro", "Is it safe, and why?", [], id="it asks for a reason"),
        pytest.param("-m pro", "Where is it safe?", [], id="no yes answers it"),
        pytest.param("-m pro", "Is it safe? List each caller.", [], id="it asks for a list"),
        pytest.param('-m "$model"', "Is it safe?", [], id="only the shell knows the model"),
    ],
)
def test_a_pro_model_for_a_yes_or_a_no(model: str, question: str, ids: list[str]) -> None:
    bash = f'# 01) one\noracle {model} -p "{question}" --write-output a.md\n'
    assert [each.rule for each in findings(bash, only("OP7"))] == ids


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        pytest.param("Why? " + "word " * 1300, ["OP702"], id="more than 6,000 characters"),
        pytest.param("Why? " + "word " * 1000, [], id="a long question"),
        pytest.param("Why?" + "\n    x = 1" * 12, ["OP702"], id="twelve lines of code"),
        pytest.param("Why?" + "\n    x = 1" * 11, [], id="eleven"),
        pytest.param("Why?" + ("\n    x = 1" * 6 + "\nand") * 2, [], id="two short pieces"),
    ],
)
def test_material_in_a_prompt(prompt: str, ids: list[str]) -> None:
    bash = f'# 01) one\noracle -m gpt-5.2 -p "{prompt}" --write-output a.md\n'
    assert [each.rule for each in findings(bash, only("OP7"))] == ids
