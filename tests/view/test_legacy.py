"""Reading the state files of the older tool."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.errors import InputError
from oraclepack.view.legacy_files import Maker, file_names, import_state, maker_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"steps":{"01":{"status":"succeeded"}}}', {"01": "ok"}, id="an object"),
        pytest.param('{"steps":{"1":"succeeded"}}', {"01": "ok"}, id="bare words"),
        pytest.param('{"steps":[{"id":"07","status":"failed"}]}', {"07": "failed"}, id="a list"),
        pytest.param('[{"number":7,"status":"skipped"}]', {"07": "skipped"}, id="a bare list"),
        pytest.param('[{"step":12,"state":"SUCCESS "}]', {"12": "ok"}, id="other words"),
        pytest.param('{"steps":{"02":"ok","01":"running"}}', {"01": "running", "02": "ok"}),
        pytest.param('{"steps":{"001":"ok","100":"ok","0":"ok","x":"ok"}}', {"01": "ok"}),
        pytest.param('{"steps":{"01":"perhaps","02":{},"03":null,"04":3}}', {}, id="no status"),
        pytest.param('{"steps":[3,null,{"status":"ok"},{"id":true,"status":"ok"}]}', {}),
        pytest.param('{"steps":{}}', {}, id="no steps"),
        pytest.param(
            '{"schema_version":1,"pack_hash":"","start_time":"2026-01-02T03:04:05Z",'
            '"step_statuses":{"01":{"status":"success","exit_code":0},"02":{"status":"failed"}}}',
            {"01": "ok", "02": "failed"},
            id="as the Go tool writes it",
        ),
    ],
)
def test_state_files(text: str, expected: dict[str, str]) -> None:
    assert import_state(text.encode()) == expected


@pytest.mark.parametrize("text", ["", "nonsense", "3", "null", '{"step":1}', '{"steps":"all"}'])
def test_files_that_are_no_state(text: str) -> None:
    with pytest.raises(InputError):
        import_state(text.encode())


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(InputError):
        import_state(data)


@pytest.mark.parametrize(
    ("text", "maker", "pack"),
    [
        pytest.param('{"run_dir": "r", "pack_path": "a/p.md"}', Maker.OURS, "a/p.md", id="ours"),
        pytest.param(
            '{"run_dir": "r", "pack_path": "p.md", "step_statuses": {}}',
            *(Maker.OURS, "p.md"),
            id="ours with the keys of the Go tool",
        ),
        pytest.param('{"step_statuses": {"01": {}}}', Maker.GO, "", id="a state of the Go tool"),
        pytest.param('{"pack_info": {"name": "p"}}', Maker.GO, "", id="a report of the Go tool"),
        pytest.param('{"state": "mine"}', Maker.OTHER, "", id="a foreign file"),
        pytest.param("[1]", Maker.UNREADABLE, "", id="a list"),
        pytest.param('{"steps": []}', Maker.UNREADABLE, "", id="an object that says nothing"),
        pytest.param('{"run_dir": ', Maker.UNREADABLE, "", id="damaged"),
        pytest.param("", Maker.UNREADABLE, "", id="empty"),
    ],
)
def test_whose_file_it_is(text: str, maker: Maker, pack: str) -> None:
    assert maker_of(text.encode()) == (maker, pack)


def test_names_beside_the_pack() -> None:
    assert file_names("docs/my-pack.md") == ("my-pack.state.json", "my-pack.report.json")
