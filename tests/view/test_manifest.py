"""The manifests of a run."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.journal import events as j
from oraclepack.journal.line_format import Unknown
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import Cache, Status
from oraclepack.pack.model import Attribute, Header, Pack, PromptMeta, Step, StepId
from oraclepack.pack.script import Span
from oraclepack.system.digests import canonical_file, sha256_text
from oraclepack.tools.usage import Usage
from oraclepack.view.legacy_files import LegacyReport, LegacyState, legacy_report, legacy_state
from oraclepack.view.manifests import RunManifest, StepsManifest, run_manifest, steps_manifest
from oraclepack.view.run import RunView
from oraclepack.view.step import output_hash
from tests import events as e

PLACE = Span.at(1)
RUN = RunDir(Path("/project"), "x")


UNPRICED = {
    "cost": None,
    "cost_source": "unknown",
    "tokens_source": "reported",
    "price_source": None,
}
ONE_UNKNOWN = {
    "cost": None,
    "source": "unknown",
    "calls": 1,
    "unknown_calls": 1,
    "input_tokens": None,
    "output_tokens": None,
    "reasoning_tokens": None,
    "saved": None,
    "saved_calls": 0,
}
"""One call of unknown cost."""


def a_step(step_id: str) -> Step:
    said = {"ROI": "4.5", "impact": "high", "category": "background jobs"}
    attributes = {name: Attribute(text, PLACE) for name, text in said.items()}
    header = Header(StepId(step_id), f"Question {step_id}", attributes, PLACE, PLACE)
    meta = PromptMeta(question_id="Q1", category="invariants", reference="src/a.py")
    return Step(header, "true\n", PLACE, meta=meta)


PACK = Pack("docs/pack.md", "text", (), None, None, tuple(map(a_step, ("01", "02", "03"))))

CALL = j.InvocationOutcome(
    step="01",
    attempt=1,
    call=1,
    tool="oracle",
    ok=True,
    key="k",
    model="m-pro",
    provider="p",
    cache=Cache.MISS,
    attempts=2,
    usage=Usage(output_tokens=3),
)


def a_run() -> RunState:
    events = [
        e.created("01", "02", "03"),
        e.session(),
        e.started("01"),
        CALL,
        e.output("01"),
        e.finished("01"),
        *e.a_step("02", Status.FAILED),
        e.started("03"),
        j.WarningRecorded(message="slow", step="03"),
    ]
    return fold(e.numbered(*events))


def as_json(value: object) -> dict[str, object]:
    loaded = json.loads(canonical_file(value))
    assert isinstance(loaded, dict)
    return loaded


def test_run_json() -> None:
    manifest = as_json(run_manifest(RunView(state=a_run())))

    assert list(manifest) == sorted(manifest)
    assert manifest == {
        "schema_version": 1,
        "pack_id": "2026-03-01__abc1234__55555555",
        "pack_path": "docs/pack.md",
        "pack_hash": e.PACK_HASH,
        "git_sha": "a" * 40,
        "git_dirty": False,
        "heads": ["a" * 40],
        "oraclepack_version": "1.0",
        "oracle_version": None,
        "created_at": e.at(1),
        "finished_at": None,
        "status": "running",
        "engine": "api",
        "settings": {},
        "models": ["m-pro"],
        "providers": ["p"],
        "usage": {
            "input_tokens": None,
            "output_tokens": 3,
            "reasoning_tokens": None,
            "total_tokens": None,
            "cost_usd": None,
            **UNPRICED,
        },
        "cost": ONE_UNKNOWN,
        "sessions": [
            {
                "started_at": e.at(2),
                "finished_at": None,
                "command": "run",
                "argv": ["run", "pack.md"],
                "exit_code": None,
                "rollback": "not_attempted",
            }
        ],
        "warnings": [
            {"code": "unknown_value", "message": "oracle_version is not known", "step_id": None},
            {"code": None, "message": "slow", "step_id": "03"},
        ],
    }


def test_events_of_a_newer_program_are_reported() -> None:
    manifest = run_manifest(
        RunView(state=fold([*e.numbered(e.created("01")), Unknown(kind="dreamt", seq=2)]))
    )

    assert manifest is not None
    assert [notice.code for notice in manifest.warnings] == ["unknown_value", "unknown_event"]
    assert "dreamt" in manifest.warnings[-1].message


def test_a_warning_of_two_attempts_is_listed_once() -> None:
    said = j.WarningRecorded(message="a.md:1 is doubtful", step="01", code="doubtful")
    manifest = run_manifest(RunView(state=fold(e.numbered(e.created("01"), said, said))))

    assert manifest is not None
    assert [notice.message for notice in manifest.warnings[1:]] == ["a.md:1 is doubtful"]


def test_waits_for_a_slot_are_left_to_the_journal() -> None:
    waits = [
        j.WarningRecorded(message=f"waits for a slot, {n}", step="01", code="slot")
        for n in range(9)
    ]
    events = e.numbered(e.created("01"), *waits, j.WarningRecorded(message="other"))
    manifest = run_manifest(RunView(state=fold(events)))

    assert manifest is not None
    assert [notice.message for notice in manifest.warnings[1:]] == ["other"]


def test_a_journal_without_a_beginning_has_no_run_json() -> None:
    assert run_manifest(RunView(state=fold(e.numbered(e.session())))) is None


def test_steps_json() -> None:
    steps = as_json(steps_manifest(RunView(state=a_run(), pack=PACK)))["steps"]

    assert isinstance(steps, list)
    assert [(s["step_id"], s["status"]) for s in steps] == [
        ("01", "ok"),
        ("02", "failed"),
        ("03", "pending"),
    ]
    assert steps[0] == {
        "step_id": "01",
        "title": "Question 01",
        "question_id": "Q1",
        "reference": "src/a.py",
        "category": "background jobs",
        "roi": 4.5,
        "impact": None,
        "confidence": None,
        "effort": None,
        "horizon": None,
        "tools": [],
        "command_hash": "hash-01",
        "output_path": "outputs/01-answer.md",
        "output_hash": "b" * 64,
        "outputs": [
            {
                "path": "outputs/01-answer.md",
                "declared_path": "out/01-answer.md",
                "section": None,
                "sha256": "b" * 64,
                "bytes": 12,
                "from_cache": False,
                "edited": False,
            }
        ],
        "status": "ok",
        "skip_reason": None,
        "imported": False,
        "attempts": 1,
        "exit_code": 0,
        "started_at": e.at(3),
        "finished_at": e.at(6),
        "duration_ms": 5,
        "last_error": None,
        "verification": None,
        "stdout_log": "logs/01.1.stdout.log",
        "stderr_log": "logs/01.1.stderr.log",
        "changes": None,
        "accepted": [],
        "edited": False,
        "adopted": False,
        "cost": ONE_UNKNOWN,
        "invocations": [
            {
                "tool": "oracle",
                "key": "k",
                "provider": "p",
                "model": "m-pro",
                "cache": "miss",
                "attempts": 2,
                "waited_ms": 0,
                "exit_code": None,
                "session": None,
                "usage": {
                    "input_tokens": None,
                    "output_tokens": 3,
                    "reasoning_tokens": None,
                    "total_tokens": None,
                    "cost_usd": None,
                    **UNPRICED,
                },
                "saved": None,
            }
        ],
    }
    assert steps[1]["last_error"] == {
        "code": "EXIT",
        "message": "it ended with 1",
        "transient": False,
    }


def test_without_the_pack_the_journal_still_tells_the_steps() -> None:
    steps = steps_manifest(RunView(state=a_run())).steps

    assert [(step.step_id, step.title) for step in steps] == [
        ("01", None),
        ("02", None),
        ("03", None),
    ]


def test_a_prelude_that_called_a_tool_is_no_step() -> None:
    state = fold(e.numbered(e.created("01"), e.output("prelude")))

    assert [step.step_id for step in steps_manifest(RunView(state=state)).steps] == ["01"]


def test_the_hash_of_several_outputs_does_not_depend_on_their_order() -> None:
    one, two = e.output("01"), e.output("01", name="risks")
    expected = sha256_text(
        f'[["outputs/01-answer.md","{"b" * 64}"],["outputs/01-risks.md","{"b" * 64}"]]'
    )

    assert output_hash((one, two)) == output_hash((two, one)) == expected
    assert output_hash(()) is None


def test_the_state_file_knows_running_and_succeeded() -> None:
    state = a_run()
    legacy = legacy_state(RunView(state=state, pack=PACK, run=RUN))

    assert {key: step.status for key, step in legacy.steps.items()} == {
        "01": "succeeded",
        "02": "failed",
        "03": "running",
    }
    assert legacy.steps["01"].stdout_log == f"{RUN.relative}/logs/01.1.stdout.log"


def test_the_report_counts() -> None:
    state = a_run()
    report = legacy_report(RunView(state=state, pack=PACK, run=RUN))

    assert report.counts == {
        "total": 3,
        "pending": 0,
        "running": 1,
        "succeeded": 1,
        "failed": 1,
        "skipped": 0,
    }
    assert report.duration_ms == 10
    assert [step.result for step in report.steps] == ["succeeded", "failed", "running"]


@pytest.mark.parametrize("shape", [RunManifest, StepsManifest, LegacyState, LegacyReport])
def test_every_file_has_a_schema(shape: type[msgspec.Struct]) -> None:
    (schema,), components = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")

    jsonschema.Draft202012Validator.check_schema({**schema, "$defs": components})


@given(st.lists(e.any_event, max_size=20))
def test_any_journal_has_manifests_that_fit_their_schemas(events: list[j.Event]) -> None:
    state = fold(e.numbered(*events))
    view = RunView(state=state, pack=PACK, run=RUN)
    for value in (
        run_manifest(view),
        steps_manifest(view),
        legacy_state(view),
        legacy_report(view),
    ):
        if value is not None:
            assert msgspec.json.decode(canonical_file(value), type=type(value)) == value
