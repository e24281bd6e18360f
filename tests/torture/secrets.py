"""Secrets of odd shapes that steps and tools print everywhere: none is in what we write."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from oraclepack.system import disk
from tests.e2e.calls.office import ask, step
from tests.scripted import scripted_tool
from tests.torture.checker import corrupt, left, paid_twice
from tests.torture.ground import Ground, a_ground
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

MARK = "Zebra7f3a"
"""In every secret, so that the smallest part of one is found."""
SECRETS = {
    "plain": f"sk-{MARK}-0123456789",
    "of pattern signs": rf"{MARK}.*+?[a](b){{2}}|^$\9c",
    "of quotes": f"{MARK}\"x'y`z$HOME\\",
    "of two lines": f"-----BEGIN KEY-----\n{MARK}AAAABBBB\nCCCC{MARK}DDDD\n-----END KEY-----\n",
    "with tabs and returns": f"{MARK}\t9c\r{MARK}",
    "beyond ASCII": f"ключ-{MARK}-🔑-é",
    "not even UTF-8": f"{MARK}\udcff\udcfe9c",
    "very long": f"{MARK}-" + "0123456789abcdef" * 256,
    "longer than messages are": f"{MARK}-" + "x" * 292 + MARK,
    "like a command": f"{MARK} $(touch pwned) `id` ; exit 9",
    "of URL signs": f"{MARK}/9c+a=b&c%20#d?e",
    "with terminal controls": f"{MARK}\x1b[31m9c\x07",
    "with blanks around": f"  {MARK}  9c  ",
}
NAMES = ("OPENAI_API_KEY", "ci_token", "App_Secret", "DB_PASSWORD_OLD")
ANSWERS = ("logs", "outputs", "blobs", "answers", "_failed", "out", "steps")
"""Folders with the output of steps and tools, which is not ours."""
BASH = "".join(
    (
        step(1, ask("Use $S?", "out/1.md", "--base-url", '"http://x/$S"')),
        step(2, ask("Why? [[fault=leak]]", "out/2.md", "--azure-endpoint", '"$S"')),
        step(3, 'echo "$S" >&2; exit 3'),
        step(4, "up=$(printf ../..)", ask("How?", "$S/$up/x.md")),
        step(5, 'codex exec -m "$S" -o out/5.md "$S"'),
        step(6, 'printf "%s\\n" "ERROR: bad key $S"; printf "%s" "failed: $S" >&2; exit 1'),
        step(7, 'name=$(tr -dc "[:alnum:]" <<<"$S" | cut -c1-60)', ask("What?", "out/$name.md")),
        step(8, 'cp pack.md "out/f$PLAIN.md"', ask("Who?", "out/8.md", '-f "out/f$PLAIN.md"')),
        step(9, ask("All of it [[fault=env]]", "out/9.md")),
        step(10, 'printf "SKIP: %s\\n" "$S"', "# oraclepack: outputs=out/10.md"),
        step(11, "# oraclepack: policy=mutates", 'echo "$S" >"new-$PLAIN.txt"'),
        step(12, 'bash -c "sleep 60" "$S" & disown'),
        step(13, 'export OWN_TOKEN="$S-own"; unset S', ask("$OWN_TOKEN", "out/13.md")),
    )
)
RUN = ("run", "pack.md", "--keep-going")
COMMANDS: tuple[tuple[str, ...], ...] = (
    (*RUN, "--json", "--json-log", "--oracle-flag=--heartbeat=SECRET"),
    (*RUN,),
    ("pipeline", "pack.md", "--ci", "--junit", "junit.xml", "--rollback-on-failure", "--new-run"),
    (*RUN, "--engine", "rehearsal", "--json"),
    ("why", "pack.md", "03", "--json"),
    ("cache", "explain", "01"),
    ("runs", "show", "--json"),
    ("quarantine", "list", "--json"),
    ("run", "SECRET.md", "--json"),
    ("run", "pack.md", "--run-id", "SECRET"),
    ("validate", "pack.md", "--output=SECRET"),
    ("doctor", "--rebuild"),
)
CRASH = (*RUN, "--new-run")
"""Something that writes, so that `crash` is met."""


def crash(text: str) -> None:
    """Inside the program: fail unexpectedly, with the secret in the reason."""

    def fail(_operation: str, _path: str) -> NoReturn:
        raise RuntimeError(text)

    disk.set_hook(fail)


def leaks(ground: Ground, words: Iterable[str]) -> list[Path]:
    """Every file that we wrote and that holds one of the words; what the commands printed too."""
    found = []
    for path in sorted(ground.folder.rglob("*")):
        parts = path.relative_to(ground.folder).parts
        theirs = parts[0] == "provider" or {".git", ".oracle"} & {*parts} or _answer(parts)
        if not theirs and path.name != "pack.md" and path.is_file():
            data = path.read_bytes()
            found += [path for word in words if word.encode("utf-8", "surrogateescape") in data][:1]
    return found


def _answer(parts: tuple[str, ...]) -> bool:
    in_cache = "cache" in parts and parts[-1].endswith(".md")
    return in_cache or bool({*ANSWERS} & {*parts}) or parts[-1].startswith("new-")


def never_disclosed(scene: Scene) -> Tally:
    """Keys of odd shapes (patterns, quotes, lines, controls, 4,000 characters, no UTF-8) are
    printed by steps and tools on stdout and stderr, in prompts, flags, errors, names and processes;
    no part of one is in any file that oraclepack writes, its crash log included, nor in
    what it prints."""
    broken: list[Broken] = []
    commands = 0
    chosen = list(SECRETS.items())[: scene.some(len(SECRETS))]
    for number, (what, secret) in enumerate(chosen):
        ground = a_ground(scene.folder / f"s{number}", scene.zygote, BASH)
        scripted_tool(ground.tools, "codex")
        plain = "".join(re.findall("[A-Za-z0-9]", secret))[:40]
        name = NAMES[number % len(NAMES)]
        # A name for files, and one more secret that begins like the other.
        variables = {"S": secret, name: secret, "PLAIN": plain, "FILE_KEY": plain}
        variables |= {"OPENAI_API_KEY": secret, "OTHER_KEY": f"{secret}-and-more"}
        summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(ground.folder / "summary")}
        asked = ground.knowing(**variables, **summary)
        for words in COMMANDS[: max(3, scene.some(len(COMMANDS)))]:
            given = tuple(word.replace("SECRET", secret) for word in words)
            ran = asked.project.start(*given).wait()
            commands += 1
            if ran.code in {1, 99} or ran.code < 0:
                broken.append(
                    Broken(Promise.ENDING, f"{what}: {words}: {ran.code} {ran.err[-300:]}")
                )
        found = _not_crashed(asked, secret)
        found += [
            Broken(Promise.DISCLOSED, _line(path)) for path in leaks(asked, (MARK, "CCCC", "DDDD"))
        ]
        found += [*corrupt(asked), *left(asked)]
        if secret.isascii():  # otherwise the scripted tool cannot even write its question down
            found += paid_twice(asked)
        broken += [Broken(one.promise, f"{what}: {one.what}") for one in found]
    return Tally(len(chosen), 0, tuple(broken), {"commands": commands})


def _not_crashed(ground: Ground, secret: str) -> list[Broken]:
    """Let the program fail with the secret in its reason; whether that did not come to a log."""
    ran = ground.project.start(*CRASH, inside={f"{__name__}:crash": {"text": secret}}).wait()
    logs = list(ground.home.rglob("crash-*.log"))
    if ran.code == 1 and len(logs) == 1 and "RuntimeError" in logs[0].read_text():
        return []
    return [Broken(Promise.ENDING, f"the crash: {ran.code}, {len(logs)} logs, {ran.err[-300:]}")]


def _line(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if MARK in line]
    where = lines[0].find(MARK) if lines else 0
    return f"{path.name}: {lines[0][max(0, where - 150) : where + 80]!r}" if lines else path.name


WORDS = ("oracle", "openai", "codex1", "status", "pending", "answers", "      ", "failed")
"""Weak passwords that are also words of ours."""


def weak_ones(scene: Scene) -> Tally:
    """A password that is an everyday word, such as `oracle`: runs still end, go on and are paid
    for once."""
    bash = "mkdir -p answers\n" + step(1, ask("Why?", "answers/1.md")) + step(2, "echo answers")
    broken: list[Broken] = []
    chosen = WORDS[: scene.some(len(WORDS))]
    for number, word in enumerate(chosen):
        ground = a_ground(scene.folder / f"w{number}", scene.zygote, bash)
        asked = ground.knowing(DB_PASSWORD=word)
        first, again = asked.project.run(), asked.project.run()
        other = ground.project.run()
        codes = [one.code for one in (first, again, other)]
        if codes != [0, 0, 0]:
            broken.append(Broken(Promise.ENDING, f"{word!r}: {codes} {again.err[-200:]}"))
        kinds = [json.loads(line)["e"]["kind"] for line in _journal(ground)]
        # A path that is itself a secret is not recorded, so its step is answered from the cache.
        if kinds.count("step_started") > 2 and word != "answers":
            broken.append(Broken(Promise.ENDING, f"{word!r}: steps ran again: {kinds}"))
        found = (*corrupt(ground), *paid_twice(ground))
        broken += [Broken(one.promise, f"{word!r}: {one.what}") for one in found]
    return Tally(len(chosen), 0, tuple(broken))


def _journal(ground: Ground) -> list[str]:
    return (ground.project.run_dir / "journal.jsonl").read_text().splitlines()


ATTACKS: dict[str, Attack] = {"secrets": never_disclosed, "weak-secrets": weak_ones}
