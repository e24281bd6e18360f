"""Shows with a real key that a background question is paid for once; costs some cents.

    OPENAI_API_KEY=sk-… python -m tests.real.with_a_real_key [MODEL]

For a maintainer, by hand; no test and no CI runs it. It asks a Pro model two short questions in a
throw-away project, kills everything as soon as both ids are in the journal, gives the command
again, and prints how often it asked, under which ids, and what it came to. The real `oracle` is
installed as for the tests. With `AZURE_OPENAI_API_KEY`, `AZURE_OPENAI_ENDPOINT` and a deployment
of the model's name it goes over Azure.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.journal.journal_file import load
from tests.packs import pack_text
from tests.real.install import real_programs

MODEL = "gpt-5.5-pro"
_PATIENCE = 300.0


def main() -> int:
    if not {"OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"} & os.environ.keys():
        print("set OPENAI_API_KEY: this asks a real provider, for some cents", file=sys.stderr)
        return 2
    model = sys.argv[1] if len(sys.argv) > 1 else MODEL
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        steps = (_step(number, model) for number in (1, 2))
        (root / "pack.md").write_text(pack_text("mkdir -p out\n" + "".join(steps)))
        env = os.environ | {"PATH": f"{real_programs()}:{os.environ['PATH']}"}
        env |= {"HOME": folder, "ORACLE_HOME_DIR": f"{folder}/.oracle"}
        command = [sys.executable, "-m", "oraclepack", "run", "pack.md", "--json", "--max-cost"]
        command += ["1", "--oracle-flag=--max-output=2000", "--max-parallel", "2"]
        first = subprocess.Popen(command, cwd=root, env=env, start_new_session=True)
        ids = _await_ids(root)
        _kill_everything(first, folder)
        print(f"killed; asked under {', '.join(ids)}")
        again = subprocess.run(command, cwd=root, env=env, check=False, capture_output=True)
        reply = json.loads(again.stdout)
        asked = _tries(root)
        print(f"exit code {again.returncode}, asked {asked} times for 2 questions")
        print(f"ids: {', '.join(sorted(_ids(root)))}")
        print(f"cost: {json.dumps(reply['data']['cost'])}")
        return 0 if again.returncode == 0 and asked == len(ids) else 1


def _step(number: int, model: str) -> str:
    question = f"Name the prime number that follows {number * 100}, in one sentence."
    return (
        f"# {number:02}) prime {number}\n"
        f'oracle --engine api -m {model} --write-output "out/{number}.md" -p "{question}"\n'
    )


def _events(root: Path) -> list[object]:
    journals = root.glob(".oraclepack/runs/*/journal.jsonl")
    return [event for path in journals for event in load(path).events]


def _ids(root: Path) -> set[str]:
    identified = (one for one in _events(root) if isinstance(one, j.CallIdentified))
    return {one.identity.response for one in identified if one.identity.response}


def _tries(root: Path) -> int:
    return sum(isinstance(one, j.TryStarted) for one in _events(root))


def _await_ids(root: Path) -> list[str]:
    deadline = time.monotonic() + _PATIENCE
    while len(ids := _ids(root)) < 2:
        if time.monotonic() > deadline:
            raise SystemExit("no ids: does the route compute in the background?")
        time.sleep(0.05)
    return sorted(ids)


def _kill_everything(process: "subprocess.Popen[bytes]", home: str) -> None:
    process.kill()
    process.wait()
    mark = f"ORACLE_HOME_DIR={home}/.oracle".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)
        except OSError:
            continue


if __name__ == "__main__":
    sys.exit(main())
