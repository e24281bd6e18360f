"""Calls that mean something wherever they stand: requests, processes, files, logs, dangers."""

import re
from collections.abc import Sequence

from oraclepack.authoring.question_candidate import listed
from oraclepack.authoring.source_facts import Mark

REQUESTS = frozenset(
    {"requests.get", "requests.post", "requests.put", "requests.patch", "requests.delete"}
    | {"requests.request", "requests.head", "urlopen", "urllib.request.urlopen", "httpx.get"}
    | {"httpx.post", "httpx.put", "httpx.request", "fetch", "axios.get", "axios.post", "axios"}
    | {"http.Get", "http.Post", "http.DefaultClient.Do", "reqwest::get", "Net::HTTP.get", "got"}
    | {"Net::HTTP.post", "HTTParty.get", "http.get", "https.get", "https.request", "http.request"}
    | {"socket.create_connection", "smtplib.SMTP", "curl"}
)
PROCESSES = frozenset(
    {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
    | {"subprocess.Popen", "os.system", "os.popen", "exec.Command", "child_process.exec"}
    | {"child_process.execSync", "child_process.spawnSync", "execSync", "spawnSync", "execFile"}
    | {"Command::new", "popen", "Open3.capture3", "Runtime.getRuntime.exec", "ProcessBuilder"}
)
WAITING_PROCESSES = frozenset(
    {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
    | {"child_process.execSync", "child_process.spawnSync", "execSync", "spawnSync"}
)
FILE_CHANGES = frozenset(
    {"os.rename", "os.replace", "os.unlink", "os.remove", "os.rmdir", "os.makedirs", "os.mkdir"}
    | {"os.symlink", "os.link", "os.truncate", "shutil.rmtree", "shutil.move", "shutil.copy"}
    | {
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.copy2",
        "os.Rename",
        "os.Remove",
        "os.RemoveAll",
    }
    | {"os.WriteFile", "os.Create", "os.MkdirAll", "os.OpenFile", "ioutil.WriteFile", "fs::write"}
    | {"fs::rename", "fs::remove_file", "std::fs::write", "File.write", "FileUtils.mv"}
    | {"FileUtils.rm", "FileUtils.rm_rf", "File.rename", "File.delete", "Files.write", "Files.move"}
    | {"Files.delete"}
)
_FILE_METHODS = frozenset(
    {"write_text", "write_bytes", "unlink", "rmdir", "touch", "symlink_to", "hardlink_to"}
    | {"writeFile", "writeFileSync", "appendFile", "appendFileSync", "unlinkSync", "renameSync"}
    | {"mkdirSync", "rmSync"}
)
EXISTENCE = frozenset(
    {"os.path.exists", "os.path.isfile", "os.path.isdir", "fs.existsSync", "os.Stat"}
)
_EXISTENCE_METHODS = frozenset({"exists", "is_file", "is_dir", "existsSync"})
SLEEPS = frozenset(
    {
        "time.sleep",
        "sleep",
        "time.Sleep",
        "thread::sleep",
        "Thread.sleep",
        "asyncio.sleep",
        "usleep",
    }
)
_LOG_METHODS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "Printf"}
    | {"Println", "Errorf", "Warn", "Info", "Error", "Fatal", "Fatalf", "trace", "fatal"}
)
_LOG_ROOTS = frozenset(
    {"log", "logger", "logging", "_logger", "_log", "LOG", "LOGGER", "console", "slog", "tracing"}
    | {
        "self.logger",
        "self.log",
        "self._logger",
        "Rails.logger",
        "app.logger",
        "current_app.logger",
    }
)
LOG_MACROS = frozenset({"error!", "warn!", "info!", "debug!", "trace!"})
DANGERS = {
    "eval": "evaluates text as code",
    "exec": "executes text as code",
    "pickle.load": "unpickles data",
    "pickle.loads": "unpickles data",
    "marshal.loads": "unmarshals data",
    "yaml.load": "loads YAML that can name Python types",
    "os.system": "hands a line to the shell",
    "os.popen": "hands a line to the shell",
    "tempfile.mktemp": "picks a temporary name that another process can take first",
    "mark_safe": "declares text to be safe HTML",
    "Markup": "declares text to be safe HTML",
    "template.HTML": "declares text to be safe HTML",
    "child_process.exec": "hands a line to the shell",
    "child_process.execSync": "hands a line to the shell",
    "execSync": "hands a line to the shell",
    "Marshal.load": "unmarshals data",
    "YAML.load": "loads YAML that can name Ruby types",
    "Function": "evaluates text as code",
    "vm.runInNewContext": "evaluates text as code",
    "vm.runInThisContext": "evaluates text as code",
}
_C_DANGERS = {
    "strcpy": "copies without a length",
    "strcat": "appends without a length",
    "sprintf": "formats without a length",
    "gets": "reads without a length",
}
"""Ruby and others have functions of these names that are harmless."""
_DANGER_METHODS = {"extractall": "unpacks an archive to the paths that it names itself"}
DATABASE_METHODS = frozenset({"execute", "executemany", "executescript", "fetchone", "fetchall"})
_DATABASE = re.compile(
    r"(?i)(?:^|[._])(?:\w*(?:cur|cursor|conn|connection|db|database|session|engine|tx|sql)\d?|c|con)$"
)
"""What queries are sent through."""
_PREPARING = re.compile(r"make_?dir|mkdir|MkdirAll|touch$|ensure_?[a-z]*dir|rmdir|remove_?dir")
MESSAGES = frozenset({"sys.exit", "click.echo", "parser.error", "console.error", "os.Exit", "die"})


