"""File names that look as if a secret were inside."""

_NAMES = frozenset(
    {
        ".env",
        ".envrc",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
        ".git-credentials",
        "kubeconfig",
    }
)
_BEGINNING = ".env."
_ENDINGS = (
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ovpn",
    ".tfstate",
)
_TELLING = ("credential", "secret", "password")
"""Words that also occur in the names of harmless source files and documents."""
_TELLING_BEGINNINGS = ("service-account", "service_account")
_DATA = frozenset(
    {"", "cfg", "conf", "csv", "env", "ini", "json", "properties", "toml", "txt", "xml", "yaml"}
    | {"yml"}
)
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube"})
_HARMLESS = ("example", "sample", "template", "dummy", "schema", ".dist", ".pub", "defaults")


def looks_secret(path: str) -> bool:
    """A path, or a pattern for paths, that seems to name a secret."""
    *folders, name = path.lower().rstrip("/").split("/")
    if any(word in name for word in _HARMLESS):
        return False
    if _FOLDERS & set(folders):
        return True
    # `.env*` stands for `.env` too.
    plain = name.rstrip("*")
    if any(map(_is_secret, (name, plain))):
        return True
    stem, dot, extension = plain.rpartition(".")
    telling = plain.startswith(_TELLING_BEGINNINGS) or any(word in plain for word in _TELLING)
    return telling and (extension if dot and stem else "") in _DATA


def _is_secret(name: str) -> bool:
    return name in _NAMES or name.startswith(_BEGINNING) or name.endswith(_ENDINGS)
