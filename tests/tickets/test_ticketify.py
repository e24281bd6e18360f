"""`ticketify` on a disk: the right files, or the right error and nothing written."""

import os
from pathlib import Path

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.tickets.steps_support import check_tickets
from oraclepack.tickets.ticket import FileState
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.e2e.program import tree
from tests.tickets.tickets import TWO, everything_but_tickets, put

OUT = ".oraclepack/ticketify"
PRD = ".taskmaster/docs/tickets_prd.md"


def test_all_kinds_of_files_come_to_the_right_index(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "plain.md": "# Plain\n\nWords.\n",
            "front.md": "---\nid: F-1\ntitle: Front\n---\nWords.\n",
            "empty.md": "",
            "deep/er/nested.md": "# Nested\n",
            "deep/plain.md": "# Twin\n",
            "größe–1.md": "# Größe\n",
            "crlf.md": "---\r\nkey: C-1\r\n---\r\n# Win\r\n\r\n- [ ] a\r\n",
            "notes.txt": "no ticket",
        },
    )

    made = ticketify(TicketifyRequest(tmp_path))

    index = (tmp_path / OUT / "_tickets_index.json").read_text()
    ids = [line.split('"')[3] for line in index.splitlines() if '"ticket_id"' in line]
    assert ids == ["C-1", "nested", "deep/plain.md", "empty", "F-1", "größe–1", "plain.md"]
    assert made.warnings[0] == ".tickets/empty.md is empty"
    assert made.warnings[1].startswith("6 of 7 tickets name no action: .tickets/deep/er/nested.md")
    assert len(made.data.without_actions) == 6
    assert made.data.selected == 7


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param({}, "no tickets: neither .tickets/ nor tickets/", id="no directory"),
        pytest.param({"a.txt": ""}, "nothing below .tickets/ matches", id="nothing matches"),
        pytest.param(
            {"a.md": "---\nid: X\n---\n", "b.md": "---\nid: X\n---\n"},
            "'X' belongs to more than one ticket: .tickets/a.md, .tickets/b.md",
            id="one id twice",
        ),
        pytest.param({"a.md": "a\0b"}, "a.md: cannot be read: it holds a NUL", id="no text"),
        pytest.param({"a.md": "x" * 1_100_000}, "cannot be read: larger than", id="too large"),
    ],
)
def test_an_error_writes_nothing(tmp_path: Path, texts: dict[str, str], message: str) -> None:
    put(tmp_path, texts)
    before = tree(tmp_path)

    with pytest.raises(InputError) as caught:
        ticketify(TicketifyRequest(tmp_path))

    assert message in caught.value.message
    assert caught.value.hint
    assert tree(tmp_path) == before


@pytest.mark.parametrize("kind", ["latin1", "dangling", "pipe", "outside", "loop"])
def test_an_unreadable_file_writes_nothing(
    tmp_path: Path, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put(tmp_path, TWO)
    bad = tmp_path / ".tickets" / "bad.md"
    match kind:
        case "latin1":
            bad.write_bytes(b"gr\xfc\xdfe\n")
        case "dangling":
            bad.symlink_to("nowhere.md")
        case "pipe":
            os.mkfifo(bad)
        case "outside":
            secret = tmp_path_factory.mktemp("elsewhere") / "secret.md"
            secret.write_text("secret")
            bad.symlink_to(secret)
        case "loop":
            bad.symlink_to(bad)

    with pytest.raises(InputError, match=r"bad\.md: cannot be read"):
        ticketify(TicketifyRequest(tmp_path))

    assert everything_but_tickets(tmp_path) == {}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"out_dir": "../out"}, id="an out dir outside"),
        pytest.param({"out_dir": "."}, id="no out dir of its own"),
        pytest.param({"out_dir": ".git/x"}, id="git's own directory"),
        pytest.param({"out_dir": "a,b"}, id="a comma"),
        pytest.param({"prd_path": "/etc/prd.md"}, id="a PRD outside"),
        pytest.param({"glob": ""}, id="an empty pattern"),
    ],
)
def test_a_bad_option_writes_nothing(tmp_path: Path, options: dict[str, str]) -> None:
    put(tmp_path, TWO)

    with pytest.raises(UsageError):
        ticketify(TicketifyRequest(tmp_path, **options))  # type: ignore[arg-type]

    assert everything_but_tickets(tmp_path) == {}


