"""File names that look as if a secret were inside."""

from fnmatch import fnmatchcase

_ALWAYS = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ovpn",
    "*.tfstate",
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
)
_TELLING = ("*credential*", "*secret*", "*password*", "service-account*", "service_account*")
"""Words that also occur in the names of harmless source files and documents."""
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
    if any(fnmatchcase(form, known) for form in (name, plain) for known in _ALWAYS):
        return True
    stem, dot, extension = plain.rpartition(".")
    telling = any(fnmatchcase(plain, known) for known in _TELLING)
    return telling and (extension if dot and stem else "") in _DATA
