"""Titles: a whole clause of at most 80 characters, made of the words of a unit.

The label is stripped, commands and patterns are left out, and where the clause names nothing of
the code, the symbol or file that it is about follows in brackets.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from oraclepack.answers.sentences import masked, sentence_spans
from oraclepack.system.printable import one_line
from oraclepack.work.command_lines import commands_in, is_command, is_search
from oraclepack.work.imperatives import starts_imperative
from oraclepack.work.mentions import symbols_in
from oraclepack.work.unit_claims import ClaimText, defect_clause, imperative_clauses

LONGEST = 80
_LEAST = 20
_BOLD = re.compile(r"(?<![\w/*.])(\*\*|__|\*)(?=[^\s*/.])(?P<text>[^*]+?)(?<=[^\s*/])\1(?![\w/*])")
_STRONG = re.compile(
    r"\s*[;—–]\s|(?<!\.)\.\s|:\s|,?\s+(?:because|so|since|which|whereas|while|rather than"
    r"|instead of|to avoid|to prevent|even if|even though|otherwise|unless|although)\b|,\s+(?:as"
    r"|but|and|then|not|with|where|even)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r",\s|\s+(?:and|or)\b", re.IGNORECASE)
_MEDIUM = re.compile(
    r"\s+(?:but|then|when|if|via|by|with|without|where|until|before|after|during|plus|that|so|as"
    r"|regardless of|depending on|based on|(?<!rather\s)than)\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\s+(?:in|for|to|on|from|of|across|under|inside|into|at|between|against|over)\b", re.IGNORECASE
)
_DANGLING = re.compile(
    r"(?:[\s,;:(\[{—–&/+-]+|\s+(?:and|or|but|nor|the|a|an|of|to|in|with|for|from|that|because"
    r"|which|whose|if|is|are|was|were|be|by|as|at|on|into|than|when|while|where|whether|its|their"
    r"|your|any|each|every|some|not|no|either|both|e\.g|i\.e|so|then|via|per|all|only|also|can"
    r"|will|may|must|should|does|do|at least|such|one|other|more|new|same|returns?|uses?|sets?"
    r"|calls?|requires?|includes?|happens?|makes?|inventing|rather|reads|writes|gets?))+$",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:it|this|that|these|those|they|them|its|here)\b", re.IGNORECASE)
_LOOSE_BOLD = re.compile(
    r"(?<![/\w*])\*{1,2}(?=[\w“\"])|(?<=[\w.,:)”\"?!])\*{1,2}(?![/\w*.])|^\*+\s*|__(?=\s|$)"
)
_LAST_ADVERB = re.compile(r",?\s+(?:\w+ly|anyway|here|now|today|long-term|at all)$", re.IGNORECASE)
_SPACE_BEFORE = re.compile(r"\s+(?=[,.;:])")
_IF = re.compile(r"\b(?:if|unless)\b", re.IGNORECASE)
_CONDITIONAL = re.compile(r"\b(?:when|until|after|with|for|where)\b", re.IGNORECASE)
_ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
_LOST_CONDITION = 25
_PARTICIPLE = re.compile(r"(?<=\w)\s+\w+(?:ed|ing)$")
_OPENER = re.compile(
    r"(?:but|so|and|however|also|thus|therefore|then)\b[\s:,—–-]*(?=\w)", re.IGNORECASE
)
_CONDITION = re.compile(
    r"(?:when|if|after|before|while|as long as|once|because|since|given|for"
    r"|even though)\b[^,]{3,70},\s+",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(r"(?:because|if|when|since|while|as|although|unless)\b", re.IGNORECASE)
_BUT = re.compile(
    r",?\s+(?:but|yet)\s+(?=(?P<verb>(?:is|are|was|were|does|do|has|have|can|will)\b)|no\b|not\b)",
    re.IGNORECASE,
)
_FIRST_VERB = re.compile(
    r"\s+(?:is|are|was|were|does|do|has|have|can|will|shows?|exists?)\b", re.IGNORECASE
)
_ABOUT_IT = re.compile(r"(?:does|is|has|can|should|will)\s+(?P<name>[\w.]+)\s", re.IGNORECASE)
_NEXT_QUESTION = re.compile(
    r",?\s+(?:and|or|but)\s+(?=(?:is|are|does|do|how|what|which|can|should|where|why|when|who|will"
    r"|has|have)\b)|,\s+(?:given|so|because|since|while|even)\b|;\s|\s[—–]\s",
    re.IGNORECASE,
)
_REASON = re.compile(r";\s|,?\s+(?:because|so that)\b", re.IGNORECASE)
_IT = re.compile(
    r"(?:it|this (?:function|code|module|handler|file|method))\s+(?=(?:is|does|will|has|can|only"
    r"|never|\w+s)\b)",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"\\|\w\|\w+\||\*\*/|\.\*|\$\{|[<>]{2}")
_SUBJECTS = 40
_WHOLE_LABEL = 3
_PURPOSE = re.compile(
    r"\b(?:to|and|then|purpose:|goal:)\s+(?:then\s+|also\s+)?(?P<clause>(?P<verb>verify|confirm"
    r"|check|determine|ensure|prove|validate|see|measure|identify|enumerate|find|locate|list|map"
    r"|trace|inspect|capture|compare|review|observe|reproduce|show|discover|establish|assert|test"
    r"|record|watch)\b)",
    re.IGNORECASE,
)
_LEFT_BY_COMMAND = re.compile(r"\b(?:run|execute|use)\s+(?:and|or|then|[,;.:])", re.IGNORECASE)
"""What is left of a sentence whose commands were taken out."""
_RUNS = re.compile(r"(?:[^,:;]{0,60},\s+)?(?:run|execute|search|use)\b", re.IGNORECASE)
_SEE_WHETHER = re.compile(
    r"\w+\s+(?:\([a-z]\)\s*)?(?:whether|what|how|if|which|where)\b", re.IGNORECASE
)
_IS_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|does|do|can|will|has|have|should|must|may|stays?|remains?)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_SAYS_ENOUGH = 5
_MOST_TITLED, _MOST_EMPHASIS = 800, 3_000
"""Characters from which a title is made, and in which emphasis is looked for."""
_SHORTEST_SUBJECT = 4
_BEST = (
    "confirm",
    "verify",
    "check",
    "determine",
    "prove",
    "validate",
    "ensure",
    "establish",
    "reproduce",
)


def title_of_change(statement: ClaimText, subjects: Sequence[str]) -> str:
    """The clause that says what to do."""
    return _titled([*imperative_clauses(statement), *_claims(statement)], subjects)


def title_of_finding(statement: ClaimText, subjects: Sequence[str]) -> str:
    """The clause that says what is wrong."""
    part = defect_clause(statement)
    at = masked(statement.text).find(part) if part else -1
    clauses = [statement.text[at : at + len(part)]] if at >= 0 else []
    clauses += _claims(statement, with_label=True)
    return _titled(
        [short for clause in clauses for short in (*_after_but(clause), clause)], subjects
    )


def _after_but(clause: str) -> Iterator[str]:
    """Of a clause that is too long, what it says after `but`, with its subject."""
    flat = plain(clause)
    turn = _BUT.search(flat)
    if turn is None or len(without_asides(flat)) <= LONGEST:
        return
    verb = _FIRST_VERB.search(flat)
    if turn["verb"] is None:
        yield flat[turn.end() :]
    elif verb is not None and verb.start() < turn.start():
        yield f"{flat[: verb.start()]} {flat[turn.end() :]}"


def title_of_experiment(texts: Iterable[str], subjects: Sequence[str]) -> str:
    """What an experiment does, or what it is to show where it only runs a command."""
    text = "\n".join(texts)
    commands = commands_in(text)
    prose = without_commands(text, commands)
    first = first_sentence(text.split(":\n")[0])
    only_runs = bool(commands) and _only_runs(plain(text))
    clauses = _purposes(prose) if only_runs else [first, *_purposes(prose)]
    opening = plain(first_sentence(prose.split("\n")[0]))
    is_whole = len(opening.split()) >= _SAYS_ENOUGH and not _LEFT_BY_COMMAND.search(opening)
    if only_runs and is_whole:
        clauses.append(_DANGLING.sub("", opening.rstrip(" .:,")))
    searches = filter(is_search, commands)
    names = (name for command in searches for name in _NAME.findall(command) if symbols_in(name))
    sought = next(names, "")
    clauses += [f"Search the code for {sought}"] if sought else []
    return _titled(clauses, subjects)


def without_commands(text: str, commands: Iterable[str]) -> str:
    """A text without the commands that it asks to run."""
    for command in commands:
        text = text.replace(f"`{command}`", " ").replace(command, " ")
    return text


def title_of_question(question: str, step_id: str) -> str:
    """The title of an experiment that is a command and nothing else."""
    question_text = plain(question)
    if len(question_text) < _LEAST:
        return f"Run the experiment of question {step_id}"
    lead = "Find out: "
    return f"{lead}{shortened(_small(question_text), LONGEST - len(lead))}"


def _only_runs(text: str) -> bool:
    """An experiment that runs or is a command, whatever is before that."""
    return _RUNS.match(text) is not None or is_command(first_sentence(text))


def issue_title(question: str, reference: str | None) -> str:
    """The title of a question, its subject first.

    A question that is too long ends where its next question or its reason begins, else in `…`.
    """
    text = plain(question)
    subject = subject_of(reference)
    if not text:
        return subject or ""
    about_it = _ABOUT_IT.match(text)
    if about_it and about_it["name"] == subject:
        text = text.replace(subject, "it", 1)
    is_named = text.startswith(subject) or (subject in text[:LONGEST] and symbols_in(subject))
    if not subject or len(subject) > _SUBJECTS or is_named:
        return _capital(_short_question(text, LONGEST))
    return f"{subject}: {_short_question(_small(text), LONGEST - len(subject) - 2)}"


def _small(text: str) -> str:
    """A sentence as it goes on after a colon; a name such as `Table.get()` or `HTTP` stays."""
    first = text.partition(" ")[0].rstrip(",;:?!.").replace("'", "").replace("’", "")
    is_word = first == "A" or (first.isalpha() and first[1:].islower())
    return text[:1].lower() + text[1:] if is_word else text


def _short_question(text: str, longest: int) -> str:
    whole = text.rstrip(" .;:,!")
    if len(whole) <= longest:
        return whole
    ends = [at.start() for at in _NEXT_QUESTION.finditer(whole)]
    end = max((at for at in ends if _LEAST <= at <= longest), default=0)
    if end:
        return f"{whole[:end]}{'?' * (whole.endswith('?') and end < longest)}"
    words = whole[:longest].rpartition(" ")[0] or whole[: longest - 1]
    return f"{_DANGLING.sub('', words.rstrip(' .;:,'))}…"


_NOWHERE = frozenset({"unknown", "none", "n/a"})


def is_known_reference(reference: str) -> bool:
    """A reference names something; packs write `Unknown` where they have none."""
    return reference.strip().lower() not in _NOWHERE


def subject_of(reference: str | None) -> str:
    """The symbol, or else the file, that a reference names."""
    if not reference or not is_known_reference(reference):
        return ""
    path, colon, symbol = reference.strip().rpartition(":")
    if colon and symbol and not symbol.isdigit():
        return symbol.strip("`() ")
    return (path or symbol).rpartition("/")[2]


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text cut to a whole clause; never inside a word."""
    whole = plain(text[:_MOST_TITLED]).rstrip(" .;:,!")
    flat = whole if len(whole) <= longest else without_asides(whole)
    if len(flat) <= longest:
        return flat
    trimmed = _LAST_ADVERB.sub("", flat)
    if len(trimmed) <= longest:
        return trimmed
    best = max(_cuts(flat, longest), default=(0, ""))[1]
    whole_words = flat[: longest + 1].rpartition(" ")[0] or flat[:longest]
    return best or _DANGLING.sub("", whole_words.rstrip(" .;:,")) or flat[:longest]


