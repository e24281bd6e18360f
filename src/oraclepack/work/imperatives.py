"""Whether a clause is an instruction: it begins with a verb, and that verb is no noun.

`Cache the parsed page` asks for work, `Cache keys omit the locale` describes code. Answers are full
of words that are both, so what follows the word decides.
"""

import re
from collections.abc import Sequence

from oraclepack.answers.sentences import word_set

_VERBS = word_set(
    "abort accept acknowledge activate adapt add adjust adopt advertise agree align allow "
    "allowlist amend anchor annotate append apply archive arrange ask assemble assert assess "
    "assign attach attempt audit authenticate authorise authorize automate avoid backfill batch "
    "begin benchmark bind bisect block bound bring broadcast buffer build bump bundle bypass "
    "cache call cancel cap capture catch centralise centralize change check choose chunk clamp "
    "clarify classify clean clear clone close codify coerce collapse collect combine commit "
    "compare compile compose compress compute configure confine confirm connect consider "
    "consolidate constrain construct consume continue control convert copy correct correlate "
    "count cover create cross-check cut debounce debug decide declare decode decouple decrease "
    "dedupe deduplicate default defer define delay delegate delete deliver demote deny deploy "
    "deprecate derive describe deserialise deserialize design destroy detect determine "
    "differentiate disable disallow disconnect discuss dispatch display distinguish distribute "
    "document double-check downgrade draft drain drive drop dump duplicate eliminate embed emit "
    "employ enable encapsulate encode encrypt enforce enlarge enqueue enrich ensure enumerate "
    "erase error escalate escape establish estimate evaluate examine exclude exempt exercise exit "
    "expand explore export expose extend extract fail fall favor favour feed fence fetch fill "
    "filter finalise finalize find finish fix flag flatten flush follow forbid force format "
    "forward freeze gate gather generate give grant group guard halt handle harden hash hide "
    "highlight hoist hold honor honour identify ignore implement import improve include increase "
    "index infer inform initialise initialize inject inline insert inspect install instrument "
    "intercept interpret interrupt introduce invalidate investigate invoke isolate iterate join "
    "keep kill label launch leave lengthen let leverage lift limit link lint list load localise "
    "localize lock log look loosen lower maintain make map mark match measure memoise memoize "
    "merge migrate minimise minimize mirror mitigate mock model modify monitor mount move mutate "
    "name narrow negotiate nest normalise normalize note notify observe offer offload omit open "
    "opt optimise optimize order override overwrite page paginate parse partition pass patch "
    "pause perform permit persist pick pin place plan poll pool populate port postpone precompute "
    "prefer prefix preload prepare prepend preserve prevent print prioritise prioritize produce "
    "profile promote prompt propagate protect prototype prove provide proxy prune publish pull "
    "purge push put quarantine query queue quote raise randomise randomize rank rate-limit read "
    "reassess rebuild recompute reconcile record recover recreate recycle redact redirect reduce "
    "refactor refine reformat refresh refuse regenerate register reimplement reindex reject relax "
    "release reload relocate rely remap remove rename render reorder repair repeat replace replay "
    "report reproduce request require rerun rescue reserve reset resolve respect respond restart "
    "restore restrict resume retain retire retrieve retry return reuse reverse revert review "
    "revisit rework rewrite roll rotate round route run sample sanitise sanitize save scan "
    "schedule scope seal search secure seed select send separate serialise serialize serve set "
    "shard share ship shorten show shrink shut sign simplify simulate skip sleep slice snapshot "
    "sort spawn specify split squash stage stagger standardise standardize start state stay stop "
    "store stream stress-test strip stub subclass submit subscribe substitute summarise summarize "
    "supply support suppress surface surround survey swap sweep switch sync tag take teach tell "
    "terminate test throttle throw tighten time-box toggle tolerate touch trace track transform "
    "translate treat trigger trim truncate try tune turn unblock undo unify uninstall unregister "
    "unset unsubscribe unwrap update upgrade use utilise utilize validate vary vendor verify "
    "version wait walk warn watch weigh whitelist widen wire wrap write yield zero"
)
FINITE_VERBS = (
    "is|are|was|were|has|have|had|does|do|did|can|will|would|could|may|might|must|should|requires?"
    "|exists?"
    "|happens?|remains?|uses?|returns?|fails?|appears?|seems?|depends?|lacks?"
)
_FINITE = re.compile(rf"(?:{FINITE_VERBS}|cannot)", re.IGNORECASE)
_HEAD = re.compile(
    r"(?P<no>(?:(?:explicitly|always|never|also|only|just|simply|then|either|still|hard-?)\s+"
    r"|do\s+[*_]*not[*_]*\s+|don[’']t\s+)*)(?P<verb>[a-z]+(?:-[a-z]+)?)\b"
    rf"(?![-/'’(.=:]|\s+[\w-]+:|\s*(?:{FINITE_VERBS}|only|defaults?|and|or|of|by|via|vs|costs?"
    rf"|risk|additionally)\b"
    r"|\s*[,;.)]|\s*[—–]|$)",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"\b(?:not|don[’']t)\b", re.IGNORECASE)
