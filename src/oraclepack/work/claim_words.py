"""The words and forms that distinguish claims: mood, modality, negation, defects.

They are general engineering English. A word belongs here only if it means the same in an answer
about any program.
"""

import re

from oraclepack.answers.sentences import word_set

EVIDENCE = re.compile(
    r"(?:^|(?<=[.;!?)\]”\"*`]))\s*[(\[]?[*_]{0,2}(?i:same\s+|key\s+)?(?:Evidence|EVIDENCE|Sources?"
    r"|See|Refs?|References?|Citations?|Files?|evidence|see)\b[*_]{0,2}(?:\s*:|\s+(?=[`\w]+[./(`])"
    r"|\s+same\b)"
)
TRAILING_PARENTHESIS = re.compile(r"\s*\((?P<inside>[^()]*(?:\([^()]*\)[^()]*)*)\)[.*_]*\s*$")
CITES = re.compile(
    r"(?:see|same|evidence|files?|sources?|refs?|per)\b|[`*]*[\w@./$*-]+\.\w{1,5}\b(?!\()"
    r"|[`*]*README\b",
    re.IGNORECASE,
)
YES_OR_NO = re.compile(
    r"[*_“\"]*(?P<word>Yes|No|Partly|Partially|Mostly|Not (?:fully|quite|really"
    r"|entirely))\b[*_]*(?=\s*(?:[—–:,.;-]|for\b|but\b|$))\s*[—–:,.;-]*\s*[*_]*",
    re.IGNORECASE,
)
LABEL = re.compile(r"[*_“\"]*(?P<label>[^:.!?]{2,90}?)[*_”\"]*:[*_]*\s+(?=\S)")
CLAUSE = re.compile(
    r"(?<=[:;—–])[*_]*\s+|(?:^|\s)\(?[a-d1-4]\)\s+|,?\s+(?:and|then|but)\s+(?:also\s+|then\s+|still\s+)?"
)
MODAL = re.compile(r"\b(?:should(?:n[’']t)?|ought to|needs? to|has to|have to)\b", re.IGNORECASE)
NO_CHANGE_NEEDED = re.compile(
    r"\bno (?:further |code )?(?:action|change|work|fix|update)s?\b[^.;]*\b(?:needed|required"
    r"|necessary)\b|\bnothing (?:needs to|has to|to) (?:be |do|fix|change)",
    re.IGNORECASE,
)
MUST = re.compile(r"\bmust(?:n[’']t)?\b", re.IGNORECASE)
"""About code it mostly describes; it counts as advice only if the question asks for advice."""
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
UNVERIFIED = re.compile(
    r"\b(?:can(?:no|[’']|)t|cannot|could not|couldn[’']t|not possible to|unable to"
    r"|impossible to)\s+(?:be\s+)?(?:\w+ly\s+)?(?:conclud|confirm|verif|determin|establish|prov"
    r"|say|tell|decid|assess|judg|answer|know)\w*|\b(?:not|isn[’']t|aren[’']t|wasn[’']t) (?:shown"
    r"|been (?:measured|verified|confirmed)"
    r"|visible|included|provided|attached|available here)\b|(?:^|\b(?:is|are|remains?|still"
    r"|it[’']s|currently)\s+)[*_]*(?:unknown|unclear|unverified|unproven|uncertain)\b(?!\s+[a-z]\w+s?\s+[a-z])"
    r"|\b(?:unknown|unclear)\s+(?:whether|how|what|where|which|if|who)\b|\bno evidence (?:that"
    r"|here|of|yet|in)\b|\bwithout (?:seeing|access to|the)\b"
    r"|\b(?:evidence|context|information) (?:is|was) (?:insufficient|not (?:enough|sufficient))\b"
    r"|\b(?:insufficient|not enough) (?:evidence|context|information)\b"
    r"|\battach(?:ed (?:files?|code|excerpts?)|ments?) (?:do|does)(?: not|n[’']t)"
    r" (?:contain|decide|include|name|reveal|say|show)\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"\b(?:may|might|could|can|would|risks?|potential(?:ly)?|possibl[ey]|probably|perhaps|likely"
    r"|assum\w+)\b",
    re.IGNORECASE,
)
CONDITIONAL = re.compile(
    r"\b(?:if|whether|unless|depends?|depending|hypothetical\w*|worth (?:noting|confirming))\b",
    re.IGNORECASE,
)
BY_DESIGN = re.compile(
    r"\bby design\b|\bas (?:documented|intended|designed|expected)\b|\b(?:intentional|deliberate)"
    r"(?:ly)?\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"")
REASON_OR_CONDITION = re.compile(
    r"(?:,?\s+(?:because|since|so|which|when|if|unless|where|until|as long as|without|rather than"
    r"|to avoid|to prevent|in order to|even)\b|,\s+(?:so|as|which|and therefore)\b).*",
    re.IGNORECASE | re.DOTALL,
)
"""A reason, condition or purpose after the claim; not part of it."""
NEGATION_WORDS = (
    r"(?:not|no|never|nothing|none|neither|cannot|lacks?|lacking|missing|absent|absence|without"
    r"|(?:does|do|is|are|was|were|has|have|had|wo|ca|should|would|could)n[’']t|can[’']t|won[’']t)"
)
NEGATION = re.compile(rf"\b{NEGATION_WORDS}\b", re.IGNORECASE)
ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
IS_ONLY = re.compile(
    r"\b(?:is|are|was|were|exists?|runs?|happens?|works?|it) only\b(?! (?:when|if|once|after))",
    re.IGNORECASE,
)
DEFECT = re.compile(
    r"\b(?:un(?!affect|chang|defin|der|expect|if|it|less|modif|relat|til|touch)\w+(?:ed|edly|able"
    r"|ably|ible)|un(?:safe|stable|sound|clean|even|secure)|mis(?:align|behav|calculat|classif"
    r"|configur|count|direct|fir|handl|inform|interpret|label|lead|load|match|nam|read|report|rout"
    r"|treat|us)\w*|(?:over|under)-\w+|overly|non-?(?:atomic|determinis|idempoten|portab)\w*"
    r"|in(?:accura|adequa|appropria|complete|consisten|correct|effect|efficien|flexib|secur"
    r"|suffic)\w*|irreversibl\w*"
    r"|accidental(?:ly)?|ambigu\w+|awkward|best-effort|block(?:s|ed|ing)? (?:the|on|all)"
    r"|bottlenecks?|break(?:s|ing|age)?|brittle|broken|buggy|bugs?|bypass\w*|clobber\w*|clums\w+"
    r"|coarse|conflict\w*|confus\w+|corrupt\w*|costly|coupl(?:ed|ing)|crash\w*|crude"
    r"|cumbersome|dangling|deadlock\w*|defects?|degrad\w+|denial|diverg\w*|drift\w*"
    r"|drops?|dropped|dropping|dubious|duplicat\w+|error-prone|excessive\w*|expensive|exposure"
    r"|fail(?:s|ed|ure)?(?!-| (?:fast|closed|safe|early|loudly))|faulty|flak(?:y|iness)|flaw\w*"
    r"|footguns?|forever|forg(?:ets?|ot)|fragil\w+|gaps?|giv(?:es|ing) up|hang(?:s|ing)?"
    r"|hard-?cod\w+|holes?|ignor(?:e|es|ed|ing)|indefinitely|lag(?:s|ging)|late|leak\w*"
    r"|loopholes?|los(?:e|es|t|ing|s)|lossy|mask(?:s|ed|ing)?|na[iï]ve\w*|needless\w*|nois[ey]|no-op"
    r"|obscure\w*|obsolete|omit(?:s|ted|ting)?|opaque|orphan\w*|outdated|overwrit\w+|panics?"
    r"|partially|pitfalls?|poor(?:ly)?|problematic|problems?|questionable|races?|racy|redundant\w*"
    r"|regress\w*|shortcomings?|silent(?:ly)?|simplistic|single point|slow(?:s|ly)?|spurious\w*"
    r"|stale\w*|starv\w+|stuck|suffers?|superficial\w*|surpris\w+|swallow\w*|thin|too \w+"
    r"|truncat\w+|violat\w+|vulnerab\w*|wasteful|wastes?|weak\w*|worse|wrong\w*"
    r"|(?:is|are|remains?) (?:still )?possible)\b",
    re.IGNORECASE,
)
"""Words for faults, independent of the subject."""
LEADING_CONDITION = re.compile(
    r"^(?:because|since|when|if|after|as)\b[^,]{3,90},\s+", re.IGNORECASE
)
"""A reason or condition in front of the claim."""
CONTRAST = re.compile(
    r"\b(?:but|however|yet|although|though|despite|except|still|while)\b", re.IGNORECASE
)
TRAILING_CONTRAST = re.compile(r"(?<=\w),?\s+(?:although|though|while|whereas)\b", re.IGNORECASE)
"""A contrast after the main clause that does not reverse its meaning."""
CONSEQUENCE = re.compile(
    r"(?:,\s+(?:so|which)|;\s+(?:so|therefore|thus))\b(?P<text>.*)", re.IGNORECASE | re.DOTALL
)
POSITIVE = re.compile(
    r"\b(?:correct(?:ly)?|consistent(?:ly)?|coherent|stable|graceful(?:ly)?|preserv\w+|cover(?:ed"
    r"|s)|allow(?:ed|s)|aligned|enforc(?:ed|es)|scoped|bounded|cleaned|idempotent|safe(?:ly)?"
    r"|determinis\w+|explicit(?:ly)?|handled|protected|satisfied|supported|works|does (?!not)\w+"
    r"|avoid(?:s|ed)|caught|detect(?:s|ed)|document(?:s|ed)|encrypt(?:s|ed)|escap(?:es|ed)"
    r"|isolat(?:es|ed)|mitigat(?:es|ed)|prevent(?:s|ed)|reject(?:s|ed)|reported|sanitiz(?:es|ed)"
    r"|surfac(?:es|ed)|tested|verif(?:ies|ied)"
    r"|guard(?:s|ed)|validat(?:es|ed)|gates?|captures?|retains?|clear(?:s|ly)|normaliz\w+"
    r"|sufficient|robust|sound|intended|appropriate|complete(?:ly)?)\b",
    re.IGNORECASE,
)


REJECTED_INPUT = re.compile(
    r"[*_\s]*(?:duplicate|expired|invalid|malformed|oversized|stale|unauthori[sz]ed|unexpected"
    r"|unknown|untrusted)\s(?:[\w-]+\s){1,4}?(?:are|is|do|does|will|can)(?:\s+not|n[’']t|not)\b",
    re.IGNORECASE,
)
"""Bad input that is rejected, which is no defect: `invalid names are not accepted`."""
NEGATED_DEFECT = re.compile(
    rf"\b{NEGATION_WORDS}\s+(?:\w+\s+)?(?:{DEFECT.pattern[2:]})", re.IGNORECASE
)
NEGATED_POSITIVE = re.compile(
    rf"\b{NEGATION_WORDS}\s+(?:\w+\s+)?(?:{POSITIVE.pattern[2:]})", re.IGNORECASE
)
DESCRIBES_LABEL = re.compile(
    r"\b(?:consequence|implication|result|effect|rationale|reason|background|context)s?\b",
    re.IGNORECASE,
)
GERUND = re.compile(r"[*_]*[A-Za-z]+ing\b", re.IGNORECASE)
FINITE_VERB = re.compile(
    r"\b(?:is|are|was|were|does|do|can|will|has|have|should|must|may)\b", re.IGNORECASE
)
NEGATED_DEMAND = re.compile(
    r"\b(?:not|never|no longer|don[’']t|shouldn[’']t|stop|avoid|without)\b", re.IGNORECASE
)
ASKS_FOR_ADVICE = re.compile(
    r"\b(?:should|ought|would it|best way|right way|recommend\w*|how (?:do|can|could) we)\b",
    re.IGNORECASE,
)
FEWEST_CLAUSE_WORDS, MOST_LABEL_WORDS = 4, 5
"""A label of at least four words is a clause; one of at most five may be a noun phrase."""

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
