"""What each way in which oracle fails comes to: one row for each that was observed."""

import pytest

from oraclepack.tools.oracle_failures import FailureClass, classify, patterns, wait_hint
from oraclepack.tools.oracle_sessions import SessionRecord

T, F = FailureClass.TRANSIENT, FailureClass.FINAL
HEAD = "🧿 oracle 0.21.2 — words\nSession: why-is-it\nMode: api foreground\n"
PARTIAL = HEAD + "\nAnswer:\nThe rate limit of this API, unauthorized access\n"

NODE_CRASH = (
    "/app/a.js:3\n  f(x.y);\n      ^\n\nTypeError: x is undefined\nsecond line\n"
    "    at f (/app/a.js:3:5)\n    at node:internal/main:28:49 {\n  code: 'X'\n}\n\n"
    "Node.js v24.1.0\n"
)
PYTHON_CRASH = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    import x\n'
    "ModuleNotFoundError: No module named 'x'\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    'Traceback (most recent call last):\n  File "a.py", line 6, in <module>\n    f()\n    ~^^\n'
    "ValueError: bad\nin two lines\n"
)


def failed(message: str, reason: str = "api-error") -> tuple[str, SessionRecord]:
    out = f"{HEAD}\nERROR: {message}\nTransport: {reason} — transport error\n"
    return out, SessionRecord("why-is-it", "error", error_message=message, reason=reason)


