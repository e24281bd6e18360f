"""The outputs of a whole pack: the matrix of cases that a verifier must tell apart."""

from collections.abc import Mapping

import pytest

from oraclepack.answers.verification import Totals, VerifyReport
from oraclepack.answers.verify_pack import RecordedOutputs, VerifyOptions, summed, verify_pack
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.system.files import Content
from tests.packs import ANSWER_FORMAT, a_pack

DIRECT, RISKS, NEXT, MISSING = (
    "direct-answer",
    "risks-unknowns",
    "next-experiment",
    "missing-evidence",
)
SECTIONS = {
    DIRECT: "## Direct answer\nYes, it is so.\n",
    RISKS: "## Risks/unknowns\nThe load is unknown.\n",
    NEXT: "## Next experiment\nRun it twice.\n",
    MISSING: "## Missing evidence\nNothing is missing.\n",
}
FOUR = "".join(SECTIONS.values())
ONE = SECTIONS[DIRECT]
ONLY = f"{ANSWER_FORMAT}\nReturn only: Direct answer"
MISSING_FILE = "missing"


def ask(path: str, prompt: str = "Why?") -> str:
    return f"oracle --write-output \"{path}\" -p '{prompt}'\n"


def chunks(prompt: str = ANSWER_FORMAT) -> str:
    return "".join(ask(f"out/01-x-{name}.md", prompt) for name in SECTIONS)


def verified(
    bash: str,
    files: Mapping[str, str],
    manner: VerifyOptions | None = None,
    recorded: RecordedOutputs | None = None,
) -> VerifyReport:
    def read(path: str) -> Content:
        return Content(files[path].encode()) if path in files else Content(trouble=MISSING_FILE)

    return verify_pack(a_pack(f"# 01) ask\n{bash}"), read, manner or VerifyOptions(), recorded)


@pytest.mark.parametrize(
    ("bash", "files", "manner", "expected"),
    [
        pytest.param(
            ask("a.md"), {"a.md": "Yes."}, VerifyOptions(), [], id="no format, no sections"
        ),
        pytest.param(
            ask("a.md"), {}, VerifyOptions(), [("a.md", "none", (), "missing")], id="but a file"
        ),
        pytest.param(
            ask("a.md"),
            {"a.md": " \n"},
            VerifyOptions(),
            [("a.md", "none", (), "empty")],
            id="with words",
        ),
        pytest.param(
            ask("a.md", ANSWER_FORMAT),
            {"a.md": FOUR},
            VerifyOptions(),
            [],
            id="a format, four sections",
        ),
        pytest.param(
            ask("a.md", ANSWER_FORMAT),
            {"a.md": ONE},
            VerifyOptions(),
            [("a.md", "all-sections", (RISKS, NEXT, MISSING), None)],
            id="a format, one section",
        ),
        pytest.param(
            ask("a.md", ONLY), {"a.md": ONE}, VerifyOptions(), [], id="only the direct answer"
        ),
        pytest.param(
            ask("a.md", ONLY),
            {"a.md": SECTIONS[RISKS]},
            VerifyOptions(),
            [("a.md", "single-section", (DIRECT,), None)],
            id="another than the one that was asked for",
        ),
        pytest.param(
            ask("a.md", ONLY),
            {"a.md": ONE},
            VerifyOptions(mode=ContractMode.ALL_SECTIONS),
            [("a.md", "all-sections", (RISKS, NEXT, MISSING), None)],
            id="the old strict mode",
        ),
        pytest.param(
            chunks(),
            {f"out/01-x-{name}.md": text for name, text in SECTIONS.items()},
            VerifyOptions(),
            [],
            id="four chunks, one section each",
        ),
        pytest.param(
            chunks(),
            {f"out/01-x-{name}.md": ONE for name in SECTIONS if name != NEXT},
            VerifyOptions(),
            [
                (f"out/01-x-{RISKS}.md", "by-suffix", (RISKS,), None),
                (f"out/01-x-{NEXT}.md", "by-suffix", (), "missing"),
                (f"out/01-x-{MISSING}.md", "by-suffix", (MISSING,), None),
            ],
            id="a missing file is not a missing section",
        ),
        pytest.param(
            ask("out/01-direct-answer.md"),
            {"out/01-direct-answer.md": "Yes."},
            VerifyOptions(chunks=ChunkMode.MULTI),
            [("out/01-direct-answer.md", "by-suffix", (DIRECT,), None)],
            id="one file that is said to be a chunk",
        ),
        pytest.param(
            ask("a.md", ANSWER_FORMAT) + "# oraclepack: contract=direct-answer\n",
            {"a.md": ONE},
            VerifyOptions(),
            [],
            id="the author's marker",
        ),
        pytest.param(
            ask("a.md", ANSWER_FORMAT),
            {"a.md": FOUR.replace("## ", "")},
            VerifyOptions(require_headings=True),
            [("a.md", "all-sections", (DIRECT, RISKS, NEXT, MISSING), None)],
            id="headings are required",
        ),
    ],
)
def test_the_matrix(
    bash: str,
    files: dict[str, str],
    manner: VerifyOptions,
    expected: list[tuple[str, str, tuple[str, ...], str | None]],
) -> None:
    found = verified(bash, files, manner)

    assert [
        (one.path, one.contract, one.missing_sections, one.io_error) for one in found.failures
    ] == expected
    assert {one.step_id for one in found.failures} <= {"01"}
    assert (found.ok, found.totals.failed) == (not expected, len(expected))
    assert found.totals.ok == found.totals.outputs - len(expected)


