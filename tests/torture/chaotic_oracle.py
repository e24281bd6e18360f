"""An oracle whose provider fails in every way we know. Installed by `chaos.py`, never imported.

`CHAOS="seed rate name,name,…"` tells how often which faults come, the same for the same question
and count. `$PROVIDER/asked.jsonl` gets for every question the fault, the round (`ROUND`), when it
came and ended, and how many were being asked at once. An answer takes `THINKING` seconds.
"""

import fcntl
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(sys.argv[0]))
import scripted_oracle as scripted  # type: ignore[import-not-found]
import scripted_provider as provider  # type: ignore[import-not-found]

ERRORS = {
    "rate_hint": "Rate limit reached for gpt-5.2. Please try again in 150ms.",
    "rate": "429 Too Many Requests",
    "overloaded": "The engine is currently overloaded, please try again later",
    "timeout": "Request timed out.",
    "server": "500 The server had an error while processing your request.",
    "refused": "connect ECONNREFUSED 127.0.0.1:443",
    "reset": "read ECONNRESET",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
    "auth": "Incorrect API key provided: sk-*********test.",
    "context": "This model's maximum context length is 9 tokens.",
    "unknown": "Something nobody has seen before.",
    "partial": "Connection to api.example dropped before the end; ECONNRESET",
}
BAD = {"cut", "empty", "lacking", "blank"}
"""Answers that are no answers."""


def ask(asked: dict[str, str], session: "provider.Session") -> int:
    begun = time.time()
    with alive() as at_once:
        count = provider.note("counted", asked)
        fault = by_chance(asked["prompt"], count)
        try:
            return answer(fault, asked, session)
        finally:
            facts = {"fault": fault, "round": os.environ.get("ROUND", ""), "at_once": at_once}
            sys.stdout.flush()
            provider.note("asked", asked, **facts, begun=begun, ended=time.time())


def answer(fault: str, asked: dict[str, str], session: "provider.Session") -> int:
    if fault in ERRORS:
        if fault == "partial" and asked["output"]:
            scripted.save(asked["output"], "## Direct answer\nThe conn")
        session.end("error", errorMessage=ERRORS[fault])
        print(f"ERROR: {ERRORS[fault]}\nTransport: api-error — transport error")
        return 1
    if fault == "hang":
        # Before anything is billed, and noted first: it will be ended by force.
        facts = {"fault": fault, "round": os.environ.get("ROUND", ""), "at_once": 0}
        provider.note("asked", asked, **facts, begun=time.time(), ended=0)
        scripted.hang(deaf=False)
    scripted.delay("flood" if fault == "flood" else "")
    time.sleep(float(os.environ.get("THINKING", "0")))
    text = provider.answer(asked)
    provider.note("billed", asked, good=fault not in BAD, answer=text)
    text = {"cut": text[: len(text) // 2], "empty": "", "lacking": "No.\n", "blank": "\n\n"}.get(
        fault, text
    )
    if fault == "elsewhere":
        return elsewhere(session, text)
    code: int = provider.deliver(asked, session, fault, text)
    return code


def elsewhere(session: "provider.Session", text: str) -> int:
    """The answer is whole, but its file could not be written where it was wanted."""
    place = os.path.join(provider.home(), f"fallback-{os.getpid()}.md")
    scripted.save(place, text)
    said = provider.record(session, "elsewhere", text)
    print(f"{said}write-output fallback to {place} (original failed: EACCES)")
    return 0


class alive:  # noqa: N801 - reads as what it is
    """Counts how many are being asked at this moment; death gives the place back."""

    def __enter__(self) -> int:
        folder = os.path.join(provider.PROVIDER, "live")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(provider.PROVIDER, "gatekeeper"), "w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            self._mine = open(os.path.join(folder, str(os.getpid())), "w")
            fcntl.flock(self._mine, fcntl.LOCK_EX)
            return sum(self._is_taken(os.path.join(folder, name)) for name in os.listdir(folder))

    def _is_taken(self, path: str) -> bool:
        with open(path) as other:
            try:
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def __exit__(self, *_: object) -> None:
        self._mine.close()


def by_chance(prompt: str, count: int) -> str:
    seed, rate, names = os.environ["CHAOS"].split()
    chance = random.Random(json.dumps([seed, count, prompt]))
    return chance.choice(names.split(",")) if chance.random() < float(rate) else ""


if __name__ == "__main__":
    provider.ask = ask
    sys.exit(provider.main())
