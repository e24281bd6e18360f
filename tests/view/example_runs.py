"""A shop with twenty questions, its answers, and runs of them that were laid out by hand.

Each run is a journal, answers and logs as the program writes them; times are fixed, so that two
runs of the same plan give the same report.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import (
    Cache,
    OutputDoubt,
    Status,
    Verification,
    Wait,
)
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.system.digests import sha256_text
from oraclepack.tools.usage import FigureSource, Usage
from tests.events import write_journal
from tests.packs import OUT_DIR, QUESTIONS, strict_text

PACK = "oracle-pack-2026-03-01.md"
BEGAN = datetime(2026, 3, 1, 10, 0, 0, tzinfo=UTC)
COMMIT = "abc1234" + "0" * 33

SOURCE = '''\
"""{title}."""

from shop.store import Store


class {name}:
    """Keeps {title} for the shop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: list[str] = []

    def add(self, key: str, amount: int) -> int:
        current = self._store.read(key)
        total = current + amount
        self._store.write(key, total)
        return total

    def remove(self, key: str, amount: int) -> int:
        current = self._store.read(key)
        if current < amount:
            self._pending.append(key)
        self._store.write(key, current - amount)
        return current - amount

    def flush(self) -> None:
        for key in self._pending:
            self._store.delete(key)
        self._pending.clear()
