"""Code that only looks like evidence gives no question; what is like it and is evidence gives one.

Each pair comes from a premise that was wrong in the pack of a real repository.
"""

import pytest

from oraclepack.authoring.generate import candidates_of
from oraclepack.authoring.question_selection import QuestionLimits, select_questions
from tests.authoring.test_questions import found, surveyed

_STEPS = "".join(f"    value = step_number_{n}(value)\n" for n in range(9))
_GO_STORE = """
package store

import "sync"

type Store struct {
    mu    sync.Mutex
    count int
}

func (s *Store) Put() {
    s.mu.Lock()
    s.count = 1
    s.mu.Unlock()
}
"""


@pytest.mark.parametrize(
    ("key", "path", "text"),
    [
        pytest.param(
            "two-copies",
            "shop/copies.py",
            f"def first(value):\n    if value:\n        value = number_of(value, 10)\n{_STEPS}"
            f"def second(value):\n    if value:\n        value = number_of(value, 16)\n{_STEPS}",
            id="copies that differ line for line",
        ),
        pytest.param(
            "background-task",
            "shop/registry.py",
            "def read(registry, data):\n    message = data.message\n"
            "    return registry.create_task(message)\n",
            id="a method named create_task of something that runs no tasks",
        ),
        pytest.param(
            "decision-order",
            "shop/link.py",
            """
            def link(rel, lang, origin):
                value = ""
                if rel:
                    if " " in rel:
                        value += "a"
                    else:
                        value += "b"
                if lang:
                    if "x" in lang:
                        value += "c"
                    else:
                        value += "d"
                if origin:
                    if "y" in origin:
                        raise ValueError("no such origin")
                return value
            """,
            id="conditions in blocks of their own",
        ),
        pytest.param(
            "decision-order",
            "shop/freeze.py",
            """
            def freeze(one):
                if isinstance(one, dict):
                    return 1
                elif isinstance(one, list):
                    return 2
                elif isinstance(one, tuple):
                    return 3
                elif isinstance(one, set):
                    return 4
                elif isinstance(one, str):
                    return 5
                return one
            """,
            id="types that exclude each other",
        ),
        pytest.param(
            "decision-order",
            "shop/action.py",
            """
            def act(action):
                if action == "install":
                    one()
                elif action == "upgrade":
                    two()
                elif action == "remove":
                    three()
                elif action == "list":
                    four()
                elif action == "show":
                    five()
                return action
            """,
            id="one value compared with several, also by elif",
        ),
        pytest.param(
            "decision-order",
            "src/border.go",
            """
            package border

            func (w *Window) draw(flat bool) {
                switch w.shape {
                case 1:
                    if flat {
                        return
                    }
                    w.one()
                case 2:
                    if flat {
                        return
                    }
                    w.two()
                case 3:
                    if flat {
                        return
                    }
                    w.three()
                }
            }
            """,
            id="one condition in several cases of a switch",
        ),
        pytest.param(
            "version-branches",
            "src/preview.go",
            """
            package preview

            func (t *View) show() {
                if t.shown.version == t.next.version {
                    return
                }
                if version != t.version {
                    t.draw()
                }
            }
            """,
            id="counters that are compared with one another",
        ),
        pytest.param(
            "version-branches",
            "lib/request.js",
            "function host(req) {\n  if (req.httpVersionMajor >= 2) return 1\n  return 2\n}\n",
            id="a single comparison",
        ),
        pytest.param(
            "retry-loop",
            "shop/serve.py",
            """
            import time


            def serve(files):
                for file in files:
                    try:
                        config = read(file)
                    except KeyError as error:
                        raise ValueError("no key") from error
                while True:
                    time.sleep(1)
            """,
            id="a pause in another loop",
        ),
        pytest.param(
            "resource-lifetime",
            "shop/child.py",
            """
            import os
            import subprocess


            def start(self):
                self.process = subprocess.Popen(
                    self.command,
                    preexec_fn=choose(os, "setsid"),
                )
            """,
            id="a call among the arguments",
        ),
        pytest.param(
            "resource-lifetime",
            "src/dump.c",
            """
            char *dump(int limit) {
                char *buffer;
                buffer = malloc(limit);
                if (buffer == NULL) {
                    pthread_mutex_unlock(&lock);
                    return NULL;
                }
                fill(buffer);
                return buffer;
            }
            """,
            id="memory that the caller gets",
        ),
        pytest.param(
            "half-done-files",
            "shop/store.py",
            """
            import os


            def save(path, text):
                os.makedirs(os.path.dirname(path))
                with open(path + ".new", "w") as file:
                    file.write(text)
                os.replace(path + ".new", path)
            """,
            id="a file that is written aside and renamed",
        ),
        pytest.param(
            "exit-handlers",
            "src/resize.go",
            """
            package resize

            func watch(events chan<- os.Signal) {
                signal.Notify(events, syscall.SIGWINCH)
            }
            """,
            id="a channel is no handler",
        ),
        pytest.param(
            "partial-update",
            "src/reader.go",
            """
            package reader

            func (r *Reader) open(command string) {
                r.command = command
                r.child = exec.Command(command)
            }
            """,
            id="a language without exceptions",
        ),
        pytest.param(
            "uneven-locking",
            "src/store.go",
            _GO_STORE
            + "\nfunc (s *Store) End() {\n\ts.mu.Lock()\n\tdefer func() { s.mu.Unlock() }()\n"
            "\ts.count = 2\n}\n",
            id="a function that unlocks in the end",
        ),
        pytest.param(
            "uneven-locking",
            "src/store.go",
            _GO_STORE + "\nfunc (s *Store) Try(ok bool) {\n\ts.mu.Lock()\n\tif !ok {\n"
            "\t\ts.mu.Unlock()\n\t\treturn\n\t}\n\ts.count = 2\n\ts.mu.Unlock()\n}\n",
            id="a branch that unlocks and leaves",
        ),
        pytest.param(
            "uneven-locking",
            "src/store.go",
            _GO_STORE.replace("s.count = 1\n", "s.count = 1\n\ts.more()\n")
            + "\nfunc (s *Store) more() {\n\ts.count = 2\n}\n",
            id="a function that is called under the lock",
        ),
        pytest.param(
            "broad-handler",
            "src/Url.java",
            """
            class Url {
                String resolve(String base) {
                    String result = base;
                    try {
                        result = join(base);
                        count(result);
                    } catch (MalformedURLException e) {
                        result = empty();
                        count(result);
                    }
                    return result;
                }
            }
            """,
            id="one exception of many in Java",
        ),
        pytest.param(
            "silent-error",
            "src/Close.java",
            """
            class Close {
                private void end() {
                    if (body != null) {
                        try {
                            body.close();
                        } catch (IOException e) {
                            // nothing is left to be done
                        }
                    }
                }
            }
            """,
            id="an error of close()",
        ),
    ],
)
def test_what_only_looks_like_evidence_gives_no_question(key: str, path: str, text: str) -> None:
    assert found({path: text}, key) == []


