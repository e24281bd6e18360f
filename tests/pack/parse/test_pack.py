import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.script import Span
from oraclepack.system.digests import sha256_text
from tests.packs import BLOCK_LINE, a_pack, pack_text, strict_text


def test_a_strict_pack_is_read_as_it_was_written() -> None:
    pack = parse_pack(strict_text(), "docs/pack.md")

    assert [step.id for step in pack.steps] == [f"{n:02}" for n in range(1, 21)]
    assert [len(step.calls) for step in pack.steps] == [1] * 20
    assert pack.out_dir == "docs/oracle-answers"
    assert pack.coverage is not None
    assert [line.verdict for line in pack.coverage.lines] == ["OK"] * 10


@pytest.mark.parametrize("change", ["\r\n", "\r", "bom"])
def test_line_ends_and_byte_order_mark_change_nothing(change: str) -> None:
    plain = strict_text()
    raw = "\ufeff" + plain if change == "bom" else plain.replace("\n", change)

    pack = parse_pack(raw, "pack.md")

    assert pack.pack_hash == sha256_text(plain)
    assert pack.steps == parse_pack(plain, "pack.md").steps


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param(pack_text("# 01) a\noracle -p x\n"), 5, 1, id="plain"),
        pytest.param(
            "- item\n\n  ```bash\n  # 01) a\n  oracle -p x\n  ```\n", 5, 3, id="in a list"
        ),
        pytest.param("> ```bash\n> # 01) a\n> oracle -p x\n> ```\n", 3, 3, id="in a quotation"),
        pytest.param(pack_text("# 01) a\n: 'é'; oracle -p x\n"), 5, 8, id="after other letters"),
    ],
)
def test_places_are_those_of_the_markdown_file(text: str, line: int, column: int) -> None:
    (call,) = parse_pack(text, "pack.md").steps[0].calls

    assert (call.span.line, call.span.column) == (line, column)


@pytest.mark.parametrize(
    ("prelude", "before", "outputs", "expected"),
    [
        ("out_dir=docs/a\n", "", ["x/1.md"], "docs/a"),
        ("", "## Parsed args\n- out_dir: docs/b\n", ["x/1.md"], "docs/b"),
        ("", "## Parsed args\n- out_dir: {{out_dir}}\n", ["x/1.md"], "x"),
        ("", "", ["a/b/1.md", "a/b/2.md"], "a/b"),
        ("", "", ["a/b/1.md", "a/c/2.md"], "a"),
        ("", "", ["1.md"], "."),
        ("", "", ["$x/1.md"], None),
        ("", "", [], None),
    ],
)
def test_the_directory_of_the_answers(
    prelude: str, before: str, outputs: list[str], expected: str | None
) -> None:
    calls = "".join(f'oracle -p x --write-output "{path}"\n' for path in outputs)
    pack = a_pack(f"{prelude}# 01) a\n{calls}", before=before)

    assert pack.out_dir == expected


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("oracle -p x --write-output a.md", [("a.md", "--write-output")]),
        ("oracle -p x > a.md", [("a.md", ">")]),
        ("oracle -p x > /dev/null", []),
        ("oracle -p x 2> err.log", []),
        ("codex exec -o a.md x", [("a.md", "--output-last-message")]),
        ("task-master analyze-complexity --output c.json", [("c.json", "--output")]),
        ("# oraclepack: outputs=a.md, b.json", [("a.md", "directive"), ("b.json", "directive")]),
        ("gemini -p x | tee a.md", []),
        ('oracle -p x --write-output "$d/a.md"', [("$d/a.md", "--write-output")]),
    ],
)
def test_declared_outputs(body: str, outputs: list[tuple[str, str]]) -> None:
    (step,) = a_pack(f"# 01) a\n{body}\n").steps

    assert [(output.path.display_text, output.origin) for output in step.outputs] == outputs


