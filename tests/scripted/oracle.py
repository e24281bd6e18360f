"""Stands for a tool in tests. Installed by `tests.scripted`, never imported.

Its prompt says what it does: `[[fault=NAME first=N]]` faults the first N calls with that
prompt, all of them without `first`. NAME is one of the rows of FAULTS, or

    empty   exit 0 and no file           cut     exit 0 and half an answer
    hang    until a signal ends it       deaf    the same, and only KILL ends it
    flood   prints 8 MB first            nowrite exit 0, says it saved, but did not
    slow    answers after 0.3 s          env     answers with its own environment
    hold    until the pipe `<program>.gate` is opened
    leak    fails, and its error contains the key
    short   exit 0 and a whole answer without a heading for the risks
    late    writes the answer, then hangs
    unmet   `hold`, then `short`
"""
# It prints for a living, and pathlib would double its start-up.
# ruff: noqa: SIM115

import json
import os
import re
import signal
import sys
import time

FAULTS = {
    "rate_limit": "Rate limit reached for gpt-5.2. Please try again in 20s.",
    "overloaded": "The engine is currently overloaded, please try again later",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
    "auth": "Incorrect API key provided: sk-*********test.",
    "unknown": "Something nobody has seen before.",
}
HOSTS = ("_BASE_URL", "_ENDPOINT", "_HOST", "_PROXY")
"""How variables end that name the host of a provider."""
LISTS = {"-f": "file", "--file": "file"}
VALUES = {
    "-p": "prompt",
    "--prompt": "prompt",
    "--message": "prompt",
    "--write-output": "output",
    "-o": "output",
    "-m": "model",
    "--model": "model",
    "--models": "model",
    "-e": "engine",
    "--engine": "engine",
    "-s": "slug",
    "--slug": "slug",
    "--timeout": "timeout",
    "--base-url": "base_url",
}


def main() -> int:
    words = sys.argv[1:]
    if "--version" in words:
        print("0.21.2")
        return 0
    asked = read(words)
    if asked["prompt"] == "-":
        asked["prompt"] = sys.stdin.read()
    print("🧿 oracle 0.21.2 — scripted", flush=True)
    if "--render" in words:
        return render(asked)
    fault = chosen_fault(asked["prompt"], log_call(words, asked))
    return act(fault, asked)


def read(words: list[str]) -> dict[str, str]:
    """The flags that matter, the files joined by newlines."""
    asked = {"prompt": "", "output": "", "file": ""}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in LISTS:
            found = [value] if equals else []
            while rest and not rest[0].startswith("-"):
                found.append(rest.pop(0))
            asked["file"] = "\n".join(filter(None, [asked["file"], *found]))
        elif name in VALUES:
            asked[VALUES[name]] = value if equals else (rest.pop(0) if rest else "")
        elif not name.startswith("-") and not asked["prompt"]:
            asked["prompt"] = name
    return asked


def log_call(words: list[str], asked: dict[str, str]) -> int:
    """Write the call down; returns how often this was asked, this time included."""
    log = f"{sys.argv[0]}.calls.jsonl"
    hosts = {name: os.environ[name] for name in sorted(os.environ) if name.endswith(HOSTS)}
    entry = {"argv": words, "cwd": os.getcwd(), "pid": os.getpid(), "hosts": hosts, **asked}
    descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, (json.dumps(entry) + "\n").encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor) as lines:
        return sum(json.loads(line)["prompt"] == asked["prompt"] for line in lines)


def chosen_fault(prompt: str, count: int) -> str:
    found = re.search(r"\[\[fault=(\w+)(?: first=(\d+))?\]\]", prompt)
    if not found or (found[2] and count > int(found[2])):
        return ""
    return found[1]


def act(fault: str, asked: dict[str, str]) -> int:
    if fault in FAULTS:
        print(f"ERROR: {FAULTS[fault]}\nTransport: api-error — transport error")
        return 1
    if fault == "leak":
        print(f"ERROR: Incorrect API key provided: {os.environ.get('OPENAI_API_KEY')}")
        return 1
    delay(fault)
    text = answer(asked)
    if fault in {"short", "unmet"}:
        text = text.replace("## Risks and unknowns\n", "## Worries\n")
    if fault == "env":
        text = "".join(f"{name}={value}\n" for name, value in sorted(os.environ.items()))
    print(f"\nAnswer:\n{text}")
    if fault == "empty":
        print("write-output skipped: no assistant content to save.")
    elif asked["output"]:
        if fault != "nowrite":
            save(asked["output"], text[: len(text) // 2] if fault == "cut" else text)
        print(f"Saved assistant output to {os.path.abspath(asked['output'])}")
    if fault == "late":
        hang(deaf=False)
    return 0


def delay(fault: str) -> None:
    """What some faults do before the answer."""
    if fault in {"hold", "unmet"}:
        open(f"{sys.argv[0]}.gate").read()
    if fault in {"hang", "deaf"}:
        hang(deaf=fault == "deaf")
    if fault == "slow":
        time.sleep(0.3)
    if fault == "flood":
        for _ in range(128):
            sys.stdout.write("x" * 65_535 + "\n")


def hang(*, deaf: bool) -> None:
    def cancel(_number: int, _frame: object) -> None:
        print("\nCancelled.", flush=True)
        os._exit(130)

    signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else cancel)
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("hanging", flush=True)
    while True:
        signal.pause()


def answer(asked: dict[str, str]) -> str:
    first = asked["file"].split("\n")[0] or "README.md"
    return "\n".join(
        [
            f"## Direct answer\nThe place to look at is `{first}:1`.",
            f"## Risks and unknowns\nNobody has run `{first}` with an empty input.",
            "## Next experiment\nWrite one failing test.",
            "## Missing evidence\nThe deployment was not attached.\n",
        ]
    )


def save(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", errors="surrogateescape") as file:
        file.write(text)


def render(asked: dict[str, str]) -> int:
    """What `--render --render-plain` prints, for literal files and simple patterns."""
    import glob

    print(f"[SYSTEM]\nYou are a reviewer.\n\n[USER]\n{asked['prompt']}\n")
    for pattern in filter(None, asked["file"].split("\n")):
        for path in sorted(glob.glob(pattern, recursive=True)):
            lines = open(path).read().rstrip().splitlines()
            body = "\n".join(f"{number} | {line}" for number, line in enumerate(lines, 1))
            print(f"### File: {path}\nLines: 1-{len(lines)}\n```\n{body}\n```\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
