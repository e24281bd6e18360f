import pytest

from oraclepack.settings.value_kinds import (
    Bool,
    Choice,
    Duration,
    Float,
    Int,
    Names,
    Path,
    Text,
    Texts,
    ValueKind,
)


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        (Bool(), True, True),
        (Bool(), " Yes ", True),
        (Bool(), "off", False),
        (Int(), "7", 7),
        (Int(1, 99), 99, 99),
        (Float(), "0.5", 0.5),
        (Float(0, 1), 1, 1.0),
        (Duration(), 90, 90.0),
        (Duration(), "90", 90.0),
        (Duration(), "1h30m", 5400.0),
        (Duration(), "250ms", 0.25),
        (Duration(), "1.5S", 1.5),
        (Choice(("a", "b")), "b", "b"),
        (Text(), "", ""),
        (Path(), "a/b", "a/b"),
        (Names(), "OP1, OP2,,", ("OP1", "OP2")),
        (Names(), ["OP1", "OP2,OP3"], ("OP1", "OP2", "OP3")),
        (Names(), (), ()),
    ],
)
def test_a_good_value_is_read(kind: ValueKind[object], raw: object, expected: object) -> None:
    assert kind.read(raw) == expected


@pytest.mark.parametrize(
    ("kind", "raw", "reason"),
    [
        (Bool(), "maybe", "must be one of true"),
        (Bool(), 1, "must be one of true"),
        (Int(), "x", "must be a whole number"),
        (Int(), 1.5, "must be a whole number"),
        (Int(), True, "must be a whole number"),
        (Int(1), 0, "must be at least 1"),
        (Int(1, 99), 100, "must be at most 99"),
        (Float(), "nan", "must be a number"),
        (Float(), [], "must be a number"),
        (Float(), 10**400, "must be a number"),
        (Duration(), "soon", "must be a duration"),
        (Duration(), "5m later", "must be a duration"),
        (Duration(), True, "must be a duration"),
        (Duration(), "-5", "must be at least 0"),
        (Choice(("a", "b")), "c", "must be one of a, b"),
        (Choice(("a", "b")), 1, "must be one of a, b"),
        (Text(), 1, "must be text"),
        (Text(), "a\0b", "must not hold a NUL"),
        (Path(), "", "must not be empty"),
        (Names(), 1, "must be a list of words"),
        (Names(), [1], "must be a list of words"),
        (Texts(), 1, "must be a text or a list"),
        (Texts(), [1], "must be a text or a list"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(
    kind: ValueKind[object], raw: object, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        kind.read(raw)
