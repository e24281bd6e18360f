"""The key of a call of oracle: everything that decides its answer, and nothing else."""

from collections.abc import Iterable

from oraclepack.core.invocation_key import InvocationKey, NoKey
from oraclepack.system.digests import sha256_text
from oraclepack.system.printable import readable
from oraclepack.system.text_limits import regex
from oraclepack.tools.oracle_config import Surroundings
from oraclepack.tools.oracle_question import Question
from oraclepack.tools.providers import config_part, engine_of, model_of

_MAKES_IMAGES = ("--generate-image", "--edit-image", "--aspect")
_LOGIN = regex(r"//[^/@]*@")


def unkeyed(question: Question) -> NoKey | None:
    """Why a question has no key whatever its files are."""
    if not question.prompt:
        return NoKey("there is no prompt")
    if question.models:
        return NoKey("several models answer at once")
    if question.output is None:
        return NoKey("there is no --write-output: the answer goes to the screen only")
    if question.flags.keys() & set(_MAKES_IMAGES):
        return NoKey("the answer is an image")
    if "--exec-session" in question.flags:
        return NoKey("it continues a stored session")
    return None


def key_of(
    question: Question, attached: Iterable[tuple[str, str]], around: Surroundings
) -> InvocationKey | NoKey:
    """The key, from the question, the (path, SHA-256) of its files, and what stands around it."""
    reason = unkeyed(question)
    if reason is not None:
        return reason
    parts = {"prompt": sha256_text(question.prompt), "engine": engine_of(question, around)}
    parts |= {f"file:{path}": digest for path, digest in attached}
    parts["model"] = model_of(question, around) or "the tool's own choice"
    for name, values in question.flags.items():
        parts[f"flag:{name}"] = _LOGIN.sub("//", ",".join(values))
    for name, value in around.variables.items():
        parts[f"variable:{name}"] = _LOGIN.sub("//", value)
    config = config_part(around)
    if config is not None:
        parts["config"] = config
    return InvocationKey.of({readable(k): readable(v) for k, v in sorted(parts.items())})
