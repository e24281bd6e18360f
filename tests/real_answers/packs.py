"""Steps that ask the real oracle."""

from tests.e2e.calls.office import step

API = '--engine api --base-url "$BASE_URL"'


def asking(number: int, prompt: str, *more: str, model: str = "gpt-5.2") -> str:
    """A step with one question; its answer goes to `out/NN.md`."""
    words = " ".join(more)
    output = f"out/{number:02}.md"
    return step(number, f'oracle {API} -m {model} -p "{prompt}" {words} --write-output {output}')
