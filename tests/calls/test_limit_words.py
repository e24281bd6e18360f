import pytest

from oraclepack.store.limits import Limit, lanes, slot_reason


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        pytest.param("browser", Limit(1), "slot of browser, 1 at a time", id="a browser"),
        pytest.param("browser-1a2b3c4d", Limit(1), "slot of browser, 1 at a time", id="a profile"),
        pytest.param("openai", Limit(None, 20), "slot of openai, 20 per minute", id="a rate"),
        pytest.param(
            "openai", Limit(2, 20), "slot of openai, 2 at a time, 20 per minute", id="both"
        ),
    ],
)
def test_what_a_call_waits_for(name: str, limit: Limit, words: str) -> None:
    assert slot_reason(name, limit) == words


@pytest.mark.parametrize(
    ("parallel", "limits", "expected"),
    [
        pytest.param(4, [], 4, id="no limit"),
        pytest.param(4, [Limit(2), Limit(3)], 2, id="the narrowest"),
        pytest.param(1, [Limit(8)], 1, id="fewer than allowed"),
        pytest.param(4, [Limit(None, 20)], None, id="a rate says nothing about how many"),
        pytest.param(4, [Limit(0)], 1, id="none at all: not divided by"),
    ],
)
def test_how_many_get_on_at_once(parallel: int, limits: list[Limit], expected: int | None) -> None:
    assert lanes(parallel, limits) == expected
