import pytest

from tests.fuzz.target import Target, hunt
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_promise_holds_for_a_few_cases(target: Target) -> None:
    hunted = hunt(target, target.few)

    assert not hunted.crash, hunted.crash


def test_names_are_unique() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)
