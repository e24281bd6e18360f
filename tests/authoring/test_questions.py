"""Which code gives which question, and the near misses that give none."""

import re
import textwrap
from pathlib import Path

import pytest

from oraclepack.authoring import question_selection
from oraclepack.authoring.generate import candidates_of
from oraclepack.authoring.git_repository import Commit, GitRepository, StoredText, TrackedFile
from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.question_selection import PROFILES, QuestionLimits, select_questions
from oraclepack.authoring.read_repository import survey_repository
from oraclepack.authoring.repository_survey import RepositorySurvey, is_fix
from oraclepack.authoring.scoring import score_candidate
from oraclepack.pack.model import CATEGORIES


def surveyed(files: dict[str, str], commits: tuple[Commit, ...] = ()) -> RepositorySurvey:
    texts = {path: textwrap.dedent(text).lstrip("\n") for path, text in sorted(files.items())}
    tracked = tuple(TrackedFile(path, len(text), StoredText(text)) for path, text in texts.items())
    return survey_repository(
        GitRepository(tracked, commits), limit=1_000_000, is_secret=lambda _: False
    )


def found(files: dict[str, str], key: str) -> list[QuestionCandidate]:
    survey = surveyed(files)
    return [one for one in candidates_of(survey, {}) if one.key == key]


