"""Commands of the user that run after a sorting."""

import subprocess

from tidy.config import load_config


def run_hook(config, moved):
    """Run the user's command for each file that was moved."""
    command = load_config(config).get("after", "")
    if not command:
        return 0
    for name, target in moved:
        subprocess.run(command.replace("{}", target), shell=True, timeout=60)
    return len(moved)
