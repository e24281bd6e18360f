"""Attacks on what is paid for, with the real oracle and the provider's bill."""

import shutil
import signal
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.calls.office import step, until
from tests.e2e.run.project import GIT, Project
from tests.packs import pack_text
from tests.provider import Provider, Rule, answer_to
from tests.real_answers.packs import API, asking

pytestmark = pytest.mark.slow


def write(project: Project, bash: str) -> None:
    project.pack.write_text(pack_text(bash))


@pytest.mark.parametrize("pattern", [".", "'**/*.md'", "'*'"])
def test_a_tree_with_our_records_in_it_is_paid_for_once(
    project: Project, provider: Provider, pattern: str
) -> None:
    (project.root / ".gitignore").unlink()
    (project.root / "notes.md").write_text("notes\n")
    write(project, asking(1, "Which part?", f"-f {pattern}") + asking(2, "Why?", "-f notes.md"))

    for _ in range(3):
        assert project.run("--new-run", "--no-validate").code == 0

    assert len(provider.requests) == 2, [one.files for one in provider.requests]
    sent = {name for one in provider.requests for name in one.files}
    assert not [name for name in sent if ".oraclepack" in name or "state.json" in name], sent
    assert "out/01.md" not in sent


def test_a_killed_call_about_a_tree_is_adopted(project: Project, provider: Provider) -> None:
    write(project, asking(1, "Which part?", "-f ."))
    provider.rules.append(Rule("Which part", "hold", 1))
    running = project.start("run", "pack.md", "--no-validate")
    provider.await_requests(1)
    running.signal(signal.SIGKILL)
    running.wait()
    provider.release.set()

    assert project.run("--no-validate").code == 0
    assert len(provider.requests) == 1


def test_six_calls_for_one_path_are_six_answers(project: Project, provider: Provider) -> None:
    loop = (
        f'for q in 1 2 3 4 5 6; do oracle {API} -m gpt-5.2 -p "Question $q?" '
        "--write-output out/same.md & done; wait"
    )
    write(project, step(1, loop))
    assert project.run("--no-validate").code == 0
    assert len(provider.requests) == 6

    singles = "".join(asking(n, f"Question {n}?") for n in range(1, 7))
    write(project, singles)
    assert project.run("--no-validate", "--new-run").code == 0

    assert len(provider.requests) == 6
    for number in range(1, 7):
        kept = (project.root / f"out/{number:02}.md").read_text()
        assert kept.strip() == answer_to(f"Question {number}?").strip()


def killed_in_a_call(project: Project, provider: Provider) -> None:
    write(project, asking(1, "What is it?"))
    provider.rules.append(Rule("What is it", "hold", 1))
    running = project.start("run", "pack.md")
    provider.await_requests(1)
    running.signal(signal.SIGKILL)
    running.wait()
    provider.release.set()


def test_a_project_that_was_renamed_after_a_kill_pays_once(
    project: Project, provider: Provider
) -> None:
    killed_in_a_call(project, provider)
    until(lambda: bool(provider.answered))
    moved = project.root.with_name("moved")
    project.root.rename(moved)

    assert replace(project, root=moved).run("--on-unknown", "fail").code == 0
    assert len(provider.requests) == 1


@pytest.mark.parametrize("how", ["another home", "no home"])
def test_a_killed_call_without_its_records_is_not_asked_again_silently(
    project: Project, provider: Provider, how: str
) -> None:
    killed_in_a_call(project, provider)
    until(lambda: bool(provider.answered))
    until(lambda: not list_oracles(project))
    if how == "another home":
        project.variables["ORACLE_HOME_DIR"] += "-other"
    else:
        shutil.rmtree(project.variables["ORACLE_HOME_DIR"])

    ran = project.run("--on-unknown", "fail")

    assert len(provider.requests) == 1, ran
    assert ran.code in {0, 3}


def list_oracles(project: Project) -> list[str]:
    home = project.variables["ORACLE_HOME_DIR"]
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if home.encode() in path.read_bytes():
                found.append(str(path))
        except OSError:
            continue
    return found


def test_a_call_in_the_background_without_wait_is_waited_for(
    project: Project, provider: Provider
) -> None:
    provider.rules.append(Rule("Later", "slow"))
    asked = f'oracle {API} -m gpt-5.2 -p "Later?" --write-output out/1.md &'
    write(project, step(1, asked))

    first = project.run("--no-validate")
    again = project.run("--no-validate", "--new-run")

    assert (first.code, again.code) == (0, 0), (first, again)
    assert len(provider.requests) == len(provider.answered) == 1


def test_git_clean_and_a_second_worktree_pay_nothing(project: Project, provider: Provider) -> None:
    write(project, asking(1, "What is it?"))
    project.commit()
    assert project.run().code == 0
    subprocess.run(["git", "clean", "-fdxq"], cwd=project.root, check=True)
    assert project.run().code == 0
    tree = project.root.with_name("tree")
    words = ("worktree", "add", "-q", str(tree))
    subprocess.run([*GIT, *words], cwd=project.root, check=True, env=project.environment)
    assert replace(project, root=tree).run().code == 0

    assert len(provider.requests) == 1


