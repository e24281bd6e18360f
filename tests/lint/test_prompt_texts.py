"""OP210 to OP212: a prompt never runs commands. Bash, with a tracing oracle, is the proof."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oraclepack.lint.prompt_texts import MEANT
from oraclepack.lint.rules.prompt_rules import command_in_prompt
from oraclepack.pack.missing_files import GIT_LOOKS
from oraclepack.pack.parse.read_pack import parse_pack
from tests.fuzz.traced import trace
from tests.lint.fixing import fixed
from tests.packs import BLOCK_LINE, findings_of, pack_text

Row = tuple[int, str]
PROMPT_RULES = ("OP210", "OP211", "OP212")
REAL = Path(__file__).parents[3] / "shared/packs/real-2026-01-02-backticks.md"


def _found(bash: str, select: tuple[str, ...] = PROMPT_RULES) -> list[Row]:
    text = bash if "\n# 01) " in bash else f"# 01) a\n{bash}\n"
    findings = findings_of(pack_text(text), select=select)
    return [(finding.span.line - BLOCK_LINE, finding.rule) for finding in findings]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param('oracle -p "a `b` c"', [(1, "OP210")], id="between double quotes"),
        pytest.param('oracle --prompt="a `b` c"', [(1, "OP210")], id="in the word of the flag"),
        pytest.param('oracle "a `b` c"', [(1, "OP210")], id="without a flag"),
        pytest.param('npx -y oracle -p "a `b` c"', [(1, "OP210")], id="through npx"),
        pytest.param(
            'oracle -p "one\n`two` `three`\n`four`"', [(2, "OP210")], id="one finding per prompt"
        ),
        pytest.param(
            'oracle -p "one `two`"\' three \'"`four`"', [(1, "OP210")], id="a prompt in pieces"
        ),
        pytest.param(
            'oracle -p "a `b`"\noracle -p "c `d`"',
            [(1, "OP210"), (2, "OP210")],
            id="two prompts",
        ),
        pytest.param('oracle -p "a `# 01)` b\nc" -f d', [(1, "OP210")], id="a comment inside"),
        pytest.param('oracle -p "a `it\'s` b\nc" -f d', [(1, "OP210")], id="half a quote inside"),
        pytest.param('oracle -p "a `ROI==0` and `` b"', [(1, "OP210")], id="nothing inside"),
        pytest.param('oracle -p "a `grep "b" c` d"', [(1, "OP210")], id="quotes inside"),
        pytest.param('oracle -p "a `b \\`c\\` d`"', [(1, "OP210")], id="escaped ones inside"),
        pytest.param('oracle -p "`cat prompt.md`"', [(1, "OP210")], id="nothing but a command"),
        pytest.param(
            'oracle -p "$(cat <<E\na `b`\nE\n)"', [(2, "OP210")], id="a heredoc in the prompt"
        ),
        pytest.param(
            'oracle -p "$(cat <<-E\n\ta `b`\n\tE\n)"', [(2, "OP210")], id="an indented heredoc"
        ),
        pytest.param("oracle -p - <<E\na `b`\nE", [(2, "OP210")], id="a heredoc as input"),
        pytest.param('oracle -p - <<< "a `b`"', [(1, "OP210")], id="a string as input"),
        pytest.param("cat <<E | oracle -p -\na `b`\nE", [(2, "OP210")], id="a heredoc by a pipe"),
        pytest.param('echo "a `b`" | oracle -p -', [(1, "OP210")], id="an echo by a pipe"),
        pytest.param(
            'oracle -p "$(printf "%s" "a `b`")"', [(1, "OP210")], id="printed into the prompt"
        ),
        pytest.param(
            'p="a `b`"\noracle -p "$p"\noracle -p "$p"',
            [(1, "OP210")],
            id="a variable, reported once",
        ),
        pytest.param('p="a"\np+=" `b`"\noracle -p "$p"', [(2, "OP210")], id="an appended text"),
        pytest.param('p=$(cat <<E\na `b`\nE\n)\noracle -p "$p"', [(2, "OP210")], id="from cat"),
        pytest.param(
            "read -r -d '' p <<E\na `b`\nE\noracle -p \"$p\"", [(2, "OP210")], id="from read"
        ),
        pytest.param(
            "IFS= read -rd '' p <<E || true\na `b`\nE\noracle -p \"$p\"",
            [(2, "OP210")],
            id="from read, in short",
        ),
        pytest.param('printf -v p "%s" "a `b`"\noracle -p "$p"', [(1, "OP210")], id="from printf"),
        pytest.param(
            'if true; then p="a `b`"; else p=c; fi\noracle -p "$p"',
            [(1, "OP210")],
            id="in one branch",
        ),
        pytest.param('p="a `b`"\nq="c $p"\noracle -p "$q"', [(1, "OP210")], id="by two variables"),
        pytest.param('p="a `b`"\noracle -p "${p%.}"', [(1, "OP210")], id="a shortened variable"),
        pytest.param(
            'args=(-p "a `b`" -f c)\noracle "${args[@]}"', [(1, "OP210")], id="in an array"
        ),
        pytest.param(
            'ask() { oracle -p "$1" -f b; }\nask "a `b`"', [(2, "OP210")], id="by a function"
        ),
        pytest.param(
            'ask() { oracle -p "$text"; }\ntext="a `b`"\nask', [(2, "OP210")], id="its variable"
        ),
        pytest.param(
            'cat > p.md <<E\na `b`\nE\noracle -p "$(cat p.md)"', [(2, "OP210")], id="by a file"
        ),
        pytest.param(
            'cat > p.md <<E\na `b`\nE\noracle -p "$(< p.md)"', [(2, "OP210")], id="by a short read"
        ),
        pytest.param(
            'tee "$d/p.md" <<E\na `b`\nE\noracle -p - < "$d/p.md"',
            [(2, "OP210")],
            id="by a redirection",
        ),
        pytest.param(
            'p="a `b`"\n# 01) x\noracle -p "$p"', [(0, "OP210")], id="a text of the prelude"
        ),
        pytest.param('codex exec "a `b`"', [(1, "OP210")], id="codex"),
        pytest.param('gemini -p "a `b`"', [(1, "OP210")], id="gemini"),
        pytest.param('tm add-task --prompt "a `b`"', [(1, "OP210")], id="task-master"),
        pytest.param("sh -c 'oracle -p \"a `b`\"'", [(1, "OP210")], id="in a shell of its own"),
    ],
)
def test_backquotes_that_reach_a_prompt(bash: str, expected: list[Row]) -> None:
    assert _found(bash) == expected


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param('oracle -p "a \\`b\\` c"', id="escaped"),
        pytest.param("oracle -p 'a `b` c'", id="in single quotes"),
        pytest.param("oracle -p $'a `b`\\n c'", id="in ANSI quotes"),
        pytest.param("oracle -p \"$(cat <<'E'\na `b`\nE\n)\"", id="in a quoted heredoc"),
        pytest.param('oracle -p "$(cat <<\\E\na `b`\nE\n)"', id="in an escaped heredoc"),
        pytest.param("oracle -p - <<'E'\na `b`\nE", id="a quoted heredoc as input"),
        pytest.param('oracle -p "$(cat <<E\na \\`b\\`\nE\n)"', id="escaped in a heredoc"),
        pytest.param("# a `b`\noracle -p c # `d`", id="in comments"),
        pytest.param('x="`date`"\noracle -p "at $x"', id="the value of a command"),
        pytest.param('x=`date`\noracle -p "at $x"', id="the bare value of a command"),
        pytest.param('oracle -f "`ls *.md`" -p why', id="not in the prompt"),
        pytest.param('echo "a `b`"\noracle -p why', id="not for a tool"),
        pytest.param("cat > a.md <<E\n`b`\nE\noracle -p why -f c", id="a file that is not passed"),
        pytest.param('p="a `b`"\np=why\noracle -p "$p"', id="a text that is replaced"),
        pytest.param("p='a `b`'\noracle -p \"$p\"", id="a variable in single quotes"),
        pytest.param('oracle -p "a \\$(b) \\$c $((1 + 2))"', id="escaped dollars, arithmetic"),
    ],
)
def test_backquotes_that_are_harmless(bash: str) -> None:
    assert _found(bash) == []


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("a $(rm -rf build)", [(1, "OP211")], id="a command that does something"),
        pytest.param("$(rm -rf build)", [(1, "OP211")], id="the same, alone"),
        pytest.param("a $(git push)", [(1, "OP211")], id="git that changes something"),
        pytest.param("a $(git log -3)", [], id="git that looks"),
        pytest.param("a $(git -C b log)", [(1, "OP211")], id="git whose subcommand is hidden"),
        pytest.param("a $(cat b) $(head c) $(tail d) $(ls) $(date)", [], id="what prints"),
        pytest.param("a $(sed -n 1,5p b)", [], id="sed that prints"),
        pytest.param("a $(sed -i s/a/b/ c)", [(1, "OP211")], id="sed that edits"),
        pytest.param("a $(find . -name b)", [], id="find that prints"),
        pytest.param("a $(find . -delete)", [(1, "OP211")], id="find that deletes"),
        pytest.param("a $(git diff | head -5)", [], id="a pipe of these"),
        pytest.param("a $(git diff | sh)", [(1, "OP211")], id="a pipe that ends in another"),
        pytest.param("a $(< b.md)", [], id="a file"),
        pytest.param("a $(helper b)", [], id="a function of the pack"),
    ],
)
def test_substitutions_in_a_prompt(prompt: str, expected: list[Row]) -> None:
    helper = "helper() { echo; }\n# 01) a\n"

    lines = [(line - 1, rule) for line, rule in _found(f'{helper}oracle -p "{prompt}"')]

    assert lines == expected


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param('oracle -p "a $word"', [(1, "OP212")], id="nothing sets it"),
        pytest.param('oracle -p "a ${word} and ${word#x}"', [(1, "OP212")] * 2, id="in braces"),
        pytest.param('oracle -p "costs $5"', [(1, "OP212")], id="an amount"),
        pytest.param("oracle -p - <<E\na $word $5\nE", [(2, "OP212")] * 2, id="in a heredoc"),
        pytest.param('word=1\noracle -p "a $word"', [], id="the step sets it"),
        pytest.param('word=1\n# 01) a\noracle -p "a $word"', [], id="the prelude sets it"),
        pytest.param('set_it() { word=1; }\n# 01) a\noracle -p "$word"', [], id="a function"),
        pytest.param('export word\noracle -p "a $word"', [], id="it is declared"),
        pytest.param('for word in a b; do oracle -p "a $word"; done', [], id="a loop sets it"),
        pytest.param('while read -r word; do oracle -p "$word"; done < b', [], id="read sets it"),
        pytest.param('mapfile -t word < b\noracle -p "${word[0]}"', [], id="mapfile sets it"),
        pytest.param('((word = 1))\noracle -p "$word"', [], id="arithmetic sets it"),
        pytest.param('. ./settings\noracle -p "$word"', [], id="a file may set it"),
        pytest.param('eval "$code"\noracle -p "$word"', [], id="eval may set it"),
        pytest.param('oracle -p "${word:-none} ${word:?}"', [], id="it has a default"),
        pytest.param('oracle -p "$HOME $RANDOM $GITHUB_SHA $?"', [], id="others set it"),
        pytest.param('ask() { oracle -p "$1"; }\nask why', [], id="an argument"),
        pytest.param('set -- why\noracle -p "$1"', [], id="arguments that are set"),
        pytest.param('set -euo pipefail\noracle -p "$1"', [(2, "OP212")], id="options are none"),
        pytest.param('oracle -p "a \\$word $ %"', [], id="escaped, or no variable"),
        pytest.param("oracle -p 'a $word'", [], id="in single quotes"),
    ],
)
def test_variables_in_a_prompt(bash: str, expected: list[Row]) -> None:
    assert _found(bash) == expected


def test_the_list_of_what_is_plainly_meant_is_documented() -> None:
    words = set(re.findall(r"[a-z0-9-]+", command_in_prompt.check.__doc__ or ""))

    assert {*MEANT, *GIT_LOOKS, "sed"} <= words


def test_other_rules_take_such_prose_for_what_it_is() -> None:
    bash = 'oracle -p "Does `--yes` or `codex exec x` or $(--no -p y) matter?" --write-output a'

    assert {rule for _, rule in _found(bash, ())} <= {"OP110", "OP210", "OP211", "OP301"}


def _prompts(text: str, folder: Path) -> list[str]:
    """The prompts that the tools receive when bash runs the steps."""
    calls = trace(parse_pack(text, "pack.md"), folder).calls
    return [call.argv[call.argv.index("-p") + 1] for call in calls]


WRITTEN = [
    pytest.param('"a `b` c"', "a `b` c", id="a word"),
    pytest.param('"`--yes`, `ROI==0`, `**/x/**`"', "`--yes`, `ROI==0`, `**/x/**`", id="several"),
    pytest.param('"a `# 01)` b\nc"', "a `# 01)` b\nc", id="a comment"),
    pytest.param('"run `ck --sem \\"a b\\" .`"', 'run `ck --sem "a b" .`', id="escaped quotes"),
    pytest.param('"run `grep "a" b` now"', 'run `grep "a" b` now', id="bare quotes"),
    pytest.param('"`` and `it\'s`"', "`` and `it's`", id="nothing, and half a quote"),
    pytest.param('"a `$ref` and $ref"', "a `$ref` and $ref", id="a variable that nothing sets"),
    pytest.param('"a `$(b) $1 $?`"', "a `$(b) $1 $?`", id="expansions between backquotes"),
    pytest.param('"a $(make clean) b"', "a $(make clean) b", id="a command that is not meant"),
    pytest.param('"over\n`two\nlines`"', "over\n`two\nlines`", id="over two lines"),
    pytest.param('"a `b` `$word`"', "a `b` `set`", id="a variable that is set"),
    pytest.param('"$(cat <<E\na `b "c"` $d\nE\n)"', 'a `b "c"` $d', id="a heredoc"),
    pytest.param('"$text"', "a `b` $c", id="a text of the prelude"),
    pytest.param('"a `b`"\' `c` \'"`d`"', "a `b` `c` `d`", id="in pieces"),
    pytest.param('"ä `ö` ß"', "ä `ö` ß", id="other letters"),
]


@pytest.mark.parametrize(("source", "written"), WRITTEN)
def test_what_is_fixed_is_sent_as_written(source: str, written: str, tmp_path: Path) -> None:
    prelude = 'word=set\ntext="a `b` $c"\n'
    text = pack_text(f"{prelude}# 01) a\noracle -p {source} --write-output b.md\n")

    after = fixed(text)

    assert findings_of(after, select=PROMPT_RULES) == ()
    assert _prompts(after, tmp_path) == [written]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["`", "`a`", "`# b`", "``", "\\`", "$x", "\\$", '\\"', "'", "\n", " c ", "(", "`d 'e`"]
        ),
        max_size=8,
    )
)
def test_any_prompt_is_sent_as_written(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    prose = "".join(parts)
    escaped = re.findall(r"\\.|[\s\S]", prose)
    if escaped.count("`") % 2:
        prose += "`"
    text = f'~~~bash\n# 01) a\noracle -p "q{prose}"\n~~~\n'

    after = fixed(text)

    written = re.sub(r'\\([\\"$`])', r"\1", f"q{prose}")
    assert _prompts(after, tmp_path_factory.mktemp("traced")) == [written]


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param('oracle -p "`cat prompt.md`"', id="a command that is meant, if anything is"),
        pytest.param("sh -c 'oracle -p \"a `b`\"'", id="in a shell of its own"),
        pytest.param('oracle -p "$(make prompt)"', id="a whole prompt from a command"),
        pytest.param('oracle -p "about $TICKET"', id="what the environment may set"),
    ],
)
def test_where_the_meaning_is_open_nothing_is_changed(bash: str) -> None:
    text = pack_text(f"# 01) a\n{bash}\n")

    assert findings_of(text, select=PROMPT_RULES)
    assert fixed(text) == text


DAMAGED = """\
# 01 — ROI=1.75 impact=0.5 confidence=0.7 effort=0.2 horizon=Immediate category=invariants
oracle \\
  --write-output "out/01.md" \\
  -p "Question #01