'''

ANSWER = """\
## Direct answer

- **{name}.remove can go below zero.** It writes `current - amount` even where `current < amount`
  (`{path}:21-24`), and only notes the key. Check first and raise before the write.
- `add` reads and writes in two steps (`{path}:14-16`), so two callers lose one of their updates.

## Risks/unknowns

- The store may already lock its rows; `store.py` was not attached.

## Next smallest concrete experiment

Write a test that calls `{name}.remove` with more than there is and expects an error:
`pytest tests/test_{slug}.py -k below_zero`.

## Missing evidence

- `src/shop/store.py`
"""

RICH = """\
## Direct answer

- **Yes: a quantity becomes negative.** `StockInvariant.remove` compares, appends the key to
  `_pending` and then writes the difference anyway (`src/shop/stock.py:19-24`). Raise
  `OutOfStock` before the write.
- **The check and the write are not atomic.** Two requests read the same value and both pass
  (`src/shop/stock.py:20`). Use the store's compare-and-set, or hold the row lock over both lines.
- `flush` deletes every pending key, also one that was filled again in between
  (`src/shop/stock.py:26-29`).

```python
if current < amount:
    raise OutOfStock(key, current, amount)
```

## Risks/unknowns

- Whether `Store.write` retries on conflict is not visible here: `src/shop/store.py:40` is cited by
  a comment, but was not attached.
- Nightly imports may rely on negative values as corrections.

## Next smallest concrete experiment

Run two threads that each remove 3 of 5 pieces a thousand times, and count the rounds in which the
stock ends below zero: `pytest tests/test_stock.py -k two_threads`.

## Missing evidence

- `src/shop/store.py`
"""

CAPTURE = """\
Direct answer

A batch that is killed halfway leaves its first half written and its cursor unmoved, so the next
night repeats it. See src/shop/jobs.py:14-16: the write happens before the cursor is stored.

Store the cursor with each chunk in one transaction, so that __init__ finds where to go on.

Risks/unknowns

Mails that the first half sent are sent again.

Next smallest concrete experiment

Kill the job after the second chunk in a test and count the rows that are written twice.

Missing evidence

None; the file was complete.
"""


@dataclass(frozen=True)
class Plan:
    """What becomes of each step; what is not named is answered."""

    steps: int = 20
    run_id: str = "2026-03-01__abc1234__{hash}"
    """With the beginning of the pack's hash in it."""
    failed: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()
    cached: tuple[int, ...] = ()
    adopted: tuple[int, ...] = ()
    retried: tuple[int, ...] = ()
    open: tuple[int, ...] = ()
    answers: dict[int, str] = field(default_factory=dict)
    model: str = "gpt-5.2-pro"
    cost: str = "0.42"
    finished: bool = True
    seed: int = 7
    began: datetime = BEGAN
    log_lines: int = 3
    pack: str = PACK


LIVELY = Plan(
    failed=(15,),
    cut=(9,),
    cached=(5, 12),
    adopted=(18,),
    retried=(4, 11),
    answers={2: RICH, 4: CAPTURE},
)
"""A run with a bit of everything."""


def answer_text(number: int) -> str:
    slug, path, _ = QUESTIONS[(number - 1) % 20]
    name = "".join(part.title() for part in slug.split("-"))
    return ANSWER.format(name=name, path=path, slug=slug.replace("-", "_"))


def shop(root: Path) -> Path:
    """The files of the project."""
    for slug, path, _ in QUESTIONS:
        name = "".join(part.title() for part in slug.split("-"))
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SOURCE.format(name=name, title=slug.replace("-", " ")))
    (root / PACK).write_text(strict_text())
    return root


def a_run(root: Path, plan: Plan = LIVELY) -> RunDir:
    """A run of the shop's pack."""
    shop(root)
    return _Layout(root, plan).write()


class _Layout:
    """Writes one run: its answers, its logs and its journal."""

    def __init__(self, root: Path, plan: Plan) -> None:
        self._root, self._plan = root, plan
        self._pack = parse_pack((root / plan.pack).read_text(), plan.pack)
        self._pack_hash = self._pack.pack_hash
        self.run = RunDir(root, plan.run_id.format(hash=self._pack_hash[:8]))
        self.run.create()
        self._events: list[j.Event] = []
        self._random = random.Random(plan.seed)

    def write(self) -> RunDir:
        numbers = range(1, self._plan.steps + 1)
        names = tuple(f"{number:02}" for number in numbers)
        self._add(
            0,
            j.RunCreated(
                schema_version=j.SCHEMA_VERSION,
                pack_id=self.run.run_id,
                pack_path=self._plan.pack,
                pack_hash=self._pack_hash,
                git_sha=COMMIT,
                git_dirty=False,
                oraclepack_version="0.2.0",
                oracle_version="0.21.2",
                engine="api",
                settings={"max_parallel": 4, "output_verify": True},
                steps=names,
            ),
        )
        argv = ("run", self._plan.pack, "--max-parallel", "4")
        self._add(0.1, j.SessionStarted(pid=100, host="box", argv=argv))
        lanes = [1.0, 1.2, 1.4, 1.6]
        for number in numbers:
            lane = lanes.index(min(lanes))
            lanes[lane] = self._step(number, lanes[lane]) + 0.4
        last = max(lanes)
        if not self._plan.open:
            self._add(last, j.SessionFinished(exit_code=3 if self._plan.failed else 0))
        ordered = sorted(self._events, key=lambda event: event.at)
        write_journal(self.run.path, *ordered)
        return self.run

    def _step(self, number: int, start: float) -> float:
        plan, name = self._plan, f"{number:02}"
        slug, path, _ = QUESTIONS[(number - 1) % 20]
        logs: dict[str, Any] = {
            "stdout_log": f"logs/{name}.1.stdout.log",
            "stderr_log": f"logs/{name}.1.stderr.log",
        }
        self._add(start, j.StepStarted(step=name, attempt=1, command_hash=f"h{name}", **logs))
        end = self._call(number, start + 0.2, path)
        lines = "".join(f"step {name}: line {line}\n" for line in range(plan.log_lines))
        (self.run.path / logs["stdout_log"]).write_text(lines)
        if number in plan.open:
            return end
        declared = f"{OUT_DIR}/{name}-{slug}.md"
        failed = number in plan.failed
        verification: Verification | None = Verification(passed=True, checked=1)
        error = None
        if failed:
            verification = None
            error = StepError(code="AUTH", message="Incorrect API key provided: sk-****test.")
            (self.run.path / logs["stderr_log"]).write_text(f"oraclepack: AUTH: {error.message}\n")
        else:
            text = self._text(number)
            output = f"outputs/{name}-{slug}.md"
            (self.run.path / output).write_text(text)
            self._add(
                end,
                j.OutputRecorded(
                    step=name,
                    attempt=1,
                    path=output,
                    declared_path=declared,
                    sha256=sha256_text(text),
                    bytes=len(text.encode()),
                    from_cache=number in plan.cached,
                ),
            )
            if number in plan.cut:
                doubt = OutputDoubt(
                    path=declared,
                    code="cut_off",
                    message="its last line opens something it never closes",
                    line=12,
                )
                verification = Verification(passed=True, checked=1, doubts=(doubt,))
        status = Status.FAILED if failed else Status.OK
        self._add(
            end + 0.1,
            j.StepFinished(
                step=name,
                attempt=1,
                status=status,
                exit_code=int(failed),
                error=error,
                verification=verification,
                duration_ms=round((end - start) * 1000),
                attached={path: sha256_text((self._root / path).read_text())},
            ),
        )
        return end + 0.1

    def _text(self, number: int) -> str:
        text = self._plan.answers.get(number) or answer_text(number)
        return text[: text.index("Write a test") + 40] if number in self._plan.cut else text

    def _call(self, number: int, start: float, path: str) -> float:
        plan, name = self._plan, f"{number:02}"
        at: dict[str, Any] = {"step": name, "attempt": 1, "call": 1}
        asked: dict[str, Any] = {"tool": "oracle", "provider": "openai", "model": plan.model}
        sha = sha256_text((self._root / path).read_text())
        parts = {f"file:{path}": sha, "prompt": "0"}
        usage = Usage(
            input_tokens=5_000 + 37 * number,
            output_tokens=1_800 + 11 * number,
            cost=Decimal(plan.cost) + Decimal(number) / 100,
            cost_source=FigureSource.COMPUTED,
        )
        if number in plan.cached:
            hit: dict[str, Any] = {"cache": Cache.HIT, "saved": usage, "began_at": _at(plan, start)}
            self._add(start + 0.1, j.InvocationOutcome(**at, **asked, ok=True, **hit))
            return start + 0.2
        began: dict[str, Any] = {"began_at": _at(plan, start)}
        self._add(start + 0.1, j.InvocationIntent(**at, **asked, key_parts=parts, **began))
        now, tries = start + 0.1, 1
        if number % 6 == 0:
            self._wait(at, 1, Wait.SLOT, now, 8.0)
            now += 8.0
        self._add(now, j.TryStarted(**at, number=1))
        if number in plan.retried:
            limited = StepError(code="RATE_LIMITED", message="Rate limit reached", transient=True)
            self._add(now + 9, j.TryFinished(**at, number=1, ok=False, error=limited))
            self._wait(at, 2, Wait.RETRY, now + 9, 20.0)
            now, tries = now + 29, 2
            self._add(now, j.TryStarted(**at, number=2))
        if number in plan.open:
            return now + 30
        now += 20 + self._random.random() * 45
        failed = number in plan.failed
        error = StepError(code="AUTH", message="Incorrect API key") if failed else None
        self._add(now, j.TryFinished(**at, number=tries, ok=not failed, error=error))
        self._add(
            now + 0.05,
            j.InvocationOutcome(
                **at,
                **asked,
                ok=not failed,
                cache=Cache.MISS,
                attempts=tries,
                waited_ms=20_000 if tries > 1 else 0,
                usage=None if failed else usage,
                adopted=number in plan.adopted,
                error=error,
                **began,
            ),
        )
        return now + 0.2

    def _wait(self, at: dict[str, Any], number: int, why: Wait, start: float, long: float) -> None:
        self._add(start, j.WaitStarted(**at, wait=number, reason=why, seconds=long))
        self._add(start + long, j.WaitFinished(**at, wait=number))

    def _add(self, seconds: float, event: j.Event) -> None:
        self._events.append(msgspec.structs.replace(event, at=_at(self._plan, seconds)))


def _at(plan: Plan, seconds: float) -> str:
    time = plan.began + timedelta(seconds=seconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