ROWS = [
    pytest.param(
        *failed(
            "Rate limit reached for gpt-5.2 in organization org-x on requests per min (RPM): "
            "Limit 3, Used 3. Please try again in 20s. Visit https://x."
        ),
        *("RATE_LIMITED", T, 20.0),
        id="429, rate limit",
    ),
    pytest.param(
        *failed(
            "You exceeded your current quota, please check your plan and billing details. "
            "For more information on this error, see the rate limit guide."
        ),
        *("QUOTA", F, None),
        id="429, quota: no try helps",
    ),
    pytest.param(
        *failed("Request too large for gpt-5.2 on tokens per min (TPM): Limit 30000"),
        *("REQUEST_TOO_LARGE", F, None),
        id="429, a request that never fits",
    ),
    pytest.param(
        *failed("The server had an error while processing your request. Sorry about that!"),
        *("SERVER_ERROR", T, None),
        id="500",
    ),
    pytest.param(
        *failed("502 <html>\r\n<head><title>502 Bad Gateway</title></head>"),
        *("SERVER_ERROR", T, None),
        id="502 with a page of HTML",
    ),
    pytest.param(
        *failed("504 <html><head><title>504 Gateway Time-out</title></head>"),
        *("TIMEOUT", T, None),
        id="504 with a page of HTML",
    ),
    pytest.param(
        *failed("The engine is currently overloaded, please try again later"),
        *("OVERLOADED", T, None),
        id="503",
    ),
    pytest.param(*failed("Overloaded"), "OVERLOADED", T, None, id="529"),
    pytest.param(*failed("Request timed out."), "TIMEOUT", T, None, id="408"),
    pytest.param(
        *failed("Incorrect API key provided: sk-*********test. You can find your key at x."),
        *("AUTH", F, None),
        id="401",
    ),
    pytest.param(
        *failed("Country, region, or territory not supported"), "FORBIDDEN", F, None, id="403"
    ),
    pytest.param(
        *failed(
            "HTTP 404/405 from the Responses API; this base URL or gateway likely does not "
            "expose /v1/responses.",
            "unsupported-endpoint",
        ),
        *("MODEL_UNAVAILABLE", F, None),
        id="404, a model that is not there",
    ),
    pytest.param(
        *failed("gpt-5.5-pro is not available on this API base/key.", "model-unavailable"),
        *("MODEL_UNAVAILABLE", F, None),
        id="404, a Pro model that is not there",
    ),
    pytest.param(
        *failed("This model's maximum context length is 272000 tokens. However, …"),
        *("CONTEXT_TOO_LONG", F, None),
        id="400, too long",
    ),
    pytest.param(
        *failed("Unsupported parameter: 'max_tokens' is not supported with this model."),
        *("BAD_REQUEST", F, None),
        id="400, a bad parameter",
    ),
    pytest.param(
        *failed("Connection to OpenAI dropped before the response completed.", "connection-lost"),
        *("CONNECTION", T, None),
        id="refused, no such host, dropped or reset",
    ),
    pytest.param(
        *failed("OpenAI request timed out before completion.", "client-timeout"),
        *("TIMEOUT", T, None),
        id="a server that never answers",
    ),
    pytest.param(
        *failed("Timed out waiting for API response after 5s.", "client-timeout"),
        *("TIMEOUT", T, None),
        id="a stream slower than the timeout",
    ),
    pytest.param(
        PARTIAL + "ERROR: terminated\nTransport: unknown — unknown transport failure\n",
        SessionRecord("s", "error", error_message="terminated", reason="unknown"),
        *("CUT_STREAM", T, None),
        id="a connection reset in the middle of an answer",
    ),
    pytest.param(
        PARTIAL + "ERROR: the engine is overloaded\nTransport: api-error — x\n",
        SessionRecord("s", "error", error_message="the engine is overloaded", reason="api-error"),
        *("OVERLOADED", T, None),
        id="an error event inside the stream",
    ),
    pytest.param(
        HEAD + "ERROR: Missing OPENAI_API_KEY. Set it.\nUser error (prompt-validation): x\n",
        SessionRecord("s", "error", error_message="Missing OPENAI_API_KEY. Set it."),
        *("AUTH", F, None),
        id="no key",
    ),
    pytest.param(
        HEAD + "ERROR: Missing OPENROUTER_API_KEY. Set it.\n",
        None,
        *("AUTH", F, None),
        id="an unknown model",
    ),
    pytest.param(
        HEAD + "ERROR: The CHROME_PATH environment variable must be set to a Chrome.\n",
        SessionRecord("s", "error", category="browser-automation"),
        *("BROWSER", F, None),
        id="no key and no engine: no browser either",
    ),
    pytest.param(
        HEAD + "ERROR: Input too large (229,276 tokens). Limit is 196,000 tokens.\n",
        None,
        *("CONTEXT_TOO_LONG", F, None),
        id="over the token budget",
    ),
    pytest.param(
        HEAD + "ERROR: Prompt is too short (<10 chars). Say more.\n",
        None,
        *("USAGE", F, None),
        id="a Pro model and a short prompt",
    ),
    pytest.param(
        "🧿 oracle\nA session with the same prompt is already running (why-is-it). Reattach …\n",
        None,
        *("DUPLICATE_PROMPT", FailureClass.DUPLICATE, None),
        id="the same prompt is marked running",
    ),
    pytest.param(
        HEAD + "Unable to start in background; use --wait to run inline.\n",
        None,
        *("CANNOT_DETACH", F, None),
        id="no worker can be started",
    ),
    pytest.param(
        HEAD + "ERROR: Response did not complete: max_output_tokens\n",
        None,
        *("INCOMPLETE", F, None),
        id="the answer does not fit its limit",
    ),
    pytest.param(
        "🧿 oracle\nPrompt is required. Pass it.\n", None, *("USAGE", F, None), id="no prompt"
    ),
    pytest.param(
        PARTIAL,
        None,
        *("UNKNOWN", FailureClass.UNKNOWN, None),
        id="words of an answer do not count",
    ),
    pytest.param(
        "x\nAnswer:\n429 Too Many Requests\n429 Too Many Requests",
        None,
        *("UNKNOWN", FailureClass.UNKNOWN, None),
        id="an answer that speaks of failures is none",
    ),
    pytest.param("", None, *("UNKNOWN", FailureClass.UNKNOWN, None), id="nothing said"),
]


@pytest.mark.parametrize(("out", "record", "code", "kind", "wait"), ROWS)
def test_what_a_failure_means(
    out: str, record: SessionRecord | None, code: str, kind: FailureClass, wait: float | None
) -> None:
    failure = classify(out, "", record)

    assert (failure.code, failure.kind, failure.wait) == (code, kind, wait)


