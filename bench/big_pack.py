"""A pack as long as the longest real ones: 20 steps, 80 calls, about 4,300 lines."""

SECTIONS = ("direct-answer", "risks-unknowns", "next-experiment", "missing-evidence")
WORDS = (
    "cache",
    "lock",
    "queue",
    "parser",
    "schema",
    "index",
    "token",
    "ledger",
    "report",
    "worker",
)
LINES = 42
"""Of prose in each prompt, so that the whole comes to the length of a real pack."""


def big_pack() -> str:
    steps = "\n".join(_step(number) for number in range(1, 21))
    prelude = 'set -euo pipefail\nout_dir=docs/answers\nmkdir -p "$out_dir"\n'
    return f"# A long pack\n\n```bash\n{prelude}\n{steps}```\n"


def _step(number: int) -> str:
    head = (
        f"# {number:02}) ROI={21 - number}.0 impact={21 - number} confidence=1.0 effort=1"
        f" horizon=Immediate category=invariants reference=src/part{number}.py\n"
        f"files=(-f src/part{number}.py)\n"
        f'while IFS= read -r near; do\n  files+=(-f "$near")\ndone < <(ls src/part{number}_*.py)\n'
    )
    return head + "".join(_call(number, section) for section in SECTIONS)


def _call(number: int, section: str) -> str:
    prose = "\n".join(_sentence(number * 100 + line) for line in range(LINES))
    asked = section.replace("-", " ")
    return (
        "\noracle \\\n  --files-report \\\n"
        f'  --write-output "$out_dir/{number:02}-part-{section}.md" \\\n  "${{files[@]}}" \\\n'
        f"  -p \"$(cat <<'PROMPT'\n{prose}\n\nReturn only: {asked}\nPROMPT\n)\"\n"
    )


def _sentence(seed: int) -> str:
    first, second = WORDS[seed % len(WORDS)], WORDS[(seed // 7) % len(WORDS)]
    return f"Does the {first} of part {seed} still hold when the {second} fails under load?"
