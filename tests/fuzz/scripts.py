"""A grammar of packs that really run: every call carries a mark, so that it is found again."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.fuzz.shell_stock import (
    ASSIGNMENTS,
    DOCUMENT_LINES,
    EXPANSIONS,
    FILLERS,
    LITERALS,
    NAMES,
    REDIRECTS,
    WRAPPERS,
)

Draw = st.DrawFn


@dataclass
class Author:
    """Writes one pack: what has been used already, and how deep we are."""

    draw: Draw
    marks: int = 0
    documents: int = 0
    functions: list[str] = field(default_factory=list)
    placed: dict[str, str] = field(default_factory=dict)
    """The step in which each mark was put."""
    step: str = "prelude"
    depth: int = 0
    defined: int = 0
    loops: int = 0

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == 1

    def mark(self) -> str:
        self.marks += 1
        name = f"k{self.marks}"
        self.placed[name] = self.step
        return name

    def end_of_document(self) -> str:
        self.documents += 1
        return f"E{self.documents}"


def document(by: Author, *, closing: str = "") -> str:
    """The rest of a heredoc after `<<`: delimiter, body, end."""
    end = by.end_of_document()
    dash = by.one("", "", "-")
    quoted = by.one(f"'{end}'", end, f'"{end}"', f"\\{end}")
    lines = by.draw(st.lists(st.sampled_from(DOCUMENT_LINES), max_size=3))
    if quoted == end:
        lines = [line for line in lines if line != "```"]
    indent = "\t" if dash else ""
    return f"<<{dash}{quoted}{closing}\n" + "".join(f"{indent}{x}\n" for x in (*lines, end))


def word(by: Author) -> str:
    if by.chance(12):
        inner = document(by)
        return f'"$(cat {inner})"'
    return by.one(*LITERALS) if by.chance(2) else by.one(*EXPANSIONS)


def words_of_call(by: Author) -> str:
    """A tool with arguments, one of them the mark."""
    tool = by.one("oracle", "oracle", "oracle", "codex", "gemini", "task-master", "tm")
    words = [word(by) for _ in range(by.draw(st.integers(0, 3)))]
    flags = ["-p", "--file", "-f", "--write-output", "--model"]
    for at in range(len(words)):
        if by.chance(2):
            words[at] = f"{by.one(*flags)} {words[at]}"
    words.insert(by.draw(st.integers(0, len(words))), f"--slug {by.mark()}")
    between = by.one(" ", " ", " \\\n  ", "  ")
    return between.join([tool, *words])


def call(by: Author) -> str:
    wrapper = by.one(*WRAPPERS)
    text = words_of_call(by)
    if wrapper == "exec ":
        return f"( exec {text} )"
    target = by.one(*REDIRECTS).format(f"k{by.marks}")
    if by.chance(10):
        return f"{wrapper}{text}{target} {document(by)}".rstrip("\n")
    if by.chance(12):
        return f"{target.strip()} {wrapper}{text}".strip()
    return f"{wrapper}{text}{target}"


def quoted_call(by: Author) -> str:
    """A call inside the text of another shell, or behind `xargs`."""
    mark = by.mark()
    return by.one(
        f"bash -c 'oracle --slug {mark} -p \"a b\"'",
        f"sh -c 'cd . && oracle --slug {mark}'",
        f"bash -c 'oracle --slug {mark} \"$1\"' name arg",
        f'bash -c "oracle --slug {mark} -p $v"',
        f"bash -c \"oracle --slug {mark} -p 'q $v'\"",
        f"printf 'a\\n' | xargs -I{{}} oracle --slug {mark} -p {{}}",
        f"bash -lc 'PATH=\"${{TRACED_CALLS%/calls}}/bin:$PATH\"; oracle --slug {mark}'",
        f"echo a | xargs oracle --slug {mark} -p",
        f"env -S 'oracle --slug {mark}'",
    )


def statement(by: Author) -> str:
    kind = by.draw(st.integers(0, 15))
    if by.depth > 2:
        kind = min(kind, 7)
    if kind <= 3:
        return call(by)
    if kind <= 6:
        return by.one(*ASSIGNMENTS).format(name=by.one(*NAMES))
    if kind == 7:
        return by.one(*FILLERS, *by.functions)
    by.depth += 1
    made = (compound if kind <= 12 else other)(by)
    by.depth -= 1
    return made


def statements(by: Author, most: int = 3) -> str:
    return "\n".join(statement(by) for _ in range(by.draw(st.integers(1, most))))


def compound(by: Author) -> str:
    """Loops, branches, groups."""
    condition = by.one("true", "false", '[ -n "$v" ]', "[[ $w == a* ]]", "! :", "test -e src")
    inside = statements(by, 2)
    shape = by.one(
        "if {c}; then\n{i}\nfi",
        "if {c}; then\n:\nelse\n{i}\nfi",
        "if {c}; then :; elif true; then\n{i}\nfi",
        "for {n} in 1 2; do\n{i}\ndone",
        'for {n} in "${{list[@]}}" x; do\n{i}\ndone',
        "for (({n} = 0; {n} < 2; {n}++)); do\n{i}\ndone",
        "while read -r {n}; do\n{i}\ndone <<'L'\none\ntwo\nL",
        "until true; do\n{i}\ndone",
        'case "$v" in\none) : ;;\n*)\n{i}\n;;\nesac',
        "(\n{i}\n)",
        "{{\n{i}\n}}",
        "{{\n{i}\n}} > grouped.log 2>&1",
        "{{\n{i}\n}} &\nwait",
        "(\n{i}\n) | cat",
        "true | {{\n{i}\n}}",
        "x=$(\n{i}\n)",
        'echo "$(\n{i}\n)" > /dev/null',
        "{c} && {{\n{i}\n}}",
        "{c} || {{\n{i}\n}}",
        # Without the last line bash becomes the last call, and it is not waited for.
        "cat < <(\n{i}\n:\n) > /dev/null",
    )
    # Loops that share a variable may never end.
    by.loops += 1
    return shape.format(c=condition, i=inside, n=f"n{by.loops}")


def other(by: Author) -> str:
    """Functions, joined calls, calls inside words."""
    kind = by.draw(st.integers(0, 3))
    if kind == 0:
        return quoted_call(by)
    if kind == 1:
        by.defined += 1
        name, outer = f"fn{by.defined}", list(by.functions)
        body = statements(by, 2)
        by.functions = [*outer, name, f"{name} arg 'two args'"]
        shape = by.one("{n}() {{\n{b}\n}}", "function {n} {{\n{b}\n}}", "{n}() (\n{b}\n)")
        return shape.format(n=name, b=body) + by.one("", f"\n{name}", f"\n{name} x\n{name}")
    if kind == 2:
        joint = by.one("; ", " && ", " || ", " | ", " & ", "\n", " &&\n  ", " |& ")
        return f"{words_of_call(by)}{joint}{words_of_call(by)}" + (
            "\nwait" if "& " in joint else ""
        )
    return by.one('r="$({0})"', "echo $({0}) >/dev/null", "r=`{0}`", 'test -z "$({0})"').format(
        words_of_call(by)
    )


@dataclass(frozen=True)
class Written:
    """A pack, its steps, and where each mark stands."""

    text: str
    steps: tuple[str, ...]
    placed: dict[str, str]


@st.composite
def packs(draw: Draw) -> Written:
    """A pack with a prelude and one to three steps."""
    by = Author(draw)
    parts = []
    if by.chance(2):
        parts.append(statements(by))
    prelude_functions = list(by.functions)
    steps = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        by.step = f"{number:02}"
        by.functions = list(prelude_functions)
        steps.append(by.step)
        parts.append(f"# {by.step}{by.one(')', ' —', ' -')} step\n{statements(by, 4)}")
    body = "\n".join(parts)
    fence = by.one("~~~~", "`````", *(() if "```" in body else ("```",)))
    return Written(f"# A pack\n\n{fence}bash\n{body}\n{fence}\n", tuple(steps), dict(by.placed))
