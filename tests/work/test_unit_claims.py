"""What a unit says: a change, a finding, or only a fact."""

import pytest

from oraclepack.work.unit_claims import (
    UnitClaim,
    asks_for_change,
    claim_of,
    claim_text_of,
    gives_advice,
    is_undecided,
)


def claim(text: str, *, advice: bool = False, recommends: bool = False, risks: bool = False) -> str:
    return claim_of(
        claim_text_of(text), asks_for_advice=advice, recommends=recommends, in_risks=risks
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Add a timeout to `fetch`.", id="an imperative"),
        pytest.param("**Yes — cap the queue at 100 entries**, because it grows.", id="after a yes"),
        pytest.param("Do not read the file twice.", id="a negated imperative"),
        pytest.param("`fetch` should give up after a minute.", id="should"),
        pytest.param("Yes, but keep it optional.", id="after but"),
        pytest.param("After a restart, clear the queue first.", id="after a condition"),
        pytest.param("Do not compress inside the handler.", id="a verb that no list names"),
        pytest.param("Sort step reports deterministically.", id="a plural that is an object"),
        pytest.param("Log requests once per minute.", id="a noun as verb, with its object"),
        pytest.param("Cache results per user.", id="a noun as verb, and a preposition"),
    ],
)
def test_a_change_says_what_to_do_whatever_was_asked(text: str) -> None:
    assert claim(text) == UnitClaim.CHANGE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Safe default: old queues stay readable.", id="a label that advises"),
        pytest.param("Guardrail: the worker never holds two locks.", id="a guardrail"),
        pytest.param("Required contract change: the reply carries a version.", id="a contract"),
        pytest.param("One lock is enough if it is short: release it before the call.", id="colon"),
        pytest.param("A marker file is the better option than a new flag.", id="a comparison"),
        pytest.param("It is still worth adding a check for that.", id="worth doing"),
    ],
)
def test_more_is_a_change_where_advice_was_asked_for(text: str) -> None:
    assert claim(text, advice=True) == UnitClaim.CHANGE
    assert claim(text) != UnitClaim.CHANGE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The queue is not bounded.", id="a virtue that is denied"),
        pytest.param("No—`take` does not release the lock.", id="no"),
        pytest.param("Errors are swallowed: `run` catches everything.", id="a defect"),
        pytest.param("Reads are cached, but writes are not.", id="after but"),
        pytest.param("There is no retry in `fetch`.", id="something lacks"),
        pytest.param("The name is accepted; other fields are ignored here.", id="second clause"),
        pytest.param("Snapshot output is stale after a rename.", id="a noun that could be a verb"),
        pytest.param("Search results leak private notes.", id="a plural and its verb"),
        pytest.param("Index refresh lags writes by a minute.", id="a singular and its verb"),
        pytest.param("Error recovery gives up after one brace.", id="a verb with a particle"),
        pytest.param("Reads are locked, so a crash loses the entry.", id="a consequence"),
        pytest.param("The total is counted each time, which is slow.", id="a relative clause"),
        pytest.param("Partly. Entries are read before they are written.", id="partly"),
        pytest.param("The period is hard-coded to a week while the page says a month.", id="while"),
        pytest.param("Limits exist only in memory.", id="only"),
        pytest.param("Visibility is poor.", id="a word for poor quality"),
        pytest.param("Replies are unsigned and unvalidated.", id="words that begin with un"),
        pytest.param("Lost updates are possible.", id="a fault that is possible"),
    ],
)
def test_a_finding_says_what_is_wrong(text: str) -> None:
    assert claim(text) == UnitClaim.FINDING


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Yes, the lock is released in every path.", id="yes"),
        pytest.param("`take` returns the next entry, so it never blocks.", id="a consequence"),
        pytest.param("Failures are not swallowed.", id="a defect that is denied"),
        pytest.param("It cannot be confirmed from these files whether it retries.", id="unknown"),
        pytest.param("Evidence: `take` calls `put`.", id="only evidence"),
        pytest.param("The entry is removed when there are no readers.", id="a condition"),
        pytest.param("`set` additionally requires a name.", id="code that looks like a verb"),
        pytest.param("Unknown keys are not accepted.", id="what is bad is refused"),
        pytest.param("Mismatches are reported to the caller.", id="a fault that is handled"),
        pytest.param("Debug lines are dropped by design.", id="on purpose"),
        pytest.param("It exposes two functions.", id="an interface"),
        pytest.param("The name is unchanged, so clients that omit it are rejected.", id="refused"),
    ],
)
def test_a_fact_is_no_work(text: str) -> None:
    assert claim(text) == UnitClaim.FACT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Silent failures: both writers swallow errors.", UnitClaim.FINDING, id="a defect"
        ),
        pytest.param("Growth risk: the queue may fill the disk.", UnitClaim.FACT, id="a risk"),
        pytest.param("Unknown whether callers retry.", UnitClaim.FACT, id="unknown"),
        pytest.param(
            "Keys are not checked. Whether that matters depends.", UnitClaim.FACT, id="open"
        ),
    ],
)
def test_a_risk_is_a_finding_only_without_if_and_may(text: str, expected: UnitClaim) -> None:
    assert claim(text, risks=True) == expected
    assert claim(text, risks=True, recommends=True) == UnitClaim.FACT


@pytest.mark.parametrize(
    ("text", "said", "evidence"),
    [
        pytest.param(
            "It is so. Evidence: `a()` in src/a.py.",
            "It is so.",
            "Evidence: `a()` in src/a.py.",
            id="a sentence",
        ),
        pytest.param(
            "It holds for every caller. (See `a()` in src/a.py.)",
            "It holds for every caller.",
            "(See `a()` in src/a.py.)",
            id="an aside",
        ),
        pytest.param(
            "It holds for every caller of it (src/a.py:take).",
            "It holds for every caller of it",
            "(src/a.py:take).",
            id="a path in brackets",
        ),
        pytest.param(
            "It is best-effort (no retry/backoff at all).",
            "It is best-effort (no retry/backoff at all).",
            "",
            id="an aside that says something",
        ),
    ],
)
def test_evidence_is_apart_from_what_is_said(text: str, said: str, evidence: str) -> None:
    statement = claim_text_of(text)

    assert (statement.text, statement.evidence) == (said, evidence)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("Should the queue be bounded?", True, id="should"),
        pytest.param("Bound the queue and report when it is full", True, id="an imperative"),
        pytest.param("Is the queue bounded?", False, id="is"),
        pytest.param("Does `take` release the lock, or are there paths without?", False, id="does"),
    ],
)
def test_a_question_asks_for_a_change_or_not(question: str, expected: bool) -> None:
    assert asks_for_change(question) is expected


def test_an_answer_gives_advice_when_one_unit_says_what_to_do() -> None:
    facts = [claim_text_of("The queue is bounded."), claim_text_of("It is read twice.")]

    assert not gives_advice(facts)
    assert gives_advice([*facts, claim_text_of("Read it once.")])


def test_nothing_is_decided_where_nothing_can_be_said() -> None:
    for undecided in (
        "This cannot be determined from the attached files.",
        "The evidence is insufficient: no caller is attached.",
        "There is not enough context to answer this.",
        "The attached files do not show who calls it.",
    ):
        assert is_undecided(claim_text_of(undecided)), undecided
    for decided in (
        "The lock is not released.",
        "The attached file does not close its handle.",
        "The error message has not enough detail.",
    ):
        assert not is_undecided(claim_text_of(decided)), decided
