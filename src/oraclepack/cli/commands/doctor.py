"""`doctor`: what is installed, and what would not work."""

from oraclepack.app.doctor import examine
from oraclepack.cli.exit_codes import ExitCode
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply, Styled
from oraclepack.core.envelope import Failure
from oraclepack.core.health import Check, Health, Presence


@command(
    "doctor",
    data="doctor",
    timed=True,
    examples=("oraclepack doctor", "oraclepack doctor --json"),
)
def doctor() -> Reply:
    """Tell what is installed and what would not work.

    Asks each program for its version and times a login shell. Exit code 2 when bash is missing:
    nothing can be run without it. Every other program is optional.
    """
    health = examine()
    if health.usable:
        return Reply(data=health, text=_text(health))
    failure = Failure("ENVIRONMENT", "bash is missing", suggestion="install bash 4 or newer")
    return Reply(data=health, text=_text(health), exit_code=ExitCode.INVALID, error=failure)


def _text(health: Health) -> tuple[str | Styled, ...]:
    pieces: list[str | Styled] = [f"oraclepack {health.oraclepack}, Python {health.python}\n"]
    for check in health.programs:
        pieces += _lines(check)
    shell = health.login_shell
    if shell is not None:
        pieces.append(f"bash -lc true: {shell.login_ms} ms, bash -c true: {shell.plain_ms} ms\n")
        pieces += [f"  {shell.advice}\n"] if shell.advice else []
    return tuple(pieces)


def _lines(check: Check) -> list[str | Styled]:
    if check.status is Presence.OK:
        told = f" {check.name} {check.version} ({check.path})\n"
        return [Styled("ok     ", "green"), told]
    what = f" {check.name} {check.version or ''}".rstrip()
    return [
        Styled(f"{check.status.value:<7}", "yellow"),
        f"{what}: {check.problem}\n",
        f"          without it: {check.without}\n          to mend: {check.mend}\n",
    ]
