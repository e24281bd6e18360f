"""What is kept out of every record."""

import pytest

from oraclepack.journal import events as j
from oraclepack.system.secrets import BLOT, MOST_LINES, NOTHING_SECRET, Redactor, is_secret_name
from tests import events as e


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OPENAI_API_KEY", True),
        ("gh_token", True),
        ("Client_Secret", True),
        ("PGPASSWORD", True),
        ("PASSWORD_FILE", True),
        *[(name, True) for name in ("GITHUB_PAT", "STRIPE_APIKEY_LIVE", "DB_PASS", "SMTP_PASSWD")],
        *[(name, True) for name in ("NPM_CONFIG__AUTH", "BASIC_AUTH", "REGISTRY_CREDS")],
        *[(name, True) for name in ("AWS_ACCESS_KEY_ID", "DATABASE_URL", "STAGING_DATABASE_URL")],
        *[(name, True) for name in ("OPENAI_API_KEY_2", "GH_TOKEN1", "DB_PASS_03")],
        *[(name, True) for name in ("TOKEN", "SECRET", "PAT", "AUTH", "GH_AUTHORIZATION")],
        *[(name, True) for name in ("BYPASSWORD", "COMPASSWD")],
        *[(name, False) for name in ("GIT_AUTHOR_NAME", "SSH_AUTH_SOCK", "SSH_ASKPASS")],
        *[(name, False) for name in ("CACHE_BYPASS", "COMPASS_HOME", "CREDIT_LIMIT", "PATTERN")],
        *[(name, False) for name in ("PATH", "HOME", "PYTHONPATH")],
        ("KEYBOARD", False),
        ("MONKEY", False),
        ("TOKENS_PER_MINUTE", False),
        ("PATH", False),
    ],
)
def test_names_of_secrets(name: str, expected: bool) -> None:
    assert is_secret_name(name) is expected


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        pytest.param(["sk-123456"], "Bearer sk-123456!", f"Bearer {BLOT}!", id="inside a text"),
        pytest.param(["sk-123456", "sk-123456789"], "sk-123456789", BLOT, id="the longest first"),
        pytest.param(
            ["sk-123456", "sk-123456" + "é/" * 999],
            "sk-123456" + "%C3%A9%2F" * 999 + " sk-123456",
            f"{BLOT} {BLOT}",
            id="a very long one that begins with a short one",
        ),
        pytest.param(["short"], "short", "short", id="too short to be recognised"),
        pytest.param(['a"b\\c\nd'], '{"k":"a\\"b\\\\c\\nd"}', f'{{"k":"{BLOT}"}}', id="in JSON"),
        pytest.param(["a.c.e.g"], "abcdefg a.c.e.g", f"abcdefg {BLOT}", id="no pattern"),
        pytest.param([], "anything", "anything", id="nothing secret"),
        pytest.param(["first-1\nsecond-2\n"], "a second-2", f"a {BLOT}", id="a line of it"),
        pytest.param(["a\tb\r\nc d"], "is a b c d", f"is {BLOT}", id="with other blanks"),
        pytest.param(["k/9+a=b"], "?k=k%2F9%2Ba%3Db", f"?k={BLOT}", id="in a URL"),
        pytest.param(["k/9+a=b"], "k/9%2ba%3db", BLOT, id="in the path of a URL, digits small"),
        pytest.param(["a b~(c)*"], "a%20b~(c)*", BLOT, id="as encodeURIComponent writes it"),
        pytest.param(["a b~(c)*"], "a+b~%28c%29%2A", BLOT, id="in a form"),
        pytest.param(["a b~(c)*"], "a+b%7e%28c%29*", BLOT, id="in a form of Node, digits small"),
        pytest.param(["a\\b'c\"d"], repr("a\\b'c\"d"), f"'{BLOT}'", id="as Python quotes it"),
        pytest.param(
            ["bytes\udcff!"], "bytes\ufffd! bytes\\udcff!", f"{BLOT} {BLOT}", id="no UTF-8"
        ),
        pytest.param(["oracle"], "oracle", "oracle", id="a name that records are about"),
        pytest.param(
            ["sk-123456\nbrowser\n Pending"],
            "browser Pending sk-123456",
            f"browser Pending {BLOT}",
            id="a line of it that is such a name",
        ),
        pytest.param([" " * 8], " " * 9, " " * 9, id="nothing but blanks"),
    ],
)
def test_texts_are_cleaned(values: list[str], text: str, expected: str) -> None:
    assert Redactor(values).clean(text) == expected


