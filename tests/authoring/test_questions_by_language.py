"""Premises that are true in one language and false in another, and what follows from the syntax."""

import pytest

from tests.authoring.test_questions import found


def asked(path: str, text: str, key: str) -> list[list[int]]:
    """The quoted lines of each question of a kind about one file."""
    return [[place.line for place in one.evidence] for one in found({path: text}, key)]


SEVEN_BRANCHES = "".join(f"    if x == {n} {{\n        y = {n}\n    }}\n" for n in range(7))
RUST_TWINS = "".join(
    f"    #[test]\n    fn {name}() {{\n        let first = given(1);\n"
    "        let second = given(2);\n"
    "        let third = given(3);\n        let fourth = given(4);\n        let fifth = given(5);\n"
    f"        if first == second {{\n            {call};\n        }}\n    }}\n"
    for name, call in (("one", "fail_with(1, 2)"), ("two", "give_up_on(third)"))
)


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        pytest.param(
            "src/unit.rs",
            "enum Size { Known(u64), Unknown, Empty, Huge }\nfn write(size: Size) {\n"
            "    match size {\n        Size::Known(n) => put(n),\n        Size::Huge => {}\n"
            "        Size::Unknown => {}\n        Size::Empty => {}\n    }\n}\n",
            "unhandled-member",
            id="a member that is matched with its content is handled",
        ),
        pytest.param(
            "src/lib.rs",
            f"fn real() {{}}\n#[cfg(test)]\n// comment\nmod tests {{\n{RUST_TWINS}}}\n",
            "two-copies",
            id="unit tests of Rust beside the code",
        ),
        pytest.param(
            "lib/log.rb",
            "class Log\n  def line(a)\n    sprintf('%s', a)\n  end\nend\n",
            "dangerous-call",
            id="sprintf of Ruby has no buffer",
        ),
        pytest.param(
            "lib/reply.rb",
            "class Reply\n  def redirect(to)\n    self.status = 302\n    self.location = to\n"
            "  end\nend\n",
            "partial-update",
            id="a setter of Ruby is not a call between two fields",
        ),
        pytest.param(
            "lib/env.rb",
            'class E\n  def a\n    ENV["A_B"]\n  end\n'
            '  def b(p)\n    ENV[p || "C_D"]\n  end\nend\n',
            "environment",
            id="an expression is no name of a variable",
        ),
        pytest.param(
            "web/app.py",
            "def handle(environ):\n    a = environ['PATH_INFO']\n"
            "    return a, environ['HTTP_HOST']\n",
            "environment",
            id="the request of WSGI is not the environment",
        ),
        pytest.param(
            "cmd.go",
            "package cmd\nfunc (c *Cmd) Show() string {\n    if c.versionTemplate != nil {\n"
            '        return "a"\n    }\n    if c.Version == "" {\n        return "b"\n    }\n'
            '    return "c"\n}\n',
            "version-branches",
            id="whether there is a version is not which one",
        ),
        pytest.param(
            "lib/old.rb",
            "class Old\n  require 'x' if RUBY_VERSION < '2.4'\nend\n",
            "version-branches",
            id="the version of the language",
        ),
        pytest.param(
            "store.go",
            'package store\nimport "os"\nfunc Read(p string) error {\n    f, err := os.Open(p)\n'
            "    if err != nil {\n        return err\n    }\n    defer f.Close()\n    use(f)\n"
            "    return nil\n}\n",
            "resource-lifetime",
            id="a deferred close",
        ),
        pytest.param(
            "opening.py",
            "import os\n\n\ndef regular(path):\n    fd = os.open(path, 0)\n    try:\n"
            "        refuse(fd)\n    except BaseException:\n        os.close(fd)\n        raise\n"
            "    return fd\n",
            "resource-lifetime",
            id="closed when something fails",
        ),
        pytest.param(
            "check.py",
            "def is_open(host, port):\n    log(host)\n    log(port)\n    log(1)\n    log(2)\n"
            "    log(3)\n    try:\n        connect(host, port)\n    except OSError:\n"
            "        return False\n    return True\n",
            "silent-error",
            id="a question whose answer is no",
        ),
        pytest.param(
            "notes.py",
            "def f(x):\n    # TODO: remove the cast after the rewrite of this\n    return x()\n",
            "open-note",
            id="a note about types",
        ),
        pytest.param(
            "client.py",
            "".join(
                f"class {name}:\n    {start}def get(self, url, *, retry=False):\n"
                "        first = self.prepare(url, 1)\n        second = self.prepare(url, 2)\n"
                "        third = self.prepare(url, 3)\n        fourth = self.prepare(url, 4)\n"
                f"        if retry:{comment}\n            fifth = self.prepare(url, 5)\n"
                f"        reply = {call}(url, first)\n        return reply\n\n\n"
                for name, start, comment, call in (
                    ("A", "", "", "self.send_request"),
                    ("B", "async ", "  # pragma: no cover", "await self.asend_request"),
                )
            ),
            "two-copies",
            id="the asynchronous twin differs in names only",
        ),
        pytest.param(
            "size.py",
            "MAX_HEAD = 6\n\n\ndef f():\n    return bytes(MAX_HEAD)\n\n\ndef g():\n"
            "    return bytearray(MAX_HEAD)\n",
            "limit",
            id="a number that nothing is compared with",
        ),
    ],
)
def test_near_misses_of_other_languages_give_none(path: str, text: str, key: str) -> None:
    assert asked(path, text, key) == []


