"""Texts made to take long: the time grows with their size, not with its square."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.pack.parse.grammar import MOST_OPENERS
from tests.fuzz.sizes import READERS, Reader, growth
from tests.packs import pack_text
from tests.work.answers import records_of

SIZE = 4_000
MOST_CPU = 30
"""Seconds. Before there were limits, the slowest of these took minutes or never ended."""


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_time_grows_with_the_size(reader: Reader) -> None:
    slow = {
        name: said
        for name, text in reader.texts.items()
        if (said := growth(reader, text, SIZE)) is not None and growth(reader, text, SIZE)
    }

    assert slow == {}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU))


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        pytest.param(
            "list", pack_text("# 01) x\n" + "a|" * 40_000), "opening operators", id="pipes"
        ),
        pytest.param("list", pack_text("# 01) x\n" + "<<A" * 66_000), "opening", id="heredocs"),
        pytest.param("list", pack_text("# 01) x\n" + "a;" * 200_000), "operators", id="commands"),
        pytest.param("list", pack_text("# 01) x\n" + "a " * 200_000), "words", id="words"),
        pytest.param(
            "list", pack_text("# 01) x\n" + "&amp;" * 190_000), "operators", id="entities"
        ),
        pytest.param("list", pack_text("# 01) x\n" + "a?" * 400_000), "operators", id="patterns"),
        pytest.param("list", pack_text("# 01) x\n" + "fi@" * 300_000), "operators", id="ends"),
        pytest.param("list", pack_text("# 01) x\n" + ") " * 400_000), "operators", id="closings"),
        pytest.param("list", "|a|b|\n|-|-|\n" + "|c|d|\n" * 600_000, "too large", id="a table"),
    ],
)
def test_a_hostile_pack_is_refused_soon(tmp_path: Path, command: str, text: str, said: str) -> None:
    (tmp_path / "pack.md").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "oraclepack", command, "pack.md"],
        cwd=tmp_path,
        capture_output=True,
        preexec_fn=limited,
        timeout=300,
        check=False,
    )

    assert done.returncode == 2
    assert said in done.stderr.decode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("`" * 95_000, id="backquotes"),
        pytest.param("|a|b|\n|-|-|\n" + "|Fix c|d|\n" * 400_000, id="a table of 4 MB"),
        pytest.param("a" * 200_000, id="a long line"),
    ],
)
def test_a_hostile_answer_is_read_or_refused(text: str) -> None:
    (record, *_) = records_of(s01=f"## Direct answer\n\n{text}\n")

    assert record.title


def test_a_large_answer_is_missing_with_a_reason() -> None:
    (record,) = records_of(s01="a\n" * 11_000)

    assert "too large for an answer: more than 10000 lines" in record.remarks[0]


def test_the_limit_of_openings_is_far_from_honest_bash() -> None:
    from oraclepack.pack.parse.grammar import syntax_tree

    honest = b"printf '%s' \"$(cat a | sort)\" > b\n" * 500

    assert not syntax_tree(honest).root_node.has_error
    with pytest.raises(InputError, match="opening operators"):
        syntax_tree(b"a|" * (MOST_OPENERS + 1))
