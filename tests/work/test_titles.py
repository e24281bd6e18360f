"""Titles that can stand in a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.work.titles import (
    LONGEST,
    issue_title,
    plain,
    shortened,
    title_of_change,
    title_of_experiment,
    title_of_finding,
    without_emphasis,
)
from oraclepack.work.unit_claims import claim_text_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param(
            "**Yes — cap the queue at 100 entries**, because it grows without end.",
            "Cap the queue at 100 entries (Queue.put)",
            id="the reply and the reason go, the subject comes",
        ),
        pytest.param(
            "Guardrail: `Queue.put` must not block while the lock is held; it returns false.",
            "Queue.put must not block while the lock is held",
            id="the label goes",
        ),
        pytest.param(
            "One lock is enough if it is short: release `Pool.guard` before the call.",
            "Release Pool.guard before the call",
            id="the clause that says what to do",
        ),
        pytest.param(
            "When the queue is full, `Queue.put` should refuse the entry.",
            "Queue.put should refuse the entry",
            id="without its condition",
        ),
    ],
)
def test_a_change_is_named_by_what_to_do(text: str, title: str) -> None:
    assert title_of_change(claim_text_of(text), ["Queue.put"]) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param(
            "The queue is not bounded.", "The queue is not bounded (takeLock)", id="a clause"
        ),
        pytest.param(
            "It does not check the order of keys.",
            "takeLock does not check the order of keys",
            id="it is named",
        ),
        pytest.param(
            "Entries are read once; other fields of an entry are ignored here.",
            "Other fields of an entry are ignored here (takeLock)",
            id="the clause with the defect",
        ),
        pytest.param(
            "the header of an entry that comes from another process is accepted by the parser but "
            "is only checked when it is written, never when it is read again",
            "The header of an entry that comes from another process is only checked",
            id="what comes after but",
        ),
    ],
)
def test_a_finding_is_named_by_what_is_wrong(text: str, title: str) -> None:
    assert (
        title_of_finding(claim_text_of(text), ["takeLock"] if "takeLock" in title else []) == title
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param(
            'Run: `rg "put\\\\(" src` to confirm every caller checks the result.',
            "Confirm every caller checks the result (Queue.put)",
            id="what a command is for",
        ),
        pytest.param(
            "Add a test that fills the queue and asserts `Queue.put` returns false.",
            "Add a test that fills the queue and asserts Queue.put returns false",
            id="a change with a check",
        ),
        pytest.param('Run `rg "drainAll" src`', "Search the code for drainAll", id="no purpose"),
        pytest.param(
            "On a copy, run `psql -f wait.sql` and record the wait of a second writer.",
            "Record the wait of a second writer (Queue.put)",
            id="a command after where it runs",
        ),
        pytest.param('bundle exec rspec -e "empty queue"', "", id="a command and nothing else"),
        pytest.param(
            "Run aws s3api get-a --bucket x and aws s3api get-b --bucket x; note both.",
            "",
            id="two commands and no purpose",
        ),
    ],
)
def test_an_experiment_is_named_by_what_it_shows(text: str, title: str) -> None:
    assert title_of_experiment([text], ["Queue.put"]) == title


@pytest.mark.parametrize(
    ("question", "reference", "title"),
    [
        pytest.param(
            "Does takeLock release the lock in every path, or are there exceptions?",
            "src/pool.ts:takeLock",
            "takeLock: does it release the lock in every path, or are there exceptions?",
            id="subject first",
        ),
        pytest.param(
            "Bound the queue", "Unknown", "Bound the queue", id="a question without a reference"
        ),
        pytest.param(
            "Are bad input, closed modes, and failures of providers mapped to stable codes "
            "and shapes?",
            "src/api.ts:streamChat",
            "streamChat: are bad input, closed modes, and failures of providers mapped…",
            id="cut in an enumeration",
        ),
        pytest.param(
            "Is access strictly scoped to the active session of its user, and how is "
            "a mismatch shown?",
            "src/api.ts:sameSession",
            "sameSession: is access strictly scoped to the active session of its user?",
            id="the first of two questions",
        ),
        pytest.param(
            "ConsoleRenderer.colors() sets _colors. What if it raises?",
            "src/dev.py",
            "dev.py: ConsoleRenderer.colors() sets _colors. What if it raises?",
            id="a name keeps its case",
        ),
        pytest.param(
            "HTTP or HTTPS?", "src/dev.py", "dev.py: HTTP or HTTPS?", id="an acronym does, too"
        ),
        pytest.param(
            "What's left?", "src/dev.py", "dev.py: what's left?", id="a word with an apostrophe"
        ),
        pytest.param("Is \u202eit safe\u2066?", None, "Is it safe?", id="no direction marks"),
        pytest.param(
            "Is the queue bounded?", "src/queue.py:12", "queue.py: is the queue bounded?", id="file"
        ),
    ],
)
def test_the_title_of_a_question(question: str, reference: str | None, title: str) -> None:
    assert issue_title(question, reference) == title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("**Bold** and *slanted* words", "Bold and slanted words", id="marks"),
        pytest.param("all of src/**/*.py and **/x", "all of src/**/*.py and **/x", id="globs"),
        pytest.param("`a**b**` stays", "`a**b**` stays", id="code"),
    ],
)
def test_emphasis_goes_and_globs_stay(text: str, expected: str) -> None:
    assert without_emphasis(text) == expected


@given(st.text(max_size=400), st.integers(20, LONGEST))
def test_a_title_fits_and_ends_with_a_whole_word(text: str, longest: int) -> None:
    words = plain(text)
    title = shortened(text, longest)

    assert len(title) <= longest
    if len(words) > longest and " " in words[:longest]:
        assert not title.endswith(("(", ",", ":", "…"))
