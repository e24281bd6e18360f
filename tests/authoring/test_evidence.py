"""Every premise of every generated pack is checked against the files it quotes."""

import io
import re
import subprocess
import tokenize
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from oraclepack.authoring.file_roles import FileRole, role_of
from oraclepack.pack.model import Pack
from tests.authoring.fixture_repositories import KINDS, build
from tests.authoring.generated_packs import attached_to, made, prompt_of, quotes_of

ROOT = Path(__file__).parent.parent.parent
_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
}
WITH_QUESTIONS = [kind for kind in KINDS if kind not in {"empty", "documents"}]


class Generated(NamedTuple):
    """A repository and the pack about it."""

    root: Path
    pack: Pack

    def text(self, path: str) -> str:
        """A file as the commit holds it."""
        return _committed(self.root, path)


THIS = pytest.param("this repository", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[*WITH_QUESTIONS, THIS])
def generated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generated:
    place = tmp_path_factory.mktemp("repositories") / "r"
    root = ROOT if request.param == "this repository" else build(request.param, place)
    return Generated(root, made(root)[1])


def test_every_quoted_line_stands_in_its_file_and_is_attached(generated: Generated) -> None:
    pack = generated.pack

    assert pack.steps
    for step in pack.steps:
        quotes = quotes_of(step)
        assert 2 <= len(quotes) <= 6, step.id
        assert step.attribute("reference") in {quote.path for quote in quotes}
        for quote in quotes:
            line = generated.text(quote.path).split("\n")[quote.line - 1]
            expected = " ".join(line.split())
            assert quote.code == expected or expected.startswith(quote.code.removesuffix(" …"))
            assert quote.path in attached_to(step)


def test_no_evidence_is_a_comment_docstring_test_or_ci_file(generated: Generated) -> None:
    pack = generated.pack

    for step in pack.steps:
        for quote in quotes_of(step):
            assert role_of(quote.path) not in {
                FileRole.TEST,
                FileRole.CI,
                FileRole.EXAMPLE,
                FileRole.OTHER,
            }
            assert not _is_prose(quote.path, generated.text(quote.path), quote.line), quote


def test_no_question_is_without_reference_attachment_or_contract(generated: Generated) -> None:
    pack = generated.pack

    for step in pack.steps:
        attached = attached_to(step)
        assert step.attribute("reference") == attached[0]
        assert len(attached) <= 3
        assert "[oraclepack-work]" in prompt_of(step)


def test_no_two_questions_are_about_the_same_lines(generated: Generated) -> None:
    pack = generated.pack

    heads = re.compile(
        r"^(?:async |export |pub |public )*(?:def|class|func|function|fn)\b|^#|^@"
        r"|^(?:async )?\w+\([^()]*\): [\w<>]+ \{$"  # a method of TypeScript
    )
    seen: dict[tuple[str, int], str] = {}
    for step in pack.steps:
        own = [q for q in quotes_of(step) if not heads.match(q.code)]
        for quote in own:
            other = seen.setdefault((quote.path, quote.line), step.id)
            assert other == step.id, f"steps {other} and {step.id} quote {quote}"


def test_every_function_that_a_question_names_stands_in_the_attached_files(
    generated: Generated,
) -> None:
    pack = generated.pack

    for step in pack.steps:
        question = prompt_of(step).split("Question:\n")[1].split("\n")[0]
        texts = "\n".join(generated.text(path) for path in attached_to(step))
        for name in re.findall(r"([A-Za-z_][\w.]*)\(", question):
            last = name.rpartition(".")[2]
            assert re.search(rf"\b{re.escape(last)}\b", texts), f"{name} in step {step.id}"


@cache
def _committed(root: Path, path: str) -> str:
    shown = subprocess.run(
        ["git", "show", f"HEAD:{path}"], cwd=root, check=True, capture_output=True
    )
    return shown.stdout.decode()


def _is_prose(path: str, text: str, line: int) -> bool:
    """Whether a line holds nothing but comment or docstring, by another reader than ours."""
    stripped = text.split("\n")[line - 1].strip()
    if not path.endswith(".py"):
        return path.endswith((".ts", ".go")) and stripped.startswith(("//", "/*", "*"))
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        before = token.line[: token.start[1]].strip()
        is_docstring = token.type == tokenize.STRING and not before and stripped[:1] in "rb\"'"
        if token.type not in _LAYOUT and not is_docstring:
            code.add(token.start[0])
    return line not in code