def test_copies_of_which_one_has_a_line_more_give_a_question() -> None:
    more = "    if not value:\n        return default_of_value\n"
    one = f"def send(value):\n    if value:\n        value = number_of(value, 10)\n{_STEPS}"
    other = f"def send(value):\n{more}    if value:\n        value = number_of(value, 16)\n{_STEPS}"

    (question,) = found({"shop/a.py": one, "shop/b.py": other}, "two-copies")

    assert question.question.startswith(
        "The definitions of send() in shop/a.py and shop/b.py share"
    )


def test_a_task_of_an_event_loop_is_one_and_its_end_is_quoted() -> None:
    text = """
    class Pump:
        def start(self):
            self._task = self.loop.create_task(self._run())

        def stop(self):
            self._task.cancel()

        def other(self):
            self.waiter.cancel()
    """

    (question,) = found({"shop/pump.py": text}, "background-task")

    assert {place.line for place in question.evidence} == {2, 3, 6}


def test_a_note_inside_a_longer_comment_is_quoted_with_the_code_after_it() -> None:
    text = """
    class Cache {
        /**
         * A copy of the children.
         * TODO - think about pulling this out as a helper for others.
         */
        int children() {
            return 1;
        }
    }
    """

    (question,) = found({"src/Cache.java": text}, "open-note")

    assert [place.line for place in question.evidence] == [4, 6]
    assert question.question.startswith("A comment in src/Cache.java says")


def test_what_marks_others_as_old_is_not_old_itself() -> None:
    marking = "def deprecated(function):\n    return function\n"
    use = "from shop.marks import deprecated\n\n\n@deprecated(1)\ndef old():\n    return 1\n"
    legacy = "def legacy_rows(text):\n    return text.split()\n"
    caller = (
        "from shop.rows import legacy_rows\n\n\ndef rows(text):\n    return legacy_rows(text)\n"
    )

    assert found({"shop/marks.py": marking, "shop/use.py": use}, "legacy-path") == []
    (question,) = found({"shop/rows.py": legacy, "shop/call.py": caller}, "legacy-path")
    assert "legacy_rows in shop/rows.py is named as serving an older form" in question.question