Question: Does `sort_rows` keep `--stable` when `limit==0`?
Smallest experiment: run `ck --sem \\"sort limit\\" .` and look at `**/rows/**`.
Answer format:
1) Direct answer" \\
  -f "a.py"

# 02 — ROI=1.50 impact=0.5 confidence=0.6 effort=0.2 horizon=Immediate category=invariants
oracle \\
  --write-output "out/02.md" \\
  -p "Question #02
Question: Nothing is quoted here, is it?" \\
  -f "b.py"

# 03 — ROI=1.40 impact=0.7 confidence=0.6 effort=0.3 horizon=Immediate category=invariants
oracle \\
  --write-output "out/03.md" \\
  -p "Question #03
Question: Can a comment such as `# 01)` open a step?" \\
  -f "c.py"
"""


def test_a_generated_pack_has_one_finding_for_each_damaged_prompt() -> None:
    text = pack_text(DAMAGED)

    found = findings_of(text, select=("OP2", "OP6"))

    where = [(finding.span.line - BLOCK_LINE + 1, finding.rule) for finding in found]
    assert where == [(5, "OP210"), (22, "OP210")]


def _as_written(text: str) -> list[str]:
    """The prompts of a generated pack, as its author wrote them."""
    quoted = re.findall(r'  -p "((?:[^"\\]|\\[\s\S])*)"', text)
    return [re.sub(r'\\([\\"$`])', r"\1", prompt) for prompt in quoted]


def test_a_generated_pack_is_sent_as_written_after_fix(tmp_path: Path) -> None:
    text = pack_text(DAMAGED)

    assert _prompts(fixed(text), tmp_path) == _as_written(text)
    assert len(_as_written(text)) == 3


@pytest.mark.skipif(not REAL.exists(), reason="the shared packs are not beside the checkout")
def test_the_real_pack_has_one_finding_for_each_damaged_prompt(tmp_path: Path) -> None:
    text = REAL.read_text()
    prompts = _as_written(text)
    lines = text.split("\n")
    damaged = [
        (step.id, next(n for n in range(step.span.line, step.span.end_line) if "`" in lines[n - 1]))
        for step in parse_pack(text, "pack.md").steps
        if "`" in step.code
    ]

    found = findings_of(text, select=("OP2", "OP6"))

    assert [(each.step_id, each.span.line) for each in found] == damaged
    assert {each.rule for each in found} == {"OP210"}
    assert (len(prompts), len(damaged)) == (20, 19)
    after = fixed(text)
    assert findings_of(after, select=("OP2", "OP6")) == ()
    assert _prompts(after, tmp_path) == prompts
    assert _prompts(text, tmp_path / "before") != prompts


def test_bash_itself_runs_what_the_rule_finds(tmp_path: Path) -> None:
    """The rule is no theory: before the fix the command runs, after it the text is sent."""
    text = pack_text('# 01) a\noracle -p "What does `touch ran` break?"\n')

    run = trace(parse_pack(text, "pack.md"), tmp_path / "before")
    after = trace(parse_pack(fixed(text), "pack.md"), tmp_path / "after")

    assert "ran" in run.files
    assert "ran" not in after.files
    assert after.calls[0].argv == ("-p", "What does `touch ran` break?")


def test_deep_nesting_is_no_trouble() -> None:
    deep = "$(echo " * 400 + ")" * 400

    assert findings_of(pack_text(f'# 01) a\noracle -p "{deep}"\n'), select=("OP210",)) == ()
