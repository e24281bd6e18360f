"""Fuzzing what reads argument lists: the tools' flags, wrappers, overrides, our own commands."""

import itertools
from typing import Any

from hypothesis import strategies as st

from oraclepack.calls.overrides import effective_argv, overridden, read_overrides, redacted_argv
from oraclepack.errors import UsageError
from oraclepack.tools.argv import ParsedArgv, PartialWord, lost_values, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_question import asks_a_model, read_question, written_paths
from oraclepack.tools.tool_names import TOOLS
from oraclepack.tools.wrappers import unwrap
from tests.fuzz import texts
from tests.fuzz.target import Target, says_why

_SPELLINGS = {
    tool: sorted({*table_of(tool).root.by_spelling, *table_of(tool).root.below}) for tool in TOOLS
}
_ODD = ("", "-", "--", "---", "--=", "-=", "--no-", "-1", "-1.5e3", "x", "a,b", "-vp", "--x=y", "é")


def _words(tool: str) -> st.SearchStrategy[str]:
    known = st.sampled_from(_SPELLINGS[tool])
    return st.one_of(
        known,
        st.tuples(known, st.sampled_from(("=", "=v", "v", "=true", "=a,b"))).map("".join),
        st.sampled_from(_ODD),
        texts.valid,
    )


def _argv(tool: str) -> st.SearchStrategy[tuple[str, list[Any]]]:
    hidden = st.none() | st.builds(PartialWord, texts.valid)
    word: st.SearchStrategy[Any] = _words(tool)
    return st.tuples(st.just(tool), st.lists(word | word | word | hidden, max_size=9))


argument_lists = st.sampled_from(TOOLS).flatmap(_argv)


def no_word_is_two_things(case: tuple[str, list[Any]]) -> None:
    tool, argv = case
    table = table_of(tool)
    parsed = parse_argv(table, argv)

    used = _used(parsed)
    assert used <= set(range(len(argv)))
    for use in parsed.flags:
        word = argv[use.at]
        assert word is not None
        _value_is_in_its_word(use, argv)
    taken = {at for use in parsed.flags for at in (use.at, use.value_at)}
    assert not taken & set(parsed.operands), "no word is both an operand and a flag or its value"
    assert set(parsed.uncertain) <= set(parsed.operands)
    assert set(parsed.excess) <= set(parsed.operands)
    for lost in lost_values(table, parsed):
        assert 0 <= lost.at < len(argv)


def _used(parsed: ParsedArgv) -> set[int]:
    flags = itertools.chain.from_iterable((use.at, use.value_at) for use in parsed.flags)
    problems = (problem.at for problem in parsed.problems)
    return {at for at in (*flags, *parsed.operands, *problems) if at is not None}


def _value_is_in_its_word(use: Any, argv: list[Any]) -> None:
    if use.value is not None and use.value_at is not None and isinstance(argv[use.value_at], str):
        whole = argv[use.value_at]
        assert whole[use.value_offset :] == use.value or use.spelled.startswith("--no-")


@st.composite
def _overriding(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    argv = draw(st.lists(_words("oracle"), max_size=8))
    flags = [name for name in _SPELLINGS["oracle"] if name.startswith("--")]
    given = draw(st.lists(st.sampled_from(flags).map(lambda name: f"{name}=v"), max_size=2))
    return argv, draw(st.lists(texts.valid, max_size=1)) + given


def overrides_win(case: tuple[list[str], list[str]]) -> None:
    argv, given = case
    table = table_of("oracle")
    try:
        wanted = read_overrides(table, given, [], ["01"])
    except UsageError as refused:
        says_why(refused)
        return
    words = wanted.for_step("01")
    made = overridden(table, argv, words)
    new = parse_argv(table, words)
    result = parse_argv(table, made)
    for use in new.flags:
        if not use.spec.variadic:
            last = new.last(use.name)
            found = result.uses(use.name)
            assert last is not None
            assert [one.value for one in found] == [last.value], (made, use)
    assert overridden(table, made, words) == made or any(u.spec.variadic for u in new.flags)


def a_call_is_a_question(argv: list[str]) -> None:
    table = table_of("oracle")
    made = effective_argv(table, argv)
    parsed = parse_argv(table, made)
    before = parse_argv(table, argv)

    assert read_question(parsed, made).prompt == read_question(before, argv).prompt
    assert written_paths(parsed) == written_paths(before)
    if argv:
        assert asks_a_model(parsed, made) == asks_a_model(before, argv)
    shown = redacted_argv(parsed, made)
    assert len(shown) == len(made)
    secret = [use for use in parsed.flags if use.spec.secret and use.value_at is not None]
    for use in secret:
        assert shown[use.value_at or 0].endswith("[redacted]")


_WRAPPED = st.lists(
    st.sampled_from(
        (
            *(
                "env",
                "timeout",
                "5",
                "nice",
                "-n",
                "sudo",
                "xargs",
                "-I",
                "{}",
                "bash",
                "-lc",
                "-c",
            ),
            *(
                "oracle",
                "tm",
                "npx",
                "-y",
                "@steipete/oracle@1",
                "pnpm",
                "dlx",
                "oracle -p x",
                "A=1",
            ),
            *(
                "command",
                "-v",
                "exec",
                "-i",
                "--",
                "-",
                "/usr/bin/oracle",
                "PATH=/x",
                "-S",
                "npm",
                "x",
            ),
        )
    )
    | st.none()
    | st.builds(PartialWord, texts.valid)
    | texts.valid,
    max_size=9,
)


def a_wrapper_leads_somewhere(words: list[Any]) -> None:
    found = unwrap(words)
    if found is None:
        return
    assert (found.tool is None) != (found.script_at is None)
    place = found.at if found.tool is not None else found.script_at
    assert place is not None
    assert 0 <= place < len(words)


TARGETS = (
    Target(
        "flag parser",
        "any argument list is read, and no word of it is two things",
        argument_lists,
        no_word_is_two_things,
        few=150,
    ),
    Target(
        "overrides",
        "a flag put over a call is the only one of its name, or refused with a reason",
        _overriding(),
        overrides_win,
        few=80,
    ),
    Target(
        "questions",
        "what we add to a call changes neither its question nor its outputs",
        st.lists(_words("oracle"), max_size=8),
        a_call_is_a_question,
        few=80,
    ),
    Target(
        "wrappers",
        "any command is looked through to a tool, a script text or nothing",
        _WRAPPED,
        a_wrapper_leads_somewhere,
        few=100,
    ),
)