@pytest.mark.parametrize(
    ("key", "text", "lines"),
    [
        pytest.param(
            "no-timeout",
            """
            import requests


            def fetch(url):
                return requests.get(url)
            """,
            [4, 5],
            id="a request without a timeout",
        ),
        pytest.param(
            "half-done-files",
            """
            import os


            def rotate(path):
                os.remove(path + ".old")
                os.rename(path, path + ".old")
            """,
            [4, 5, 6],
            id="two changes of the file system",
        ),
        pytest.param(
            "check-then-act",
            """
            import os


            def clean(path):
                if os.path.exists(path):
                    os.remove(path)
            """,
            [4, 5, 6],
            id="a check and an act",
        ),
        pytest.param(
            "broad-handler",
            """
            def load(path, read, parse, keep):
                text = read(path)
                try:
                    value = parse(text)
                    keep(value)
                    value.check()
                except Exception:
                    value = None
                return value
            """,
            [1, 4, 7, 8],
            id="a handler for everything",
        ),
        pytest.param(
            "silent-error",
            """
            def load(path, read, parse, keep):
                text = read(path)
                try:
                    keep(parse(text))
                except OSError:
                    pass
                return text
            """,
            [1, 4, 5, 6],
            id="an error that is dropped",
        ),
        pytest.param(
            "retry-loop",
            """
            import time


            def send(call):
                while True:
                    try:
                        return call()
                    except OSError:
                        time.sleep(1)
            """,
            [4, 5, 8, 9],
            id="a loop that tries again",
        ),
        pytest.param(
            "resource-lifetime",
            """
            def first(path, parse):
                stream = open(path)
                value = parse(stream)
                stream.close()
                return value
            """,
            [1, 2, 3, 4],
            id="a file that an error leaves open",
        ),
        pytest.param(
            "blocking-in-async",
            """
            import time


            async def wait():
                time.sleep(5)
            """,
            [4, 5],
            id="sleeping in an event loop",
        ),
        pytest.param(
            "background-task",
            """
            import threading


            def start():
                threading.Thread(target=work).start()


            def work(): ...
            """,
            [4, 5, 8],
            id="a thread that is not waited for",
        ),
        pytest.param(
            "exit-handlers",
            """
            import signal


            def install(stop):
                signal.signal(signal.SIGTERM, stop)
            """,
            [4, 5],
            id="a signal handler",
        ),
        pytest.param(
            "uneven-locking",
            """
            class Counter:
                def add(self):
                    with self._lock:
                        self.count = self.count + 1

                def reset(self):
                    self.count = 0
            """,
            [4, 7],
            id="a field with and without its lock",
        ),
        pytest.param(
            "partial-update",
            """
            class Order:
                def close(self):
                    self.state = "closed"
                    self.send()
                    self.closed_at = 1
            """,
            [2, 3, 4, 5],
            id="a call between two fields",
        ),
        pytest.param(
            "decision-order",
            """
            def price(kind, size, weight):
                if kind == "a":
                    return 1
                if size > 5:
                    return 2
                if weight > 5:
                    return 3
                if kind == "b" and size:
                    return 4
                if weight:
                    return 5
                if size:
                    return 6
                if kind:
                    return 7
                return 0
            """,
            [1, 4, 6, 10, 12, 16],
            id="many conditions in an order",
        ),
        pytest.param(
            "work-in-loop",
            """
            import subprocess


            def build(names):
                for name in names:
                    subprocess.run(["make", name], timeout=9)
            """,
            [4, 5, 6],
            id="a program for each pass",
        ),
        pytest.param(
            "module-state",
            """
            seen = set()


            def note(name):
                seen.add(name)
            """,
            [1, 5],
            id="a set of the process",
        ),
        pytest.param(
            "cached-result",
            """
            import functools
            import os


            @functools.cache
            def home():
                return os.environ.get("HOME", "/")
            """,
            [5, 6, 7],
            id="a cached environment variable",
        ),
        pytest.param(
            "limit",
            """
            MAX_SIZE = 10


            def put(item):
                if len(item) > MAX_SIZE:
                    raise ValueError


            def take(item):
                return item[:MAX_SIZE] if item.ok() else check(MAX_SIZE)
            """,
            [1, 5, 10],
            id="a limit in two places",
        ),
        pytest.param(
            "round-trip",
            """
            def encode_name(name):
                if not name:
                    raise ValueError
                return name


            def decode_name(text):
                return text
            """,
            [1, 2, 3, 7],
            id="a pair that undoes itself",
        ),
        pytest.param(
            "unhandled-member",
            """
            from enum import Enum


            class Kind(Enum):
                RED = 1
                BLUE = 2
                GREEN = 3


            def code(kind):
                if kind is Kind.RED:
                    return 1
                if kind is Kind.BLUE:
                    return 2
            """,
            [7, 10, 11, 13],
            id="a member that is forgotten",
        ),
        pytest.param(
            "dangerous-call",
            """
            import pickle


            def restore(blob):
                return pickle.loads(blob)
            """,
            [4, 5],
            id="unpickling",
        ),
        pytest.param(
            "secret-path",
            """
            import os


            def client():
                return connect(os.environ["SHOP_API_KEY"])
            """,
            [4, 5],
            id="a key from the environment",
        ),
        pytest.param(
            "unguarded-route",
            """
            @app.get("/a")
            @login_required
            def show(): ...


            @app.post("/b")
            def change(): ...
            """,
            [2, 3, 7],
            id="a route without the check of its neighbour",
        ),
        pytest.param(
            "command-options",
            """
            @click.command()
            @click.option("--force")
            @click.option("--keep")
            @click.argument("folder")
            def sort(force, keep, folder): ...
            """,
            [2, 3, 4, 5],
            id="a command with options",
        ),
        pytest.param(
            "error-messages",
            """
            def check(n):
                if n < 0:
                    raise ValueError("must not be negative")
                if n > 9:
                    raise ValueError("must be one digit")
                if n == 5:
                    raise ValueError("five is not allowed")
            """,
            [1, 3, 5, 7],
            id="several refusals",
        ),
        pytest.param(
            "deprecation",
            """
            import warnings


            def old():
                warnings.warn("use new", DeprecationWarning)
            """,
            [4, 5],
            id="a deprecation",
        ),
        pytest.param(
            "version-branches",
            """
            FORMAT_VERSION = 2


            def read(data):
                if data.version > FORMAT_VERSION:
                    raise ValueError
            """,
            [1, 4, 5],
            id="a branch by version",
        ),
        pytest.param(
            "optional-dependency",
            """
            try:
                import yaml
            except ImportError:
                yaml = None
            """,
            [2, 3],
            id="an optional dependency",
        ),
        pytest.param(
            "environment",
            """
            import os

            A = os.environ.get("SHOP_PORT", "80")
            B = os.environ.get("SHOP_HOST", "x")
            """,
            [3, 4],
            id="two variables",
        ),
        pytest.param(
            "two-defaults",
            """
            import os


            def a():
                return os.environ.get("SHOP_HOME", "~")


            def b():
                return os.environ.get("SHOP_HOME", "/var")
            """,
            [5, 9],
            id="one variable with two defaults",
        ),
        pytest.param(
            "log-lines",
            """
            import logging


            def work(name):
                logging.info("begin %s", name)
                logging.debug("go on with %s", name)
                logging.error("end %s", name)
            """,
            [4, 5, 6, 7],
            id="log lines",
        ),
        pytest.param(
            "open-note",
            """
            def f():
                # TODO: handle more than one of them
                return 1
            """,
            [2, 3],
            id="an open note",
        ),
        pytest.param(
            "secret-path",
            """
            def connect(
                host,
                key_password=None,
            ):
                return host.open(key_password)


            def renew(host, api_key): return host.renew(api_key)
            """,
            [1, 3, 5, 8],
            id="secrets as parameters, with the lines that name and use them",
        ),
    ],
)
def test_code_gives_a_question_that_quotes_it(key: str, text: str, lines: list[int]) -> None:
    (first, *_) = found({"shop/code.py": text}, key)

    assert [place.line for place in sorted(first.evidence)] == lines


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param(
            "no-timeout",
            "import requests\n\n\ndef f(u):\n    return requests.get(u, timeout=3)\n",
            id="with a timeout",
        ),
        pytest.param(
            "no-timeout",
            'def f(u):\n    """requests.get(u) without a timeout"""\n    return u\n',
            id="in a docstring",
        ),
        pytest.param(
            "half-done-files",
            "import os\n\n\ndef f(p):\n    try:\n        os.rename(p, p)\n"
            "    except OSError:\n        os.remove(p)\n",
            id="a clean-up after an error is no second step",
        ),
        pytest.param(
            "half-done-files",
            "def f(shelf):\n    shelf.remove(1)\n    shelf.rename(2)\n",
            id="methods that only sound like files",
        ),
        pytest.param(
            "silent-error",
            "def f(d, k, g, h):\n    g(h)\n    try:\n        g(d[k])\n"
            "    except KeyError:\n        pass\n",
            id="an expected miss",
        ),
        pytest.param(
            "broad-handler",
            "def f(s):\n    try:\n        return s.isatty()\n"
            "    except Exception:\n        return False\n",
            id="a probe",
        ),
        pytest.param(
            "uneven-locking",
            "class A:\n    def __init__(self):\n        self.n = 0\n\n"
            "    def add(self):\n        with self._lock:\n            self.n = 1\n",
            id="the constructor needs no lock",
        ),
        pytest.param(
            "partial-update",
            "class A:\n    def f(self):\n        self.a = 1\n        n = len('x')\n"
            "        self.b = n\n",
            id="a call that cannot fail",
        ),
        pytest.param(
            "partial-update",
            "class A:\n    def f(self, n):\n        if n:\n            self.a = n\n"
            "            return 0\n        self.send(n)\n        self.b = n\n",
            id="the first field is set on a path that ends",
        ),
        pytest.param(
            "partial-update",
            "class A:\n    def f(self, n):\n        self.a = n\n        if n:\n"
            "            return self.send(n)\n        self.b = n\n",
            id="the result of the call is returned",
        ),
        pytest.param(
            "partial-update",
            "class A:\n    def f(self, n):\n        if n:\n            self.a = n\n"
            "            self.send(n)\n        else:\n            self.b = n\n",
            id="the fields are set in different branches",
        ),
        pytest.param(
            "resource-lifetime",
            "def f(p, g):\n    s = open(p)\n    try:\n        g(s)\n    finally:\n"
            "        s.close()\n",
            id="closed in the end",
        ),
        pytest.param(
            "unhandled-member",
            "from enum import Enum\n\n\nclass K(Enum):\n    A = 1\n    B = 2\n    C = 3\n\n\n"
            "def f(x):\n    x.put(K.A)\n    x.put(K.B)\n",
            id="members that are made, not compared",
        ),
        pytest.param(
            "secret-path",
            "def a(token):\n    return token\n\n\ndef b(token):\n    return token\n",
            id="tokens of a tokenizer",
        ),
        pytest.param(
            "secret-path",
            "from typing import overload\n\n\n@overload\ndef a(\n    password: str,\n): ...\n"
            "def a(\n    password,\n):\n    return password\n",
            id="the overloads of one function",
        ),
        pytest.param(
            "two-defaults",
            'import os\n\n\ndef a():\n    if os.environ.get("A"):\n'
            '        return os.environ["A"]\n',
            id="asked for, then read",
        ),
        pytest.param(
            "access-check",
            "def f(p):\n    p.with_role(1)\n    p.with_role(2)\n",
            id="a role of something else",
        ),
        pytest.param(
            "access-check",
            "def f(p):\n    p.is_token(1)\n    p.isToken(2)\n",
            id="the token of a grammar",
        ),
        pytest.param(
            "override-contract",
            "".join(
                f"class {name}:\n    @property\n    def data(self):\n        return 1\n\n\n"
                for name in ("A", "B(A)", "C(A)")
            ),
            id="a property is not called",
        ),
        pytest.param(
            "unhandled-member",
            "from enum import Enum\n\n\nclass K(Enum):\n    A = 1\n    B = 2\n    C = 3\n\n\n"
            "def f(g):\n    if g is K.A:\n        return 1\n    elif g is K.B:\n        return 2\n"
            "    else:\n        return 3\n",
            id="what happens to the others is written down",
        ),
        pytest.param(
            "unhandled-member",
            "from enum import Enum\n\n\nclass K(Enum):\n    A = 1\n    B = 2\n    C = 3\n\n\n"
            "def f(x):\n    return {\n        K.A: 1,\n        K.B: 2,\n    }.get(x)\n",
            id="a table that may lack members",
        ),
        pytest.param(
            "decision-order",
            "def f(a, b, c):\n    text = []\n"
            + "".join(f"    if {word}:\n        text.append(1)\n" for word in "abcabcab")
            + "    return text\n",
            id="conditions that only add something",
        ),
        pytest.param(
            "decision-order",
            "def f(kind):\n"
            + "".join(f"    if kind == {n}:\n        return {n}\n" for n in range(9))
            + "    return 0\n",
            id="conditions that exclude each other",
        ),
        pytest.param(
            "cached-result",
            "from functools import cache\nfrom pathlib import Path\n\n_BOOT = Path('/boot')\n\n\n"
            "@cache\ndef boot():\n    return _BOOT.read_text()\n",
            id="a file whose name is a constant",
        ),
        pytest.param(
            "half-done-files",
            "import os\n\n\ndef probe(path):\n    open(path, 'w').close()\n    os.remove(path)\n",
            id="a file that is made on trial",
        ),
        pytest.param(
            "resource-lifetime",
            "import os\n\n\ndef f(p):\n    d = os.open(p, 0)\n    os.fchmod(d, 1)\n    return d\n",
            id="handed to the caller",
        ),
        pytest.param(
            "broad-handler",
            "import sys\n\n\ndef f(g, state):\n    n = g(1)\n    m = g(n)\n    try:\n        g(m)\n"
            "    except BaseException:\n        state.set(sys.exc_info())\n    return n, m\n",
            id="the error is recorded",
        ),
        pytest.param(
            "work-in-loop",
            "def f(jobs):\n    for job in jobs:\n        job.execute()\n",
            id="what is executed is no query",
        ),
        pytest.param(
            "open-note", "# HACK: the compiler needs this here now\nx = 1\n", id="a remark"
        ),
        pytest.param("open-note", "# TODO\nx = 1\n", id="a note without words"),
    ],
)
def test_near_misses_give_none(key: str, text: str) -> None:
    assert found({"shop/code.py": text}, key) == []


