"""Texts that look like what the program reads: Markdown, answers, tickets, arguments."""

from hypothesis import strategies as st

WILD = (
    "a Z0'\"`$\\|&;<>(){}[]#*!~=-_:,./%@?^+\t\n\r\x00\x0b\x1b\x85\xa0\u200b\u2028\ufeffé日🐍\ud800"
)
"""Characters that have broken something somewhere."""

anything = st.text(st.sampled_from(WILD) | st.characters(), max_size=60)
valid = anything.map(lambda text: text.encode("utf-8", "replace").decode())
"""Text that can be written to a file."""


def lines_of(*rows: str, most: int = 14) -> st.SearchStrategy[str]:
    """Lines out of a stock, now and then a wild one, joined by what files join lines with."""
    row = st.sampled_from(rows) | st.sampled_from(rows) | valid
    return st.tuples(
        st.lists(row, max_size=most), st.sampled_from(("\n", "\n", "\n", "\r\n", "\n\n"))
    ).map(lambda parts: parts[1].join(parts[0]))


MARGINS = ("", "", "", " ", "  ", "   ", "    ", "\t", " \t", "> ", ">", "- ", "1. ", "  > ", "-\t")
BLOCKS = (
    "```bash",
    "```",
    "``` bash",
    "```bash x=1",
    "``` ba`sh",
    "````",
    "````bash",
    "~~~",
    "~~~bash",
    "~~~ bash ~~~",
    "~~~~",
    "``",
    "`` ` ``",
    "```bash```",
    "# Heading",
    "## Coverage check",
    "####### seven",
    "#no",
    "#",
    "# closed ##",
    "Under",
    "===",
    "---",
    "- item",
    "-",
    "- - nested",
    "* * *",
    "10) ten",
    "1234567890. long",
    "+ plus",
    "    code",
    "\tcode",
    "      deep",
    "<div>",
    "</div>",
    "<!-- open",
    "-->",
    "<script>",
    "</script>",
    "<?php",
    "?>",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE x",
    "<a href='x'>",
    "[ref]: /url",
    "[ref]:",
    "/url 'title",
    "| a | b |",
    "|---|---|",
    "",
    "",
    " ",
    "plain words",
    "oracle -p x",
    "# 01) step ROI=4",
    "- invariants: OK",
    "&nbsp;",
    "\\```bash",
    "text ```bash",
)
"""What Markdown is made of, one line each."""

_row = st.tuples(st.sampled_from(MARGINS), st.sampled_from(MARGINS), st.sampled_from(BLOCKS)).map(
    "".join
)
markdown = st.tuples(
    st.lists(_row | _row | _row | valid, max_size=16),
    st.sampled_from(("\n", "\n", "\n", "\n", "\r\n", "\r")),
    st.sampled_from(("", "\n", "\ufeff")),
).map(lambda parts: parts[2] + parts[1].join(parts[0]) + (parts[1] if parts[2] else ""))

ANSWER_ROWS = (
    "## Direct answer",
    "## Risks/unknowns",
    "**Next experiment**",
    "3) Missing evidence",
    "Direct answer:",
    "- Add a lock around `put` (`src/cache.py:15`).",
    "- Remove the flag `X` (`src/cache.py:30-31`).",
    "- Keep the flag `X` (`src/cache.py:30`).",
    "1. Then run `pytest -k cache`.",
    "  - nested: fix src/jobs.py:9, 10 and 12-40.",
    "No action required.",
    "Cannot tell who calls `load()`.",
    "`load` is not cached (`src/cache.py:3`).",
    "| file | change |",
    "|---|---|",
    "| `src/cache.py` | add a lock |",
    "```python",
    "```",
    "x = 1  # TODO",
    "> quoted: remove it",
    "Thinking…",
    "[insert answer here]",
    "I'm sorry, but I can't help with that.",
    "- [ ] Write a test",
    "- [x] Done already",
    "<!-- oraclepack:keep -->",
    "<!-- kept:begin -->",
    "<!-- /kept -->",
    "and then the",
    "- " * 30,
    "(" * 40,
    "`" * 7,
    "**bold** " * 10,
    "a.b.c.d.e.f/g/h.py:99999999999999999999",
    "../../etc/passwd:1",
    "",
)
answers = lines_of(*ANSWER_ROWS, most=18)

TICKET_ROWS = (
    "---",
    "...",
    "id: T-1",
    "title: 'A title",
    "depends_on: [T-2, 'T 3', ]",
    "depends_on:",
    "  - T-4",
    "blocks: T-5, T-6 # why",
    "requires: ~",
    "key : [[[",
    "# Heading",
    "## Acceptance Criteria",
    "**Acceptance criteria**:",
    "- [ ] one",
    "- [x] two",
    "- plain",
    "1. - [ ] deep",
    "Depends on: T-2, other.md",
    "Blocked by #12",
    "```",
    "",
)
tickets = lines_of(*TICKET_ROWS)
