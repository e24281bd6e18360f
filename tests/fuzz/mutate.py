"""Damages packs, by the byte and by the grammar, the same way for the same seed."""

import random
from collections.abc import Callable, Sequence

WORDS = (
    *b"""\
```bash
```
~~~bash
~~~
````
    ```bash
> ```bash
- ```bash
# 01) x
# 02) ROI=4.0 category=invariants
# 1) y
# 03 - z
#04)
# 100) far
# ROI: 4.2
# oraclepack: allow OP402 because
# oraclepack: outputs=a.md,b.json
oracle -p x
  -p "y"
--write-output ../x.md
-f src/**
npx -y @steipete/oracle -p
oracle() { :; }
env A=1 timeout 5 oracle -p z
codex exec -o out.md
tm parse-prd
<<'EOF'
<<EOF
<<-EOF
EOF
PROMPT
cat <<A <<B
$(
)"
)
(
((
{
}
${
${x[@]}
if true; then
fi
case x in
esac
for i in
done
\\
\\\\
'
"
`
$'\\x41'
|
|&
&
;;
>
> $x
>&-
[[ a =~ (b ]]
coproc x
[oraclepack-meta]
[/oraclepack-meta]
QuestionId: 1
ExpectedArtifacts:
## Coverage check
- invariants: Missing(01,02)
out_dir=docs/x
{{placeholder}}
<script>
&amp;
<!--
-->
shopt -s extglob
""".splitlines(),
    b"\r",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\t",
    b"\x0c",
    b"\x1b[31m",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x90\x8d",
)
"""What a pack is made of, and what packs break on."""

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def mutate(seed: int, packs: Sequence[bytes]) -> bytes:
    """A pack with one to eight faults."""
    chance = random.Random(seed)
    text = chance.choice(packs)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        text = chance.choice(MUTATIONS)(text, chance, packs)
    return text


def _slice(text: bytes, chance: random.Random, longest: int = 400) -> tuple[int, int]:
    start = chance.randint(0, len(text))
    return start, min(len(text), start + chance.randint(1, longest))


def change_a_byte(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, _end = _slice(text, chance)
    return text[:start] + bytes([chance.randrange(256)]) + text[start + 1 :]


def flip_a_bit(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    if not text:
        return text
    at = chance.randrange(len(text))
    # The top bit stays, so that most results are still text.
    return text[:at] + bytes([text[at] ^ (1 << chance.randrange(7))]) + text[at + 1 :]


def lose_a_slice(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _slice(text, chance)
    return text[:start] + text[end:]


def repeat_a_slice(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _slice(text, chance)
    return text[:end] + text[start:end] * chance.choice((1, 1, 2, 30)) + text[end:]


def move_a_slice(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _slice(text, chance)
    rest = text[:start] + text[end:]
    at = chance.randint(0, len(rest))
    return rest[:at] + text[start:end] + rest[at:]


def cut_off(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    at = chance.randint(0, len(text))
    return text[:at] if chance.random() < 0.8 else text[at:]


def graft(text: bytes, chance: random.Random, packs: Sequence[bytes]) -> bytes:
    other = chance.choice(packs)
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def insert_a_word(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(WORDS) + text[at:]


def insert_a_line(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    lines.insert(chance.randint(0, len(lines)), chance.choice(WORDS))
    return b"\n".join(lines)


def lose_a_line(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def swap_lines(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def repeat_a_line(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at:at] = [lines[at]] * chance.choice((1, 1, 2, 100))
    return b"\n".join(lines)


def join_lines(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at : at + 2] = [b" ".join(lines[at : at + 2])]
    return b"\n".join(lines)


def indent_lines(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    start = chance.randrange(len(lines))
    margin = chance.choice((b" ", b"    ", b"\t", b"> ", b"- "))
    for at in range(start, min(len(lines), start + chance.choice((1, 3, 1000)))):
        lines[at] = margin + lines[at]
    return b"\n".join(lines)


def lose_a_backslash(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    places = [at for at in range(len(text)) if text[at : at + 2] == b"\\\n"]
    if not places:
        return text
    at = chance.choice(places)
    return text[:at] + chance.choice((b"", b" # why", b"\\ ", b"\r")) + text[at + 1 :]


def nest(text: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    opening, closing = chance.choice(((b"$(", b")"), (b"{", b"}"), (b"((", b"))"), (b"[", b"]")))
    at = chance.randint(0, len(text))
    depth = chance.choice((2, 20, 300))
    return text[:at] + opening * depth + b"x" + closing * depth + text[at:]


MUTATIONS: tuple[Mutation, ...] = (
    change_a_byte,
    flip_a_bit,
    flip_a_bit,
    lose_a_slice,
    repeat_a_slice,
    move_a_slice,
    cut_off,
    graft,
    insert_a_word,
    insert_a_word,
    insert_a_line,
    insert_a_line,
    lose_a_line,
    swap_lines,
    repeat_a_line,
    join_lines,
    indent_lines,
    lose_a_backslash,
    nest,
)
"""Bytes first, then the grammar of Markdown, bash and packs."""