def test_a_class_without_state_or_another_class_inside_it_is_not_asked_about_its_state() -> None:
    check = (
        "public final class Check {\n    public static void full(String s) {\n"
        "        if (s == null) throw new E();\n        if (s.isEmpty()) throw new E();\n"
        "        if (s.length() > 9) throw new E();\n    }\n}\n"
    )
    page = check.replace("class Check {", "class Page {\n    void at(int n) { this.n = n; }")
    users = {
        f"src/{name}.java": f"class {name} {{\n    void a() {{ {call}; }}\n}}\n"
        for name, call in (("A", 'Check.full("a")'), ("B", "Check.full(b)"))
    }
    inner = {
        f"src/{name}.java": f"class {name} {{\n    void a() {{ new Page.Format({name}); }}\n}}\n"
        for name in ("A", "B")
    }

    assert found({"src/Check.java": check, **users}, "callers") == []
    assert found({"src/Page.java": page, **inner}, "callers") == []
    outer = {path: text.replace("Page.Format", "Page") for path, text in inner.items()}
    assert len(found({"src/Page.java": page, **outer}, "callers")) == 1


def test_an_object_of_a_class_is_not_a_call_of_the_getter_of_its_name() -> None:
    text = """
    module.exports = {
      get URL () {
        try {
          this.parsed = new URL(this.text)
          this.count = count(this.parsed)
        } catch (err) {
          this.parsed = Object.create(null)
          this.count = 0
        }
        return this.parsed
      },

      host () {
        return new URL(this.text).host
      }
    }
    """
    survey = surveyed({"lib/request.js": text})

    chosen = select_questions(survey, candidates_of(survey, {}), QuestionLimits())

    lines = {p.line for one in chosen for p in one.candidate.evidence}
    assert lines
    assert 14 not in lines


def test_sister_functions_give_one_question() -> None:
    text = "".join(
        f"def get_{kind}(params, name, default=None, minimum=None, maximum=None, multiple=False):\n"
        "    if name in params:\n        value = params[name]\n"
        "        if not multiple:\n            value = value[0]\n"
        f"        value = make_{kind}(value)\n"
        "        if minimum is not None and value < minimum:\n            raise ValueError(name)\n"
        "        if maximum is not None and value > maximum:\n            raise ValueError(name)\n"
        "        return value\n    return default\n\n\n"
        for kind in ("int", "float")
    )
    survey = surveyed({"shop/params.py": text})

    assert len([c for c in candidates_of(survey, {}) if c.key == "option-combinations"]) == 2
    chosen = select_questions(survey, candidates_of(survey, {}), QuestionLimits())
    assert [o.candidate.key for o in chosen].count("option-combinations") == 1


def test_a_central_file_without_other_evidence_is_asked_about_its_densest_function() -> None:
    text = """
    package route

    func build(tpl string, kind int) int {
        n := 0
        for i := 0; i < len(tpl); i++ {
            if tpl[i] == '{' {
                n++
            }
            if tpl[i] == '}' {
                n--
            }
            if n < 0 {
                return -1
            }
        }
        if n != 0 && kind > 0 {
            return -2
        }
        return n
    }
    """
    survey = surveyed(
        {"route.go": text, "main.go": "package route\n\nfunc run() { build(x, 1) }\n"}
    )

    (one,) = select_questions(survey, candidates_of(survey, {}), QuestionLimits())

    assert one.candidate.key == "dense-function"
    assert [p.line for p in one.candidate.evidence] == [3, 6, 9, 12, 16]


def test_a_dense_function_is_not_asked_about_where_its_file_has_another_question() -> None:
    text = """
    import requests


    def fetch(url, tries, kind):
        if not url:
            url = "a"
        if tries > 3:
            tries = 3
        if kind:
            url += kind
        if len(url) > 99:
            url = url[:99]
        count = tries * 2
        count += 1
        count += 2
        count += 3
        count += 4
        count += 5
        return requests.get(url), count
    """
    survey = surveyed({"shop/a.py": text})

    assert "dense-function" in {c.key for c in candidates_of(survey, {})}
    chosen = select_questions(survey, candidates_of(survey, {}), QuestionLimits())
    assert "dense-function" not in {one.candidate.key for one in chosen}


def test_the_line_that_names_a_definition_is_quoted_not_its_annotation() -> None:
    text = (
        "@NonNull\npublic class Page {\n    @Override\n    public int a(int n) { return n; }\n}\n"
    )
    source = surveyed({"src/Page.java": text}).files["src/Page.java"].source

    assert source is not None
    assert [(d.name, d.line) for d in source.definitions] == [("Page", 2), ("a", 4)]


def test_type_parameters_are_no_part_of_a_name() -> None:
    text = "impl<'a> Printer<'a> {\n    pub fn line(&self) -> u8 {\n        1\n    }\n}\n"
    source = surveyed({"src/printer.rs": text}).files["src/printer.rs"].source

    assert source is not None
    assert [source.qualified(d) for d in source.definitions] == ["Printer", "Printer.line"]


