"""Hostile sizes: texts made to take as long as possible, and how the time grows with them.

Growth is measured, not time: four times the text may take eight times as long, and no more. A text
that is refused for its size, with a reason, is as good as one that is read.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oraclepack.answers.suspicions import suspicions
from oraclepack.errors import InputError
from oraclepack.journal.line_format import read_lines
from oraclepack.journal.run_state import fold
from oraclepack.pack.answer_sections import sections_present
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.settings.loading import PROJECT_FILE, project_tables
from oraclepack.settings.registry import flatten
from oraclepack.system.markdown_text import escape_keeping_code
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER, PACK, TICKET, TextLimit
from oraclepack.tickets.read_tickets import parse_ticket
from oraclepack.tools.oracle_sessions import read_record
from oraclepack.view.legacy_files import import_state
from oraclepack.work.records import actionize
from tests.work.answers import a_pack, a_step

Text = Callable[[int], str]

FACTOR = 4
MOST_GROWTH = 2 * FACTOR
LONGEST_REFUSAL = 5.0
TOO_SHORT = 0.25
"""CPU seconds that say nothing about growth: starting costs and noise."""


def _of(unit: str) -> Text:
    return lambda size: unit * (size // len(unit))


BASH: Mapping[str, Text] = {
    unit: _of(unit)
    for unit in (
        *("a|", "<<A", "cat <<A\n", "`", "`a", "(", "$((", "${", "${a:-", "$(", '"', '"$(', "'"),
        *("[[ ", "[", "if a; then ", "case a in b) ", "a) b;; ", "for a in b; do ", "f() { "),
        *("a && ", "a;", "a\n", "a & ", "a ", "a", "a=1 ", "a=1\n", "a=$a$a\n", "a+=b\n", "$a"),
        *('"$a"', "\\", "\\\n", ">a ", "2>&1 ", "<<< a ", "# a\n", "# 02) a\n", "time ", "! "),
        *("time { ", "$'a' ", "<(", "((", "$((1+", "} ", ") ", "-f a ", "sh -c '", "{a,b}", "日 "),
        *("f() { f; f; }\n", "f() { oracle -p x; }\n", "cat <<A\nx\nA\n", "cat <<A <<B\nx\nA\nB\n"),
        *("cat <<A\n A\n", "cat <<A\n`a`\nA\n", 'oracle -p "x" --write-output o/a.md\n', "a=("),
        *("$[a+", "[[ a =~ (", "${a%", 'a|(b;{c`d"e$(f', "env A=1 ", "{ ", "done ", "~~~\n"),
        *(
            "&amp;",
            "a?",
            "fi@",
            ")",
            ") a ",
            ";a",
            ";>",
            "\ncase",
            "$;",
            "`;",
            "function = ",
            "{ } ",
            "?done",
            ") é ",
        ),
    )
}
MARKDOWN: Mapping[str, Text] = {
    **{
        unit: _of(unit)
        for unit in (
            *("[", "[a](", "![", "![a](b) ", "*a ", "**a ", "_a ", "*", "*a **b_ ", "<a ", "<!-- "),
            *('<a href="', "<? ", "<![CDATA[ ", "&amp;", "&a", "`", "`a", "``a`", ">", "> ", "- "),
            *(
                "1. ",
                "|a",
                "|a|b|\n|-|-|\n",
                "~~~\n",
                "```\n",
                "# a\n",
                "a\n=\n",
                "---\n",
                "a: b\n",
            ),
            *("[a]: b\n", "[a]: <", "[a] ", "<http://a", "\\", "\\\n", " ", "  \n", "\t", "\n"),
            *("Add a lock. ", "Add a lock.\n", "- Add a lock to `a.py:3`.\n", "a/b.py:12 ", "a."),
            *("a/", "a:", "a; ", "a", "http://a ", "@a ", ":a:", "- [ ] a\n", "**a**\n", "\r\n"),
            *("<details>\n", "Fix a, ", "If a, ", "(", "1", "and ", "-", "://a@", "| a "),
        )
    },
    "runs of backquotes": lambda size: "".join("`" * (n % 300) + "a" for n in range(size // 150)),
    "growing runs of backquotes": lambda size: "".join(
        "`" * n + "a" for n in range(int((2 * size) ** 0.5))
    ),
    "a deeper list on each line": lambda size: "".join(
        "  " * n + "- a\n" for n in range(int(size**0.5))
    ),
    "deep lists": lambda size: ("- " * 200 + "a\n") * (size // 402),
    "deep quotations": lambda size: ("> " * 200 + "a\n") * (size // 402),
    "a wide table": lambda size: "".join(f"{unit * (size // 6)}|\n" for unit in ("|a", "|-", "|b")),
    "a tall table": lambda size: "|a|b|\n|-|-|\n" + "|Fix c|d|\n" * (size // 9),
    "a table of empty rows": lambda size: (
        f"{'|a' * (size // 8)}|\n{'|-' * (size // 8)}|\n" + "|\n" * (size // 4)
    ),
    "many claims": lambda size: "".join(
        f"- The cache {n} in `a{n}.py:3` is locked.\n" for n in range(size // 40)
    ),
    "many requests": lambda size: "".join(
        f"- Add lock {n} to `a{n}.py:3`.\n" for n in range(size // 34)
    ),
    "front matter": lambda size: "---\n" + "a: b\n" * (size // 5) + "---\n",
}
JSON: Mapping[str, Text] = {
    "nested lists": lambda size: "[" * size,
    "nested objects": lambda size: '{"a":' * (size // 5),
    "a long string": lambda size: '{"id": "' + "a" * size + '"}',
    "many keys": lambda size: "{" + ",".join(f'"k{n}": 1' for n in range(size // 10)) + "}",
    "lines": _of('{"crc":"00000000","e":{}}\n'),
    "a line without an end": _of('{"crc":"'),
}


TOML: Mapping[str, Text] = {
    **{unit: _of(unit) for unit in ("[", '"', "\n", "#", "[[a]]\n", "a", "a.", "'")},
    "nested lists": lambda size: "a = " + "[" * size,
    "nested tables": lambda size: "a = " + "{a=" * (size // 3),
    "a key of many parts": lambda size: "a." * (size // 2) + "a = 1",
    "a table of many parts": lambda size: f"[{'a.' * (size // 2)}a]",
    "keys of a hundred parts": lambda size: "".join(
        f"b{n}.{'a.' * 90}a = 1\n" for n in range(size // 200)
    ),
    "many keys": lambda size: "".join(f"k{n} = 1\n" for n in range(size // 10)),
    "a long list": lambda size: f"a = [{'1,' * (size // 2)}]",
    "names of secrets": lambda size: "secret_names = [" + '"A",' * (size // 4) + "]",
}


@dataclass(frozen=True)
class Reader:
    """Something that reads texts from outside."""

    name: str
    read: Callable[[str], object]
    texts: Mapping[str, Text]
    limit: TextLimit


def _pack(text: str) -> object:
    return parse_pack(f"# p\n\n```bash\nout_dir=o\n# 01) ROI=1\n{text}\n```\n", "pack.md")


def _configure(text: str) -> object:
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / PROJECT_FILE).write_text(text, encoding="utf-8")
        return [flatten(table, "project") for _, table in project_tables(root)]


def _verify(text: str) -> object:
    return sections_present(text), sections_present(text, require_headings=True), suspicions(text)


READERS = (
    Reader("bash of a pack", _pack, BASH, PACK),
    Reader("Markdown of a pack", lambda text: parse_pack(text, "pack.md"), MARKDOWN, PACK),
    Reader("ticket", lambda text: parse_ticket(text, "a.md", "0" * 64), MARKDOWN, TICKET),
    Reader(
        "answer, as work",
        lambda text: actionize(a_pack(a_step("01", f"## Direct answer\n\n{text}"))),
        MARKDOWN,
        ANSWER,
    ),
    Reader("answer, verified", _verify, MARKDOWN, ANSWER),
    Reader("text, written", escape_keeping_code, MARKDOWN, ANSWER),
    Reader("text, cleaned", Redactor.of({"A_KEY": "secret-1"}).clean, MARKDOWN, ANSWER),
    Reader("journal", lambda text: fold(read_lines(text.encode()).events), JSON, PACK),
    Reader("Go state file", lambda text: import_state(text.encode()), JSON, PACK),
    Reader("configuration", _configure, TOML, PACK),
    Reader("session record", lambda text: read_record(text.encode()), JSON, PACK),
)


def seconds(reader: Reader, text: str) -> float | None:
    """The CPU time that a text takes; None when it is refused for its size, and soon."""
    started = time.process_time()
    if reader.limit.excess(text) is not None:
        return None
    try:
        reader.read(text)
    except InputError:
        spent = time.process_time() - started
        return None if spent < LONGEST_REFUSAL else spent
    return time.process_time() - started


def growth(reader: Reader, text: Text, size: int) -> str | None:
    """What is wrong with how the time grows from a size to four times of it; None for nothing."""
    large = seconds(reader, text(FACTOR * size))
    if large is None or large < TOO_SHORT:
        return None
    small = seconds(reader, text(size))
    if small is None or large / max(small, TOO_SHORT / FACTOR) <= MOST_GROWTH:
        return None
    return f"{size} characters take {small:.2f} s, {FACTOR} times as many {large:.2f} s"


def judge_sizes(size: int) -> bool:
    """Every reader with every text; whether some grows too fast."""
    broken = 0
    for reader in READERS:
        for name, text in reader.texts.items():
            said = growth(reader, text, size)
            if said is not None:
                broken += 1
                sys.stdout.write(f"SLOW   {reader.name}: {name!r}: {said}\n")
        sys.stdout.write(f"{'ok':6} {reader.name:18} {len(reader.texts):6} hostile texts\n")
        sys.stdout.flush()
    return bool(broken)