@pytest.mark.parametrize(
    ("path", "text", "key", "lines"),
    [
        pytest.param(
            "conn.go",
            "package conn\nfunc (c *Conn) Write(kind int) error {\n"
            "    if c.isServer {\n        return nil\n    }\n    if kind > 3 {\n"
            "        return nil\n    }\n    if c.closed {\n        return nil\n    }\n"
            f"{SEVEN_BRANCHES}"
            "    return c.err\n}\n",
            "decision-order",
            [2, 3, 6, 9, 33],
            id="fields of the receiver decide as parameters do",
        ),
        pytest.param(
            "conn.go",
            'package conn\nimport "errors"\nfunc Check(a int) error {\n    if a < 1 {\n'
            '        return errors.New("conn: a is too small")\n    }\n    if a > 9 {\n'
            '        return errors.New("conn: a is too large")\n    }\n'
            '    return errors.New("conn: a is no number")\n}\n',
            "error-messages",
            [3, 5, 8, 10],
            id="Go returns its errors",
        ),
        pytest.param(
            "copy.c",
            "char *join(const char *a) {\n    char *b = malloc(9);\n    if (fill(b, a)) {\n"
            "        return 0;\n    }\n    free(b);\n    return 0;\n}\n",
            "resource-lifetime",
            [1, 2, 3, 6],
            id="memory of C",
        ),
        pytest.param(
            "copy.c",
            "void copy(char *a, char *b) {\n    strcpy(a, b);\n}\n",
            "dangerous-call",
            [1, 2],
            id="strcpy of C",
        ),
    ],
)
def test_other_languages_are_quoted(path: str, text: str, key: str, lines: list[int]) -> None:
    assert asked(path, text, key) == [lines]


def test_the_return_of_a_callback_is_not_one_of_the_function_around_it() -> None:
    words = (
        "function similar (word, all) {\n  if (!all) return ''\n  all.forEach((one) => {\n"
        "    if (one.length < 2) return\n    use(one)\n  })\n  return word\n}\n"
        "module.exports = { similar }\n"
    )
    user = "const { similar } = require('./words')\nconst best = similar('a', [])\n"

    assert found({"lib/words.js": words, "lib/user.js": user}, "two-results") == []


def test_a_timer_runs_its_function_and_not_its_delay() -> None:
    text = (
        "import threading\n\n\ndef start(delay, ring):\n"
        "    threading.Timer(float(delay), ring).start()\n"
    )

    (question,) = found({"clock.py": text}, "background-task")

    assert "starts ring() by threading.Timer" in question.question


def test_what_stands_for_an_expression_is_not_written_into_a_question() -> None:
    text = (
        "import asyncio\n\n\nasync def log(send, event):\n"
        "    await asyncio.get_running_loop().run_in_executor(None, send, event)\n"
    )

    (question,) = found({"log.py": text}, "background-task")

    assert " by run_in_executor. Who waits" in question.question


def test_several_optional_dependencies_are_missed_in_the_plural() -> None:
    one = "try:\n    import rich\nexcept ImportError:\n    rich = None\n"
    two = one + one.replace("rich", "yaml")

    (single,) = found({"dev.py": one}, "optional-dependency")
    (several,) = found({"dev.py": two}, "optional-dependency")

    assert "rich cannot be imported. What can a user still do without it" in single.question
    assert "rich and yaml cannot be imported. What can a user still do without them" in (
        several.question
    )


def test_a_discarded_result_of_go_is_not_called_an_error() -> None:
    text = "package a\nfunc Run(f Machine) {\n    _ = f.Apply(1)\n    f.Stop()\n}\n"

    (question,) = found({"run.go": text}, "silent-error")

    assert "Run() drops what f.Apply() returns without a record" in question.question


def test_code_of_go_that_imports_testing_is_for_tests() -> None:
    text = 'package raft\nimport (\n\t"testing"\n)\nfunc Make(t *testing.T) {\n    go run()\n}\n'

    assert found({"raft.go": "package raft\n", "testing.go": text}, "background-task") == []


def test_modules_of_rust_may_import_each_other() -> None:
    files = {
        "src/a.rs": "use crate::b::B;\nstruct A;\n",
        "src/b.rs": "use crate::a::A;\nstruct B;\n",
    }

    assert found({**files, "src/lib.rs": "mod a;\nmod b;\n"}, "import-cycle") == []


def test_code_that_a_tested_file_imports_is_not_untested() -> None:
    files = {
        "shop/orders.py": "from shop.money import rounded\n\n\ndef place(x): rounded(x)\n",
        "shop/money.py": "def rounded(x):\n    if x:\n        return 1\n    return 0\n",
        "shop/alone.py": "def lonely(x):\n    if x:\n        return 1\n    return 0\n",
        "tests/test_orders.py": "from shop.orders import place\n\n\ndef test_it():\n    place(1)\n",
    }

    assert [one.reference for one in found(files, "untested")] == ["shop/alone.py"]