def test_of_very_many_lines_the_whole_and_the_first_are_known() -> None:
    lines = [f"line-{number:04}" for number in range(3000)]
    redactor = Redactor(["\n".join(lines)])

    assert redactor.clean("\n".join(lines)) == redactor.clean(" ".join(lines)) == BLOT
    assert redactor.clean(lines[MOST_LINES - 1]) == BLOT
    assert redactor.clean(lines[MOST_LINES]) == lines[MOST_LINES]


def test_an_environment_names_its_secrets() -> None:
    redactor = Redactor.of({"A_TOKEN": "hunter22", "HOME": "/home/me", "B_KEY": ""})

    assert redactor.clean("hunter22 in /home/me") == f"{BLOT} in /home/me"


def test_every_text_of_a_record_is_cleaned() -> None:
    event = j.SessionStarted(
        pid=1, host="box", argv=("run", "--x=hunter22"), settings={"a": ["hunter22"], "hunter22": 1}
    )

    clean = Redactor(["hunter22"]).clean_record(event)

    assert clean.argv == ("run", f"--x={BLOT}")
    assert clean.settings == {"a": [BLOT], BLOT: 1}


def test_words_of_ours_and_unchanged_records_stay() -> None:
    event = e.a_step("01")[-1]

    assert Redactor(["step_finished", "failed"]).clean_record(event) is event
    assert NOTHING_SECRET.clean_record(event) is event


@pytest.mark.parametrize(
    ("environment", "text", "expected"),
    [
        pytest.param(
            {"HTTPS_PROXY": "http://ada:pa55word@proxy:1"},
            "pa55word",
            BLOT,
            id="a password in a URL",
        ),
        pytest.param(
            {"REMOTE": "https://ghp_0123456789abcdef@host/x"},
            "token ghp_0123456789abcdef",
            f"token {BLOT}",
            id="a token in the place of the user",
        ),
        pytest.param(
            {"REMOTE": "https://x-access-token:ghp_01234567@host/x"},
            "x-access-token ghp_01234567",
            f"x-access-token {BLOT}",
            id="beside a password the user is none",
        ),
        pytest.param(
            {"ORACLEPACK_SECRET_NAMES": "MY_*, plain", "MY_WORD": "hunter22", "PLAIN": "letmein!"},
            "hunter22 letmein!",
            f"{BLOT} {BLOT}",
            id="names that the user adds",
        ),
        pytest.param(
            {"ORACLEPACK_SECRET_NAMES": "*", "HOME": "/home/ada", "PWD": "/home/ada/x"},
            "/home/ada/x",
            "/home/ada/x",
            id="ordinary variables never are",
        ),
        pytest.param({"PASS": "1", "DB_PASS": "true"}, "1 true", "1 true", id="short values"),
        pytest.param(
            {},
            "git clone https://ada:pa55word@host and https://ada:$PASS@host ssh://git@host",
            f"git clone https://ada:{BLOT}@host and https://ada:$PASS@host ssh://git@host",
            id="a password in a text",
        ),
        pytest.param(
            {},
            "https://ghp_0123456789abcdef0123@host",
            f"https://{BLOT}@host",
            id="a token in a text",
        ),
    ],
)
def test_what_an_environment_makes_secret(
    environment: dict[str, str], text: str, expected: str
) -> None:
    assert Redactor.of(environment).clean(text) == expected


def test_beginnings_of_urls_take_no_longer_than_other_text() -> None:
    text = "a://" * 20_000 + "@" * 2_000

    assert Redactor.of({}).clean(text) == text
