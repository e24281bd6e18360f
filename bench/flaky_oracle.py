"""An oracle whose provider fails by a script. Installed by `bench.money`, never imported.

`FLAKY` is the provider's directory. Its `script.json` holds the seed, the share of each fault,
the seconds of an answer, and how many questions have been asked for the first time when the
runner is killed. The fault of a call depends on the seed, the question and how often that
question was asked, so every runner meets the same faults. `bill.jsonl` gets one line per call.
"""

import fcntl
import json
import os
import random
import signal
import sys
import time
from typing import Any

PROVIDER = os.environ.get("FLAKY", "")
ERRORS = {
    "rate": "ERROR: Rate limit reached for gpt-5.2. Please try again in 350ms.",
    "busy": "ERROR: 503 Service Unavailable",
}


def main() -> int:
    words = sys.argv[1:]
    if "--version" in words:
        print("0.21.2")
        return 0
    prompt, output = value(words, "-p"), value(words, "--write-output")
    if "--render" in words:
        print(f"banner\n[SYSTEM]\n\n[USER]\n{prompt}")
        return 0
    with open(os.path.join(PROVIDER, "script.json"), encoding="utf-8") as file:
        script = json.load(file)
    question = prompt.split("\n", 1)[0]
    is_killing, fault = note(question, script)
    if is_killing:
        kill_runner()
    if fault in ERRORS:
        time.sleep(script["seconds"] / 4)
        print(ERRORS[fault])
        return 1
    time.sleep(script["seconds"])
    text = whole_answer(question)
    text = {"cut": text[: len(text) // 2], "empty": ""}.get(fault, text)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


def value(words: list[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""


def whole_answer(question: str) -> str:
    return (
        f"### Direct answer\n\n{question} Yes: `lock.py` holds it, and the second reader waits.\n\n"
        "### Risks and unknowns\n\nA reader on another machine is not covered by this lock.\n\n"
        "### Next experiment\n\nStart two readers and stop the first.\n\n"
        "### Missing evidence\n\nThe deployment of the second machine.\n"
    )


def note(question: str, script: dict[str, Any]) -> tuple[bool, str]:
    """Enter the call in the bill: whether the runner is killed now, and the fault of the call.

    An answer is billed when its question arrives: providers finish what a dead client has begun.
    """
    with open(os.path.join(PROVIDER, "bill.jsonl"), "a+", encoding="utf-8") as bill:
        fcntl.flock(bill, fcntl.LOCK_EX)
        bill.seek(0)
        calls = [json.loads(line) for line in bill]
        count = sum(call["question"] == question for call in calls)
        fault = chosen(f"{script['seed']} {question} {count}", script["faults"])
        call = {"question": question, "fault": fault, "billed": fault not in ERRORS}
        bill.write(json.dumps(call) + "\n")
        bill.flush()
    questions = {call["question"] for call in calls}
    return not count and len(questions) + 1 in script["kills"], fault


def chosen(seed: str, faults: dict[str, float]) -> str:
    drawn = random.Random(seed).random()
    for name, share in faults.items():
        drawn -= share
        if drawn < 0:
            return name
    return ""


def kill_runner() -> None:
    """Kill the runner's process group, as the end of its terminal or of a CI job does."""
    with open(os.path.join(PROVIDER, "runner"), encoding="utf-8") as file:
        os.killpg(int(file.read()), signal.SIGKILL)
    # Every process of that group has ended here.


if __name__ == "__main__":
    sys.exit(main())
