"""Stands for oracle where money is counted. Installed by `tests.torture.ground`, never imported.

Like the real one it keeps a session record from before it asks until after it was answered, and
refuses a prompt that another session is asking. Whenever an answer is billed, a line is added to
`$PROVIDER/billed.jsonl`; whenever a question arrives, one to `$PROVIDER/asked.jsonl`.

Faults are requested as from the scripted oracle, by `[[fault=NAME first=N]]` in the prompt, or by
chance: `PROVIDER_FAULTS="seed rate name,name,…"`. `PROVIDER_HOLD=moment` holds the first call
that comes to a moment, one of MOMENTS, until the pipe `$PROVIDER/gate` is opened.
`PROVIDER_LATER` is by how many seconds its clock is off.
"""
# It prints on purpose, and pathlib would double its start-up.
# ruff: noqa: SIM115

import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(sys.argv[0]))
import scripted_oracle as scripted  # type: ignore[import-not-found]

MOMENTS = ("started", "asking", "billed", "logged", "completed", "written")
PROVIDER = os.environ["PROVIDER"]
BAD = {"cut", "empty", "partial"}
"""Answers that are billed and no use: half of one, none, or one section of four."""


def main() -> int:
    words = sys.argv[1:]
    if "--version" in words or "--render" in words:
        code: int = scripted.main()
        return code
    asked = scripted.read(words)
    if asked["prompt"] == "-":
        asked["prompt"] = sys.stdin.read()
    print("🧿 oracle 0.21.2 — scripted", flush=True)
    hold("started")
    other = asking_the_same(asked["prompt"])
    if other and "--force" not in words:
        print(f"A session with the same prompt is already running ({other}).")
        return 1
    session = Session(asked)
    if "--azure-endpoint" in words:
        endpoint = words[words.index("--azure-endpoint") + 1]
        return ask_in_background(asked, session, endpoint)
    return ask(asked, session)