def _cuts(text: str, longest: int) -> Iterator[tuple[int, str]]:
    """Where a text may end, and how good that end is: the later and the cleaner, the better."""
    for boundary, bonus in ((_STRONG, 30), (_MEDIUM, 12), (_JOINT, 0), (_WEAK, 4)):
        for at in boundary.finditer(text):
            if not _LEAST <= at.start() <= longest:
                continue
            head = _DANGLING.sub("", text[: at.start()].rstrip(" .;:,"))
            is_limited = _ONLY.search(head) is not None
            if is_limited and _IF.search(at[0]):
                continue  # `it only holds if …` without its condition says the opposite
            loss = _LOST_CONDITION * bool(is_limited and _CONDITIONAL.search(at[0]))
            if boundary is _WEAK:
                head = _DANGLING.sub("", _PARTICIPLE.sub("", head))
            if len(head) >= _LEAST and _is_balanced(head):
                yield len(head) + bonus - loss, head


def plain(text: str) -> str:
    """A text on one line, without marks of Markdown and without characters that nothing shows."""
    return _unmarked(one_line(" ".join(text.replace("`", "").split()))).strip()


def without_emphasis(text: str) -> str:
    """A text without its marks for bold and italics; code stays as it is."""
    if len(text) > _MOST_EMPHASIS:
        return text
    mask = masked(text)
    bold = [at for match in _BOLD.finditer(mask) for at in _marks(match)]
    loose = [at for match in _LOOSE_BOLD.finditer(mask) for at in range(match.start(), match.end())]
    removed = {at for at in (*bold, *loose) if mask[at] in "*_"}
    return "".join(sign for at, sign in enumerate(text) if at not in removed)


