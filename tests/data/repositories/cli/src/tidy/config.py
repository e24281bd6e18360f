"""Settings from a file and the environment."""

import os
import tomllib
import warnings

try:
    import yaml
except ImportError:
    yaml = None

_HOME = "TIDY_HOME"


def config_path(name):
    """Where a configuration is looked for."""
    home = os.environ.get("TIDY_HOME", "~/.tidy")
    if os.path.exists(name):
        return name
    return os.path.join(os.path.expanduser(home), name)


def load_config(name):
    """The settings of a file."""
    path = config_path(name)
    if name.endswith(".yaml"):
        if yaml is None:
            raise ValueError("install PyYAML to read this file")
        with open(path, encoding="utf-8") as stream:
            return yaml.load(stream)
    try:
        with open(path, "rb") as stream:
            found = tomllib.load(stream)
    except OSError:
        return {}
    if "version" in found and found["version"] > 2:
        raise ValueError("the configuration is of a newer release")
    if "patterns" in found:
        warnings.warn("patterns is deprecated, write rules", DeprecationWarning, stacklevel=2)
        found["rules"] = found.pop("patterns")
    if "rules" not in found:
        raise ValueError("the configuration has no rules")
    return found


def state_path():
    """Where the last sorting is remembered."""
    return os.path.join(os.environ.get("TIDY_HOME", "/var/lib/tidy"), "last.json")


def is_verbose():
    """Whether to say more."""
    return os.environ.get("TIDY_VERBOSE", "0") == "1"
