"""oraclepack: packs of hard questions in, verified answers and planned work out.

    import oraclepack

    outcome = oraclepack.run_pack("docs/pack.md")
    print(outcome.report.status)

The names of `__all__` are for programs; the command line, the screens and the MCP server call the
same functions. Each is imported on its first use (PEP 562): nobody needs all of them, and together
they take a third of a second. What cannot be done raises an `OraclePackError` that says what
happened and what to do.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from oraclepack.authoring.generate import GenerateRequest as GenerateRequest
    from oraclepack.authoring.generate import generate as generate_pack
    from oraclepack.errors import OraclePackError as OraclePackError
    from oraclepack.lint.validate import validate_packs as validate_packs
    from oraclepack.pack.pack_files import read_pack as load_pack
    from oraclepack.pipeline.run_pipeline import PipelineRequest as PipelineRequest
    from oraclepack.pipeline.run_pipeline import run_pipeline as run_pipeline
    from oraclepack.run.accept import accept_outputs as accept_outputs
    from oraclepack.run.entry_points import plan_run as plan_run
    from oraclepack.run.entry_points import run_pack as run_pack
    from oraclepack.run.explain_steps import explain_step as explain_step
    from oraclepack.run.plan_costs import forecast_run as forecast_run
    from oraclepack.run.planning.selection import RunArguments as RunArguments
    from oraclepack.run.project_records import ProjectRuns as ProjectRuns
    from oraclepack.run.run_display import Display as Display
    from oraclepack.run.single_call import SingleQuestion as SingleQuestion
    from oraclepack.run.single_call import ask_question as ask_question
    from oraclepack.run.start_run import start_run as start_run
    from oraclepack.run.verify_outputs import verify_outputs as verify_outputs
    from oraclepack.settings.loading import load_settings as load_settings
    from oraclepack.shell.attempt import StopLevel as StopLevel
    from oraclepack.shell.stop import Stop as Stop
    from oraclepack.view.past_runs import list_packs as list_packs
    from oraclepack.view.report.diff import diff_runs as diff_runs
    from oraclepack.view.report.write import read_run as read_run
    from oraclepack.view.report.write import write_report as write_report
    from oraclepack.view.step_listing import list_steps as list_steps
    from oraclepack.work.actionize import actionize_and_weigh as actionize_run

_HOMES = {
    "Display": "oraclepack.run.run_display:Display",
    "GenerateRequest": "oraclepack.authoring.generate:GenerateRequest",
    "OraclePackError": "oraclepack.errors:OraclePackError",
    "PipelineRequest": "oraclepack.pipeline.run_pipeline:PipelineRequest",
    "ProjectRuns": "oraclepack.run.project_records:ProjectRuns",
    "RunArguments": "oraclepack.run.planning.selection:RunArguments",
    "SingleQuestion": "oraclepack.run.single_call:SingleQuestion",
    "Stop": "oraclepack.shell.stop:Stop",
    "StopLevel": "oraclepack.shell.attempt:StopLevel",
    "accept_outputs": "oraclepack.run.accept:accept_outputs",
    "actionize_run": "oraclepack.work.actionize:actionize_and_weigh",
    "ask_question": "oraclepack.run.single_call:ask_question",
    "diff_runs": "oraclepack.view.report.diff:diff_runs",
    "explain_step": "oraclepack.run.explain_steps:explain_step",
    "forecast_run": "oraclepack.run.plan_costs:forecast_run",
    "generate_pack": "oraclepack.authoring.generate:generate",
    "list_packs": "oraclepack.view.past_runs:list_packs",
    "list_steps": "oraclepack.view.step_listing:list_steps",
    "load_pack": "oraclepack.pack.pack_files:read_pack",
    "load_settings": "oraclepack.settings.loading:load_settings",
    "plan_run": "oraclepack.run.entry_points:plan_run",
    "read_run": "oraclepack.view.report.write:read_run",
    "run_pack": "oraclepack.run.entry_points:run_pack",
    "run_pipeline": "oraclepack.pipeline.run_pipeline:run_pipeline",
    "start_run": "oraclepack.run.start_run:start_run",
    "validate_packs": "oraclepack.lint.validate:validate_packs",
    "verify_outputs": "oraclepack.run.verify_outputs:verify_outputs",
    "write_report": "oraclepack.view.report.write:write_report",
}

__all__ = ["__version__", *_HOMES]


if not TYPE_CHECKING:  # with a `__getattr__` a type checker would accept every name

    def __getattr__(name: str) -> object:
        """Load a public name on its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        value = globals()[name] = getattr(import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
