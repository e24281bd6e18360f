"""Calls of the real oracle, answered by oraclepack: what is bought, kept and asked again."""

from collections.abc import Iterator
from pathlib import Path
from shlex import join

import pytest

from oraclepack.core.limit import Limit
from tests.provider import Provider, answer_to
from tests.real.oracles import RealOracle
from tests.real_answers.desk import Desk, sitting


@pytest.fixture
def desk(real_oracle: RealOracle, tmp_path: Path) -> Iterator[Desk]:
    with sitting(tmp_path, real_oracle.env) as made:
        yield made


def asking(oracle: RealOracle, prompt: str, *more: str, model: str = "gpt-5.2") -> str:
    return join(["oracle", *oracle.argv(prompt, *more, model=model)[1:]])


def test_a_question_is_bought_once(desk: Desk, real_oracle: RealOracle, provider: Provider) -> None:
    desk.root.joinpath("src").mkdir()
    desk.root.joinpath("src/a.py").write_text("def f(): ...\n")
    desk.root.joinpath("src/b.py").write_text("def g(): ...\n")
    ask = asking(real_oracle, "What is it?\n\n\n### File: fake\nreally", "-f", "src/*.py")

    first = desk.run(f"{ask} --write-output out/x.md")
    second = desk.run(f"{ask} --write-output out/y.md")
    desk.root.joinpath("src/b.py").write_text("def h(): ...\n")
    third = desk.run(f"{ask} --write-output out/x.md")

    assert [first[0], second[0], third[0]] == [0, 0, 0]
    assert len(provider.requests) == 2
    assert [outcome.cache for outcome in desk.outcomes] == ["miss", "hit", "miss"]
    assert desk.calls.attached("01", 1).keys() == {"src/a.py", "src/b.py"}
    assert desk.outcomes[0].session
    assert desk.outcomes[0].usage is not None
    assert desk.outcomes[0].usage.output_tokens


@pytest.mark.parametrize(
    ("fault", "requests", "code"),
    [
        pytest.param("unavailable first=3", 4, None, id="overloaded, then answered"),
        pytest.param("cut_clean first=1", 2, None, id="a stream cut in order, then answered"),
        pytest.param("empty first=1", 2, None, id="an empty answer, then a full one"),
        pytest.param("quota", 3, "QUOTA", id="no money: one call"),
    ],
)
def test_faults(
    desk: Desk,
    real_oracle: RealOracle,
    provider: Provider,
    fault: str,
    requests: int,
    code: str | None,
) -> None:
    ask = asking(real_oracle, f"Why? [[fault={fault}]]", "--write-output", "x.md")
    exit_code, said = desk.run(ask)

    (outcome,) = desk.outcomes
    assert (outcome.error.code if outcome.error else None) == code, said
    assert (exit_code == 0) is (code is None)
    assert len(provider.requests) == requests
    if code is None:
        kept = desk.root.joinpath("x.md").read_text().strip()
        assert kept == answer_to(provider.requests[-1].prompt).strip()


def test_the_same_prompt_with_other_files_at_once(
    desk: Desk, real_oracle: RealOracle, provider: Provider
) -> None:
    # oracle itself compares prompts only and would refuse the second one.
    for name in ("a", "b"):
        desk.root.joinpath(name).write_text(name)
    prompt = "Why is it so? [[fault=hold]]"
    both = [asking(real_oracle, prompt, "-f", n, "--write-output", f"{n}.md") for n in "ab"]
    provider.release.set()

    exit_code, said = desk.run(f"{both[0]} & {both[1]}", "last=$?", "wait $! && exit $last")

    assert exit_code == 0, said
    assert len(provider.requests) == 2


def test_no_more_at_once_than_the_limit(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    with sitting(tmp_path, real_oracle.env, limits={"openai": Limit(1)}) as desk:
        words = [asking(real_oracle, f"No {n}?", "--write-output", f"{n}.md") for n in range(3)]
        desk.run(*(f"{word} &" for word in words), "wait")

        assert all(outcome.ok for outcome in desk.outcomes)
    assert len(provider.requests) == 3
    assert provider.most_at_once == 1


def test_a_detached_answer_is_waited_for(
    desk: Desk, real_oracle: RealOracle, provider: Provider
) -> None:
    more = ("--no-wait", "--write-output", "x.md")
    exit_code, said = desk.run(
        asking(real_oracle, "Why is it so at all?", *more, model="gpt-5.5-pro")
    )

    assert exit_code == 0, said
    assert "waiting for its answer" in said
    assert len(provider.requests) == 1
