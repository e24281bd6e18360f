"""Scores the comparison of statements on the labelled pairs: `python -m tests.work.score`."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from oraclepack.work.compare import Relation, relate, statement_of

PAIRS = Path(__file__).parent / "pairs.jsonl"


@dataclass(frozen=True)
class Pair:
    """Two statements and how they stand to each other, as a person labelled them."""

    id: str
    label: Relation
    a: str
    b: str

    @property
    def found(self) -> Relation:
        return relate(statement_of(self.a), statement_of(self.b))


@dataclass(frozen=True)
class Figures:
    """How well one relation is found."""

    relation: Relation
    hits: int
    found: int
    labelled: int

    @property
    def precision(self) -> float:
        return self.hits / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.hits / self.labelled if self.labelled else 1.0

    def __str__(self) -> str:
        return (
            f"{self.relation:<10} precision {self.precision:.2f} ({self.hits}/{self.found})"
            f"  recall {self.recall:.2f} ({self.hits}/{self.labelled})"
        )


def pairs() -> list[Pair]:
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [Pair(row["id"], Relation(row["label"]), row["a"], row["b"]) for row in rows]


def figures(relation: Relation, judged: list[tuple[Pair, Relation]]) -> Figures:
    return Figures(
        relation,
        hits=sum(pair.label is found is relation for pair, found in judged),
        found=sum(found is relation for _, found in judged),
        labelled=sum(pair.label is relation for pair, _ in judged),
    )


def main() -> int:
    judged = [(pair, pair.found) for pair in pairs()]
    lines = [f"{len(judged)} pairs"]
    lines += [str(figures(r, judged)) for r in (Relation.DUPLICATE, Relation.CONFLICT)]
    missed = [(pair, found) for pair, found in judged if pair.label is not found]
    lines.append(f"{len(missed)} misses:")
    for pair, found in missed:
        lines += [f"  {pair.id} {pair.label}, found {found}", f"    {pair.a}", f"    {pair.b}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
