"""What decides the key of a call, what does not, and who answers it."""

import pytest

from oraclepack.calls.key import InvocationKey, differences, key_of
from oraclepack.errors import Refusal
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import OracleContext, oracle_context
from oraclepack.tools.oracle_question import OracleQuestion, read_question
from oraclepack.tools.providers import engine_of, limit_name, model_of, provider_of

ORACLE = table_of("oracle")
FILES = (("a.py", "1" * 64), ("b.py", "2" * 64))
AROUND = OracleContext(
    {"OPENAI_BASE_URL": "http://host/v1"}, has_key=True, configs=('{"search":"on"}',)
)
CALL = "-p why -m gpt-5.2 -e api --write-output o.md --search on"


def asked(argv: str) -> OracleQuestion:
    words = argv.split()
    return read_question(parse_argv(ORACLE, words), words)


def key(
    argv: str = CALL,
    files: tuple[tuple[str, str], ...] = FILES,
    around: OracleContext = AROUND,
) -> InvocationKey:
    made = key_of(asked(argv), files, around)
    assert isinstance(made, InvocationKey)
    return made


def around(**changes: object) -> OracleContext:
    given = {"variables": AROUND.variables, "has_key": True, "configs": AROUND.configs}
    return OracleContext(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        pytest.param(key(CALL.replace("why", "how")), ["prompt"], id="another prompt"),
        pytest.param(key(CALL.replace("gpt-5.2", "gpt-5.1")), ["model"], id="another model"),
        pytest.param(key(CALL.replace("-e api", "-e browser")), ["engine"], id="another engine"),
        pytest.param(key(CALL.replace("--search on", "")), ["flag:--search"], id="a flag less"),
        pytest.param(key(files=FILES[:1]), ["file:b.py"], id="a file less"),
        pytest.param(
            key(files=(FILES[0], ("b.py", "3" * 64))), ["file:b.py"], id="a file that changed"
        ),
        pytest.param(
            key(files=(FILES[0], ("c.py", "2" * 64))),
            ["file:b.py", "file:c.py"],
            id="a file renamed",
        ),
        pytest.param(
            key(around=around(variables={})), ["variable:OPENAI_BASE_URL"], id="another address"
        ),
        pytest.param(key(around=around(configs=())), ["config"], id="another config"),
        pytest.param(
            key(around=around(configs=("{search: 'on'} // mine",))),
            ["config"],
            id="one with comments",
        ),
    ],
)
def test_what_decides_the_key(other: InvocationKey, parts: list[str]) -> None:
    assert other.value != key().value
    assert [change.part for change in differences(key().parts, other.parts)] == parts


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(key(CALL.replace("o.md", "elsewhere.md")), id="where the answer goes"),
        pytest.param(key(CALL + " -v --files-report"), id="talk"),
        pytest.param(
            key(CALL + " --timeout 9 --slug a-b-c --wait --force"), id="patience and names"
        ),
        pytest.param(key(files=FILES[::-1]), id="the order of the files"),
        pytest.param(
            key("--search on --engine=api --write-output o.md -mgpt-5.2 why"), id="spelling"
        ),
        pytest.param(
            key(around=around(configs=('{ "notify": false, "search": "on" }', "{}"))),
            id="what the config says about bells",
        ),
    ],
)
def test_what_does_not_decide_the_key(other: InvocationKey) -> None:
    assert other == key()


def test_the_key_is_the_same_on_every_machine() -> None:
    assert key().value == ("66849a1911630128ce2bd2b8586d151599dc45fb5a017033aec7e5e678ec3bd4")


def test_no_part_shows_a_login() -> None:
    made = key(CALL + " --base-url https://me:hush@host/v1")

    assert made.parts["flag:--base-url"] == "https://host/v1"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param("--write-output o.md", "no prompt", id="no prompt"),
        pytest.param("-p x", "--write-output", id="the answer goes to the screen"),
        pytest.param(
            "-p x --write-output o.md --models a,b", "several models", id="several models"
        ),
        pytest.param("-p x --write-output o.md --generate-image i", "image", id="an image"),
        pytest.param("-p x --write-output o.md --exec-session s", "session", id="a stored session"),
    ],
)
def test_calls_without_a_key(argv: str, reason: str) -> None:
    made = key_of(asked(argv), (), AROUND)

    assert isinstance(made, Refusal)
    assert reason in made.reason