_OPENER = re.compile(
    r"[*_(]*(?:(?:but|and|so|then|instead|also|first|next|finally|still|additionally|specifically"
    r"|today|explicitly|practically|concretely|either|otherwise|ideally|initially|just|simply"
    r"|only|always|please|at minimum|at least|for now|long-term|if possible"
    r"|(?:after|before|when|if|for|in|on|at|with) [^,:;]{2,60}),?\s+)*"
    r"(?:\(?[a-d1-4]\)\s+)?[*_]*",
    re.IGNORECASE,
)
"""What may be before the verb of an instruction."""
_TAKES_CLAUSE = word_set("assert check confirm ensure guarantee prove require verify")
"""Verbs that a whole clause may follow: `ensure output is sorted`."""
_OBJECT = word_set(
    "a an the this that these those it its them their your our all any each every both either no "
    "one two three another such whether how what which when if"
)
"""What can be after a verb, and not after the first noun of a compound."""
_SMALL = word_set(
    "about across after against and as at before between by during for from in into of on only or "
    "over per plus so than then through to until via with within without again always both "
    "consistently everywhere first here instead later locally once separately together too twice"
)
_PARTICLES = word_set("up off out down away back over")
_NOUNS = word_set(
    "access anchor audit back batch benchmark block buffer build bundle cache call cap chain "
    "change check clone commit control copy count cover cut default delay deploy design display "
    "document draft dump drop edit end error escape estimate export feed fetch filter fix flag "
    "flush force format gate group guard hash hold import index install join label launch limit "
    "link list load lock log look map mark match measure merge mock model monitor mount move name "
    "note offer order override page parse patch pause pin pipe place plan poll pool port prefix "
    "print process profile prompt prototype proxy publish pull push query queue quote rank read "
    "record redirect reference refresh release repair replay report request reset restart restore "
    "retry return review revert rewrite roll route run sample save scan schedule scope search "
    "seed share sign slice snapshot sort spawn split stage start state step stop store stream "
    "stub support surface swap sweep switch sync tag template test throttle time touch trace "
    "track transform trigger trim tune type update upgrade validate version view wait watch work "
    "write"
)
"""Verbs that are nouns as well, and are before other nouns."""
_STOPS = word_set("that which who whose when where while if because since so unless until to what")
_WORD = re.compile(r"[*_]*(?P<word>[\w’'`\0.-]+)[*_]*(?P<mark>[,;:—–(]?)")
_MOST_WORDS, _LEAST_PLURAL = 14, 4


def starts_imperative(clause: str) -> bool:
    """A clause, code blanked out, begins with an instruction, whatever opens its sentence."""
    opener = _OPENER.match(clause)
    bare = clause[opener.end() :] if opener is not None else clause
    return is_imperative(bare) or is_imperative(clause.lstrip("*_( "))


def opener_end(clause: str) -> int:
    """Where the instruction of a clause begins, after `But` and `If so,`; 0 for its beginning."""
    opener = _OPENER.match(clause)
    is_bare = opener is not None and is_imperative(clause[opener.end() :])
    return opener.end() if opener is not None and is_bare else 0


def is_imperative(text: str) -> bool:
    """A text begins with the verb of an instruction."""
    head = _HEAD.match(text)
    if head is None:
        return False
    verb = head["verb"].lower()
    if _FORBIDS.search(head["no"]):
        return True  # after `do not` every word is a verb
    if verb not in _VERBS:
        return False
    return verb in _TAKES_CLAUSE or not _is_noun(text[head.start("verb") :])


def _is_noun(clause: str) -> bool:
    """The first word begins the subject of a sentence: a finite verb follows that subject."""
    words = _main_words(clause)
    if len(words) > 1 and words[1] in _OBJECT:
        return False
    if any(_FINITE.fullmatch(word) for word in words[2:]):
        return True
    return words[0] in _NOUNS and any(_is_predicate(words, at) for at in range(1, len(words) - 1))


def _is_predicate(words: Sequence[str], at: int) -> bool:
    """A word after a noun is a verb: it agrees with that noun, and takes an object."""
    word, after, before = words[at], words[at + 1], words[at - 1]
    if word in _SMALL or word in _OBJECT or word.endswith(("ing", "ed", "ly")):
        return False
    takes_object = after not in _SMALL and not after.endswith(("ing", "ed", "ly"))
    takes_particle = after in _PARTICLES
    if at > 1 and _is_plural(before) and not _is_plural(word):
        return takes_object or takes_particle
    return _is_plural(word) and (takes_object or takes_particle) and not _is_plural(before)


def _is_plural(word: str) -> bool:
    """The ending of a plural noun, or of a verb after a noun in the singular."""
    return len(word) >= _LEAST_PLURAL and word.endswith("s") and not word.endswith(("ss", "us"))


def _main_words(clause: str) -> list[str]:
    """The words up to the first mark or subordinate clause."""
    words: list[str] = []
    for match in _WORD.finditer(clause):
        word = match["word"].lower().rstrip(".")
        if words and word in _STOPS:
            break
        words.append(word)
        if match["mark"] or match["word"].endswith(".") or len(words) >= _MOST_WORDS:
            break
    return words