@pytest.mark.parametrize(("out", "record", "code", "kind", "wait"), ROWS)
def test_without_a_record_the_words_tell_the_same(
    out: str, record: SessionRecord | None, code: str, kind: FailureClass, wait: float | None
) -> None:
    by_output, recorded = classify(out, ""), classify(out, "", record)

    assert (by_output.code, by_output.kind, by_output.wait) == (recorded.code, kind, wait)
    assert by_output.code == code


@pytest.mark.parametrize(
    ("err", "code"),
    [
        pytest.param(
            "error: unknown option '--nosuch'\n(use --help for usage)", "USAGE", id="flag"
        ),
        pytest.param(
            "error: option '-e, --engine <mode>' argument 'foo' is invalid. Allowed choices are "
            "api, browser.",
            "USAGE",
            id="choice",
        ),
        pytest.param("error: option '--timeout <s>' argument missing", "USAGE", id="no value"),
        pytest.param(
            "error: too many arguments. Expected 1 argument but got 2: a, b.", "USAGE", id="words"
        ),
        pytest.param("✖ Missing file or directory: nope.txt", "BAD_ATTACHMENT", id="no such file"),
        pytest.param(
            "✖ No files matched the provided --file patterns.", "BAD_ATTACHMENT", id="no match"
        ),
        pytest.param(
            "✖ The following files exceed the 1 MB limit:\n- big.txt (1 MB)",
            "BAD_ATTACHMENT",
            id="a big file",
        ),
        pytest.param("✖ Custom slug must include 3-5 words", "USAGE", id="a short slug"),
        pytest.param('✖ "-p -" received empty stdin.', "USAGE", id="an empty stdin"),
        pytest.param(
            "✖ Refusing to write output inside session storage", "OUTPUT_PATH", id="store"
        ),
    ],
)
def test_what_is_refused_before_the_run_is_final(err: str, code: str) -> None:
    failure = classify("🧿 oracle 0.21.2 — words\n", err)

    assert (failure.code, failure.kind) == (code, F)