def _marks(match: re.Match[str]) -> Iterator[int]:
    yield from range(match.start(), match.start("text"))
    yield from range(match.end("text"), match.end())


def _unmarked(flat: str) -> str:
    previous = ""
    while previous != flat:
        previous = flat
        flat = _BOLD.sub(lambda match: match["text"], flat)
    return _LOOSE_BOLD.sub("", flat)


def without_asides(text: str) -> str:
    """A text without what is in round brackets, those of calls aside."""
    out: list[str] = []
    depth = 0
    for position, sign in enumerate(text):
        opens = sign == "(" and (depth or text[position - 1 : position] in {" ", ""})
        depth += bool(opens)
        if not depth:
            out.append(sign)
        if sign == ")" and depth:
            depth -= 1
    return _SPACE_BEFORE.sub("", " ".join("".join(out).split())) if not depth else text


def _titled(clauses: Iterable[str], subjects: Sequence[str]) -> str:
    """The first clause that makes a title, with its subject."""
    best = ""
    for clause in clauses:
        flat = _after(_OPENER, plain(clause[:_MOST_TITLED]))
        main = _named(_without_reason(_after(_CONDITION, flat)), subjects)
        title = _capital(shortened(main if len(main) >= _LEAST else flat))
        if len(title) < _LEAST_TITLE or _PATTERN.search(title) or not _is_balanced(title):
            continue
        best = best or title
        if len(title) >= _LEAST:
            best = title
            break
    return _with_subject(best, subjects) if best else ""


