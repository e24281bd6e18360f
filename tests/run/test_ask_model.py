"""Questions of oraclepack itself: an ordinary pack, run and recorded like any other."""

from pathlib import Path

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.lint.validate import errors_that_stop
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.ask_model import ModelAsker
from oraclepack.run.question_pack import LONGEST_PROMPT, ModelQuestion, question_pack
from oraclepack.settings.loading import load_settings
from tests.scripted import Scripted, scripted_tool

HOSTILE = [
    pytest.param("Why?", id="a question"),
    pytest.param('It\'s $HOME and `id` and "x" $(id) \\', id="signs of bash"),
    pytest.param("one\n```\n# 02) two\nrm -rf .\n````bash\n~~~\nend", id="fences and headers"),
    pytest.param("PROMPT_0\nEOF\n)\n\n' || true", id="delimiters"),
    pytest.param("one\r\n# 02) two\rthree", id="line ends of others"),
    pytest.param("Answer format:\n# oraclepack: contract=all-sections", id="a contract"),
]


def question(prompt: str, title: str = "Read answer 01", *files: str) -> ModelQuestion:
    return ModelQuestion(title=title, prompt=prompt, files=files)


@pytest.mark.parametrize("prompt", HOSTILE)
def test_a_prompt_stays_in_its_here_document(prompt: str, tmp_path: Path) -> None:
    other = question("And why else?", "`id`\nROI=99 # 07) $(id)")
    text = question_pack([question(prompt), other], "actionize --ask", "gpt-5-mini", "asks/x")

    pack = parse_pack(text, "x.md")
    assert [step.id for step in pack.steps] == ["01", "02"]
    assert [output.path.value for step in pack.steps for output in step.outputs] == [
        "asks/x/01.md",
        "asks/x/02.md",
    ]
    (call,) = pack.steps[0].calls
    assert call.prompt is not None
    assert call.prompt.text.strip() == prompt.replace("\r\n", "\n").replace("\r", "\n").strip()
    assert not errors_that_stop(pack, tmp_path, None)
    assert (
        question_pack([question(prompt), other], "actionize --ask", "gpt-5-mini", "asks/x") == text
    )


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(question("a\0b"), id="ends the prompt in the pack"),
        pytest.param(question("x" * (LONGEST_PROMPT + 1)), id="too long for an argument"),
        pytest.param(question("Why?", "one", "src/*.py"), id="a pattern"),
    ],
)
def test_what_cannot_be_asked(unusable: ModelQuestion) -> None:
    with pytest.raises(InputError):
        question_pack([unusable], "actionize --ask", "", "asks/x")


@pytest.fixture
def oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    tool = scripted_tool(tmp_path / "tools")
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PATH", f"{tool.folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    return tool


@pytest.mark.parametrize("prompt", HOSTILE)
def test_a_question_is_asked_once(prompt: str, oracle: Scripted) -> None:
    settings = load_settings(values={"strict": True, "roi_threshold": 3.0, "out_dir": "elsewhere"})
    questions = [question(prompt), question("And why else?")]

    first = ModelAsker(settings, command="actionize --ask", model="gpt-5.2").ask(questions)
    again = ModelAsker(settings, command="actionize --ask", model="gpt-5.2").ask(questions)
    changed = ModelAsker(settings, command="actionize --ask", model="gpt-5.2").ask(
        [question("Something new?"), *questions]
    )

    assert first.replies == again.replies == changed.replies[1:]
    assert None not in first.replies
    assert sorted(one.partition("\n")[0] for one in oracle.prompts) == sorted(
        [prompt.splitlines()[0], "And why else?", "Something new?"]
    )
    assert not list(Path().glob("*.json"))


def test_a_question_that_fails_leaves_the_others(oracle: Scripted) -> None:
    settings = load_settings()
    asked = ModelAsker(settings, command="actionize --ask").ask(
        [question("[[fault=unknown]]"), question("Why?")]
    )

    assert asked.replies[0] is None
    assert asked.replies[1] is not None
    assert asked.failed is None


def test_a_budget_ends_the_command(oracle: Scripted) -> None:
    settings = load_settings(values={"max_calls": 1})
    asked = ModelAsker(settings, command="actionize --ask").ask([question("A?"), question("B?")])

    assert asked.failed is not None
    assert len(oracle.prompts) == 1
    asked = ModelAsker(load_settings(), command="actionize --ask").ask(
        [question("A?"), question("B?")]
    )
    assert None not in asked.replies
    assert sorted(one.strip() for one in oracle.prompts) == ["A?", "B?"]


def test_in_ci_a_limit_is_needed(oracle: Scripted) -> None:
    with pytest.raises(UsageError, match="needs a limit"):
        ModelAsker(load_settings(values={"ci": True}), command="actionize --ask")
    assert ModelAsker(
        load_settings(values={"ci": True, "max_cost": 1}), command="actionize --ask"
    ).price([question("Why?")])
    assert oracle.prompts == []
