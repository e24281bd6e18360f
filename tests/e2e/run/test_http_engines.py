"""`--engine direct` and `--engine batch`, against providers on loopback."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.batch_provider import BatchProvider, serving_batches
from tests.e2e.run.project import Project, asking
from tests.provider import Provider, serving

STEPS = "mkdir -p out\n" + "".join(
    asking(number).replace("oracle ", "oracle -m gpt-5.2 ", 1) for number in (1, 2, 3)
)
ANSWERS = [f"out/0{number}-topic-{number}.md" for number in (1, 2, 3)]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def batch_provider() -> Iterator[BatchProvider]:
    with serving_batches() as provider:
        yield provider


def at(project: Project, address: str, **more: str) -> Project:
    variables = {"OPENAI_API_KEY": "sk-of-nobody", "OPENAI_BASE_URL": address, **more}
    project.write(STEPS)
    project.commit()
    return replace(project, variables=project.variables | variables)


def without_oracle(project: Project, folder: Path) -> Project:
    """No program of the name `oracle` is on PATH."""
    return replace(project, oracle=replace(project.oracle, program=folder / "none/oracle"))


def answered(project: Project) -> list[bool]:
    return [(project.root / path).is_file() for path in ANSWERS]


def test_direct_needs_no_oracle(project: Project, provider: Provider, tmp_path: Path) -> None:
    here = without_oracle(at(project, provider.base_url), tmp_path)
    ran = here.run("--engine", "direct")
    assert ran.code == 0, ran
    assert answered(here) == [True] * 3
    assert [request.model for request in provider.requests] == ["gpt-5.2"] * 3
    assert all(request.response for request in provider.requests)


def test_what_one_engine_was_answered_the_other_takes(project: Project, provider: Provider) -> None:
    here = at(project, provider.base_url)
    assert here.run("--engine", "api").code == 0
    ran = here.run("--engine", "direct", "--new-run")
    assert ran.code == 0, ran
    assert provider.requests == []


def test_an_address_that_serves_chat_alone_is_asked_over_chat(
    project: Project, provider: Provider
) -> None:
    provider.serves_chat_only = True
    ran = at(project, provider.base_url).run("--engine", "direct")
    assert ran.code == 0, ran
    assert [len(body["messages"]) for body in provider.bodies] == [2, 2, 2]


def test_direct_without_a_key_costs_nothing(project: Project, provider: Provider) -> None:
    here = at(project, "https://example.invalid/v1", OPENAI_API_KEY="")
    ran = here.run("--engine", "direct")
    assert ran.code == 3
    assert "AUTH" in ran.err
    assert "OPENAI_API_KEY" in ran.out


def test_a_question_whose_files_cannot_be_sent_is_not_asked(
    project: Project, provider: Provider
) -> None:
    here = at(project, provider.base_url)
    (here.root / "large.txt").write_text("x" * 2_000_000)
    here.write(STEPS.replace("oracle ", "oracle -f large.txt ", 1))
    ran = here.run("--engine", "direct", "--steps", "01")
    assert ran.code == 3
    assert "its files cannot be sent" in ran.out
    assert provider.requests == []


def test_a_batch_is_submitted_once_and_collected_later(
    project: Project, batch_provider: BatchProvider
) -> None:
    batch_provider.held = True
    here = at(project, batch_provider.address)
    for _ in range(2):
        ran = here.run("--engine", "batch")
        assert ran.code == 8, ran
        assert "BATCH_PENDING" in ran.out
    batch_provider.held = False
    ran = here.run("--engine", "batch")
    assert ran.code == 0, ran
    assert answered(here) == [True] * 3
    assert [len(batch.rows) for batch in batch_provider.batches] == [3]
    again = here.run("--engine", "direct", "--new-run")
    assert again.code == 0, again
    assert len(batch_provider.billed) == 3


def test_a_command_can_wait_for_its_batch(project: Project, batch_provider: BatchProvider) -> None:
    batch_provider.seconds = 1.0
    ran = at(project, batch_provider.address).run("--engine", "batch", "--wait")
    assert ran.code == 0, ran
    assert len(batch_provider.batches) == 1


def test_what_a_batch_did_not_answer_is_asked_again(
    project: Project, batch_provider: BatchProvider
) -> None:
    batch_provider.fault = "half_expired"
    here = at(project, batch_provider.address)
    here.run("--engine", "batch")
    assert here.run("--engine", "batch").code == 8
    batch_provider.fault = ""
    ran = here.run("--engine", "batch")
    assert ran.code == 0, ran
    assert [len(batch.rows) for batch in batch_provider.batches] == [3, 1]
