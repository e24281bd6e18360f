"""One output against its contract."""

import pytest

from oraclepack.answers.output_check import check_output
from oraclepack.pack.contract import DeclaredOutput, OutputContract, infer
from oraclepack.system.files import Content
from oraclepack.system.text_limits import LARGEST_OUTPUT

FOUR = "## Direct answer\na\n## Risks/unknowns\nb\n## Next experiment\nc\n## Missing evidence\nd\n"


def contract(marker: str) -> OutputContract:
    return infer([DeclaredOutput("out/01.md")], "", marker=marker)[0]


@pytest.mark.parametrize(
    ("marker", "content", "missing", "io_error"),
    [
        pytest.param("all-sections", Content(FOUR.encode()), (), None, id="whole"),
        pytest.param("none", Content(b"words"), (), None, id="nothing is demanded"),
        pytest.param(
            "all-sections",
            Content(b"## Direct answer\na\n## Missing evidence\nb"),
            ("risks-unknowns", "next-experiment"),
            None,
            id="sections are missing, in their order",
        ),
        pytest.param("direct-answer", Content(b"no"), ("direct-answer",), None, id="the one"),
        pytest.param("all-sections", Content(trouble="missing"), (), "missing", id="no file"),
        pytest.param("none", Content(trouble="missing"), (), "missing", id="no file, no contract"),
        pytest.param(
            "none", Content(trouble="Permission denied"), (), "Permission denied", id="unreadable"
        ),
        pytest.param("none", Content(), (), "missing", id="no reason given"),
        pytest.param("all-sections", Content(b""), (), "empty", id="empty"),
        pytest.param("none", Content(b" \n\t\n"), (), "empty", id="blank"),
        pytest.param("none", Content(b"\xef\xbb\xbf"), (), "empty", id="a byte order mark"),
        pytest.param("none", Content("\u200b\u00a0".encode()), (), "empty", id="invisible"),
        pytest.param("direct-answer", Content(b"Direct answer: \xffa"), (), None, id="not UTF-8"),
        pytest.param("none", Content(b"a" * LARGEST_OUTPUT), (), None, id="as large as may be"),
        pytest.param(
            "none",
            Content(b"a" * (LARGEST_OUTPUT + 1)),
            (),
            f"too large for an output: more than {LARGEST_OUTPUT} bytes",
            id="too large to be read",
        ),
    ],
)
def test_a_file_that_is_not_there_is_another_fault_than_its_text(
    marker: str, content: Content, missing: tuple[str, ...], io_error: str | None
) -> None:
    failure = check_output(contract(marker), content)

    found = (failure.missing_sections, failure.io_error) if failure else ((), None)
    assert found == (missing, io_error)
    assert failure is None or (failure.path, failure.contract) == (
        "out/01.md",
        contract(marker).kind,
    )


def test_headings_can_be_required() -> None:
    said = Content(b"Direct answer: yes.")

    assert check_output(contract("direct-answer"), said) is None
    failure = check_output(contract("direct-answer"), said, require_headings=True)
    assert failure is not None
    assert failure.missing_sections == ("direct-answer",)