_LEAST_TITLE = 8


def _with_subject(title: str, subjects: Sequence[str]) -> str:
    """The title with what it is about, where it does not say that itself."""
    fitting = [one for one in _fitting(subjects) if one not in title]
    if symbols_in(title) and not _POINTS_BACK.search(title):
        return title
    room = LONGEST - len(title) - 3
    subject = next((one for one in fitting if len(one) <= room), "")
    return f"{title} ({subject})" if subject else title


def begins_with_it(text: str) -> bool:
    """Whether a text begins with a pronoun for what was named before."""
    return _IT.match(_after(_OPENER, plain(text[:_MOST_TITLED]))) is not None


def _named(text: str, subjects: Sequence[str]) -> str:
    """A clause that begins with `it`, with what that is instead."""
    begins = _IT.match(text)
    subject = next(iter(_fitting(subjects)), "")
    return f"{subject} {text[begins.end() :]}" if begins is not None and subject else text


def _fitting(subjects: Sequence[str]) -> list[str]:
    return [one for one in subjects if _SHORTEST_SUBJECT <= len(one) <= _SUBJECTS]


def _claims(statement: ClaimText, *, with_label: bool = False) -> Iterator[str]:
    """The claim of a statement: its label where that is a clause, its first sentences otherwise."""
    text = statement.text
    for number, (start, end) in enumerate([*sentence_spans(text)][:3]):
        sentence = text[start:end]
        bare = statement.without_reply(sentence) if number == 0 else sentence
        if not plain(bare):
            continue
        label, colon, rest = _label(bare)
        if colon and (len(label.split()) > _WHOLE_LABEL or _IS_CLAUSE.search(label)):
            yield label
        elif colon and not with_label and not _IS_CLAUSE.search(plain(rest)):
            # A list of names is no clause: the label says what to do with them.
            yield bare if starts_imperative(plain(rest)) else f"{label}: {plain(rest)}"
        elif colon:
            shortened_text = shortened(rest, LONGEST - len(label) - 2)
            if with_label and len(shortened_text) >= _LEAST and shortened_text == shortened(rest):
                yield f"{label}: {shortened_text}"
            yield label if with_label and _SUBORDINATE.match(plain(rest)) else rest
        yield bare


