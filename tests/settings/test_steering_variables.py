"""By which names a `.env` would steer oracle to another host or program, however it is spelled."""

import pytest

from oraclepack.tools.oracle_config import steering_variables


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "OPENAI_API_KEY=sk-x\nDATABASE_URL=postgres://x\nNODE_ENV=test\n", [], id="honest"
        ),
        pytest.param("OPENAI_BASE_URL=http://x", ["OPENAI_BASE_URL"], id="a host"),
        pytest.param("  export OPENAI_BASE_URL = 'http://x'", ["OPENAI_BASE_URL"], id="exported"),
        pytest.param("OPENAI_BASE_URL: http://x", ["OPENAI_BASE_URL"], id="with a colon"),
        pytest.param("A=1\rOPENAI_BASE_URL=x", ["OPENAI_BASE_URL"], id="after a carriage return"),
        pytest.param("#\u2028OPENAI_BASE_URL=x", ["OPENAI_BASE_URL"], id="after a line separator"),
        pytest.param("\ufeffOPENAI_BASE_URL\ufeff=x", ["OPENAI_BASE_URL"], id="with marks"),
        pytest.param('A="\nOPENAI_BASE_URL=x\n"', ["OPENAI_BASE_URL"], id="perhaps in a value"),
        pytest.param("# OPENAI_BASE_URL=http://x", [], id="a comment"),
        pytest.param("\t#OPENAI_BASE_URL=http://x", [], id="an indented comment"),
        pytest.param("MY_OPENAI_BASE_URL=http://x", [], id="another name"),
        pytest.param("AZURE_OPENAI_ENDPOINT=x", ["AZURE_OPENAI_ENDPOINT"], id="Azure"),
        pytest.param("ORACLE_CLIENT_FACTORY=./x.js", ["ORACLE_CLIENT_FACTORY"], id="a module"),
        pytest.param("ORACLE_HOME_DIR=./x", ["ORACLE_HOME_DIR"], id="another home"),
        pytest.param("ORACLE_SOMETHING_NEW=1", ["ORACLE_SOMETHING_NEW"], id="unknown of oracle"),
        pytest.param("ORACLE_ENGINE=api\nORACLE_NOTIFY=0", [], id="harmless of oracle"),
        pytest.param("CHROME_PATH=./x", ["CHROME_PATH"], id="a browser"),
        pytest.param("NODE_OPTIONS=-r ./x.js", ["NODE_OPTIONS"], id="options of Node"),
        pytest.param("LD_PRELOAD=./x.so", ["LD_PRELOAD"], id="a library"),
        pytest.param("https_proxy=x\nHTTPS_PROXY=x", ["HTTPS_PROXY", "https_proxy"], id="proxies"),
    ],
)
def test_steering_variables(text: str, found: list[str]) -> None:
    assert list(steering_variables(text, {})) == found
    assert steering_variables(text, dict.fromkeys(found, "mine")) == ()