def label(name: str) -> str:
    """The name of a call as a question writes it, without what stands for an expression."""
    return name.removeprefix("().").removeprefix("[].")


def listed_names(marks: Sequence[Mark]) -> str:
    """The names of some calls, for a question."""
    return listed([label(mark.name) for mark in marks])


def method(name: str) -> str:
    """The last part of a dotted name."""
    return name.replace("::", ".").rpartition(".")[2]


def root_of(name: str) -> str:
    return name.replace("::", ".").rpartition(".")[0]


def is_request(call: Mark) -> bool:
    return call.name in REQUESTS


def has_keyword(call: Mark, *names: str) -> bool:
    keywords = {f"kw:{name}" for name in names}
    return any(flag.partition("=")[0] in keywords for flag in call.flags) or "kw:**" in call.flags


def is_file_change(call: Mark) -> bool:
    if call.name in FILE_CHANGES:
        return True
    is_mode = call.name in {"open", "io.open"} and call.detail[:1] in {"w", "a", "x"}
    return is_mode or (method(call.name) in _FILE_METHODS and "." in call.name)


def is_preparation(call: Mark) -> bool:
    """Whether a change of files does no harm when it is made again, or was made for nothing."""
    return _PREPARING.match(method(call.name)) is not None


def is_existence_check(call: Mark) -> bool:
    return call.name in EXISTENCE or (method(call.name) in _EXISTENCE_METHODS and "." in call.name)


def is_log(call: Mark) -> bool:
    name = call.name
    if name in LOG_MACROS:
        return True
    root = root_of(name)
    known = root in _LOG_ROOTS or method(root) in _LOG_ROOTS
    return known and method(name) in _LOG_METHODS


def danger_of(call: Mark, language: str | None) -> str | None:
    """Why a call deserves suspicion; None for most."""
    if language in {"C", "C++"} and call.name in _C_DANGERS:
        return _C_DANGERS[call.name]
    if "kw:shell=True" in call.flags:
        return "hands a line to the shell"
    if call.name == "yaml.load" and has_keyword(call, "Loader"):
        return None
    if call.name in DANGERS:
        return DANGERS[call.name]
    return _DANGER_METHODS.get(method(call.name)) if "." in call.name else None


def is_slow(call: Mark) -> bool:
    """Whether a call leaves the process: a request, a program, a database."""
    outside = call.name in REQUESTS or call.name in PROCESSES
    is_query = method(call.name) in DATABASE_METHODS
    return outside or (is_query and _DATABASE.search(root_of(call.name)) is not None)
