"""Reading the state files of the older tool."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.core.errors import InputError
from oraclepack.core.legacy import file_names, import_state


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


def test_names_beside_the_pack() -> None:
    assert file_names("docs/my-pack.md") == ("my-pack.state.json", "my-pack.report.json")
