"""Grounds with the real oracle, and the account of the provider on loopback that it asks."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e.run.project import asking
from tests.provider import Provider, Rule, answer_to, serving
from tests.real.install import real_programs
from tests.real.oracles import quick_start
from tests.torture.checker import Snapshot, alive, check
from tests.torture.ground import Ground
from tests.torture.kills import Site, noted
from tests.torture.outcome import outcome
from tests.torture.shapes import Shape
from tests.torture.tally import Scene

WHOLE = frozenset({"ok", "hold", "slow", "halfway"})
"""What a provider thinks up an answer for and bills, whether or not it is received."""
HALF = frozenset({"cut", "cut_clean", "error_event", "empty"})
"""What it may bill as well, although it is of no use."""
_API = 'oracle --engine api --base-url "$BASE_URL" '
WAITING = f"{_API}-m gpt-5.2 "
DETACHED = f"{_API}-m gpt-5.5-pro --no-wait "
"""The tool ends at once, and a worker of its own asks."""
_NUMBER = re.compile(r"Question (\d+)\?")


class Office:
    """The provider, the real programs, and the grounds on which they meet."""

    def __init__(self, scene: Scene, provider: Provider, programs: Path) -> None:
        self.provider = provider
        self.facts: Counter[str] = Counter()
        self._scene = scene
        self._programs = programs
        self._node = (programs / "node").resolve()

    def site(self, questions: int, way: str = WAITING) -> Site:
        """A pack of so many questions at the same time, and all that is known of it undisturbed."""
        steps = [asking(number).replace("oracle ", way) for number in range(1, questions + 1)]
        shape = Shape("", "set -eu\nmkdir -p out\n" + "".join(steps))
        template = self._with_the_real_one(shape, questions)
        before = Snapshot.of(template)
        undisturbed = template.copy(self._scene.folder / "u")
        seen = self._scene.folder / "seen"
        ran = undisturbed.project.run(*shape.words, fault={"notes": str(seen)})
        self.write_up(undisturbed)
        found = check(undisturbed, before, ran=ran)
        assert not found, found
        wanted = outcome(undisturbed)
        return Site(self._scene, shape, template, before, wanted, len(noted(seen)))

    def _with_the_real_one(self, shape: Shape, at_once: int) -> Ground:
        made = shape.ground(self._scene.folder / "t", self._scene.zygote)
        return replace(made, tools=self._programs).knowing(
            BASE_URL=self.provider.base_url,
            OPENAI_API_KEY="sk-of-nobody",
            ORACLEPACK_MAX_PARALLEL=str(at_once),
            ORACLEPACK_RETRY_BASE_SECONDS="0.05",
            **quick_start(self._programs),
        )

    def ground(self, site: Site, *rules: Rule) -> Ground:
        """A fresh one; the provider has forgotten everything, and fails as the rules say."""
        self.provider.release.set()
        with self.provider.arrived:
            self.provider.release = threading.Event()
            self.provider.requests, self.provider.rules = [], list(rules)
        return site.template.copy(self._scene.folder / "k")

    def write_up(self, ground: Ground) -> None:
        """Close the account of a ground; the checker reads it as that of the scripted provider."""
        seen = [(_entry(ground, one.prompt), one.fault) for one in self.provider.requests]
        billed = [one | {"good": fault in WHOLE} for one, fault in seen if fault in WHOLE | HALF]
        for name, entries in (("asked", [one for one, _ in seen]), ("billed", billed)):
            lines = "".join(f"{json.dumps(entry)}\n" for entry in entries)
            (ground.provider / f"{name}.jsonl").write_text(lines)
        self.facts["requests"] += len(seen)
        self.facts["faults"] += sum(fault not in WHOLE for _, fault in seen)

    def tools(self, ground: Ground) -> list[int]:
        """The processes of a trial that are the tool."""
        return [pid for pid in alive(ground) if _program(pid) == self._node]


@contextmanager
def an_office(scene: Scene) -> Iterator[Office]:
    """Open until the end of the block. Raises NotToBeHadError."""
    programs = real_programs()
    with serving() as provider:
        yield Office(scene, provider, programs)


def is_completed(ground: Ground) -> bool:
    """Whether the tool has recorded that it has an answer."""
    records = (ground.home / ".oracle/sessions").glob("*/meta.json")
    return any(json.loads(path.read_bytes())["status"] == "completed" for path in records)


def _entry(ground: Ground, prompt: str) -> dict[str, Any]:
    """A question, where its answer was wanted, and what that is."""
    number = _NUMBER.search(prompt)
    assert number, prompt
    output = f"out/{int(number[1]):02}-topic-{number[1]}.md"
    place = {"cwd": str(ground.root), "output": output}
    return {"prompt": prompt, "answer": answer_to(prompt), **place}


def _program(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/exe").readlink()
    except OSError:
        return None
