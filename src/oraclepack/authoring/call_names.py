"""Calls that mean something wherever they stand: requests, checks and changes of files."""

import re

from oraclepack.authoring.source_facts import Mark

REQUESTS = {
    "Python": frozenset(
        {"requests.get", "requests.post", "requests.put", "requests.patch", "requests.delete"}
        | {"requests.request", "requests.head", "urlopen", "urllib.request.urlopen"}
        | {"request.urlopen", "socket.create_connection", "smtplib.SMTP", "smtplib.SMTP_SSL"}
        | {"http.client.HTTPConnection", "http.client.HTTPSConnection", "ftplib.FTP"}
        | {"imaplib.IMAP4", "imaplib.IMAP4_SSL"}
    ),
    "JavaScript": frozenset(
        {"fetch", "axios", "axios.get", "axios.post", "axios.put", "axios.delete", "got"}
        | {"http.get", "http.request", "https.get", "https.request", "net.connect"}
    ),
    "Go": frozenset(
        {"http.Get", "http.Post", "http.PostForm", "http.Head", "http.DefaultClient.Do"}
    ),
    "Rust": frozenset({"reqwest::get"}),
    "C": frozenset({"curl_easy_perform"}),
}
"""Requests over a network that wait for ever unless a limit is given, by language."""
REQUESTS["TypeScript"] = REQUESTS["JavaScript"]
REQUESTS["C++"] = REQUESTS["C"]
WAITING_PROCESSES = frozenset(
    {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
    | {"child_process.execSync", "child_process.spawnSync", "execSync", "spawnSync"}
)
FILE_CHANGES = frozenset(
    {"os.rename", "os.replace", "os.unlink", "os.remove", "os.rmdir", "os.truncate"}
    | {"shutil.rmtree", "shutil.move", "os.Rename", "os.Remove", "os.RemoveAll", "os.WriteFile"}
    | {"os.Create", "ioutil.WriteFile", "fs::write", "fs::rename", "fs::remove_file"}
    | {"std::fs::write", "std::fs::rename", "std::fs::remove_file", "File::create"}
    | {"File.write", "FileUtils.mv", "FileUtils.rm", "FileUtils.rm_rf", "File.rename"}
    | {"File.delete", "Files.write", "Files.move", "Files.delete", "unlink", "rename"}
)
"""Calls that change what is at a path. A directory made twice is an error, not damage."""
_OPENED = frozenset({"open", "io.open", "fopen"})
_FILE_METHODS = frozenset(
    {"write_text", "write_bytes", "unlink", "rmdir", "rename", "writeFile", "writeFileSync"}
    | {"appendFile", "appendFileSync", "unlinkSync", "renameSync", "rmSync"}
)
_FOR_WRITING = re.compile(r"[\"'][wax]b?\+?[\"']")
EXISTENCE = frozenset(
    {"os.path.exists", "os.path.isfile", "os.path.isdir", "fs.existsSync", "os.Stat", "access"}
    | {"File.exist?", "Files.exists"}
)
PLAIN_CALLS = FILE_CHANGES | _OPENED | EXISTENCE
"""Calls that are about their first argument, not about the object before the dot."""
_EXISTENCE_METHODS = frozenset({"exists", "is_file", "is_dir", "existsSync"})
EXIT_HANDLERS = frozenset(
    {"atexit.register", "signal.signal", "process.on", "addShutdownHook", "Signal.trap"}
    | {"at_exit", "signal.Notify", "sigaction", "atexit", "trap"}
    | {"Runtime.getRuntime.addShutdownHook", "().addShutdownHook"}
)


def label(name: str) -> str:
    """The name of a call as a question writes it, without what stands for an expression."""
    return name.removeprefix("().")


def method(name: str) -> str:
    """The last part of a dotted name."""
    return name.replace("::", ".").rpartition(".")[2]


def is_unlimited_request(language: str, call: Mark) -> bool:
    """Whether a call waits for another machine, as far as its own arguments say without a limit."""
    limits = {"kw:timeout", "kw:signal", "kw:**"}
    return call.name in REQUESTS.get(language, ()) and not limits & call.flags


def is_unlimited_process(call: Mark) -> bool:
    """Whether a call waits for a program that it starts, without a limit."""
    return call.name in WAITING_PROCESSES and not {"kw:timeout", "kw:**"} & call.flags


def is_file_change(call: Mark, line: str) -> bool:
    """Whether a call changes the file or directory that its first argument names."""
    if call.name in _OPENED:
        return _FOR_WRITING.search(line) is not None
    return call.name in FILE_CHANGES or (method(call.name) in _FILE_METHODS and "." in call.name)


def is_existence_check(call: Mark) -> bool:
    return call.name in EXISTENCE or (method(call.name) in _EXISTENCE_METHODS and "." in call.name)