def ask(asked: dict[str, str], session: "Session") -> int:
    count = note("asked", asked, at_once=sum(one["status"] == "running" for one in sessions()))
    hold("asking")
    fault = by_chance(asked["prompt"], count) or scripted.chosen_fault(asked["prompt"], count)
    if fault in scripted.FAULTS or fault == "leak":
        session.end("error", errorMessage=scripted.FAULTS.get(fault, ""))
        failed: int = scripted.act(fault, asked)
        return failed
    scripted.delay(fault)
    text = answer(asked)
    parts = {"cut": text[: len(text) // 2], "empty": "", "partial": text.split("\n## ")[0]}
    content = parts.get(fault, text)
    note("billed", asked, good=fault not in BAD, answer=text, content=content)
    hold("billed")
    return deliver(asked, session, fault, content)


def ask_in_background(asked: dict[str, str], session: "Session", endpoint: str) -> int:
    """As the real one asks a Pro model over Azure: schedule a response, print its id, and poll."""
    import http.client

    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=30)

    def send(method: str, path: str, body: dict | None = None) -> dict:  # type: ignore[type-arg]
        data = None if body is None else json.dumps(body)
        connection.request(method, f"/openai/v1/responses{path}", data)
        reply: dict = json.load(connection.getresponse())  # type: ignore[type-arg]
        return reply

    print(f"Session: {session.id}", flush=True)
    question = [{"role": "user", "content": asked["prompt"]}]
    body = {"model": asked["model"], "background": True, "input": question}
    try:
        name = send("POST", "", body)["id"]
        print(
            f"API scheduled background response {name} (status=queued). "
            "Monitoring up to 60 minutes for completion...",
            flush=True,
        )
        with open(os.path.join(PROVIDER, "printed"), "a") as file:
            file.write(f"{name}\n")
        while (now := send("GET", f"/{name}"))["status"] in {"queued", "in_progress"}:
            time.sleep(0.1)
        trouble = f"the response is {now['status']}"
    except (OSError, http.client.HTTPException) as lost:
        now, trouble = {}, str(lost)
    if now.get("status") != "completed":
        session.end("error", errorMessage=trouble)
        print(f"ERROR: {trouble}")
        return 1
    return deliver(asked, session, "", now["output"][-1]["content"][0]["text"] + "\n")


def record(session: "Session", fault: str, text: str) -> str:
    """Record the answer in its session; what is printed of it."""
    tokens = 0 if fault in {"cut", "empty"} else max(1, len(text) // 4)
    cost = f"0.1s · $0.0022 · gpt-5.2 · ↑17 ↓{tokens} ↻0 Δ{17 + tokens} · sid={session.id}"
    said = f"Session: {session.id}\n\nAnswer:\n{text or '(no text output)'}\n{cost}\n"
    session.log(said)
    hold("logged")
    usage = {"inputTokens": 17, "outputTokens": tokens, "totalTokens": 17 + tokens, "cost": 0.0022}
    session.end("completed", usage=usage)
    hold("completed")
    return said


def deliver(asked: dict[str, str], session: "Session", fault: str, text: str) -> int:
    """Record the answer, then write it where it was wanted."""
    print(record(session, fault, text))
    if not text:
        print("write-output skipped: no assistant content to save.")
    elif asked["output"]:
        if fault != "nowrite":
            scripted.save(asked["output"], text)
        print(f"Saved assistant output to {os.path.abspath(asked['output'])}")
    hold("written")
    return 0


def answer(asked: dict[str, str]) -> str:
    """Another one to every question, in the four sections; or the one that lies there."""
    given = os.path.join(PROVIDER, "reply")
    if os.path.exists(given):
        with open(given) as file:
            return file.read()
    title = asked["prompt"].strip().split("\n")[0]
    return f"{scripted.answer(asked)}\nThis answers: {title}\n"


class Session:
    """The record that oracle keeps of a question."""

    def __init__(self, asked: dict[str, str]) -> None:
        folder = os.path.join(home(), "sessions")
        os.makedirs(folder, exist_ok=True)
        words = "".join(c if c.isalnum() else " " for c in asked["prompt"].lower()).split()
        slug = "-".join(words[:5]) or "question"
        number = 1
        while True:
            self.id = slug if number == 1 else f"{slug}-{number}"
            self._folder = os.path.join(folder, self.id)
            try:
                os.mkdir(self._folder)
                break
            except FileExistsError:
                number += 1
        now = time.time() + float(os.environ.get("PROVIDER_LATER", "0"))
        timestamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        output = os.path.abspath(asked["output"]) if asked["output"] else None
        self._meta: dict[str, object] = {
            "id": self.id,
            "pid": os.getpid(),
            "status": "running",
            "startedAt": f"{timestamp}.{int(now % 1 * 1000):03}Z",
            "options": {"prompt": asked["prompt"], "writeOutputPath": output},
            "lifecycle": {"execution": "foreground", "detached": False},
        }
        self._write()

    def log(self, text: str) -> None:
        with open(os.path.join(self._folder, "output.log"), "w") as file:
            file.write(text)

    def end(self, status: str, **more: object) -> None:
        self._meta |= {"status": status, **more}
        self._write()

    def _write(self) -> None:
        path = os.path.join(self._folder, "meta.json")
        with open(f"{path}.new", "w") as file:
            json.dump(self._meta, file)
        os.replace(f"{path}.new", path)


def home() -> str:
    return os.environ.get("ORACLE_HOME_DIR") or os.path.join(os.environ["HOME"], ".oracle")


def asking_the_same(prompt: str) -> str:
    """The session that still asks the very same prompt, as far as its record tells."""
    for meta in sessions():
        same = meta["options"]["prompt"].strip() == prompt.strip()
        if meta["status"] == "running" and same:
            return str(meta["id"])
    return ""


def sessions() -> list[dict]:  # type: ignore[type-arg]
    """The records of all sessions; what is half written is not there yet."""
    folder = os.path.join(home(), "sessions")
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        try:
            found.append(json.load(open(os.path.join(folder, name, "meta.json"))))
        except (OSError, ValueError):
            continue
    return found


def note(log: str, asked: dict[str, str], **more: object) -> int:
    """Write down what the provider saw; how often it saw this prompt, this time included."""
    entry = {"pid": os.getpid(), "cwd": os.getcwd(), **asked, **more}
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    descriptor = os.open(os.path.join(PROVIDER, f"{log}.jsonl"), flags, 0o600)
    os.write(descriptor, (json.dumps(entry) + "\n").encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor) as lines:
        return sum(json.loads(line)["prompt"] == asked["prompt"] for line in lines)


def by_chance(prompt: str, count: int) -> str:
    """The same chance for the same seed, prompt and count, in whatever order calls come."""
    setting = os.environ.get("PROVIDER_FAULTS")
    if not setting:
        return ""
    import random

    seed, rate, names = setting.split()
    chance = random.Random(f"{seed} {count} {prompt}")
    return chance.choice(names.split(",")) if chance.random() < float(rate) else ""


def hold(moment: str) -> None:
    """Wait at a moment, if it is this one; only the first call does."""
    if os.environ.get("PROVIDER_HOLD") != moment:
        return
    try:
        os.symlink(str(os.getpid()), os.path.join(PROVIDER, "held"))
    except FileExistsError:
        return
    open(os.path.join(PROVIDER, "gate")).read()


if __name__ == "__main__":
    sys.exit(main())