@pytest.mark.parametrize(
    ("out", "err", "code"),
    [
        pytest.param(
            "", "ModuleNotFoundError: No module named 'x'", "UNKNOWN", id="not the host ENOTFOUND"
        ),
        pytest.param("", "Error: MODULE_NOT_FOUND", "UNKNOWN", id="a module is not a host"),
        pytest.param("", "ERR_ENOTFOUNDATION", "UNKNOWN", id="a longer word than ENOTFOUND"),
        pytest.param(
            "", "getaddrinfo ENOTFOUND api.example", "CONNECTION", id="the host ENOTFOUND"
        ),
        pytest.param("", "  code: 'ECONNRESET'", "CONNECTION", id="a code in quotes"),
        pytest.param("", "connect ECONNREFUSED_COUNT=3", "UNKNOWN", id="a counter of refusals"),
        pytest.param("", "connect ETIMEDOUT 10.0.0.1:443", "TIMEOUT", id="a connection timed out"),
        pytest.param("", "Error: RateLimiter is no constructor", "UNKNOWN", id="a rate limiter"),
        pytest.param("", "cannot read docs/rate-limit.md", "UNKNOWN", id="a file on rate limits"),
        pytest.param("", "cannot read rate_limit.py", "UNKNOWN", id="a module on rate limits"),
        pytest.param("", "no such flag --rate-limit", "UNKNOWN", id="a flag for the rate limit"),
        pytest.param("", "openai.RateLimitError: slow down", "RATE_LIMITED", id="RateLimitError"),
        pytest.param("", "rate_limit_exceeded", "RATE_LIMITED", id="rate_limit_exceeded"),
        pytest.param("", "you are being rate-limited", "RATE_LIMITED", id="rate-limited"),
        pytest.param(
            "", "TypeError: overloadedMethods is empty", "UNKNOWN", id="overloadedMethods"
        ),
        pytest.param("", '{"type":"overloaded_error"}', "OVERLOADED", id="overloaded_error"),
        pytest.param("ERROR: 5030 lines are too many\n", "", "UNKNOWN", id="5030 is not 503"),
        pytest.param("ERROR: 504\n", "", "TIMEOUT", id="504 alone"),
        pytest.param("ERROR: 50210\n", "", "UNKNOWN", id="50210 is not 502"),
        pytest.param("", "isUnauthorizedPath is no function", "UNKNOWN", id="isUnauthorizedPath"),
        pytest.param("", "401 Unauthorized", "AUTH", id="401 Unauthorized"),
        pytest.param("", "Missing OPENAI_API_KEY_FILE", "UNKNOWN", id="a key's file is no key"),
        pytest.param("", "cannot find insufficient_quota.ts", "UNKNOWN", id="a file on quotas"),
        pytest.param("", "cannot open model_not_found_test", "UNKNOWN", id="a test on models"),
        pytest.param("ERROR: terminated by the user\n", "", "UNKNOWN", id="terminated by someone"),
        pytest.param(
            "", "✖ Missing file or directory: unauthorized.md", "BAD_ATTACHMENT", id="a file name"
        ),
        pytest.param(
            "", "✖ Missing file or directory: rate limit", "BAD_ATTACHMENT", id="a name in words"
        ),
        pytest.param(
            "Session: what-is-the-rate-limit\nReattach: oracle session what-is-the-rate-limit\n",
            "",
            "UNKNOWN",
            id="the name of a session",
        ),
        pytest.param("🧿 oracle — never overloaded\n", "", "UNKNOWN", id="the banner's slogan"),
        pytest.param("Tip: requests that timed out …\n", "", "UNKNOWN", id="a tip"),
        pytest.param(
            "", "TypeError: x\n    at overloaded (/app/ENOTFOUND.js:1:1)\n", "UNKNOWN", id="a frame"
        ),
        pytest.param(
            "",
            "/app/a.js:3\n  throw 'rate limit' in x;\n  ^\n\nTypeError: y\n    at f (a.js:3:1)\n",
            "UNKNOWN",
            id="the source line that Node shows",
        ),
        pytest.param(
            "",
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
            "    wait_for('rate limit')\nKeyError: 'x'\n",
            "UNKNOWN",
            id="the source line that Python shows",
        ),
    ],
)
def test_a_failure_is_known_by_whole_words_of_its_reason(out: str, err: str, code: str) -> None:
    assert classify(out, err).code == code


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("Please try again in 20s.", 20.0, id="seconds"),
        pytest.param("Please try again in 350ms.", 0.35, id="milliseconds"),
        pytest.param("Please try again in 1m3s.", 63.0, id="minutes and seconds"),
        pytest.param("please retry after 1.5s", 1.5, id="a fraction"),
        pytest.param("please try again later", None, id="no time"),
    ],
)
def test_wait_hint(text: str, seconds: float | None) -> None:
    assert wait_hint(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("out", "err", "message"),
    [
        pytest.param("x\nERROR: Overloaded\nTransport: y\n", "", "Overloaded", id="after ERROR"),
        pytest.param("banner\n", "error: bad\n(use --help)\n", "error: bad", id="on stderr"),
        pytest.param("banner\nCancelled.\n", "", "Cancelled.", id="the last line"),
        pytest.param("", "", "the tool gave no reason", id="none"),
        pytest.param("banner\n", NODE_CRASH, "TypeError: x is undefined", id="Node crashes"),
        pytest.param(NODE_CRASH, "", "TypeError: x is undefined", id="Node crashes on stdout"),
        pytest.param("banner\n", PYTHON_CRASH, "ValueError: bad", id="Python crashes"),
        pytest.param("ERROR: " + "y" * 999, "", "y" * 300 + "…", id="a long one is cut"),
    ],
)
def test_the_message_is_the_tools_own(out: str, err: str, message: str) -> None:
    assert classify(out, err).message == message


def test_every_pattern_of_the_table_is_needed_by_a_row() -> None:
    codes = {row.code for row, _ in patterns()}

    assert codes - {str(values.values[2]) for values in ROWS} == {
        "BAD_ATTACHMENT",
        "OUTPUT_PATH",
        "UNDECIDED",
        "VALIDATION",
    }
