"""An `oracle` for `actionize --ask`: it replies from a table, keeps sessions, and bills."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tests.scripted
import tests.torture

_PROVIDER = Path(tests.torture.__file__).with_name("scripted_provider.py")
_ORACLE = Path(tests.scripted.__file__).with_name("oracle.py")
_PROGRAM = """#!{python} -IS
import json, os, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
os.environ["PROVIDER"] = here
sys.path.insert(0, here)
import scripted_provider as provider

def answer(asked):
    replies = json.load(open(here + "/replies.json"))
    lines = asked["prompt"].split("\\n")
    quoted = "".join(line[2:] for line in lines if line.startswith("> "))
    return next((text for key, text in replies.items() if key and key in quoted), replies[""])

provider.answer = answer
sys.exit(provider.main())
"""


@dataclass(frozen=True)
class Replying:
    """The program, in a folder for PATH."""

    folder: Path

    @property
    def prompts(self) -> list[str]:
        """Of the questions that were billed."""
        log = self.folder / "billed.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line)["prompt"] for line in lines]

    def reply(self, replies: Mapping[str, str]) -> None:
        """A prompt gets the first reply whose key it quotes, else the one under the empty key."""
        (self.folder / "replies.json").write_text(json.dumps({"": "no idea", **replies}))


def replying_oracle(folder: Path) -> Replying:
    folder.mkdir(parents=True)
    (folder / "scripted_provider.py").write_text(_PROVIDER.read_text())
    (folder / "scripted_oracle.py").write_text(_ORACLE.read_text())
    program = folder / "oracle"
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    oracle = Replying(folder)
    oracle.reply({})
    return oracle


def block(items: Sequence[Mapping[str, object]], verdict: str = "", **more: object) -> str:
    """A reply in the form that is asked for."""
    content = json.dumps({"verdict": verdict, "items": items, **more})
    return f"[oraclepack-work]\n{content}\n[/oraclepack-work]\n"