@pytest.mark.parametrize("key", ["decision-order", "option-combinations"])
def test_the_parameters_that_decide_stand_in_the_quoted_lines(key: str) -> None:
    tests = "".join(
        f"    if {word}:\n        return 1\n" for word in ("z", "z > 1", "y", "x", "w", "a", "b")
    )
    first = "    if (\n        v\n    ):\n        return 2\n"
    files = {"shop/code.py": f"def f(a, b, w, x, y, z, v):\n{first}{tests}    return v\n"}
    survey = surveyed(files)

    (question,) = found(files, key)

    quoted = " ".join(survey.line(*place) for place in question.evidence[1:])
    names = question.question.partition(" by ")[2].partition(".")[0].partition(" in the")[0]
    assert len(re.split(", | and ", names)) >= 3
    assert all(re.search(rf"\b{name}\b", quoted) for name in re.split(", | and ", names))


def test_two_definitions_of_one_name_are_distinguished_by_their_lines() -> None:
    body = "".join(f"        value = self.step_number_{n}(value)\n" for n in range(12))
    text = "".join(
        f"    def send(self, value):\n        if value:\n            self.number = {version}.000\n"
        f"{body}        return value\n"
        for version in (1, 2)
    ).replace("2.000\n", "2.000\n            self.checked_number = True\n")

    (question,) = found({"shop/code.py": f"class A:\n{text}"}, "two-copies")

    assert question.question.startswith("The two definitions of A.send(), at lines 2 and 18, share")


