"""The entry point. `--version` and the root help are static: printed before other imports."""

import gc
import sys

from oraclepack import __version__

_VALUES_BETWEEN_COLLECTIONS = 200_000


def main() -> int:
    """Answer the command line of this process."""
    args = sys.argv[1:]
    if len(args) == 1 and args[0] in {"--version", "-h", "--help"} and sys.stdout:
        return _static(args[0])
    # Imports and commands make many values and few circles: looking for circles less often saves
    # time.
    gc.set_threshold(_VALUES_BETWEEN_COLLECTIONS)
    try:
        from oraclepack.cli.error_boundary import run

        return run(args, is_process=True)
    except KeyboardInterrupt:
        # Only while modules are imported; afterwards the error boundary handles it.
        return 130


def _static(argument: str) -> int:
    text = f"oraclepack {__version__}\n" if argument == "--version" else _root_help()
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except OSError as trouble:
        from oraclepack.cli.render import end_of_stdout

        return end_of_stdout(trouble)
    return 0


def _root_help() -> str:
    path = __file__.removesuffix("__main__.py") + "cli/root_help.txt"
    data: bytes = __loader__.get_data(path)  # type: ignore[name-defined]  # also from an archive
    return data.decode("utf-8")


if __name__ == "__main__":
    sys.exit(main())
