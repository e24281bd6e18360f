"""OP4xx: what may be attached."""

import pytest

from oraclepack.lint.finding import PathFact
from oraclepack.lint.rules.attachment_rules import looks_secret
from tests.lint.judging import FILE, FOLDER, LARGE, MISSING, OUTSIDE, findings, only
from tests.packs import some_steps


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param("-f a.py -f b.py -f c.py", [], id="three files"),
        pytest.param("-f a.py b.py c.py d.py", ["OP401"], id="four after one flag"),
        pytest.param("-f a.py -f a.py -f b.py -f c.py", [], id="one of them twice"),
        pytest.param("-f a.py b.py c.py '!d.py'", [], id="an exclusion is no file"),
        pytest.param('-f a.py b.py c.py "$more"', [], id="who knows"),
        pytest.param('"${files[@]}"', [], id="an array"),
        pytest.param("-f '**/*.py'", ["OP402"], id="a tree"),
        pytest.param("-f 'src/**'", ["OP402"], id="a tree below a directory"),
        pytest.param("-f .", ["OP402"], id="the project"),
        pytest.param("-f ./", ["OP402"], id="the project, with a slash"),
        pytest.param("-f 'src/*'", ["OP402"], id="everything in a top directory"),
        pytest.param("-f '*'", ["OP402"], id="everything"),
        pytest.param("-f 'src/shop/*.py'", [], id="a narrow pattern"),
        pytest.param("-f '!src/**'", [], id="a broad exclusion"),
        pytest.param("-f folder", ["OP402"], id="a top directory"),
        pytest.param("-f folder/sub", [], id="a deeper directory"),
        pytest.param("-f gone.py", ["OP403"], id="not there"),
        pytest.param("-f ./gone.py", ["OP403"], id="not there, written otherwise"),
        pytest.param("-f never-looked.py", [], id="not looked up"),
        pytest.param("-f .env", ["OP404"], id="a secret"),
        pytest.param("-f 'keys/*.pem'", ["OP404"], id="a pattern for secrets"),
        pytest.param("-f '!.env'", [], id="a secret kept out"),
        pytest.param("-f 'a,b.py'", ["OP405"], id="a comma in a name"),
        pytest.param("-f here.py,here2.py", [], id="a list of files that are there"),
        pytest.param("-f 'src/x.{ts,tsx}'", ["OP405"], id="braces"),
        pytest.param("-f src/x.{ts,tsx}", [], id="braces that bash expands"),
        pytest.param("--file=a.py b.py", ["OP405"], id="a file without a flag"),
        pytest.param("-f big.log", ["OP406"], id="too big"),
        pytest.param("-f big.log --max-file-size-bytes 9999999", [], id="another limit"),
        pytest.param("-f ../x.py", ["OP407"], id="next door"),
        pytest.param("-f src/../../x.py", ["OP407"], id="next door, by a detour"),
        pytest.param("-f link.py", ["OP407"], id="a link that leads away"),
        pytest.param("-f /abs/known.py", [], id="an absolute path inside"),
    ],
)
def test_attachments(files: str, expected: list[str]) -> None:
    paths: dict[str, PathFact] = {
        "gone.py": MISSING,
        "./gone.py": MISSING,
        "here.py": FILE,
        "here2.py": FILE,
        "folder": FOLDER,
        "folder/sub": FOLDER,
        "big.log": LARGE,
        "link.py": OUTSIDE,
        "/abs/known.py": FILE,
    }

    found = findings(f"oracle -p q --write-output o.md {files}", only("OP4"), paths=paths)

    assert [each.rule for each in found] == expected


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param(["oracle -p q -f gone.md"], 1, id="no step makes it"),
        pytest.param(
            ["oracle -p a --write-output gone.md", "oracle -p q -f gone.md"], 0, id="made"
        ),
        pytest.param(["oracle -p q -f gone.md", "echo > gone.md"], 1, id="made too late"),
        pytest.param(['echo > "$x"', "oracle -p q -f gone.md"], 0, id="made, perhaps"),
        pytest.param(["cd sub\noracle -p q -f gone.md"], 0, id="from another directory"),
        pytest.param(["(cd sub && oracle -p q -f ../x.md)"], 0, id="in a subshell elsewhere"),
    ],
)
def test_missing_files_are_those_that_no_step_makes(bodies: list[str], expected: int) -> None:
    found = findings(
        some_steps(bodies), only("OP4"), paths={"gone.md": MISSING, "../x.md": OUTSIDE}
    )

    assert len(found) == expected


def test_the_prelude_may_make_a_file() -> None:
    bash = "echo > gone.md\n# 01) step\noracle -p q -f gone.md\n"

    assert not findings(bash, only("OP4"), paths={"gone.md": MISSING})


def test_a_swallowed_question() -> None:
    (found,) = findings('oracle -f a.py "Why?"', only("OP405"))

    assert found.message == "oracle takes this word for one more file, so there is no question"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".env", True),
        ("config/.env.production", True),
        (".env*", True),
        (".env.example", False),
        (".env.sample", False),
        ("id_rsa", True),
        ("id_rsa.pub", False),
        (".ssh/config", True),
        (".aws/credentials", True),
        ("gcp-credentials.json", True),
        ("src/credentials.py", False),
        ("docs/secrets.md", False),
        ("config/secrets.yml", True),
        ("server.key", True),
        ("src/keyboard.py", False),
        ("src/environment.ts", False),
        ("password_reset.go", False),
        ("passwords.txt", True),
        ("credentials.schema.json", False),
    ],
)
def test_secret_names(path: str, expected: bool) -> None:
    assert looks_secret(path) is expected