def test_the_function_around_an_inner_one_is_named() -> None:
    text = """
    parsers = {}


    def command(name):
        def decorator(function):
            parsers[name] = function
            return function

        return decorator
    """

    (question,) = found({"shop/cli.py": text}, "module-state")

    assert "is changed by command()." in question.question


def test_code_in_a_document_of_restructured_text_is_no_demand() -> None:
    text = """
    Title
    =====

    Example:

    .. code:: python

        msg = ('The body must not '
               'be too large')
        # TODO: log the error

        other = 'it must not happen'

    Callers must not wait. ::

        TODO: nothing

    They are required to leave, and must not come back.
    """

    (question,) = found({"README.rst": text}, "demands")

    assert [place.line for place in question.evidence] == [14, 18]
    assert found({"README.rst": text}, "open-points") == []


_LICENCE = "/* Redistribution and use in source and binary forms, with or without it. */\n"


def test_a_few_files_with_a_licence_of_their_own_are_copies_from_elsewhere() -> None:
    own = {f"src/m{n}.c": f"int f{n}(void) {{ return {n}; }}\n" for n in range(8)}
    copy = f"{_LICENCE}int hash(int n) {{ return n; }}\n"

    assert "src/hash.h" not in surveyed({**own, "src/hash.h": copy}).files
    everywhere = {path: _LICENCE + text for path, text in own.items()}
    assert "src/hash.h" in surveyed({**everywhere, "src/hash.h": copy}).files


def test_a_few_scripts_beside_other_code_are_tooling() -> None:
    code = {f"src/m{n}.rs": f"pub fn f{n}() -> u8 {{ {n} }}\n" for n in range(4)}
    script = "clean() {\n  rm x\n}\ntrap clean EXIT\n"

    survey = surveyed({**code, "assets/create.sh": script, "bin/run.sh": script})

    roles = {path: survey.files[path].role.value for path in ("assets/create.sh", "bin/run.sh")}
    assert roles == {"assets/create.sh": "product", "bin/run.sh": "product"}
    survey = surveyed(
        {**code, **{f"src/n{n}.rs": "pub fn g() {}\n" for n in range(4)}}
        | {"assets/create.sh": script, "bin/run.sh": script}
    )
    roles = {path: survey.files[path].role.value for path in ("assets/create.sh", "bin/run.sh")}
    assert roles == {"assets/create.sh": "tooling", "bin/run.sh": "product"}


def test_the_line_that_asks_for_the_shell_is_quoted() -> None:
    text = """
    import subprocess


    def run(line):
        return subprocess.Popen(
            line,
            shell=True,
        )
    """

    (question,) = found({"shop/run.py": text}, "dangerous-call")

    assert [place.line for place in question.evidence] == [4, 5, 7]


def test_a_dictionary_with_keys_from_the_code_does_not_grow() -> None:
    text = "shown = {}\n\n\ndef show(line):\n    shown[KEY] = line\n"

    (grows,) = found({"shop/a.py": text.replace("KEY", "line")}, "module-state")
    (fixed,) = found({"shop/a.py": text.replace("KEY", '"line"')}, "module-state")

    assert "grow without a bound" in grows.question
    assert "grow without a bound" not in fixed.question
    assert fixed.severity < grows.severity


def test_settings_are_no_option() -> None:
    text = """
    def logs(run, step, follow, failed, limit, settings):
        if step and failed:
            raise ValueError("one of the two")
        if settings[api.OUTPUT] != "text":
            return limit
        return run
    """

    assert found({"shop/a.py": text}, "option-combinations") == []
    other = text.replace("settings[api.OUTPUT]", "settings")
    assert len(found({"shop/a.py": other}, "option-combinations")) == 1


def test_a_limit_of_one_function_counts_less() -> None:
    text = """
    MOST_HINTS = 20


    def first(n):
        if n > MOST_HINTS:
            return 1
    OTHER
        if n >= MOST_HINTS:
            return 2
    """

    (one,) = found({"shop/a.py": text.replace("OTHER", "    n += 1")}, "limit")
    (two,) = found({"shop/a.py": text.replace("OTHER", "\n\n    def second(n):")}, "limit")

    assert one.severity < two.severity


def test_only_options_and_arguments_count_as_such() -> None:
    text = """
    import click


    @click.command()
    @click.argument("run")
    @click.option("--all", is_flag=True)
    OTHER
    def watch(run, all, inline=False):
        return run
    """
    option = '@click.option("--inline", is_flag=True)'

    assert found({"shop/a.py": text.replace("OTHER\n    ", "")}, "command-options") == []
    (question,) = found({"shop/a.py": text.replace("OTHER", option)}, "command-options")
    assert [place.line for place in question.evidence] == [5, 6, 7, 8]
    assert "declares the options and arguments quoted below." in question.question
