"""Pages as HTML: templates with everything escaped, one style and one script, allowed by hash."""

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from oraclepack.system.files import shipped
from oraclepack.system.printable import one_line, quantity, visible
from oraclepack.view.report import figures, page_views
from oraclepack.view.report.answer_html import CitationLinks, render_answer
from oraclepack.view.report.data import ReportData
from oraclepack.view.report.timeline import described, timeline

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = "templates"


def run_page(data: ReportData) -> str:
    """The report of one run: one file that needs nothing else."""
    view = page_views.view_of(data)
    return render(
        "run_page.html",
        title=f"{data.pack_path or data.run_id} – report",
        view=view,
        data=data,
        timeline=safe_drawing(timeline(data.steps)),
    )


def render(template: str, *, title: str, **values: object) -> str:
    """A page of ours, with its style and its script."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_hash(style)}'",
            f"script-src 'sha256-{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = _environment().get_template(template)
    return page.render(
        title=title, policy=policy, style=_safe(style), script=_safe(script), **values
    )


@cache
def _asset(name: str) -> str:
    return shipped("oraclepack.view.report", f"{_FOLDER}/{name}").decode()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def safe_drawing(svg: str) -> Any:  # noqa: ANN401 - as below
    """A drawing of ours, every text in it escaped."""
    return _safe(svg)


def _safe(text: str) -> Any:  # noqa: ANN401 - markupsafe is loaded with jinja2
    """A text that is HTML already: style, script, drawings and cleaned answers."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - of our own making, or cleaned


def _markdown(text: str) -> Any:  # noqa: ANN401 - as above
    """A piece of an answer, rendered and cleaned."""
    return _safe(render_answer(text, "", CitationLinks(), plain=False).html)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_asset),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )
    environment.filters |= {
        "duration": figures.duration,
        "size": figures.size,
        "moment": figures.moment,
        "amount": figures.amount,
        "cost": figures.cost_cell,
        "tokens": figures.tokens,
        "line": one_line,
        "rendered": _safe,
        "state": page_views.state_words,
        "markdown": _markdown,
        "words": lambda text: str(text).replace("_", " "),
    }
    environment.globals |= {
        "count": quantity,
        "described": described,
        "counted_states": page_views.counted_states,
        "question_id": page_views.question_id,
        "task_anchor": page_views.task_anchor,
    }
    return environment


def _printable(value: object) -> object:
    """Text from outside loses what steers a screen; it is escaped after this."""
    return visible(value) if type(value) is str else value