def _label(sentence: str) -> tuple[str, str, str]:
    mask = masked(sentence)
    at = mask.find(": ")
    if at < 0 and (bold := mask.find(":**")) >= 0:
        at = bold
    if not 0 < at <= LONGEST + 20:
        return "", "", sentence
    return plain(sentence[:at]), ":", sentence[at + 1 :].lstrip("* ")


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    spans = list(sentence_spans(text))
    return text[spans[0][0] : spans[0][1]] if spans else text


def _purposes(text: str) -> list[str]:
    """Clauses that say what an experiment is for, the most decisive first."""
    purposes = [
        (match["verb"].lower(), text[match.start("clause") :]) for match in _PURPOSE.finditer(text)
    ]
    ranked = sorted(range(len(purposes)), key=lambda n: (not _decides(purposes[n]), n))
    return [first_sentence(purposes[n][1].split("\n")[0]) for n in ranked]


def _decides(clause: tuple[str, str]) -> bool:
    verb, text = clause
    return verb in _BEST or bool(_SEE_WHETHER.match(text))


def _after(opening: re.Pattern[str], text: str) -> str:
    match = opening.match(text)
    return text[match.end() :] if match is not None else text


def _without_reason(text: str) -> str:
    match = _REASON.search(text, _LEAST)
    return text[: match.start()] if match is not None else text


def _capital(text: str) -> str:
    """A capital at the beginning, unless that is the name of code."""
    first = text.split(" ", 1)[0]
    is_word = first.isalpha() and first.islower()
    return text[:1].upper() + text[1:] if is_word else text


def _is_balanced(text: str) -> bool:
    quotes = text.count('"') % 2 == 0 and text.count("“") == text.count("”")
    return quotes and text.count("(") == text.count(")") and text.count("{") == text.count("}")
