"""Scripted codex, gemini and task-master: each does its job, or the requested fault."""

import sys
from pathlib import Path

_SOURCE = r"""
import json, os, re, sys
from pathlib import Path

NAME, ARGS = Path(sys.argv[0]).name, sys.argv[1:]
FAULT = os.environ.get("TOOL_FAULT", "")
TASKS = Path(".taskmaster/tasks/tasks.json")
with open(Path(sys.argv[0]).parent / "calls.jsonl", "a") as log:
    log.write(json.dumps([NAME, *ARGS]) + "\n")

def value(*flags):
    return next((ARGS[at + 1] for at, word in enumerate(ARGS) if word in flags), None)

def answer(prompt):
    if FAULT == f"{NAME} empty":
        return ""
    if '"ticket_id"' in prompt:
        if FAULT == f"{NAME} malformed":
            return '{"ticket_id": "T-1", "action_ids": ['
        ids = re.findall(r"^- (\S+) \[", prompt, re.M)
        ticket = re.search(r"^ticket (\S+) \(", prompt, re.M)[1]
        chosen = {"ticket_id": ticket, "action_ids": ids[:1], "reason": "it is first"}
        return "```json\n" + json.dumps(chosen) + "\n```"
    if '"criteria"' in prompt:
        ids = re.findall(r"^- (\S+) \[", prompt.split("Criteria:")[1], re.M)
        judged = [{"action_id": one, "met": "yes", "evidence": "work.txt:1"} for one in ids]
        return json.dumps({"criteria": judged[1:] if FAULT == f"{NAME} silent" else judged})
    return f"# Report of {NAME}\n\nDone."

def edit():
    with open("work.txt", "a") as file:
        file.write(f"by {NAME}\n")

def codex():
    sys.stdin.read()
    if FAULT == "codex fails":
        edit()
        sys.exit("codex: turn.failed")
    if "workspace-write" in ARGS:
        edit()
    text = answer(ARGS[-1])
    out = value("-o")
    if out:
        Path(out).write_text(text + "\n")
    else:
        print(text)

def gemini():
    sys.stdin.read()
    if FAULT == "gemini fails":
        print(json.dumps({"error": {"message": "no auth", "code": 41}}), file=sys.stderr)
        sys.exit(41)
    if FAULT == "gemini error":
        print(json.dumps({"error": {"message": "quota"}}))
        return
    if "auto_edit" in ARGS:
        edit()
    print(json.dumps({"session_id": "s", "response": answer(value("-p"))}))

def task_master():
    command = ARGS[0]
    if FAULT == f"task-master {command}":
        sys.exit(f"task-master: {command} failed")
    if FAULT == f"task-master {command} silent":
        return
    if command == "parse-prd":
        heads = re.findall(r"^### (\S+): (.*)$", Path(ARGS[1]).read_text(), re.M)
        tasks = [
            {"id": n, "title": f"{one}: {title}", "status": "pending", "dependencies": []}
            for n, (one, title) in enumerate(heads, 1)
        ]
        save({"master": {"tasks": tasks}})
    elif command == "analyze-complexity":
        report = {"meta": {}, "complexityAnalysis": [{"taskId": t["id"]} for t in load()]}
        Path(value("--output")).write_text(json.dumps(report))
    elif command == "expand":
        tasks = load()
        for task in tasks:
            task.setdefault("subtasks", [{"id": 1, "title": "part", "dependencies": []}])
        save({"master": {"tasks": tasks}})
    elif command == "validate-dependencies":
        bad = FAULT == "task-master circle"
        print("[ERROR] [CIRCULAR]" if bad else "All Dependencies Are Valid")
    elif command == "set-status":
        tasks = load()
        wanted = next(word[5:] for word in ARGS if word.startswith("--id="))
        for task in tasks:
            task["status"] = "review" if str(task["id"]) == wanted else task["status"]
        save({"master": {"tasks": tasks}})

def load():
    return json.loads(TASKS.read_text())["master"]["tasks"]

def save(content):
    TASKS.parent.mkdir(parents=True, exist_ok=True)
    TASKS.write_text(json.dumps(content))

{"codex": codex, "gemini": gemini, "task-master": task_master}[NAME]()
"""

ALL = ("codex", "gemini", "task-master")


def install(folder: Path, *tools: str) -> Path:
    """Put tools, and oraclepack itself, into a directory for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in tools:
        _program(folder / name, f"#!{sys.executable} -IS\n{_SOURCE}")
    _program(folder / "oraclepack", f'#!/bin/sh\nexec "{sys.executable}" -m oraclepack "$@"\n')
    return folder


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
