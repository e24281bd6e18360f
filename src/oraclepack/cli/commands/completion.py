"""`completion`: a script that teaches a shell our commands, options and files."""

import click

from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply

SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    data="completion",
    reads_config=False,
    examples=(
        'eval "$(oraclepack completion bash)"   # in ~/.bashrc',
        'eval "$(oraclepack completion zsh)"    # in ~/.zshrc',
        "oraclepack completion fish > ~/.config/fish/completions/oraclepack.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> Reply:
    """Print a shell completion script."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only here

    from oraclepack.settings.loading import COMPLETION_VARIABLE  # noqa: PLC0415

    kind = get_completion_class(shell)
    assert kind is not None, f"click does not complete in {shell}"
    # Not source(): for bash that would start a bash only to look at its version.
    speaker = kind(click.Command("oraclepack"), {}, "oraclepack", COMPLETION_VARIABLE)
    script = kind.source_template % speaker.source_vars()
    return Reply(data={"shell": shell, "script": script}, text=script)
