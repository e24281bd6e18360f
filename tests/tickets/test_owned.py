"""Nothing but owned files is ever moved, changed or deleted, whatever fails."""

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oraclepack.errors import OraclePackError
from oraclepack.tickets.ticket import OWNED, TASKS
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.faults import failing
from tests.tickets.tickets import OPTIONS, TWO, put

OUT = OPTIONS.out_dir
OURS = {*(f"{OUT}/{owned.name}" for owned in OWNED), OPTIONS.prd_path, TASKS}

_places = st.sampled_from(
    [
        "README.md",
        "src/a.py",
        f"{OUT}/mine.md",
        f"{OUT}/next.json.bak",
        ".taskmaster/config.json",
        ".taskmaster/docs/prd.md",
        ".oraclepack/other/file",
        *sorted(OURS),
    ]
)
_trees = st.dictionaries(_places, st.binary(max_size=20), max_size=10)


def _strangers(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and "_failed" not in path.parts)
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    # A disk that refuses everything does not let us remove what was half written either.
    return {p: data for p, data in found.items() if p not in OURS and not p.endswith(".tmp")}


@example(tree={OPTIONS.prd_path: b"mine"}, fail_at=13, force=True, regenerate=False, rollback=False)
@settings(max_examples=60, deadline=None)
@given(
    tree=_trees,
    fail_at=st.none() | st.integers(1, 40),
    force=st.booleans(),
    regenerate=st.booleans(),
    rollback=st.booleans(),
)
def test_strangers_stay(
    tree: dict[str, bytes], fail_at: int | None, force: bool, regenerate: bool, rollback: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = put(Path(folder), TWO)
        for path, data in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        before = _strangers(root)
        kept = {path: data for path, data in tree.items() if path in {OPTIONS.prd_path, TASKS}}
        request = TicketifyRequest(
            root, force=force, regenerate=regenerate, rollback_on_failure=rollback
        )

        try:
            with failing(fail_at or 10_000):
                ticketify(request)
        except OraclePackError:
            pass

        assert _strangers(root) == before
        contents = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
        assert all(data in contents for data in kept.values())
