"""Data files that come with the program."""

import sys
from typing import Any


def shipped(package: str, name: str) -> bytes:
    """A file beside the modules of a loaded package.

    As `pkgutil.get_data`, whose module takes longer to load than the file.
    """
    home = sys.modules[package]
    loader: Any = home.__loader__
    data: bytes = loader.get_data(f"{home.__path__[0]}/{name}")
    return data