def test_an_answer_that_was_printed_before_the_disk_of_the_tool_was_full_counts(
    project: Project, provider: Provider
) -> None:
    home = Path(project.variables["ORACLE_HOME_DIR"])
    home.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", home], check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        write(project, asking(1, "What is it?"))
        provider.rules.append(Rule("What is it", "hold", 1))
        running = project.start("run", "pack.md", "--json")
        provider.await_requests(1)
        fill = ["dd", "if=/dev/zero", f"of={home}/filler", "bs=4k"]
        assert subprocess.run(fill, capture_output=True, check=False).returncode == 1
        provider.release.set()
        ran = running.wait()
        (home / "filler").unlink(missing_ok=True)
        again = project.run()
    finally:
        subprocess.run(["umount", "-l", home], check=True)

    assert (ran.code, again.code, len(provider.requests)) == (0, 0, 1), ran


def test_a_short_time_out_of_the_step_pays_once(project: Project, provider: Provider) -> None:
    asked = f'timeout 1 oracle {API} -m gpt-5.2 -p "Slowly?" --write-output out/1.md'
    write(project, step(1, asked))
    provider.rules.append(Rule("Slowly", "hold", 1))
    running = project.start("run", "pack.md", "--no-validate", "--json")
    provider.await_requests(1)
    threading.Timer(3, provider.release.set).start()
    first = running.wait()
    again = project.run("--no-validate")
    more = project.run("--no-validate")

    assert len(provider.requests) == 1, (first, again, more)
    assert more.code == 0


HOSTILE = (
    '"$TOOLS/oracle" ARGS',
    "./ask.sh",
    "make -s ask",
    "python3 -c 'import subprocess; subprocess.run([\"./ask.sh\"])'",
    'env PATH="$TOOLS:$PATH" oracle ARGS',
    'env -i PATH="$TOOLS:$PATH" HOME="$HOME" OPENAI_API_KEY="${OPENAI_API_KEY-}" oracle ARGS',
    'sh -c "PATH=$TOOLS:$PATH; oracle ARGS"',
    'bash -lc "$TOOLS/oracle ARGS"',
    "bash --norc ./ask.sh",
    "$ORACLE ARGS",
    'echo "$TOOLS/oracle" | xargs -I{} {} ARGS',
    'nohup "$TOOLS/oracle" ARGS',
    'setsid -w "$TOOLS/oracle" ARGS',
    'PATH="$TOOLS:$PATH" command oracle ARGS',
    'hash -p "$TOOLS/oracle" oracle; oracle ARGS',
    'oracle() { "$TOOLS/oracle" "$@"; }; oracle ARGS',
    '(exec "$TOOLS/oracle" ARGS)',
    'set -a; [ -f .env ] && . ./.env; "$TOOLS/oracle" ARGS',
    'OPENAI_API_KEY=$(cat ~/key) "$TOOLS/oracle" ARGS',
    'find . -maxdepth 0 -exec "$TOOLS/oracle" ARGS ";"',
    '"$TOOLS/oracle" ARGS & wait',
)
ASKED = '-m gpt-5.2 --engine api --base-url $BASE_URL -p "Hello there?" --write-output out/x.md'


def test_no_rehearsal_asks_a_model(project: Project, provider: Provider) -> None:
    """Twenty-one ways to a call that does not come by us, and the same one in a real run."""
    steps = [line.replace("ARGS", ASKED) for line in HOSTILE]
    write(project, "".join(step(n, f"{line} || true") for n, line in enumerate(steps, 1)))
    script = f'#!/bin/sh\n"$TOOLS/oracle" {ASKED}\n'
    (project.root / "ask.sh").write_text(script)
    (project.root / "ask.sh").chmod(0o755)
    (project.root / "Makefile").write_text("ask:\n\t./ask.sh\n")
    (project.root / ".env").write_text("OPENAI_API_KEY=sk-dotenv\n")
    Path(project.environment["HOME"], "key").write_text("sk-home\n")
    project.variables.update(ORACLE=str(project.oracle.program), OPENAI_BASE_URL=provider.base_url)

    words = ("--no-validate", "--new-run", "--json")
    planned = project.start("plan", "pack.md", *words).wait()
    rehearsed = project.run("--no-validate", "--engine", "rehearsal", "--keep-going")

    assert planned.code == 0, planned
    assert rehearsed.code in {0, 3}, rehearsed
    assert provider.requests == []
    project.run("--no-validate", "--steps", "01", "--allow-unseen-calls")
    assert len(provider.requests) == 1, "the first of them works"


SHARED = sorted((Path(__file__).parents[3] / "shared/packs").glob("*.md"))


@pytest.mark.skipif(not SHARED, reason="no ../shared/packs beside us")
def test_no_plan_of_a_real_pack_asks_a_model(project: Project, provider: Provider) -> None:
    project.variables.update(OPENAI_BASE_URL=provider.base_url)
    for pack in SHARED:
        shutil.copy(pack, project.pack)
        project.pack.chmod(0o644)
        project.start("plan", "pack.md", "--no-validate", "--new-run").wait()

    assert provider.requests == []