@pytest.mark.parametrize(("strict", "failed"), [(False, 0), (True, 1)])
def test_a_doubt_is_a_failure_only_when_it_should_be(strict: bool, failed: int) -> None:
    found = verified(
        ask("a.md") + ask("b.md"),
        {"a.md": "Answer now", "b.md": "Yes."},
        VerifyOptions(strict=strict),
    )

    assert [(one.step_id, one.path, one.code, one.line) for one in found.doubts] == [
        ("01", "a.md", "placeholder", 1)
    ]
    assert found.ok is not strict
    assert (found.totals.doubtful, found.totals.failed, found.totals.ok) == (1, failed, 2 - failed)


def test_an_echo_is_known_by_the_prompt_of_the_call() -> None:
    found = verified(ask("a.md", ANSWER_FORMAT), {"a.md": ANSWER_FORMAT})

    assert [one.code for one in found.doubts] == ["echo"]


LOOP = f"""for part in direct-answer risks-unknowns; do
{ask("$OUT/01-x-$part.md", ANSWER_FORMAT)}done
"""


def test_a_path_that_only_the_shell_knew_is_unresolved_without_a_run() -> None:
    found = verified(LOOP, {})

    assert [(one.step_id, one.declared) for one in found.unresolved] == [
        ("01", "$OUT/01-x-$part.md")
    ]
    assert found.ok
    assert (found.run_id, found.totals.outputs, found.totals.unresolved) == (None, 0, 1)


def test_a_run_tells_the_paths_and_their_names_tell_the_sections() -> None:
    paths = (f"out/01-x-{DIRECT}.md", f"out/01-x-{RISKS}.md")
    recorded = RecordedOutputs("run", paths={"01": paths})

    found = verified(LOOP, {paths[0]: ONE, paths[1]: ONE}, recorded=recorded)

    assert [(one.path, one.missing_sections) for one in found.failures] == [(paths[1], (RISKS,))]
    assert (found.run_id, found.totals.outputs, found.totals.unresolved) == ("run", 2, 0)


def test_what_the_run_recorded_beyond_the_text_must_still_be_there() -> None:
    found = verified("true\n", {}, recorded=RecordedOutputs("run", paths={"01": ("out/a.md",)}))

    assert [(one.path, one.io_error) for one in found.failures] == [("out/a.md", "missing")]


def test_a_skipped_step_owes_nothing() -> None:
    skipped = RecordedOutputs("run", skipped=frozenset({"01"}))

    found = verified(ask("a.md") + ask("$x.md"), {}, recorded=skipped)
    assert (found.ok, found.totals.skipped, found.totals.outputs) == (True, 2, 0)

    found = verified(ask("a.md"), {"a.md": ""}, recorded=skipped)
    assert (found.ok, found.totals.skipped, found.totals.outputs) == (False, 0, 1)


def test_steps_are_reported_in_order() -> None:
    pack = a_pack(f"# 02) b\n{ask('b.md')}# 01) a\n{ask('a.md')}")

    found = verify_pack(pack, lambda _: Content(trouble="missing"), VerifyOptions())

    assert [one.step_id for one in found.failures] == ["01", "02"]


def test_totals_add_up() -> None:
    one = Totals(steps=1, outputs=2, ok=1, failed=1, doubtful=1, unresolved=0, skipped=3)

    both = Totals(steps=2, outputs=4, ok=2, failed=2, doubtful=2, unresolved=0, skipped=6)
    assert summed([one, one]) == both
