"""Five more deliberate bugs, and the scenes in which each must show.

Two of them are about parts that are tested without a command line: a store that machines share, and
the MCP server. Their scenes run in a process of their own, so that the bug stays there:
`python -m tests.torture.bug_scenes SCENE BUG FOLDER`.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt

from oraclepack.answers import output_check
from oraclepack.calls import budget
from oraclepack.journal import run_dir
from oraclepack.journal.events import InvocationIntent
from oraclepack.mcp import server as mcp_server
from oraclepack.run import open_run
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.claims import Claim, Claims, StoredClaim
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.runner import Runner
from oraclepack.store.schema import migrate
from oraclepack.system import markdown_text
from oraclepack.system.machine import Machine
from oraclepack.system.path_jail import RUNS
from tests.e2e.run.project import asking
from tests.mcp.clients import a_project, called, environment_with, services, tools_for
from tests.postgres_server import NoServerError, serving_postgres
from tests.torture.checker import Snapshot, check
from tests.torture.ground import a_ground
from tests.torture.power import Inside
from tests.torture.tally import Broken, Promise, Scene

NOT_PLAYED = 77
HOSTILE = "<img src=x onerror=alert(1)> ![pixel](http://tracker.invalid/p.png) @everyone"
ANSWER = f"""\
## Direct answer

Rename `lock.py` to `locks.py` in `src/lock.py:3`, because two modules share its name. {HOSTILE}

## Risks/unknowns

Callers that import it by its path.

## Next smallest concrete experiment

Change `src/lock.py:3` and run the tests. {HOSTILE}

## Missing evidence

