"""A rehearsal has no key, no endpoint, no login; where its calls would go is known all the same."""

from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.run.rehearsing import without_access
from tests.e2e.calls.office import ask, events, step
from tests.e2e.run.project import Project, Zygote, a_project

REHEARSAL = ("--engine", "rehearsal", "--no-validate")
ACCESS = {
    "OPENAI_API_KEY": "sk-users",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "ANTHROPIC_API_KEY": "sk-users",
    "SOME_NEW_PROVIDER_API_KEY": "sk-users",
    "CODEX_HOME": "/home/user/.codex",
    "ORACLE_REMOTE_HOST": "127.0.0.1:9",
    "XDG_CONFIG_HOME": "/home/user/.config",
}


def test_what_gives_access_is_not_in_the_environment_of_a_rehearsal(tmp_path: Path) -> None:
    users = tmp_path / "user"
    (users / ".cargo").mkdir(parents=True)
    (users / ".gitconfig").touch()
    given = {"HOME": str(users), "PATH": "/bin", "APP_BASE_URL": "x", "ORACLE_SID": "db", **ACCESS}

    assert without_access(given, tmp_path / "home") == {
        "PATH": "/bin",
        "APP_BASE_URL": "x",
        "ORACLE_SID": "db",
        "CARGO_HOME": f"{users}/.cargo",
        "GIT_CONFIG_GLOBAL": f"{users}/.gitconfig",
        "HOME": str(tmp_path / "home"),
        "ORACLE_HOME_DIR": str(tmp_path / "home/.oracle"),
    }


def log_of(project: Project) -> str:
    (run_dir,) = project.rehearsals
    return (run_dir / "logs/01.1.stdout.log").read_text()


LOOK = 'echo "key:${OPENAI_API_KEY-} home:$(ls -A "$HOME") oracle:$(ls -A "$ORACLE_HOME_DIR" 2>&-)"'


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param((LOOK,), (), id="in its own shell"),
        pytest.param((f"bash -lc '{LOOK}'",), (), id="in a login shell"),
        pytest.param(("set -a; [ -f .env ] && . ./.env", LOOK), (), id="with the .env, if any"),
        pytest.param((LOOK,), ("--in-place",), id="in the project itself"),
    ],
)
def test_a_step_finds_no_key_and_no_login(
    tmp_path: Path, zygote: Zygote, lines: tuple[str, ...], words: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote, step(1, *lines))
    home = Path(project.environment["HOME"])
    (home / ".oracle").mkdir(exist_ok=True)
    (home / ".bash_profile").write_text("export OPENAI_API_KEY=sk-profile\n")
    (project.root / ".env").write_text("OPENAI_API_KEY=sk-dotenv\n")

    ran = project.run(*REHEARSAL, *words, OPENAI_API_KEY="sk-users")

    assert (ran.code, log_of(project)) == (0, "key: home: oracle:\n"), ran


@pytest.mark.parametrize(
    ("variables", "dotenv", "line", "provider"),
    [
        pytest.param({"OPENAI_API_KEY": "sk"}, "", "", "openai", id="a key of the user"),
        pytest.param({}, "OPENAI_API_KEY=sk", "", "openai", id="in the .env"),
        pytest.param({}, "", "", "browser", id="no key at all"),
        pytest.param({}, "", "OPENAI_API_KEY=sk ", "openai", id="of the step"),
    ],
)
def test_a_call_would_go_where_it_would_go_in_a_real_run(
    tmp_path: Path, zygote: Zygote, variables: dict[str, str], dotenv: str, line: str, provider: str
) -> None:
    project = a_project(tmp_path, zygote, step(1, f"{line}{ask('Why?', 'out/1.md', '-m gpt-5.2')}"))
    if dotenv:
        (project.root / ".env").write_text(f"{dotenv}\n")

    project.variables.update(variables)
    ran = project.run(*REHEARSAL)

    (run_dir,) = project.rehearsals
    intents = [one for one in events(project, run_dir) if isinstance(one, j.InvocationIntent)]
    asked = [one.question.provider for one in intents if one.question]
    assert (ran.code, asked) == (0, [provider])


def test_a_rehearsed_key_is_that_of_the_real_run(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md", "-m gpt-5.2")))
    config = Path(project.environment["HOME"], ".oracle/config.json")
    config.parent.mkdir(exist_ok=True)
    config.write_text('{"search": false}')
    project.variables.update(OPENAI_API_KEY="sk", OPENAI_BASE_URL="http://127.0.0.1:9/v1")

    assert project.run("--no-validate").code == 0
    assert project.run(*REHEARSAL).code == 0

    (rehearsal,) = project.rehearsals
    keys = [
        {one.key for one in events(project, run_dir) if isinstance(one, j.InvocationIntent)}
        for run_dir in (project.run_dir, rehearsal)
    ]
    assert keys[0] == keys[1] != {None}