def test_files_outside_the_product_give_no_question() -> None:
    text = "import requests\n\n\ndef f(u):\n    return requests.get(u)\n"
    outside = ("tests/test_a.py", "examples/a.py", "docs/conf.py", ".github/a.py", "scripts/a.py")

    survey = surveyed({"shop/plain.py": "x = 1\n", **dict.fromkeys(outside, text)})

    assert list(candidates_of(survey, {})) == []


def test_callers_in_other_files_are_quoted() -> None:
    (one,) = found(
        {
            "shop/stock.py": (
                "def take(n, force=False):\n    if n < 0:\n        raise ValueError\n"
                "    if n > 9 and not force:\n        return 9\n"
                "    return n if force else min(n, 9)\n"
            ),
            "shop/a.py": "from shop.stock import take\n\n\ndef a():\n    take(1)\n",
            "shop/b.py": "from shop import stock\n\n\ndef b():\n    stock.take(2, force=True)\n",
        },
        "callers",
    )

    assert [tuple(place) for place in one.evidence] == [
        ("shop/stock.py", 1),
        ("shop/stock.py", 3),
        ("shop/a.py", 5),
        ("shop/b.py", 5),
    ]


def test_calls_that_do_not_differ_give_no_question() -> None:
    stock = (
        "def take(n):\n    for i in n:\n        if i < 0:\n            return 0\n"
        "    return 1 if n else 2\n"
    )
    user = "from shop.stock import take\n\n\ndef a():\n    take(1)\n"
    files = {"shop/stock.py": stock, "shop/a.py": user, "shop/b.py": user}

    assert found(files, "callers") == []
    assert found({**files, "shop/b.py": user.replace("take(1)", "take(1, 2)")}, "callers")


