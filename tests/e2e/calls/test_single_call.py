"""`oraclepack ask`: one question, a run of one step."""

from pathlib import Path

import jsonschema
import pytest

from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.single_call import SingleQuestion, call_pack
from oraclepack.view.report.schemas import schema_of
from tests.e2e.program import Ran, oraclepack
from tests.scripted import Scripted, scripted_tool

PROMPTS = [
    pytest.param("Why?", id="a question"),
    pytest.param('It\'s $HOME and `id` and "x" \\', id="signs of bash"),
    pytest.param("one\n```\n# 02) two\ntrue\n````bash\n", id="fences and headers"),
    pytest.param("-p --file x", id="that looks like options"),
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_question_survives_as_it_is(prompt: str) -> None:
    pack = parse_pack(call_pack(SingleQuestion(prompt=prompt, files=("a b.py",)), "out.md"), "x.md")

    (step,) = pack.steps
    (call,) = step.calls
    assert call.prompt is not None
    assert call.prompt.text == prompt
    assert [output.path.value for output in step.outputs] == ["out.md"]


def asked(place: Path, oracle: Scripted, *args: str) -> Ran:
    path = f"{oracle.folder}:/usr/bin:/bin"
    return oraclepack(place, "call", *args, PATH=path, OPENAI_API_KEY="sk-none")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / ".git").mkdir()
    (place / "src/a.py").write_text("x = 1\n")
    (place / "src/b,a.py").write_text("x = 1\n")
    (place / "src/[a].py").write_text("x = 1\n")
    return place


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_question_is_asked_once(project: Path, tmp_path: Path, prompt: str) -> None:
    oracle = scripted_tool(tmp_path / "tools")
    words = [f"--prompt={prompt}", "-f", "a.py", "--model", "gpt-5.2"]

    first = asked(project / "src", oracle, *words, "--json")
    again = asked(project / "src", oracle, *words, "--json")
    elsewhere = asked(project / "src", oracle, *words, "--write-output", "b.md", "--json")

    assert (first.code, again.code, elsewhere.code) == (0, 0, 0), first.out
    assert oracle.prompts == [prompt]
    assert oracle.calls[0]["file"] == "src/a.py"
    assert first.data["answer"] == again.data["answer"] == elsewhere.data["answer"]
    assert (project / "src/b.md").read_text() == first.data["answer"]
    assert first.envelope["meta"]["untrusted"][:2] == ["title", "answer"]
    for reply in (first, again, elsewhere):
        jsonschema.validate(reply.data, schema_of("call-result"))


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(["-p", " "], "USAGE", id="no question"),
        pytest.param(["-p", "x", "-f", "gone.py"], "NOT_FOUND", id="no such file"),
        pytest.param(["-p", "x", "-f", "src/b,a.py"], "USAGE", id="a name with a comma"),
        pytest.param(["-p", "x", "-f", "src/[a].py"], "USAGE", id="a name that is a pattern"),
        pytest.param(["-p", "x", "-f", "*.py,/etc/x"], "USAGE", id="a pattern with a comma"),
        pytest.param(["-p", "x", "--write-output", "../../x"], "USAGE", id="an answer outside"),
        pytest.param(["-p", "x", "--write-output", ".git/x"], "USAGE", id="an answer for git"),
    ],
)
def test_what_cannot_be_asked(project: Path, tmp_path: Path, args: list[str], code: str) -> None:
    oracle = scripted_tool(tmp_path / "tools")

    got = asked(project, oracle, *args, "--json")

    assert (got.code, got.envelope["error"]["code"], oracle.calls) == (2, code, [])
    assert not (project / ".oraclepack").exists()


def test_the_preflight_asks_nothing(project: Path, tmp_path: Path) -> None:
    oracle = scripted_tool(tmp_path / "tools")
    words = ["-p", "Why?", "-f", "src/a.py", "--preflight", "--json"]

    good = asked(project, oracle, *words, "--model", "gpt-5.2")
    unknown = asked(project, oracle, *words, "--model", "no-such-model-9")
    keyless = asked(project, oracle, *words, "--model", "claude-4.6-sonnet")

    assert good.data["problems"] == [], good.out
    assert (good.code, good.data["model"], good.data["key"]) == (0, "gpt-5.2", "OPENAI_API_KEY")
    assert (good.data["files"], good.data["input_tokens"] > 0) == (1, True)
    assert (unknown.code, unknown.envelope["error"]["code"]) == (2, "PREFLIGHT")
    assert "ANTHROPIC_API_KEY" in keyless.envelope["error"]["message"]
    assert oracle.calls == []
    jsonschema.validate(good.data, schema_of("call-result"))


@pytest.mark.parametrize("flags", [[], ["--preflight"]])
def test_without_oracle_no_step_is_named(project: Path, flags: list[str]) -> None:
    words = ["call", "-p", "Why?", "--model", "gpt-5.2", *flags]

    got = oraclepack(project, *words, PATH="/usr/bin:/bin", OPENAI_API_KEY="sk-none")

    assert got.code != 0
    assert "oracle is not on PATH" in got.err
    assert "step" not in got.err
    assert "`run`" not in got.err
