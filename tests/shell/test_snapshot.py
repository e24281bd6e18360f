"""The difference between two records of a shell, as text that bash can run."""

import pytest

from oraclepack.shell.launch import LAST_PART
from oraclepack.shell.prelude_snapshot import BETWEEN, take_snapshot


def stream(before: dict[str, str], after: dict[str, str]) -> bytes:
    def side(records: dict[str, str]) -> str:
        return "\0".join(f"{key}\0{text}" for key, text in records.items())

    end = {**after, "complete": ""}
    return side(before).encode() + BETWEEN + side(end).encode() + b"\0"


@pytest.mark.parametrize(
    ("before", "after", "state", "last"),
    [
        pytest.param({"vA": "a\n"}, {"vA": "a\n"}, "", "", id="nothing changed"),
        pytest.param({}, {"vA": "a\n"}, "unset -n A; unset -v A\na\n", "", id="a new variable"),
        pytest.param({"vA": "a\n"}, {}, "unset -n A; unset -v A\n", "", id="one that is gone"),
        pytest.param({}, {"vRANDOM": "r\n"}, "", "", id="one that changes by itself"),
        pytest.param({}, {"vno name": ""}, "", "", id="what is no name"),
        pytest.param({"fit's": "f\n"}, {}, "unset -f -- 'it'\\''s'\n", "", id="an odd function"),
        pytest.param({"ax": "x\n"}, {}, "unalias -- 'x' 2>/dev/null || :\n", "", id="an alias"),
        pytest.param({"u": "1\n"}, {"u": "2\n"}, "2\n", "", id="the umask"),
        pytest.param({"b": "x:y"}, {"b": "x:z"}, "shopt -u y\nshopt -s z\n", "", id="shopt"),
        pytest.param({"s": "x:y"}, {"s": "x:z"}, "", "set +o y\nset -o z\n", id="set"),
        pytest.param({"b": ""}, {"b": "login_shell"}, "", "", id="an option bash keeps"),
        pytest.param(
            {}, {"tDEBUG": "d\n", "tERR": "e\n", "s": "z"}, "", "e\nset -o z\nd\n", id="traps"
        ),
    ],
)
def test_only_changes_are_in_it(
    before: dict[str, str], after: dict[str, str], state: str, last: str
) -> None:
    snapshot = take_snapshot(stream(before, after))

    assert snapshot is not None
    head, _, tail = snapshot.text.partition(LAST_PART)
    assert head.decode() == state
    assert tail.decode() == f"{{ :\n{last}}} 2>/dev/null\n"


def test_a_signal_trap_comes_before_options() -> None:
    snapshot = take_snapshot(stream({}, {"tUSR1": "u\n", "tEXIT": "x\n"}))

    assert snapshot is not None
    assert snapshot.text == LAST_PART + b"u\n{ :\n} 2>/dev/null\n"
    assert snapshot.exit_trap == b"x\n"


@pytest.mark.parametrize("cut", [0, 5, 12, 30])
def test_records_cut_short_are_no_snapshot(cut: int) -> None:
    whole = stream({"vA": "a\n"}, {"vB": "b\n", "vC": "c\n"})

    assert take_snapshot(whole[:cut]) is None
