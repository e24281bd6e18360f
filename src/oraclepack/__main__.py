"""The way in. `--version` and the root help are static: answered before anything is imported."""

import os
import sys

from oraclepack import __version__


def enter() -> None:
    """The installed program."""
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        sys.exit(code)
    # All is written and no thread of ours is left; taking the interpreter apart would cost a short
    # command a tenth of its time.
    os._exit(code)


def main() -> int:
    """Answer the command line of this process."""
    args = sys.argv[1:]
    if len(args) == 1 and args[0] in {"--version", "-h", "--help"} and sys.stdout:
        return _static(args[0])
    import gc  # noqa: PLC0415 - the static answers need none

    # Loading modules makes many objects and no garbage: looking for some would cost a tenth.
    gc.set_threshold(100_000, 20, 20)
    try:
        from contextlib import suppress  # noqa: PLC0415

        from oraclepack.kept_code import KeptCode  # noqa: PLC0415

        kept = KeptCode(sys.modules["oraclepack"])
        sys.meta_path.insert(0, kept)
        from oraclepack.cli.libraries import load_libraries  # noqa: PLC0415 - the point of this module

        load_libraries()
        from oraclepack.cli.main import main as answer  # noqa: PLC0415

        code = answer(args)
    except KeyboardInterrupt:
        # Only while modules load; from then on the boundary stands.
        return 130
    finally:
        # Nothing is left to find, and the interpreter's last look for it would cost a tenth more.
        gc.freeze()
    # All is said and done: whatever goes wrong now must change nothing for anybody.
    with suppress(Exception, KeyboardInterrupt):
        kept.keep()
    return code


def _static(asked: str) -> int:
    text = f"oraclepack {__version__}\n" if asked == "--version" else _root_help()
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except OSError as trouble:
        from oraclepack.cli.render import end_of_stdout  # noqa: PLC0415 - hardly ever

        return end_of_stdout(trouble)
    return 0


def _root_help() -> str:
    path = __file__.removesuffix("__main__.py") + "cli/root_help.txt"
    data: bytes = __loader__.get_data(path)  # type: ignore[name-defined]  # also from an archive
    return data.decode("utf-8")


if __name__ == "__main__":
    sys.exit(main())
