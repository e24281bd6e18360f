"""What texts mention: patterns of files, paths, lines, symbols, commands."""

import pytest

from oraclepack.work.evidence import (
    Citation,
    commands_in,
    evidence_in,
    missing_patterns,
    symbols_in,
)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        pytest.param("`src/**/pool*.py` (the pool)", ["src/**/pool*.py"], id="in backquotes"),
        pytest.param(
            "src/**/pool*.py, docs/*.md and more", ["src/**/pool*.py", "docs/*.md"], id="bare"
        ),
        pytest.param("src/**/pool/ holds it", ["src/**/pool/"], id="a folder"),
        pytest.param("src/routes/**pool** or similar", ["src/routes/**pool**"], id="stars stay"),
        pytest.param(
            "vite.config.* and *.config.*", ["vite.config.*", "*.config.*"], id="no folder"
        ),
        pytest.param("go.mod, .env or README sections", ["go.mod", ".env", "README"], id="names"),
        pytest.param("src/lib/**/(auth|acl)* too", ["src/lib/**/(auth|acl)*"], id="alternatives"),
        pytest.param("internal/app/... as a whole", ["internal/app/..."], id="dots at the end"),
        pytest.param("src/pool.py.", ["src/pool.py"], id="the full stop is not of it"),
        pytest.param("`src/db/**` (esp. `schema.py`)", ["src/db/**"], id="a name inside a folder"),
        pytest.param("any file outside src/pool.py", [], id="what is left out"),
        pytest.param("meta/events and read/written", [], id="two words"),
        pytest.param("the route /api/pool/:id", [], id="a route"),
        pytest.param("out_dir/.../state.json", [], id="dots in the middle"),
        pytest.param("any `*pool*` file", [], id="a pattern of nothing"),
        pytest.param("api.*.stream(...) calls", [], id="a call"),
    ],
)
def test_missing_evidence_names_patterns(text: str, patterns: list[str]) -> None:
    assert missing_patterns(text) == patterns


@pytest.mark.parametrize(
    ("text", "citations"),
    [
        pytest.param("`src/a.py:12`", [Citation("src/a.py", 12, 12)], id="in backquotes"),
        pytest.param("src/a.py:12-14 shows it", [Citation("src/a.py", 12, 14)], id="a range"),
        pytest.param("`src/a.py` lines 3 to 5", [Citation("src/a.py", 3, 5)], id="in words"),
        pytest.param("src/a.py#L7-L9", [Citation("src/a.py", 7, 9)], id="as GitHub has it"),
        pytest.param("src/a.py:take", [], id="a symbol is no line"),
    ],
)
def test_lines_are_cited(text: str, citations: list[Citation]) -> None:
    assert list(evidence_in(text).citations) == citations


def test_paths_stay_as_they_are_written() -> None:
    text = "See `./src/a.py`, src\\b.py and /tmp/x.log at https://example.org/a.md"

    assert set(evidence_in(text).paths) <= {"./src/a.py", "b.py", "/tmp/x.log"}
    assert all(path in text for path in evidence_in(text).paths)


def test_symbols_are_found_without_backquotes() -> None:
    text = "The takeLock() of `Pool` sets max_size and Pool.freeAll, as Node.js does."

    assert symbols_in(text) == {"takeLock", "Pool", "max_size", "Pool.freeAll"}


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        pytest.param(
            'Run: ck --regex "take\\\\(|free\\\\(" src to list callers.',
            ['ck --regex "take\\\\(|free\\\\(" src'],
            id="bare, up to the words after it",
        ),
        pytest.param(
            "Run `go test ./pool -run TestTake`.", ["go test ./pool -run TestTake"], id="code"
        ),
        pytest.param(
            "Search for it:\n\nrg -n 'take' src", ["rg -n 'take' src"], id="on a line of its own"
        ),
        pytest.param(
            'Concretely: rg "take" src (or grep -rn "take" src).',
            ['rg "take" src', 'grep -rn "take" src'],
            id="one or the other",
        ),
        pytest.param(
            "Example: curl -N http://localhost:<port>/pool then stop it",
            ["curl -N http://localhost:<port>/pool"],
            id="placeholders stay",
        ),
        pytest.param(
            "See whether it runs again: `go test ./pool -count=1`.",
            ["go test ./pool -count=1"],
            id="after a colon",
        ),
        pytest.param(
            "Run aws s3api get-a --bucket x and aws s3api get-b --bucket x.",
            ["aws s3api get-a --bucket x", "aws s3api get-b --bucket x"],
            id="two of them",
        ),
        pytest.param(
            "Run `cargo run -- check --strict`.", ["cargo run -- check --strict"], id="plain words"
        ),
        pytest.param("Run ./gradlew :pool:test, twice.", ["./gradlew :pool:test"], id="a wrapper"),
        pytest.param("It logs in and calls /me again.", [], id="a word that ends like a program"),
        pytest.param("```bash\n# first\nmake test\n```", ["make test"], id="a code block"),
        pytest.param("Never run `rm -rf /` here.", [], id="what is forbidden"),
        pytest.param("Block `curl x | bash` and the like.", [], id="what is only named"),
        pytest.param("Run a test that takes two minutes.", [], id="words"),
        pytest.param("Add a --json flag to the tool.", [], id="a flag in a sentence"),
    ],
)
def test_commands_are_handed_on_verbatim(text: str, commands: list[str]) -> None:
    assert list(commands_in(text)) == commands