def test_the_calls_of_objects_count_as_steps() -> None:
    (one,) = found(
        {
            "shop/log.py": (
                "class Log:\n    def __init__(self):\n        self.n = 0\n\n"
                "    def add(self, path):\n        path.write_text('x')\n\n"
                "    def drop(self, path):\n        path.unlink()\n\n"
                "    def size(self):\n        return self.n\n"
            ),
            "shop/mail.py": "def send(path):\n    path.write_text('y')\n",
            "shop/order.py": (
                "from shop.log import Log\nfrom shop.mail import send\n\n\n"
                "def order(path, other: Log):\n    log = Log()\n    log.size()\n    log.add(path)\n"
                "    send(path)\n    other.drop(path)\n"
            ),
        },
        "ordered-steps",
    )

    assert "calls log.add(), send() and other.drop() in this order" in one.question


def test_lines_that_call_the_function_are_evidence() -> None:
    survey = surveyed(
        {
            "shop/files.py": (
                "import os\n\n\ndef clean(path):\n    if os.path.exists(path):\n"
                "        os.remove(path)\n"
            ),
            "shop/a.py": "from shop.files import clean\n\n\ndef a():\n    clean('x')\n",
        }
    )

    (one,) = select_questions(survey, candidates_of(survey, {}), QuestionLimits())

    assert [tuple(place) for place in one.candidate.evidence][-1] == ("shop/a.py", 5)
    assert "shop/a.py" in one.attachments


def test_messages_are_quoted_and_not_the_raise_around_them() -> None:
    text = "def f(a):\n" + "".join(
        f"    if a == {n}:\n        raise ValueError(\n            'this is wrong {n}'\n        )\n"
        for n in range(3)
    )

    (one,) = found({"shop/code.py": text}, "error-messages")

    assert [place.line for place in one.evidence] == [1, 4, 8, 12]


