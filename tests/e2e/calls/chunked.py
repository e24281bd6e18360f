"""A pack as people write them for tickets: each question in four calls, its files chosen late."""

PARTS = {
    "direct-answer": "Direct answer",
    "risks-unknowns": "Risks and unknowns",
    "next-experiment": "Next experiment",
    "missing-evidence": "Missing evidence",
}
PRELUDE = """set -euo pipefail
out_dir="answers/grouped"
mkdir -p "$out_dir"
group() { # the tickets of a group, as arguments
  local name
  while IFS= read -r name; do printf -- '-f\\n%s\\n' "$name"; done < <(
    python3 -c 'import glob, sys; print(*sorted(glob.glob(sys.argv[1])), sep="\\n")' "$1"
  )
}
"""


def chunked_bash(steps: int = 20) -> str:
    """Four calls a step; only the running shell knows which tickets they attach."""
    return PRELUDE + "".join(map(_step, range(1, steps + 1)))


def tickets(steps: int = 20) -> dict[str, str]:
    """Two tickets for each step, by path."""
    return {
        f".tickets/g{number:02}-{which}.md": f"# Ticket {number}{which}\n\n- [ ] Mend it.\n"
        for number in range(1, steps + 1)
        for which in "ab"
    }


def _step(number: int) -> str:
    head = (
        f"# {number:02}) ROI={30 - number} impact=5 confidence=0.8 effort=2 horizon=Immediate"
        f" category=invariants reference=.tickets/g{number:02}-a.md\n"
        f"mapfile -t ticket_args < <(group '.tickets/g{number:02}-*.md')\n"
    )
    return head + "".join(_call(number, name, title) for name, title in PARTS.items())


def _call(number: int, name: str, title: str) -> str:
    return (
        f"prompt=$(cat <<'PROMPT'\nWhat do the tickets of group {number} ask for?\n"
        f"# 01) is no header here, and `this` is no command.\nReturn only: {title}\nPROMPT\n)\n"
        'oracle -m gpt-5.2 -p "$prompt" "${ticket_args[@]}" '
        f'--write-output "$out_dir/{number:02}-group-{name}.md"\n'
    )