@pytest.mark.parametrize(
    ("body", "reads", "writes", "unknown"),
    [
        ("cat docs/a.md > docs/b.md", {"docs/a.md"}, {"docs/b.md"}, False),
        ("cp ./a.txt b.txt", {"a.txt", "b.txt"}, {"b.txt"}, False),
        ("oracle -p x -f src/a.py --write-output o.md", {"src/a.py"}, {"o.md"}, False),
        ('echo x > "$f"', set(), set(), True),
        ("wc -l < in.txt", {"in.txt"}, set(), False),
        ("sed -i s/a/b/ c.txt", {"c.txt", "s/a/b"}, {"c.txt"}, False),
        ("echo hello > /dev/null", set(), set(), False),
        ("mkdir -p docs/out; echo docs/out", set(), set(), False),
    ],
)
def test_what_a_step_reads_and_writes(
    body: str, reads: set[str], writes: set[str], unknown: bool
) -> None:
    (step,) = a_pack(f"# 01) a\n{body}\n").steps

    assert (set(step.reads), set(step.writes), step.writes_unknown) == (reads, writes, unknown)


def test_prompt_metadata_is_read_and_a_missing_key_is_none() -> None:
    prompt = (
        "[oraclepack-meta]\nQuestionId: Q-07\nCategory: UX flows\nExpectedArtifacts:\n"
        "- tests/a.py\n- docs/b.md\n[/oraclepack-meta]\nWhat now?"
    )
    (step,) = a_pack(f"# 01) a\noracle -p '{prompt}'\n").steps

    assert step.meta.question_id == "Q-07"
    assert step.meta.category == "UX flows"
    assert step.meta.reference is None
    assert step.meta.expected_artifacts == ("tests/a.py", "docs/b.md")


NASTY = (
    "cat <<'END'\n# 02) not a header\n-p not a flag\n```not a fence` $(no) \"quote\nEND",
    "cat <<END\n# 03) $HOME is not a header\nEND",
    "printf '%s\\n' 'a string with\n# 04) no header\n-f no flag\nin it'",
    'printf "%s\\n" "double\n# 05) none\n"',
    "for i in 1 2; do\n  echo $i # 06) none\ndone",
    "if true; then echo yes; else echo no; fi",
    "f() {\n  # 07) a note\n  echo in f\n}\nf",
    'x=$(cat <<\'E\'\nit\'s "odd"\nE\n)\necho "$x"',
    "echo a \\\n  b \\\n  c",
    "(cd / && pwd)",
    "case x in\n  x) echo x ;;\nesac",
    "echo $((1 << 2))",
    "python3 - <<'PY'\n# 08) python comment\nprint('''# 09) string''')\nPY",
    "echo done # trailing",
    "true\n\n\n",
    "# only a comment",
    "echo ünïcödé 日本",
)


@st.composite
def written_packs(draw: st.DrawFn) -> tuple[str, list[str]]:
    prelude = draw(st.sampled_from(["", "v=1\n", "# prelude\nset -u\n", NASTY[0] + "\n"]))
    parts = draw(st.lists(st.lists(st.sampled_from(NASTY), max_size=3), min_size=1, max_size=4))
    return prelude, ["".join(f"{part}\n" for part in body) for body in parts]


def output_of(script: str) -> bytes:
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, check=True, timeout=20
    ).stdout


@settings(max_examples=40, deadline=None)
@given(written_packs())
def test_parsing_gives_back_what_was_written_and_bash_runs_the_same(
    written: tuple[str, list[str]],
) -> None:
    prelude, bodies = written
    bash = prelude + "".join(f"# {n:02}) step\n{body}" for n, body in enumerate(bodies, 1))
    pack = parse_pack(
        pack_text(bash).replace("```bash", "````bash").replace("```\n", "````\n"), "p"
    )

    assert pack.prelude is not None
    assert pack.prelude.code == prelude
    assert [step.code for step in pack.steps] == bodies
    pieces = [output_of(pack.prelude.code + step.code) for step in pack.steps]
    own = output_of(pack.prelude.code)
    assert own + b"".join(piece[len(own) :] for piece in pieces) == output_of(bash)


def test_every_step_spans_from_its_header_to_the_line_before_the_next() -> None:
    pack = a_pack("# 01) a\ntrue\n\n# 02) b\ntrue\n")

    assert [step.span for step in pack.steps] == [
        Span(BLOCK_LINE, 1, BLOCK_LINE + 2, 1),
        Span(BLOCK_LINE + 3, 1, BLOCK_LINE + 4, 1),
    ]


@settings(max_examples=150, deadline=None)
@given(st.text("`~#bash \n01)-'\"$(){}<|&;\\EOF=é\t", max_size=120))
def test_content_never_raises(text: str) -> None:
    parse_pack(text, "p")
    parse_pack(f"```bash\n{text}\n```\n", "p")
