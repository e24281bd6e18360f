"""Two packs that declare the same output path."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.calls.office import Gate, ask, step, until, warnings
from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import ANSWER_FORMAT, pack_text

ANSWER = "out/01-a.md"


def asking(question: str) -> str:
    return f"mkdir -p out\n# 01) ask\noracle --write-output {ANSWER} -p '{question}'\n"


def two_packs(tmp_path: Path, zygote: Zygote) -> Project:
    """`pack.md` has run; `other.md` declares the same output."""
    project = a_project(tmp_path, zygote, asking("One?"))
    (project.root / "other.md").write_text(pack_text(asking("Two?")))
    assert project.run().code == 0
    return project


def run(project: Project, pack: str, *args: str) -> Ran:
    return project.start("run", pack, "--json", *args).wait()


def test_the_second_pack_does_not_overwrite_what_the_first_recorded(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = two_packs(tmp_path, zygote)
    before = (project.root / ANSWER).read_bytes()

    refused = run(project, "other.md")

    error = refused.envelope["error"]
    assert (refused.code, error["code"]) == (2, "OUTPUT_TAKEN")
    assert (
        f"{ANSWER} is an output of another pack, pack.md (run {project.run_dir.name})"
        in (error["message"])
    )
    assert "--existing replace" in error["suggestion"]
    assert (len(project.oracle.calls), len(project.run_dirs)) == (1, 1)
    assert (project.root / ANSWER).read_bytes() == before


def test_a_dry_run_says_that_it_would_be_refused(tmp_path: Path, zygote: Zygote) -> None:
    project = two_packs(tmp_path, zygote)

    looked = run(project, "other.md", "--dry-run")

    assert looked.code == 0
    (warning,) = looked.envelope["warnings"]
    assert f"refused: {ANSWER} is an output of another pack, pack.md" in str(warning)
    assert run(project, "other.md", "--dry-run", "--take-over").code == 0


def test_take_over_keeps_the_file_as_a_backup(tmp_path: Path, zygote: Zygote) -> None:
    project = two_packs(tmp_path, zygote)
    before = (project.root / ANSWER).read_bytes()

    taken = run(project, "other.md", "--take-over")

    assert (taken.code, len(project.oracle.calls)) == (0, 2)
    assert f"{ANSWER}, of pack.md" in taken.err
    kept = [path.read_bytes() for path in project.root.glob(".oraclepack/runs/*/blobs/*")]
    assert before in kept
    assert run(project, "other.md").code == 0


def test_nor_does_the_first_put_its_own_back_over_the_second(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = two_packs(tmp_path, zygote)
    (project.root / ANSWER).unlink()
    assert run(project, "other.md").code == 0
    (project.root / ANSWER).write_bytes(b"## Direct answer\nAnother one, of the second pack.\n")
    assert project.start("accept", "other.md", "01").wait().code == 0

    assert run(project, "pack.md").code == 2
    assert b"second pack" in (project.root / ANSWER).read_bytes()


@pytest.mark.parametrize("how", ["edited", "moved", "new run", "answer edited", "answer gone"])
def test_what_is_no_other_pack_or_no_longer_its_output(
    tmp_path: Path, zygote: Zygote, how: str
) -> None:
    project = two_packs(tmp_path, zygote)
    pack, args = "pack.md", ["--no-cache"]
    match how:
        case "edited":
            project.write(asking("Three?"))
        case "moved":
            project.pack.rename(project.root / "moved.md")
            pack, args = "moved.md", ["--no-cache", "--new-run"]
        case "new run":
            args = ["--no-cache", "--new-run"]
        case "answer edited":
            pack, args = "other.md", ["--no-cache", "--existing", "replace"]
            (project.root / ANSWER).write_text("mine\n")
        case _:
            pack = "other.md"
            (project.root / ANSWER).unlink()

    assert (run(project, pack, *args).code, len(project.oracle.calls)) == (0, 2)


@pytest.mark.parametrize(("args", "code"), [([], 0), (["--in-place"], 2)])
def test_a_rehearsal_writes_to_a_copy_and_is_only_refused_in_place(
    tmp_path: Path, zygote: Zygote, args: list[str], code: int
) -> None:
    project = two_packs(tmp_path, zygote)

    assert run(project, "other.md", "--engine", "rehearsal", *args).code == code


def recorded(run_dir: Path) -> str:
    (answer,) = (run_dir / "outputs").iterdir()
    return answer.read_text()


HELD = "until [[ -e go ]]; do sleep 0.02; done\n"


def two_packs_at_once(tmp_path: Path, zygote: Zygote, second: str) -> Project:
    """The step of `pack.md` has its answer and goes on until there is a file `go`."""
    first = ask("One?", ANSWER, "-e api", "-f one.txt")
    project = a_project(tmp_path, zygote, step(1, f"{first}\n{HELD}"))
    (project.root / "other.md").write_text(pack_text(second))
    for name in ("one.txt", "two.txt"):
        (project.root / name).write_text("text\n")
    return project


def other_run(project: Project) -> Path:
    (found,) = (path for path in project.run_dirs if "other.md" in _created(path))
    return found


def _created(run_dir: Path) -> str:
    return "".join(journal_lines(run_dir, "pack_path")[:1])


def quarantined(project: Project) -> list[Path]:
    return [path for path in project.root.glob("**/_failed/**/*.md") if path.is_file()]


def has_answer(project: Project) -> bool:
    return bool(project.run_dirs) and bool(journal_lines(project.run_dir, "invocation_outcome"))


def journal_lines(run_dir: Path, kind: str) -> list[str]:
    journal = run_dir / "journal.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [line for line in lines if f'"{kind}"' in line]


def test_a_killed_call_does_not_take_the_file_of_another_run_for_its_answer(
    tmp_path: Path, zygote: Zygote
) -> None:
    prompt = f"[[fault=hold first=1]] Two?\n\n{ANSWER_FORMAT}"
    killed = f"mkdir -p out\noracle -e api --write-output {ANSWER} -f two.txt -p '{prompt}'\n"
    project = a_project(tmp_path, zygote, asking("One?"))
    (project.root / "other.md").write_text(pack_text(step(1, killed)))
    (project.root / "two.txt").write_text("text\n")
    Gate(project)
    runner = project.start("run", "other.md", "--json")
    until(lambda: len(project.oracle.calls) == 1)
    runner.signal(signal.SIGKILL)
    assert runner.wait().code == -signal.SIGKILL
    (line,) = journal_lines(project.run_dir, "start_time")[-1:]
    os.kill(json.loads(line)["e"]["process"]["pid"], signal.SIGKILL)
    assert run(project, "pack.md").code == 0

    assert run(project, "other.md", "--take-over").code == 0
    assert len(project.oracle.calls) == 3
    assert "`two.txt:1`" in recorded(other_run(project))


def test_a_rollback_leaves_what_another_run_wrote_meanwhile(tmp_path: Path, zygote: Zygote) -> None:
    first = step(1, ask("One?", ANSWER, "-e api", "-f one.txt")) + step(2, f"{HELD}false")
    second = step(1, ask("Two?", ANSWER, "-e api", "-f two.txt"))
    project = two_packs_at_once(tmp_path, zygote, second)
    project.write(first)
    rolled_back = project.start("run", "pack.md", "--json", "--rollback-on-failure")
    until(
        lambda: bool(project.run_dirs) and len(journal_lines(project.run_dir, "step_started")) == 2
    )
    assert run(project, "other.md", "--take-over").code == 0
    wanted = (project.root / ANSWER).read_bytes()
    (project.root / "go").touch()

    ended = rolled_back.wait()

    assert (ended.code, ended.envelope["data"]["rollback_status"]) == (3, "completed")
    assert (project.root / ANSWER).read_bytes() == wanted
    assert "another run wrote it since" in ended.err
    assert quarantined(project) == []
    assert ended.envelope["data"]["resume_from"] == "01"


EDITS = [
    pytest.param("sed -i '1s/^/edited: /' out/01-a.md", id="a known command"),
    pytest.param("./edit.sh", id="a script"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_later_step_changes_belongs_to_that_step(
    tmp_path: Path, zygote: Zygote, edit: str
) -> None:
    project = a_project(tmp_path, zygote, asking("One?") + step(2, f"{edit}\n"))
    script = project.root / "edit.sh"
    script.write_text("#!/bin/sh\nsed -i '1s/^/edited: /' out/01-a.md\n")
    script.chmod(0o755)
    answer = project.root / ANSWER

    assert project.run().code == 0
    edited = answer.read_bytes()
    assert edited.startswith(b"edited: ")
    again = project.run()
    assert (again.code, answer.read_bytes(), quarantined(project)) == (0, edited, [])

    answer.unlink()
    assert project.run().code == 0
    assert answer.read_bytes() == edited, "the version of the later step is put back"
    assert project.run("--rerun", "all").code == 0
    assert answer.read_bytes() == edited, "it begins with what the first step wrote"
    assert len(project.oracle.calls) == 1


def asking_for_sections(prompt: str, attached: str) -> str:
    words = f"{prompt}\n\n{ANSWER_FORMAT}"
    return f"mkdir -p out\noracle -e api --write-output {ANSWER} -f {attached} -p '{words}'\n"


def test_the_answer_of_another_run_does_not_correct_a_failed_step(
    tmp_path: Path, zygote: Zygote
) -> None:
    second = asking_for_sections("[[fault=short]] Two?", "two.txt")
    project = two_packs_at_once(tmp_path, zygote, step(1, second))
    assert run(project, "other.md").code == 3
    paid = (project.root / ANSWER).read_text()
    first = project.start("run", "pack.md", "--json", "--take-over")
    until(lambda: len(project.run_dirs) == 2)
    (first_run,) = (path for path in project.run_dirs if path != other_run(project))
    until(lambda: bool(journal_lines(first_run, "invocation_outcome")))

    assert run(project, "other.md").code == 3
    assert recorded(other_run(project)) == paid
    (project.root / "go").touch()
    assert first.wait().code == 0
    assert len(project.oracle.calls) == 2


@pytest.mark.parametrize("args", [[], ["--rerun", "01"]], ids=["held", "run again"])
def test_a_file_taken_over_by_another_pack_does_not_correct_a_failed_step(
    tmp_path: Path, zygote: Zygote, args: list[str]
) -> None:
    first = asking_for_sections("[[fault=short]] One?", "one.txt")
    project = a_project(tmp_path, zygote, step(1, first))
    second = asking_for_sections("Two?", "two.txt")
    (project.root / "other.md").write_text(pack_text(step(1, second)))
    for name in ("one.txt", "two.txt"):
        (project.root / name).write_text("text\n")
    assert run(project, "pack.md").code == 3
    first_run = project.run_dir
    paid = recorded(first_run)
    assert run(project, "other.md", "--take-over").code == 0

    assert run(project, "pack.md", "--take-over", *args).code == 3
    assert recorded(first_run) == paid
    assert len(project.oracle.calls) == 2


def test_a_file_with_two_spellings_can_be_corrected(tmp_path: Path, zygote: Zygote) -> None:
    asked = asking_for_sections("[[fault=short]] One?", "one.txt")
    other = asked.replace(ANSWER, f"./{ANSWER}")
    project = a_project(tmp_path, zygote, step(1, f"if true; then\n{asked}else\n{other}fi\n"))
    (project.root / "one.txt").write_text("text\n")
    assert run(project, "pack.md", "--output-chunk-mode", "single").code == 3
    answer = project.root / ANSWER
    answer.write_text(answer.read_text() + "\n## Risks\n\nNone that is known.\n")

    assert run(project, "pack.md", "--output-chunk-mode", "single").code == 0
    assert warnings(project) == []
    assert len(project.oracle.calls) == 1


def test_two_packs_at_once_do_not_take_each_others_answer(tmp_path: Path, zygote: Zygote) -> None:
    """The second publishes its answer after the first, and before the first records its outputs."""
    second = step(1, ask("Two?", ANSWER, "-e api", "-f two.txt"))
    project = two_packs_at_once(tmp_path, zygote, second)

    asking_first = project.start("run", "pack.md", "--json")
    until(lambda: has_answer(project))
    assert run(project, "other.md", "--existing", "replace").code == 0
    (project.root / "go").touch()

    assert asking_first.wait().code == 0
    assert len(project.oracle.calls) == 2
    assert "`two.txt:1`" in (project.root / ANSWER).read_text()
    assert "`two.txt:1`" in recorded(other_run(project))
    (first,) = (path for path in project.run_dirs if path != other_run(project))
    assert "`one.txt:1`" in recorded(first)


def test_two_runs_that_publish_one_answer_both_have_it(tmp_path: Path, zygote: Zygote) -> None:
    """Also at a path that only the shell knows: the second run finds the file as it would be."""
    asked = ('for name in a b; do oracle -p "Why?" -f $name --write-output out/$name.md; done',)
    project = a_project(tmp_path, zygote, step(1, *asked))
    for name in ("a", "b"):
        (project.root / name).write_text(name)
    assert project.run("--no-validate").code == 0

    again = project.run("--no-validate", "--new-run")

    assert (again.code, len(project.oracle.calls)) == (0, 2)
    assert len([*(project.run_dirs[-1] / "outputs").iterdir()]) == 2
