"""Names of runs, and which run goes on."""

import pytest
from msgspec.structs import replace

from oraclepack.journal.run_dir import (
    RunSummary,
    choose_run,
    free_run_id,
    hash_in,
    is_run_id,
    pack_id,
)

HASH = "0123456789abcdef" * 4
HERE, THERE, FAR = "a" * 40, "b" * 40, "c" * 40


@pytest.mark.parametrize(
    ("path", "sha", "expected"),
    [
        pytest.param("docs/oracle-pack-2026-01-05.md", HERE, "2026-01-05__aaaaaaa__01234567"),
        pytest.param("2026-01-05-a-2026-02-06.md", None, "2026-01-05__nogit__01234567"),
        pytest.param("2026-01-05/pack.md", HERE, "2026-03-01__aaaaaaa__01234567"),
        pytest.param("pack-2026-13-45.md", HERE, "2026-03-01__aaaaaaa__01234567"),
        pytest.param("pack-12026-01-051.md", HERE, "2026-03-01__aaaaaaa__01234567"),
        pytest.param("pack.md", None, "2026-03-01__nogit__01234567"),
    ],
    ids=[
        "the date of the file name",
        "the first of two dates",
        "a directory's date does not count",
        "no real date",
        "digits around it",
        "no date at all",
    ],
)
def test_pack_id(path: str, sha: str | None, expected: str) -> None:
    assert pack_id(path, HASH, sha, "2026-03-01") == expected


@pytest.mark.parametrize(
    ("taken", "expected"), [([], "x"), (["x"], "x__2"), (["x", "x__2", "x__3"], "x__4")]
)
def test_a_new_run_takes_the_next_name(taken: list[str], expected: str) -> None:
    assert free_run_id("x", taken) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01__abcdef0__01234567", True),
        ("2026-03-01__nogit__01234567__12", True),
        ("2026-03-01__nogit__01234567/../x", False),
        ("../../etc", False),
        ("", False),
        ("2026-03-01__nogit__01234567\n", False),
    ],
)
def test_what_can_name_a_run(text: str, expected: bool) -> None:
    assert is_run_id(text) is expected
    assert hash_in(text) == ("01234567" if expected else None)


def a_run(
    number: int = 1,
    sha: str | None = HERE,
    *heads: str,
    pack_hash: str = HASH,
    finished: bool = False,
) -> RunSummary:
    return RunSummary(
        run_id="2026-03-01__aaaaaaa__01234567" + (f"__{number}" if number > 1 else ""),
        pack_hash=pack_hash,
        git_sha=sha,
        heads=(*([sha] if sha else []), *heads),
        created_at=f"2026-03-0{number}T23:59:59.000Z",
        finished=finished,
    )


@pytest.mark.parametrize(
    ("runs", "head", "mutating", "expected", "reason"),
    [
        pytest.param([], HERE, False, None, "no run of this pack yet", id="nothing yet"),
        pytest.param([a_run()], HERE, False, 0, "same commit aaaaaaa", id="the same commit"),
        pytest.param([a_run(1), a_run(2)], HERE, False, 1, "same commit", id="the newest"),
        pytest.param([a_run(2), a_run(1)], HERE, False, 0, "same commit", id="in any order"),
        pytest.param(
            [replace(a_run(1), number=2), replace(a_run(2), number=1)],
            HERE,
            False,
            0,
            "same commit",
            id="the newest by number where the clock was set back",
        ),
        pytest.param([a_run(finished=True)], HERE, False, 0, "same commit", id="also finished"),
        pytest.param([a_run(1, HERE, THERE)], THERE, False, 0, "has seen", id="a step committed"),
        pytest.param([a_run()], THERE, False, None, "has seen this commit", id="another commit"),
        pytest.param([a_run()], THERE, True, 0, "newest unfinished", id="its steps may commit"),
        pytest.param(
            [a_run(finished=True)], THERE, True, None, "has seen this commit", id="but it is over"
        ),
        pytest.param(
            [a_run(1, THERE), a_run(2, FAR)], THERE, True, 0, "same commit", id="a seen one first"
        ),
        pytest.param([a_run(pack_hash="f" * 64)], HERE, True, None, "yet", id="another pack"),
        pytest.param(
            [a_run(1, None)], None, False, 0, "is no commit", id="no git, or no commit yet"
        ),
        pytest.param([a_run(1, None)], HERE, False, None, "this commit", id="git came later"),
        pytest.param(
            [RunSummary("2026-03-01__aaaaaaa__01234567", "", damage="line 1")],
            HERE,
            False,
            0,
            "same commit",
            id="a run whose first line is lost is known by its name",
        ),
    ],
)
def test_which_run_goes_on(
    runs: list[RunSummary], head: str | None, mutating: bool, expected: int | None, reason: str
) -> None:
    choice = choose_run(runs, HASH, head, mutating=mutating)

    assert choice.run == (None if expected is None else runs[expected])
    assert reason in choice.reason


def test_a_run_left_behind_is_named() -> None:
    choice = choose_run([a_run()], HASH, THERE)

    assert "2026-03-01__aaaaaaa__01234567" in choice.notice


@pytest.mark.parametrize(
    ("rehearsal", "expected"),
    [
        pytest.param(False, 0, id="a real run goes on with a real one"),
        pytest.param(True, 1, id="a rehearsal with a rehearsal"),
        pytest.param(None, 1, id="who only looks takes the newest"),
    ],
)
def test_rehearsals_are_runs_of_their_own(rehearsal: bool | None, expected: int) -> None:
    runs = [a_run(1), replace(a_run(2), rehearsal=True)]

    assert choose_run(runs, HASH, HERE, rehearsal=rehearsal).run == runs[expected]
