"""The words and forms that distinguish claims: mood, modality, negation, defects.

They are general English of engineering: none of them names a subject. A word belongs here only if
it means the same in an answer about any program.
"""

import re

from oraclepack.answers.sentences import word_set

EVIDENCE = re.compile(
    r"(?:^|(?<=[.;!?)\]”\"*`]))\s*[(\[]?[*_]{0,2}(?i:same\s+|key\s+)?(?:Evidence|EVIDENCE|Sources?"
    r"|See|Refs?|References?|Citations?|Files?|evidence|see)\b[*_]{0,2}(?:\s*:|\s+(?=[`\w]+[./(`])"
    r"|\s+same\b)"
)
ASIDE_END = re.compile(r"\s*\((?P<inside>[^()]*(?:\([^()]*\)[^()]*)*)\)[.*_]*\s*$")
CITES = re.compile(
    r"(?:see|same|evidence|files?|sources?|refs?|per)\b|[`*]*[\w@./$*-]+\.\w{1,5}\b(?!\()"
    r"|[`*]*README\b",
    re.IGNORECASE,
)
REPLY = re.compile(
    r"[*_“\"]*(?P<word>Yes|No|Partly|Partially|Mostly|Not (?:fully|quite|really"
    r"|entirely))\b[*_]*(?=\s*(?:[—–:,.;-]|for\b|but\b|$))\s*[—–:,.;-]*\s*[*_]*",
    re.IGNORECASE,
)
LABEL = re.compile(r"[*_“\"]*(?P<label>[^:.!?]{2,90}?)[*_”\"]*:[*_]*\s+(?=\S)")
CLAUSE = re.compile(
    r"(?<=[:;—–])\s+|(?:^|\s)\(?[a-d1-4]\)\s+|,?\s+(?:and|then|but)\s+(?:also\s+|then\s+|still\s+)?"
)
SENTENCE_OPENER = re.compile(
    r"[*_(]*(?:(?:but|and|so|then|instead|also|first|next|finally|still|additionally|specifically"
    r"|today|explicitly|practically|concretely|either|otherwise|ideally|initially|just|simply"
    r"|only|always|please|at minimum|at least|for now|long-term|if possible"
    r"|on \w+(?: specifically)?|(?:after|before|when|if|for|in|on|at"
    r"|with) [^,:;]{2,60}),?\s+)*(?:\(?[a-d1-4]\)\s+)?[*_]*",
    re.IGNORECASE,
)
VERBS = (
    "accept|adapt|add|adjust|adopt|agree|align|allow|annotate|append|apply|ask|assert|assign"
    "|attach|audit|avoid|backfill|batch|benchmark|bind|block|bound|bring|bump|cache|call|cap"
    "|capture|centralise|centralize|change|check|choose|clamp|clarify|clean|clear|clone|close"
    "|collapse|collect|combine|commit|compare|compute|configure|confirm|consider|consolidate"
    "|constrain|convert|copy|count|create|debounce|decide|declare|decode|decouple|default|defer"
    "|define|delay|delete|deny|deploy|deprecate|derive|design|detect|disable|disallow|discuss"
    "|document|drop|emit|enable|encode|enforce|ensure|error|escape|establish|estimate|evaluate"
    "|exclude|expand|explore|expose|extend|extract|fail|fall|fetch|fix|flag|flush|forbid|force"
    "|format|freeze|gate|generate|give|group|guard|handle|harden|hash|hide|hoist|ignore|implement"
    "|include|increase|inform|inject|inline|insert|inspect|install|instrument|introduce"
    "|invalidate|investigate|invoke|isolate|join|keep|leave|let|limit|link|list|load|lock|log"
    "|look|lower|maintain|make|map|mark|match|measure|merge|migrate|mirror|mitigate|mock|model"
    "|monitor|mount|move|name|narrow|normalise|normalize|notify|omit|open|order|parse|pass|patch"
    "|pause|persist|pick|pin|place|plan|poll|populate|port|postpone|prefer|prefix|preserve"
    "|prevent|print|profile|prompt|propagate|protect|prototype|prove|provide|prune|publish|push"
    "|put|queue|raise|read|rebuild|record|redact|redirect|reduce|refactor|refuse|register|reject"
    "|release|rely|remove|rename|render|reorder|repair|replace|report|require|rerun|reserve|reset"
    "|resolve|restart|restore|restrict|resume|retain|retry|return|reuse|revert|review|revisit"
    "|rework|rewrite|rotate|round|route|run|sanitise|sanitize|save|schedule|scope|search|seed"
    "|select|send|separate|serialise|serialize|serve|set|shard|share|ship|show|sign|simplify|skip"
    "|snapshot|sort|specify|split|squash|standardise|standardize|start|stop|store|stream|strip"
    "|stub|subscribe|support|suppress|surface|swap|sweep|switch|sync|tag|tell|test|throttle|throw"
    "|tighten|tolerate|trace|track|transform|translate|treat|trigger|trim|truncate|try|tune|turn"
    "|unblock|unify|unsubscribe|unwrap|update|upgrade|use|validate|vendor|verify|version|wait"
    "|warn|watch|whitelist|widen|wire|wrap|write"
)
FINITE_VERBS = (
    "is|are|was|were|has|have|had|does|do|did|can|will|would|could|may|might|must|should|requires?"
    "|exists?"
    "|happens?|remains?|uses?|returns?|fails?|appears?|seems?|depends?|lacks?"
)
NOUN_AFTER_ALL = rf"(?!(?:\s+[\w-]+){{1,2}}\s+(?:{FINITE_VERBS})\b)"
"""`Snapshot output is …` begins with a noun; `Ensure output is …` does not."""
IMPERATIVE = re.compile(
    rf"(?:(?:explicitly|always|never|also|only|just|simply|then|either|still|hard-?)\s+"
    rf"|do\s+[*_]*not[*_]*\s+"
    rf"|don[’']t\s+)*(?:(?:{VERBS})\b{NOUN_AFTER_ALL}|(?:assert|check|confirm|ensure|prove|require"
    rf"|verify)\b)"
    rf"(?![-/'’(.=:]|\s+[\w-]+:|\s*(?:{FINITE_VERBS}|only|defaults?|and|or|of|by|via|vs|costs?"
    rf"|risk|additionally)\b"
    r"|\s*[,;.)]|\s*[—–]|$)",
    re.IGNORECASE,
)
MODAL = re.compile(r"\b(?:should(?:n[’']t)?|ought to|needs? to|has to|have to)\b", re.IGNORECASE)
NO_WORK = re.compile(
    r"\bno (?:further |code )?(?:action|change|work|fix|update)s?\b[^.;]*\b(?:needed|required"
    r"|necessary)\b|\bnothing (?:needs to|has to|to) (?:be |do|fix|change)",
    re.IGNORECASE,
)
MUST = re.compile(r"\bmust(?:n[’']t)?\b", re.IGNORECASE)
"""Of code mostly a description; advice only where advice was asked for."""
SUBORDINATE = re.compile(
    r"\b(?:if|whether|when|unless|what|where|how|why|until|while|because|since|as|so that"
    r"|(?:is|are|means?|assum\w+|expects?|says?|likely|unclear|sure) that)\b[^,;:]*$",
    re.IGNORECASE,
)
ADVICE = re.compile(
    r"\b(?:recommend(?:ed|ation)?s?|advis(?:e|able)|suggested|prefer(?:red|able|s)?"
    r"|worth\s+\w+ing|best practice|better (?:to|option|choice|fit|default|approach)|(?:higher"
    r"|highest|best|biggest|better)[\w -]{0,24}\b(?:win|option|choice|value|leverage|approach"
    r"|path)|you[’']?(?:ll)? (?:will )?want|needs? (?:a|an|explicit|one|both)\b"
    r"|requires? (?:either|an? explicit)|minimum viable|the (?:right|safest|simplest|smallest"
    r"|cleanest) (?:place|fix|change|default|approach|design|way|move|step|option))",
    re.IGNORECASE,
)
ADVICE_LABEL = re.compile(
    r"\b(?:default|rule|guardrails?|changes?|fix|recommendations?|recommended|policy|mitigations?"
    r"|approach|option|contract|precedence|requirements?|required|minimum|minimal|plan|strategy"
    r"|proposal|proposed|suggested|suggestion|design|safe|safest|action|enforcement|invariant"
    r"|checklist|criteria|acceptance|implementation|migration|rollout|gate|guard|fallback|opt-in"
    r"|deprecation|must|decision)\b",
    re.IGNORECASE,
)
DESCRIBES = re.compile(
    r"\b(?:currently|today|right now|already|as written|at present|is already|are already|exists?"
    r"|evidence|consequence|implication|rationale|reason|why|because|background|context|status"
    r"|observation|caveat)\b",
    re.IGNORECASE,
)
NOT_HERE = re.compile(
    r"\b(?:can(?:no|[’']|)t|cannot|could not|couldn[’']t|not possible to|unable to"
    r"|impossible to)\s+(?:be\s+)?(?:\w+ly\s+)?(?:conclud|confirm|verif|determin|establish|prov"
    r"|say|tell|decid|assess|judg|answer|know)\w*|\b(?:not|isn[’']t|aren[’']t|wasn[’']t) (?:shown"
    r"|visible|included|provided|attached|available here)\b|(?:^|\b(?:is|are|remains?|still"
    r"|it[’']s|currently)\s+)[*_]*(?:unknown|unclear|unverified|unproven|uncertain)\b"
    r"|\b(?:unknown|unclear)\s+(?:whether|how|what|where|which|if|who)\b|\bno evidence (?:that"
    r"|here|of|yet|in)\b|\bwithout (?:seeing|access to|the)\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"\b(?:may|might|could|can|would|risks?|potential(?:ly)?|possibl[ey]|probably|perhaps|likely"
    r"|assum\w+)\b",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\b(?:if|whether|unless|depends?|depending|hypothetical\w*|worth (?:noting|confirming))\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"")
TAIL = re.compile(
    r"(?:,?\s+(?:because|since|so|which|when|if|unless|where|until|as long as|without|rather than"
    r"|to avoid|to prevent|in order to|even)\b|,\s+(?:so|as|which|and therefore)\b).*",
    re.IGNORECASE | re.DOTALL,
)
"""Reason, condition, purpose: what the claim is not."""
NO = (
    r"(?:not|no|never|nothing|none|neither|cannot|lacks?|lacking|missing|absent|absence|without"
    r"|(?:does|do|is|are|was|were|has|have|had|wo|ca|should|would|could)n[’']t|can[’']t|won[’']t)"
)
NEGATION = re.compile(rf"\b{NO}\b", re.IGNORECASE)
ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
DEFECT = re.compile(
    r"\b(?:bypass\w*|mismatch\w*|gaps?|ignor(?:e|es|ed|ing)|swallow\w*|drops?|dropped|dropping"
    r"|los(?:e|es|t|ing|s)|leak\w*|clobber\w*|overwrit\w+|break(?:s|ing|age)?|broken|brittle"
    r"|stale|inconsisten\w+|race\w*|unbounded|indefinitely|silent(?:ly)?|thin|late|simplistic"
    r"|questionable|expensive|slow|unsafe|insecure|weak\w*|fragile|duplicat\w+|redundant|wrong\w*"
    r"|incorrect\w*|corrupt\w*|fail(?:s|ed|ure)?|error-prone|ambigu\w+|confus\w+|mislead\w*"
    r"|unreliable|unstable|non-?determinis\w+|flaky|partial(?:ly)?|incomplete|inaccurate"
    r"|unsupported|unprotected|unvalidated|unchecked|untested|undocumented|unguarded|unhandled"
    r"|exposes?|exposure|exposed|over-?\w+tion|under-?\w+tion|coupl(?:ed|ing)|hard-?cod\w+"
    r"|single point|best-effort|regress\w*|deadlock\w*|block(?:s|ed|ing)? (?:the|on|all)"
    r"|violat\w+|conflict\w*|diverg\w*|drift\w*|outdated|obsolete|vulnerab\w*|injection|denial"
    r"|starv\w+|hang(?:s|ing)?|crash\w*|panics?|orphan\w*|dangling|shared|same \w+ for (?:both"
    r"|all)|all modes|regardless of|truncat\w+|noise|noisy|edge cases?|bugs?|defects?|flaws?"
    r"|problems?|problematic|mask(?:s|ed|ing)?|insufficient|inadequate|minimal|superficial\w*"
    r"|not enough|too (?:many|much|few|broad|narrow|late|early))\b",
    re.IGNORECASE,
)
CONDITION = re.compile(r"^(?:because|since|when|if|after|as)\b[^,]{3,90},\s+", re.IGNORECASE)
"""A reason or condition in front of what is said."""
CONTRAST = re.compile(
    r"\b(?:but|however|yet|although|though|despite|except|still|while)\b", re.IGNORECASE
)
POSITIVE = re.compile(
    r"\b(?:correct(?:ly)?|consistent(?:ly)?|coherent|stable|graceful(?:ly)?|preserv\w+|cover(?:ed"
    r"|s)|allow(?:ed|s)|aligned|enforc(?:ed|es)|scoped|bounded|cleaned|idempotent|safe(?:ly)?"
    r"|determinis\w+|explicit(?:ly)?|handled|protected|satisfied|supported|works|does (?!not)\w+"
    r"|guard(?:s|ed)|validat(?:es|ed)|gates?|captures?|retains?|clear(?:s|ly)|normaliz\w+"
    r"|sufficient|robust|sound|intended|appropriate|complete(?:ly)?)\b",
    re.IGNORECASE,
)


NO_DEFECT = re.compile(rf"\b{NO}\s+(?:\w+\s+)?(?:{DEFECT.pattern[2:]})", re.IGNORECASE)
NO_VIRTUE = re.compile(rf"\b{NO}\s+(?:\w+\s+)?(?:{POSITIVE.pattern[2:]})", re.IGNORECASE)
DESCRIBES_LABEL = re.compile(
    r"\b(?:consequence|implication|result|effect|rationale|reason|background|context)s?\b",
    re.IGNORECASE,
)
GERUND = re.compile(r"[*_]*[A-Za-z]+ing\b", re.IGNORECASE)
FINITE = re.compile(
    r"\b(?:is|are|was|were|does|do|can|will|has|have|should|must|may)\b", re.IGNORECASE
)
TURNED = re.compile(
    r"\b(?:not|never|no longer|don[’']t|shouldn[’']t|stop|avoid|without)\b", re.IGNORECASE
)
SHOULD = re.compile(
    r"\b(?:should|ought|would it|best way|right way|recommend\w*|how (?:do|can|could) we)\b",
    re.IGNORECASE,
)
CLAUSE_WORDS, LABEL_WORDS = 4, 5

ENGLISH = word_set(
    "the is are of to and not for with that this it be by or if only yes when from which should"
)
OTHER_LANGUAGES = word_set(
    "der die das und ist nicht ein eine wird auch auf le la les des est une pas dans et que el los "
    "las una con por para não uma com é il gli non per che di del"
)
LAST_LATIN = "ɏ"
"""The end of Latin Extended-B: letters beyond it belong to another script."""
ANY_WORD = re.compile(r"[^\W\d_]+")