def test_modules_loaded_by_name_count_as_tested() -> None:
    survey = surveyed(
        {
            "shop/main.py": "NAMES = ['shop.pay_command']\n\n\ndef main():\n    return NAMES\n",
            "shop/pay_command.py": "def pay(n):\n    if n:\n        raise ValueError\n",
            "shop/refund.py": "def refund(n):\n    if n:\n        raise ValueError\n",
            "tests/test_main.py": "from shop.main import main\n",
        }
    )

    assert survey.untested == {"shop/refund.py"}


@pytest.mark.parametrize(
    ("subject", "fix"),
    [
        ("Fix a crash on empty input", True),
        ("Correct wrong totals", True),
        ("Revert the new cache", True),
        ("Fix typo in docs", False),
        ("Fix lint", False),
        ("Add a prefix to names", False),
        ("Add budgets", False),
    ],
)
def test_commits_that_fix_behaviour(subject: str, fix: bool) -> None:
    assert is_fix(Commit("0" * 40, subject, ("shop/total.py",))) is fix


def test_a_commit_of_many_files_is_no_single_correction() -> None:
    paths = tuple(f"shop/a{number}.py" for number in range(13))

    assert is_fix(Commit("0" * 40, "Fix wrong totals", paths[:12]))
    assert not is_fix(Commit("0" * 40, "Fix wrong totals", paths))


def test_a_file_that_is_fixed_again_and_again_is_asked_about() -> None:
    shas = [f"{n:040x}" for n in range(4)]
    text = "def f(a):\n    if a:\n        return g(a)\n    return h(a)\n"
    commits = tuple(Commit(sha, "Fix a wrong total", ("shop/total.py",)) for sha in shas[:3])
    survey = surveyed({"shop/total.py": text}, commits)

    candidates = candidates_of(survey, {"shop/total.py": [shas[3], shas[0], shas[1], shas[2]]})

    (one,) = [c for c in candidates if c.key == "fixed-again"]
    assert [place.line for place in one.evidence] == [1, 2, 3, 4]
    assert one.facts == tuple(f"fix {sha[:10]}: Fix a wrong total" for sha in shas[:3])


def test_the_same_corrections_are_asked_about_once() -> None:
    shas = [f"{n:040x}" for n in range(4)]
    text = "def f(a):\n    if a:\n        return g(a)\n    return h(a)\n"
    files = {"shop/total.py": text, "shop/price.py": text}
    commits = tuple(Commit(sha, "Fix a wrong total", tuple(files)) for sha in shas[:3])
    lines = [shas[3], shas[0], shas[1], shas[2]]

    candidates = candidates_of(surveyed(files, commits), dict.fromkeys(files, lines))

    assert [c.reference for c in candidates if c.key == "fixed-again"] == ["shop/total.py"]


def test_the_score_says_where_its_numbers_come_from() -> None:
    users = {f"shop/u{n}.py": f"from shop.net import fetch\n\nX{n} = fetch(1)\n" for n in range(5)}
    survey = surveyed(
        {
            "shop/net.py": "import requests\n\n\ndef fetch(u):\n    return requests.get(u)\n",
            **users,
        }
    )
    (one,) = [c for c in candidates_of(survey, {}) if c.key == "no-timeout"]

    score = score_candidate(survey, one)

    assert score.reasons == (
        "impact 9 = severity 4 + centrality 3 (5 importers) + public 1 + called 1 (5 times);"
        " confidence 0.70 from 2 lines in 1 file; effort 2 for 2 lines to read at a glance"
    )
    assert (score.roi, score.horizon) == (315, "Immediate")


def test_the_profiles_name_kinds_and_categories_that_exist() -> None:
    folder = Path(question_selection.__file__).parent
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
    for names in PROFILES.values():
        for name in names:
            assert name in CATEGORIES or f'        "{name}",\n' in texts, name


def test_no_more_than_four_questions_of_a_kind_are_asked() -> None:
    text = "import requests\n\n\ndef f{n}(u):\n    return requests.get(u)\n"
    survey = surveyed({f"shop/a{n}.py": text.replace("{n}", str(n)) for n in range(9)})

    chosen = select_questions(survey, candidates_of(survey, {}), QuestionLimits())

    assert [one.candidate.key for one in chosen] == ["no-timeout"] * 4
