import pytest

from oraclepack.work.compare import MOST_WORDS, Relation, relate, statement_of, stem

AT = "(`src/pool.c:20`)"


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        pytest.param(
            "duplicate",
            f"Add a mutex to `take` {AT}.",
            f"Protect `take` {AT} with a mutex.",
            id="two verbs for one thing",
        ),
        pytest.param(
            "duplicate",
            f"Trim the name before saving {AT}.",
            f"The name should be trimmed before it is saved {AT}.",
            id="imperative and should",
        ),
        pytest.param(
            "duplicate",
            f"Stop retrying on 4xx {AT}.",
            f"Do not retry on 4xx responses {AT}.",
            id="two ways to deny",
        ),
        pytest.param(
            "duplicate",
            f"`put` should hold a lock {AT}.",
            f"Add a lock around `put` {AT}; importers race.",
            id="a reason is no part of the request",
        ),
        pytest.param(
            "duplicate",
            f"Write a test for double refunds {AT}.",
            f"A test for double refunds is missing {AT}; write one.",
            id="what is missing is what is asked for",
        ),
        pytest.param(
            "conflict",
            f"The index is built at startup {AT}.",
            f"The index is not built at startup {AT}.",
            id="plain denial",
        ),
        pytest.param(
            "conflict",
            f"Delivery is ordered {AT}.",
            f"Delivery is unordered {AT}.",
            id="a denying prefix",
        ),
        pytest.param(
            "conflict",
            f"The buffer holds 10 entries {AT}.",
            f"The buffer holds 20 entries {AT}.",
            id="two numbers",
        ),
        pytest.param(
            "conflict",
            f"Drop the column `old` {AT}.",
            f"Keep the column `old` {AT}.",
            id="drop and keep",
        ),
        pytest.param(
            "conflict",
            f"Audit is written before the commit {AT}.",
            f"Audit is written after the commit {AT}.",
            id="before and after",
        ),
        pytest.param(
            "conflict", f"`f` allows guests {AT}.", f"`f` forbids guests {AT}.", id="opposites"
        ),
        pytest.param(
            "conflict", f"Le lot est repris {AT}.", f"Le lot n'est pas repris {AT}.", id="French"
        ),
        pytest.param(
            "conflict",
            f"Der Wert ist gesetzt {AT}.",
            f"Der Wert ist nicht gesetzt {AT}.",
            id="German",
        ),
        pytest.param("conflict", f"结果被缓存 {AT}", f"结果没被缓存 {AT}", id="Chinese"),
        pytest.param(
            "unrelated",
            f"Add a mutex to `take` {AT}.",
            f"Add a comment to `take` {AT}.",
            id="another thing to add",
        ),
        pytest.param(
            "unrelated",
            f"Add a lock {AT} because importers race.",
            f"Add a test {AT} because importers race.",
            id="one reason, two requests",
        ),
        pytest.param(
            "unrelated",
            f"The index is built {AT}.",
            "The index is not built (`src/other.c:20`).",
            id="another file",
        ),
        pytest.param(
            "unrelated",
            f"The index is built {AT}.",
            "The index is not built (`src/pool.c:90`).",
            id="another place in the file",
        ),
        pytest.param(
            "unrelated", f"`a` is set {AT}.", f"`b` is not set {AT}.", id="another symbol"
        ),
        pytest.param(
            "unrelated",
            f"There is no test for `f` {AT}.",
            f"Add a test for `f` {AT}.",
            id="a finding is not the denial of its remedy",
        ),
        pytest.param(
            "unrelated", "Write better docs.", "Write better docs now.", id="about nothing"
        ),
    ],
)
def test_two_statements(relation: str, first: str, second: str) -> None:
    one, other = statement_of(first), statement_of(second)

    assert relate(one, other) == relation
    assert relate(other, one) == relation, "the order must not matter"


@pytest.mark.parametrize(
    ("word", "same"),
    [("retries", "retry"), ("running", "runs"), ("capped", "limit"), ("verified", "checks")],
)
def test_endings_and_synonyms_fold(word: str, same: str) -> None:
    assert stem(word) == stem(same)


def test_a_statement_is_the_same_as_itself() -> None:
    one = statement_of(f"Add a lock {AT}.")

    assert relate(one, one) is Relation.DUPLICATE


def test_a_very_long_statement_is_compared_by_its_beginning() -> None:
    long = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(MOST_WORDS + 9))

    assert len(statement_of(long).words) == MOST_WORDS
