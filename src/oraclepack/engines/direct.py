"""The engine `direct`: a call of oracle is asked by ourselves over HTTP, without Node.

`ask_direct.py` is the program that sends the question. It prints and records what oracle would, so
that a try is gated, waited for, found again and judged as one of oracle.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from oraclepack.engines.dialects import Dialect
from oraclepack.engines.direct_request import (
    KEY_VARIABLE,
    REQUEST,
    DirectRequest,
    SentFile,
    direct_argv,
    direct_request,
)
from oraclepack.engines.engine import Caller, Ended, ToolRun, Try
from oraclepack.engines.oracle import OracleEngine
from oraclepack.engines.rehearsal import chosen_files
from oraclepack.engines.responses import TENANT
from oraclepack.errors import Refusal
from oraclepack.system import files
from oraclepack.tools.oracle_attachments import AttachedFile
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import ApiRoute, api_route
from oraclepack.tools.tool_names import ORACLE

_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})


def direct_route(
    question: OracleQuestion, model: str, around: OracleContext, environment: Mapping[str, str]
) -> ApiRoute:
    """As oracle's, with the address at which a response can be asked for again."""
    route = api_route(question, model, around, environment)
    request = direct_request(question, model, route, around, environment)
    address = "" if isinstance(request, Refusal) or not request.background else request.address
    return replace(route, responses=address)


class DirectEngine(OracleEngine):
    """An `Engine`: one request, sent by a program of ours in a process of its own."""

    route = staticmethod(direct_route)

    def read_files(self, caller: Caller) -> Sequence[AttachedFile] | Refusal:
        """Patterns are read by oracle's rules, as in a rehearsal: oracle need not be there."""
        return chosen_files(caller)

    def ask(self, caller: Caller, once: Try) -> Ended:
        """Not without a key, which costs nothing to find out."""
        question, request = caller.question, asked_by(caller, once)
        is_local = (
            isinstance(request, DirectRequest) and urlsplit(request.address).hostname in _LOCAL
        )
        if question.api_key or is_local or question.route is None or isinstance(request, Refusal):
            return super().ask(caller, once)
        message = f"there is no key for {request.address}: set {' or '.join(question.route.keys)}"
        return Ended(failure=Failure("AUTH", FailureClass.FINAL, message), exit_code=1)

    def order(self, caller: Caller, once: Try) -> ToolRun | Refusal:
        """Write the request down; the program that sends it."""
        request = asked_by(caller, once)
        if isinstance(request, Refusal):
            return request
        files.write_atomic(
            once.folder.path / REQUEST, msgspec.json.encode(request), mode=files.PRIVATE_FILE
        )
        program, *words = direct_argv(once.folder.path)
        question = caller.question
        named = {name: question.environment.get(name, "") for name in TENANT}
        env = {**question.env, **named, KEY_VARIABLE: question.api_key}
        return ToolRun(ORACLE, tuple(words), question.cwd, env, program=program)


def asked_by(caller: Caller, once: Try) -> DirectRequest | Refusal:
    """The request of a try."""
    question = caller.question
    if question.route is None or question.output is None:
        return Refusal("--engine direct needs --write-output, and asks over an API only")
    if question.asked.files and not question.attached:
        listed = chosen_files(caller)
        reason = listed.reason if isinstance(listed, Refusal) else "they change all the time"
        return Refusal(f"its files cannot be sent: {reason}")
    request = direct_request(
        question.asked,
        resolve_model(question.model) or "",
        question.route,
        question.around,
        question.environment,
    )
    if isinstance(request, Refusal):
        return request
    return replace(
        request,
        output=str(once.folder.place(question.output)),
        session=once.folder.path.name,
        files=tuple(SentFile(path, sha256) for path, sha256 in question.attached),
        seconds=once.timeout or request.seconds,
        background=request.background and request.dialect is Dialect.RESPONSES,
    )