def test_a_difference_reads_as_a_sentence() -> None:
    changes = differences({"a": "1", "b": "2", "c": "3" * 64}, {"b": "2", "c": "4" * 64, "d": "5"})

    assert [str(change) for change in changes] == [
        "a is gone (was 1)",
        "c changed from 333333333333… to 444444444444…",
        "d is new (5)",
    ]


@pytest.mark.parametrize(
    ("argv", "given", "engine"),
    [
        pytest.param("-p x -e browser", around(), "browser", id="the flag"),
        pytest.param("-p x --browser", around(), "browser", id="the old switch"),
        pytest.param("-p x --provider azure", around(has_key=False), "api", id="an API provider"),
        pytest.param(
            "-p x", around(variables={"ORACLE_ENGINE": "Browser "}), "browser", id="variable"
        ),
        pytest.param("-p x", around(configs=('{"engine":"browser"}',)), "browser", id="the config"),
        pytest.param("-p x", around(configs=("{engine: 1}",)), "api", id="an unreadable config"),
        pytest.param("-p x", around(), "api", id="a key is there"),
        pytest.param("-p x", around(has_key=False), "browser", id="no key: the browser"),
        pytest.param(
            "-p x",
            around(has_key=False, variables={"AZURE_OPENAI_ENDPOINT": "https://h"}),
            "api",
            id="only Azure",
        ),
        pytest.param("-p x -m sonnet", around(has_key=False), "api", id="no browser has it"),
    ],
)
def test_engine(argv: str, given: OracleContext, engine: str) -> None:
    assert engine_of(asked(argv), given) == engine


@pytest.mark.parametrize(
    ("argv", "provider"),
    [
        pytest.param("-m gpt-5.2", "openai", id="gpt"),
        pytest.param("-m o3-pro", "openai", id="an o model"),
        pytest.param("", "openai", id="the tool's own choice"),
        pytest.param("-m claude-4.5-sonnet", "anthropic", id="claude"),
        pytest.param("-m gemini-3-pro", "google", id="gemini"),
        pytest.param("-m grok-4.1", "xai", id="grok"),
        pytest.param("-m minimax/minimax-m2", "openrouter", id="a name with an owner"),
        pytest.param("-m mystery", "openrouter", id="an unknown model"),
        pytest.param("-m mystery --base-url http://h/v1", "openai", id="a server of one's own"),
        pytest.param(
            "-m gpt-5 --base-url https://openrouter.ai/api", "openrouter", id="by address"
        ),
        pytest.param("-e browser -m gemini-3-pro", "browser", id="the browser"),
        pytest.param("--models claude-x,gpt-5", "anthropic", id="the first of several"),
    ],
)
def test_provider(argv: str, provider: str) -> None:
    call = asked(f"-p x -e api {argv}" if "-e" not in argv else f"-p x {argv}")

    assert provider_of(call, OracleContext()) == provider


def test_the_model_may_come_from_the_config() -> None:
    configs = ('{"model":"a"}', '{"model":"b"}')

    assert model_of(asked("-p x"), around(configs=configs)) == "b"


def test_each_browser_profile_has_a_limit_of_its_own() -> None:
    plain, own = asked("-p x"), asked("-p x --browser-chrome-profile Work")

    assert limit_name(plain, "openai") == "openai"
    assert limit_name(plain, "browser") == "browser"
    assert limit_name(own, "browser").startswith("browser-")


def test_the_environment_is_stronger_than_the_file_beside_the_call() -> None:
    dotenv = {"OPENAI_BASE_URL": "a", "OPENAI_API_KEY": "sk-1", "XAI_BASE_URL": "x", "HOME": "/h"}

    made = oracle_context({"OPENAI_BASE_URL": "b", "XAI_BASE_URL": ""}, dotenv, ["{}"])

    expected = OracleContext({"OPENAI_BASE_URL": "b"}, has_key=True, configs=("{}",), dotenv=dotenv)
    assert made == expected
