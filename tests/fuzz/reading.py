"""Fuzzing what reads text: packs, Markdown, tickets, front matter, shell words."""

import msgspec
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from oraclepack.pack.model import Pack, plain_text
from oraclepack.pack.parse.bash_script import read_script
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.markdown import read_front_matter, read_markdown
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.parse.variables import Variables
from oraclepack.tickets.read_tickets import parse_ticket
from tests.fuzz import texts
from tests.fuzz.differential import check as check_calls
from tests.fuzz.mutate import mutate
from tests.fuzz.packs import sound_packs
from tests.fuzz.scripts import packs
from tests.fuzz.shell_stock import EXPANSIONS, LITERALS
from tests.fuzz.target import Target
from tests.fuzz.traced import bounded

_PLAIN = MarkdownIt("commonmark")


def _mutated(seed: int) -> str:
    return mutate(seed, sound_packs()).decode("utf-8", "replace")


any_pack = st.one_of(st.integers(0, 10**9).map(_mutated), texts.markdown, texts.valid)


def every_place_is_in_the_file(text: str) -> None:
    pack = parse_pack(text, "pack.md")
    lines = pack.text.count("\n") + 1
    for step in pack.steps:
        assert 1 <= step.span.line <= lines
        for command in step.script.commands:
            assert step.span.line <= command.span.line <= lines
    assert _codes(pack) == _block(pack)
    assert msgspec.json.encode(parse_pack(text, "pack.md")) == msgspec.json.encode(pack)


def _codes(pack: Pack) -> str:
    """Prelude, headers and bodies, put together again."""
    if pack.block is None:
        return ""
    assert pack.prelude is not None
    first = pack.block.content_line
    lines = pack.block.content.split("\n")
    headers = [lines[step.header.span.line - first] for step in pack.steps]
    bodies = [step.code for step in pack.steps]
    return pack.prelude.code + "".join(
        f"{header}\n{body}" for header, body in zip(headers, bodies, strict=True)
    )


def _block(pack: Pack) -> str:
    return pack.block.content if pack.block else ""


def fences_are_those_of_a_markdown_parser(text: str) -> None:
    plain = plain_text(text)
    tokens = _PLAIN.parse(plain)
    blocks = [token for token in tokens if token.type in {"fence", "code_block"} and token.map]
    real = [(one.info.strip(), one.markup, _ended(one.content), _rows(one.map)) for one in blocks]
    titles = [
        (tokens[at + 1].content.strip(), token.map[0] + 1)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]
    found = read_markdown(plain)

    ours = [(f.info, f.marker, f.content, (f.span.line, f.span.end_line)) for f in found.fences]
    assert ours == real
    assert [(heading.text, heading.line) for heading in found.headings] == titles


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _rows(rows: list[int] | None) -> tuple[int, int]:
    assert rows is not None
    return rows[0] + 1, rows[1]


def a_ticket_is_always_read(text: str) -> None:
    ticket = parse_ticket(text, "a/b.md", "0" * 64)

    assert ticket.title
    last = text.replace("\r\n", "\n").count("\n") + text.count("\r") + 1
    assert all(1 <= item.line <= last for item in ticket.items)
    assert all(1 <= mention.line <= last for mention in ticket.mentions)


def front_matter_ends_in_the_text(text: str) -> None:
    lines = text.split("\n")
    front = read_front_matter(lines)

    assert 1 <= front.body_line <= len(lines) + 1
    assert front.values.keys() == front.lines.keys()
    assert all(1 < line < front.body_line for line in front.lines.values())


def words_are_unknown_or_what_bash_passes(words: list[str]) -> None:
    text = "v=val; w='a b'; list=(x 'y z')\nshow " + " ".join(words)
    script = f"show() {{ printf '%s\\0' \"$@\"; }}\n{text}\n"
    done = bounded(script)
    done.check_returncode()
    lines = text.split("\n")
    place = Locator(tuple(line.encode() for line in lines), 1, (0,) * len(lines))
    commands = read_script(place, Variables())[0].commands
    ours = next(command for command in commands if command.name == "show").words[1:]
    if any(word.splits or word.globs for word in ours):
        return
    real = done.stdout.decode().split("\0")[:-1]
    assert len(ours) == len(real)
    assert all(word.value in {None, text} for word, text in zip(ours, real, strict=True))


_WORD = st.lists(
    st.sampled_from((*LITERALS, *EXPANSIONS))
    | st.text("abc é", min_size=1, max_size=4).map(lambda text: f'"{text}"')
    | st.text('ab$`"\\ \n{*', max_size=4).map(lambda text: f"'{text}'")
    | st.text("ab\\ntx01'", max_size=5).map(
        lambda text: "$'" + text.replace("'", "").rstrip("\\") + "'"
    ),
    min_size=1,
    max_size=3,
).map("".join)

TARGETS = (
    Target(
        "parser",
        "any pack is read; each part of its block is in one step; every line is one of the file",
        any_pack,
        every_place_is_in_the_file,
        few=60,
    ),
    Target(
        "markdown",
        "code blocks and headings are those that a CommonMark parser finds",
        texts.markdown | any_pack,
        fences_are_those_of_a_markdown_parser,
        few=250,
        share=3,
    ),
    Target(
        "ticket",
        "any text is a ticket with a title, and its lines are lines of the file",
        texts.tickets,
        a_ticket_is_always_read,
        few=60,
    ),
    Target(
        "front matter",
        "keys stand between the dashes",
        texts.tickets.map(lambda text: f"---\n{text}"),
        front_matter_ends_in_the_text,
        few=60,
    ),
    Target(
        "shell words",
        "a word is unknown, or what bash passes",
        st.lists(_WORD, min_size=1, max_size=4),
        words_are_unknown_or_what_bash_passes,
        few=60,
        share=0.2,
    ),
    Target(
        "calls",
        "every call that bash makes in a step is one that we found, with the words that we know",
        packs(),
        check_calls,
        few=40,
        share=0.1,
    ),
)