None.
"""


def forget_a_reservation() -> None:
    """A call is made without its worst case being entered in the ledger of the command."""
    budget.CommandLedger.reserve = lambda *_: None  # type: ignore[method-assign]


def put_rehearsals_among_runs() -> None:
    """A rehearsal is recorded as a run, and its made-up answers are not recognised."""
    vars(open_run)["REHEARSALS"] = RUNS
    vars(open_run)["is_rehearsal"] = lambda _: False
    vars(run_dir)["_is_kind"] = lambda *_, **__: True
    vars(output_check)["is_rehearsed"] = lambda _: False


def insert_texts_as_they_are() -> None:
    """Texts of answers are put into Markdown without being escaped."""
    vars(markdown_text)["_written"] = lambda pieces, **_: "".join(text for _, text in pieces)


def let_zombies_write() -> None:
    """A runner whose claim went to another one may still settle it."""

    def settle(self: StoredClaim) -> None:
        self._database.rows("delete from claim where key = %s", (self._key,))

    StoredClaim._settle = settle  # type: ignore[method-assign]


def approve_everything() -> None:
    """The user is not asked before a run that an agent wants."""

    async def approved(*_: object) -> None:
        return None

    vars(mcp_server)["ask_user"] = approved


def few_calls(scene: Scene, bug: Inside) -> list[Broken]:
    """Four steps at once ask a question each, and the command may make two calls."""
    bash = "mkdir -p out\n" + "".join(
        asking(number).replace("?", "? [[fault=slow]]", 1) for number in range(1, 5)
    )
    ground = a_ground(scene.folder / "g", scene.zygote, bash)
    before = Snapshot.of(ground)
    ground.project.run("--max-parallel", "4", "--keep-going", "--max-calls", "2", inside=bug)
    made = len(ground.billed)
    over = [Broken(Promise.CAP, f"{made} calls, where 2 are allowed")] if made != 2 else []
    return over + check(ground, before)


def rehearsed_first(scene: Scene, bug: Inside) -> list[Broken]:
    """A pack is rehearsed, then run: every question is asked, and no made-up answer counts."""
    ground = a_ground(scene.folder / "g", scene.zygote, "mkdir -p out\n" + asking(1) + asking(2))
    before = Snapshot.of(ground)
    ground.project.run("--engine", "rehearsal", inside=bug)
    ran = ground.project.run(inside=bug)
    asked = len(ground.billed)
    taken = [] if asked == 2 else [Broken(Promise.UNVERIFIED, f"{asked} of 2 questions were asked")]
    return taken + check(ground, before, ran=ran)


def hostile_text(scene: Scene, bug: Inside) -> list[Broken]:
    """An answer with images, HTML and mentions becomes a backlog that shows them as text."""
    bash = f"mkdir -p out\n{asking(1)}cat > out/01-topic-1.md <<'ANSWER'\n{ANSWER}ANSWER\n"
    ground = a_ground(scene.folder / "g", scene.zygote, bash, {"src/lock.py": "a\nb\nc\n"})
    ran = ground.project.run(inside=bug)
    words = ("actionize", "--run-dir", str(ground.project.run_dir), "--json")
    made = ground.project.start(*words, inside=bug).wait()
    found = [Broken(Promise.ENDING, str(one)) for one in (ran, made) if one.code != 0]
    pages = sorted((ground.project.run_dir / "actionizer").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    if not any("onerror" in text for text in texts):
        found.append(Broken(Promise.ALTERED, "the text of the answer is on no page"))
    for page, text in zip(pages, texts, strict=True):
        active = {"html_block", "html_inline", "image"} & set(_kinds(text))
        found += [Broken(Promise.ALTERED, f"{page.name} has {kind}") for kind in sorted(active)]
    return found


OUR_FRAME = ("<details><summary>Details</summary>", "</details>")


def _kinds(text: str) -> list[str]:
    tokens = MarkdownIt().enable("table").parse(text)
    parts = (part for token in tokens for part in (token, *(token.children or ())))
    # Our own marks are comments, which show nothing, and the frame of what can be folded away.
    foreign = (one for one in parts if one.content.strip() not in OUR_FRAME)
    return [part.type for part in foreign if not part.content.startswith("<!--")]


def zombies(scene: Scene, bug: Inside) -> list[Broken]:
    """A runner that was taken for dead comes back, while another one has its question."""
    return _in_own_process("zombies", scene, bug)


def unasked_runs(scene: Scene, bug: Inside) -> list[Broken]:
    """An MCP client that cannot ask its user wants to run a pack, without the token of a plan."""
    return _in_own_process("unasked-runs", scene, bug)


OWN_PROCESS = (zombies, unasked_runs)


class NotPlayedError(Exception):
    """What the scene needs is not to be had here."""


def _in_own_process(name: str, scene: Scene, bug: Inside) -> list[Broken]:
    inside = next(iter(bug), ":").partition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", __name__, name, inside, str(scene.folder)],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
        # PostgreSQL runs as another user, who must be able to enter the place of its files.
        env=os.environ | {"HOME": str(scene.folder), "TMPDIR": "/tmp"},
    )
    if done.returncode == NOT_PLAYED:
        raise NotPlayedError(done.stderr.decode().strip())
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=list[Broken])


def _zombies(_: Path) -> list[Broken]:
    with serving_postgres() as server:
        databases = [PostgresDatabase(server.dsn) for _ in range(3)]
        migrate(databases[0])
        leases = [
            Runner(one, machine=Machine(f"m{at}", "boot")) for at, one in enumerate(databases)
        ]
        claims = [Claims(*both) for both in zip(databases, leases, strict=True)]
        zombie = _claimed(claims[0])
        zombie.note(_intent())
        databases[0].rows(
            "update runner set lease_until = unix_now() - 1 where id = %s",
            (leases[0].id,),
        )
        _claimed(claims[1]).note(_intent())
        zombie.settle()
        third = claims[2].acquire("k" * 64, lambda _: False)
        for lease in leases:
            lease.close()
    what = "the question of a living runner was given to a third one"
    return [] if third is None else [Broken(Promise.PAID_TWICE, what)]


def _claimed(claims: Claims) -> Claim:
    claim = claims.acquire("k" * 64, lambda _: False)
    assert claim is not None
    return claim


def _intent() -> InvocationIntent:
    process = ProcessIdentity(pid=4711, start_time="1", machine=Machine("m", "boot"))
    return InvocationIntent(
        step="01", attempt=1, call=1, tool="oracle", key="k" * 64, process=process
    )


def _unasked_runs(folder: Path) -> list[Broken]:
    project = a_project(folder)
    os.environ |= environment_with(tools_for(folder))
    made = services(project, allow_run=True)
    result = called(made, "start_run", pack="pack.md")
    has_begun = not result.is_error or (project / ".oraclepack/runs").exists()
    if has_begun:
        called(made, "wait_run", seconds=30)
    what = f"start_run was not refused: {result.structured_content}"
    return [Broken(Promise.UNAPPROVED, what[:200])] if has_begun else []


_INSIDE: dict[str, Callable[[Path], list[Broken]]] = {
    "zombies": _zombies,
    "unasked-runs": _unasked_runs,
}


def main(name: str, bug: str, folder: str) -> int:
    if bug:
        globals()[bug]()
    try:
        found = _INSIDE[name](Path(folder))
    except NoServerError as trouble:
        print(trouble, file=sys.stderr)
        return NOT_PLAYED
    sys.stdout.buffer.write(msgspec.json.encode(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
