"""What answers of each model were like on this machine: tokens and seconds, for forecasts.

The user's store has a row for each answer. It only helps to forecast, so failing to read or to
write it is not an error.
"""

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec.structs import astuple

from oraclepack.errors import OraclePackError
from oraclepack.store.database import Cursor, Database, Row
from oraclepack.system.digests import sha256_text

_MOST = 1000
"""Answers of a model that are remembered."""
_LATEST = 200
"""Answers of a model that a forecast considers."""
_ALIKE = 4.0
"""Questions are of similar size while neither has more than so many times the tokens."""


class AnswerFigures(msgspec.Struct, frozen=True):
    """One answer: its model as oracle resolves it, its tokens, and how long it took."""

    model: str
    output_tokens: int
    seconds: float
    input_tokens: int | None = None
    project: str = ""
    """Which project asked: a hash of its root, so that no path is kept here."""


class AnswerHistory:
    """Past answers, for those to come."""

    def __init__(self, figures: Sequence[AnswerFigures] = (), project: str = "") -> None:
        self._figures, self._project = figures, project

    def like(self, model: str, input_tokens: int | None) -> Sequence[AnswerFigures]:
        """The latest answers of the model to questions of similar size, of this project if any.

        Where the size is not known, answers to questions of any size.
        """
        similar = [
            one
            for one in self._figures
            if one.model == model and _is_similar(one.input_tokens, input_tokens)
        ]
        own = [one for one in similar if one.project == self._project]
        return (own or similar)[-_LATEST:]


def _is_similar(one: int | None, other: int | None) -> bool:
    if other is None:
        return True
    return one is not None and max(one, other) <= _ALIKE * max(min(one, other), 1)


def project_mark(root: Path) -> str:
    """What the history knows a project by."""
    return sha256_text(os.path.realpath(root))[:16]


def note_answer(database: Database, figures: AnswerFigures) -> None:
    """Remember an answer; of each model the latest thousand or so."""

    def work(cursor: Cursor) -> None:
        cursor.execute("insert into answer_figures values (%s, %s, %s, %s, %s)", astuple(figures))
        cursor.execute(
            "delete from answer_figures where model = %s and rowid <= (select rowid from"
            " answer_figures where model = %s order by rowid desc limit 1 offset %s)",
            (figures.model, figures.model, _MOST),
        )

    with suppress(OraclePackError):
        database.transaction(work)


def answer_history(root: Path, database: Database | None) -> AnswerHistory:
    """The answers that are remembered, for a project; none without a store."""
    rows: list[Row] = []
    if database is not None:
        with suppress(OraclePackError), closing(database):
            rows = database.rows(
                "select model, output_tokens, seconds, input_tokens, project from answer_figures"
                " order by rowid"
            )
    return AnswerHistory([AnswerFigures(*row) for row in rows], project_mark(root))
