"""A response that a provider computes in the background is paid for once and waited for."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oraclepack.calls.context import OnUnknown
from oraclepack.calls.handler import CallHandler
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import AWAITED, INTERRUPTED, UNDECIDED
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.crashed import DEAD, KilledError, later
from tests.calls.office import OUT, Office, ScriptedShim
from tests.provider import Provider, answer_to, serving

NO_KEY = ("-f", "missing.txt")
"""A question whose files cannot be read is known by its output alone."""
TIMEOUT = "ERROR: Request timed out. Transport: client-timeout\n"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as made:
        yield made


def ask(provider: Provider, prompt: str = "why?") -> tuple[str, ...]:
    endpoint = f"http://127.0.0.1:{provider.port}"
    return (
        *("-p", prompt, "-m", "gpt-5.5-pro", "--write-output", OUT, "--provider", "azure"),
        *("--azure-endpoint", endpoint, "--azure-deployment", "gpt-5.5-pro"),
    )


class BackgroundShim(ScriptedShim):
    """Its tool posts the question as oracle does, prints the id, and ends without an answer."""

    def __init__(self, provider: Provider, said: str = TIMEOUT, *, dies: bool = False) -> None:
        super().__init__(self._post)
        self._provider, self._said, self._dies = provider, said, dies
        self.on_pause: Callable[[], None] = lambda: None
        self.is_stopped, self.is_heard = False, True

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        heard = order if self.is_heard else replace(order, on_output=None)
        end = super().run(heard, lambda _: on_started(DEAD))
        if self._dies:
            raise KilledError
        return end

    def pause(self, seconds: float) -> bool:
        self.on_pause()
        return super().pause(seconds)

    def _post(self, order: ToolRun) -> ToolEnd:
        prompt = order.argv[order.argv.index("-p") + 1]
        body = {
            "model": "gpt-5.5-pro",
            "background": True,
            "input": [{"role": "user", "content": prompt}],
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._provider.port}/openai/v1/responses",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            name = json.load(reply)["id"]
        scheduled = f"API scheduled background response {name} (status=queued). Monitoring up to 60"
        return ToolEnd(1, f"Session: s\n{scheduled} m\n{self._said}", stopped=self.is_stopped)


def crashed(
    tmp_path: Path, provider: Provider, *words: str, prompt: str = "why?", journaled: bool = True
) -> None:
    """The command is killed after the id was printed, and mostly after it was written down."""
    office, shim = Office(tmp_path), BackgroundShim(provider, dies=True)
    shim.is_heard = journaled
    with pytest.raises(KilledError):
        office.call(shim, *ask(provider, prompt), *words)
    office.journal.close()


def test_a_time_out_is_no_reason_to_ask_again(tmp_path: Path, provider: Provider) -> None:
    office, shim = Office(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *ask(provider)) == 0
    assert office.out() == answer_to("why?").encode()
    assert len(provider.requests) == 1
    assert shim.pauses == [2.0]
    assert office.last.usage is not None
    assert office.last.usage.output_tokens == len(answer_to("why?")) // 4
    assert "waiting for the answer that was paid for" in shim.stderr
    assert office.call(shim, *ask(provider)) == 0  # from the cache
    assert len(provider.requests) == 1


@pytest.mark.parametrize("journaled", [True, False], ids=["journaled", "only printed"])
def test_after_a_kill_the_answer_is_had_from_its_provider(
    tmp_path: Path, provider: Provider, *, journaled: bool
) -> None:
    crashed(tmp_path, provider, journaled=journaled)
    office, shim = later(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *ask(provider)) == 0
    assert shim.orders == []
    assert office.out() == answer_to("why?").encode()
    assert len(provider.requests) == 1
    assert office.last.adopted
    assert all(not made.is_open for made in office.invocations)


def test_while_it_is_computed_pauses_double(tmp_path: Path, provider: Provider) -> None:
    crashed(tmp_path, provider, prompt="why? [[fault=thinking]]")
    office, shim = later(tmp_path), BackgroundShim(provider)
    shim.on_pause = lambda: provider.release.set() if len(shim.pauses) == 7 else None

    assert office.call(shim, *ask(provider, "why? [[fault=thinking]]")) == 0
    assert shim.pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    assert len(provider.requests) == 1


def test_at_the_end_of_the_time_the_next_command_goes_on(
    tmp_path: Path, provider: Provider
) -> None:
    words = ask(provider, "why? [[fault=thinking]]")
    office, shim = Office(tmp_path, call_timeout=3.0), BackgroundShim(provider)

    assert office.call(shim, *words) != 0
    assert office.last.error is not None
    assert office.last.error.code == AWAITED
    office.journal.close()
    waiting = later(tmp_path, call_timeout=3.0)
    assert waiting.call(shim, *words) != 0
    assert waiting.last.error is not None
    assert waiting.last.error.code == AWAITED
    waiting.journal.close()
    provider.release.set()
    done = later(tmp_path)
    done.number = 19

    assert done.call(shim, *words) == 0
    assert len(provider.requests) == 1
    assert len(shim.orders) == 1


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        pytest.param("failed", ["RESPONSE_FAILED"], id="failed"),
        pytest.param("incomplete", ["INCOMPLETE"], id="incomplete"),
        pytest.param("cancelled", ["RESPONSE_CANCELLED"], id="cancelled"),
    ],
)
def test_a_verdict_of_the_provider_is_recorded(
    tmp_path: Path, provider: Provider, fault: str, codes: list[str]
) -> None:
    words = ask(provider, f"why? [[fault={fault} first=1]]")
    office, shim = Office(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *words) != 0
    assert [office.last.error.code if office.last.error else ""] == codes
    assert not office.invocations[-1].is_open
    assert office.call(shim, *words) == 0  # only now it is asked again
    assert len(provider.requests) == 2


def test_after_a_kill_a_failed_response_is_recorded_and_asked_again(
    tmp_path: Path, provider: Provider
) -> None:
    prompt = "why? [[fault=failed first=1]]"
    crashed(tmp_path, provider, prompt=prompt)
    office, shim = later(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *ask(provider, prompt)) == 0
    first = office.invocations[0].outcome
    assert first is not None
    assert first.error is not None
    assert "It failed." in first.error.message
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("fault", "more", "words", "reason"),
    [
        pytest.param("gone", {}, (), "answered 404", id="404: another key, or kept no longer"),
        pytest.param("forbidden_poll", {}, (), "answered 403", id="refused"),
        pytest.param("ok", {"OPENAI_API_KEY": ""}, (), "no key", id="no key"),
        pytest.param(
            "ok",
            {},
            ("--azure-endpoint", "http://127.0.0.1:9"),
            "no key is sent",
            id="another endpoint by now",
        ),
    ],
)
def test_what_the_provider_does_not_tell_stays_unknown(
    tmp_path: Path,
    provider: Provider,
    fault: str,
    more: dict[str, str],
    words: tuple[str, ...],
    reason: str,
) -> None:
    prompt = f"why? [[fault={fault}]]"
    crashed(tmp_path, provider, *NO_KEY, prompt=prompt)
    keys = set(provider.keys)
    office, shim = later(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *ask(provider, prompt), *NO_KEY, *words, **more) == 1
    assert office.last.error is not None
    assert office.last.error.code == UNDECIDED
    assert reason in office.last.error.message
    assert len(provider.requests) == 1
    assert shim.orders == []
    assert office.invocations[0].is_open
    if words or more:
        assert provider.keys == keys
    # With the user's word it is asked again.
    office.journal.close()
    retrying = later(tmp_path, on_unknown=OnUnknown.RETRY)
    retrying.number = 19
    assert retrying.call(shim, *ask(provider, prompt), *NO_KEY, *words, **more) in {0, 1}
    assert len(shim.orders) == 1


def test_lost_polls_are_no_end(tmp_path: Path, provider: Provider) -> None:
    prompt = "why? [[fault=lost_poll]]"
    office, shim = Office(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *ask(provider, prompt)) == 0
    assert shim.pauses == [2, 4, 8, 16]
    assert len(provider.requests) == 1


def test_a_provider_that_cannot_be_reached_leaves_it_unknown(
    tmp_path: Path, provider: Provider
) -> None:
    with serving() as other:
        crashed(tmp_path, other)
        words = ask(other)
    office, shim = later(tmp_path), BackgroundShim(provider)

    assert office.call(shim, *words) == 1
    assert office.last.error is not None
    assert office.last.error.code == UNDECIDED
    assert len(shim.pauses) == 5
    assert office.invocations[0].is_open


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["stop --now", "Ctrl-C twice"])
def test_only_stop_now_cancels_at_the_provider(
    tmp_path: Path, provider: Provider, *, is_cancelled: bool
) -> None:
    prompt = "why? [[fault=thinking]]"
    office, shim = Office(tmp_path), BackgroundShim(provider, "")
    shim.is_stopped = True
    office.context = _with(office, cancels=lambda _: is_cancelled)

    assert office.call(shim, *ask(provider, prompt)) != 0
    (made,) = provider.requests
    assert provider.cancelled == ([made.response] if is_cancelled else [])
    assert office.invocations[-1].is_open == (not is_cancelled)
    assert office.last.error is not None
    expected = "RESPONSE_CANCELLED" if is_cancelled else INTERRUPTED
    assert office.last.error.code == expected
    assert ("left to the next run" in shim.stderr) == (not is_cancelled)


def _with(office: Office, **changes: Any) -> Any:
    context = replace(office.context, **changes)
    office.calls = CallHandler(context)
    return context


def test_an_answer_that_misses_its_contract_is_kept_and_not_asked_again(
    tmp_path: Path, provider: Provider
) -> None:
    prompt = "why?\n# oraclepack: contract\n\nAnswer format:\n1) Direct answer\n2) Costs of it"
    office, shim = Office(tmp_path), BackgroundShim(provider)

    first = office.call(shim, *ask(provider, prompt))
    again = office.call(shim, *ask(provider, prompt))

    assert first == again
    assert len(provider.requests) == 1