def test_a_tickets_directory_outside_is_refused(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    project = tmp_path / "project"
    project.mkdir()

    with pytest.raises(InputError, match="leads out of the project"):
        ticketify(TicketifyRequest(project, tickets_dir="../.tickets"))


def test_the_second_run_touches_nothing(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    before = tree(tmp_path)

    again = ticketify(TicketifyRequest(tmp_path))

    assert again.data.written == ()
    assert tree(tmp_path) == before


def test_an_edited_ticket_leaves_the_pack_alone(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    (tmp_path / ".tickets" / "T-2.md").write_text("---\nid: T-2\n---\n- [ ] other\n")

    again = ticketify(TicketifyRequest(tmp_path))

    assert f"{OUT}/ticket-action-pack.md" in again.data.unchanged
    assert f"{OUT}/_tickets_index.json" in again.data.written


def test_the_first_tickets_by_path_are_taken(tmp_path: Path) -> None:
    put(tmp_path, {f"{name}.md": "" for name in "cab"})

    made = ticketify(TicketifyRequest(tmp_path, top_n=2))

    assert (made.data.matched, made.data.selected) == (3, 2)
    assert "1 of 3 tickets are left out by --top-n 2" in made.warnings


def test_tickets_may_lie_in_tickets_without_a_dot(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    (tmp_path / ".tickets").rename(tmp_path / "tickets")

    assert ticketify(TicketifyRequest(tmp_path)).data.tickets_dir == "tickets"


def test_its_own_files_are_no_tickets(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    request = TicketifyRequest(tmp_path, out_dir=".tickets/out", prd_path=".tickets/prd.md")
    ticketify(request)

    again = ticketify(request)

    assert (again.data.selected, again.data.written) == (2, ())


@pytest.mark.parametrize(
    ("only", "written"),
    [
        ("index", {"_tickets_index.json", "manifest.json"}),
        ("actions", {"_actions.json", "_actions.md", "manifest.json"}),
        ("prd", {"tickets_prd.md", "manifest.json"}),
    ],
)
def test_one_part_alone(tmp_path: Path, only: str, written: set[str]) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO), only=only))

    assert {path.rpartition("/")[2] for path in everything_but_tickets(tmp_path)} == written


def test_a_prd_that_was_edited_is_not_replaced(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    with (tmp_path / PRD).open("a") as prd:
        prd.write("mine\n")
    before = tree(tmp_path)

    with pytest.raises(InputError, match="edited by another program or person"):
        ticketify(TicketifyRequest(tmp_path))

    assert tree(tmp_path) == before


def test_force_replaces_it_and_keeps_a_copy(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    (tmp_path / PRD).parent.mkdir(parents=True)
    (tmp_path / PRD).write_text("mine\n")

    made = ticketify(TicketifyRequest(tmp_path, force=True))

    assert [(tmp_path / path).read_text() for path in made.data.backups] == ["mine\n"]
    assert "# Product requirements" in (tmp_path / PRD).read_text()


def test_task_masters_results_stay_unless_asked(tmp_path: Path) -> None:
    put(tmp_path, TWO)
    results = {
        ".taskmaster/tasks/tasks.json": "{}",
        f"{OUT}/tm-complexity.json": "c",
        f"{OUT}/next.json": "n",
    }
    for path, text in results.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    ticketify(TicketifyRequest(tmp_path))
    assert all((tmp_path / path).read_text() == text for path, text in results.items())

    made = ticketify(TicketifyRequest(tmp_path, regenerate=True))

    assert not (tmp_path / ".taskmaster/tasks/tasks.json").exists()
    assert (tmp_path / f"{OUT}/next.json").exists()
    assert [(tmp_path / path).read_text() for path in made.data.backups] == ["{}", "c"]


def test_check_tells_stale_from_tampered(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    (tmp_path / ".tickets" / "T-2.md").write_text("---\nid: T-2\n---\n- [ ] other\n")
    (tmp_path / OUT / "_actions.md").write_text("mine")

    result, _ = check_tickets(TicketifyRequest(tmp_path), None)

    states = {file.path.rpartition("/")[2]: file.state for file in result.files}
    assert states["_tickets_index.json"] is FileState.STALE
    assert states["_actions.md"] is FileState.CHANGED
    assert states["ticket-action-pack.md"] is FileState.SAME
    assert result.changed_tickets == (".tickets/T-2.md",)
    assert (result.ok, result.repeatable) == (False, True)


@pytest.mark.parametrize(("report", "ok"), [("check", False), ("determinism", True)])
def test_an_edited_ticket_is_stale_but_not_against_determinism(
    tmp_path: Path, report: str, ok: bool
) -> None:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    (tmp_path / ".tickets" / "T-2.md").write_text("---\nid: T-2\n---\n- [x] define\n")

    result, _ = check_tickets(TicketifyRequest(tmp_path), report)

    assert result.ok is ok
    assert (tmp_path / OUT / f"{report}.json").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"prd_path": "../docs/x"}, "--prd-path ../docs/x: it leads out", id="a PRD"),
        pytest.param({"prd_path": "a,b/x"}, "--prd-path a,b/x: the path must not", id="a comma"),
        pytest.param({"out_dir": "../out"}, "--out-dir ../out: it leads out", id="an out dir"),
        pytest.param({"out_dir": "."}, "--out-dir .: a directory of its own", id="the root"),
    ],
)
def test_a_bad_path_is_reported_as_it_was_given(
    tmp_path: Path, options: dict[str, str], expected: str
) -> None:
    put(tmp_path, TWO)

    with pytest.raises(UsageError) as error:
        ticketify(TicketifyRequest(tmp_path, **options))  # type: ignore[arg-type]

    assert str(error.value).startswith(expected)


def test_a_dependency_that_names_no_ticket_is_reported(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "---\nid: A\ndepends_on: [B, GONE-7]\nblocks: LOST\n---\n# a\n"})
    put(tmp_path, {"b.md": "---\nid: B\n---\n# b\n\nDepends on: nothing at all\n"})

    made = ticketify(TicketifyRequest(tmp_path))

    assert made.warnings[:2] == (
        ".tickets/a.md:3 names GONE-7, which is no chosen ticket",
        ".tickets/a.md:4 names LOST, which is no chosen ticket",
    )


def test_tickets_in_blocks_have_actions_and_those_without_are_counted(tmp_path: Path) -> None:
    block = "Parent:\n\n```ticket T1\nSource:\n- x\nAcceptance Criteria:\n- it works\n```\n"
    put(tmp_path, {"a.md": block, "b.md": "# words\n\nOnly words.\n", "c.md": "- [ ] do\n"})

    made = ticketify(TicketifyRequest(tmp_path))

    assert made.data.actions == 2
    assert made.data.without_actions == (".tickets/b.md",)
    assert made.warnings == ("1 of 3 tickets name no action: .tickets/b.md",)
    actions = (tmp_path / OUT / "_actions.json").read_text()
    assert '"source_line": 7' in actions
