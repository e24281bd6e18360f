"""What a sentence is after: it asks for work, says that none is needed, or cannot tell."""

import re
from functools import lru_cache

from oraclepack.work.comparison_words import word_set

IMPERATIVES = word_set(
    "add adjust align allow alert annotate apply archive assert assign attach audit automate avoid "
    "backfill benchmark bind bound break bring build bump bypass call capture catch change choose "
    "clarify clean clear close collapse collect combine compare compute configure confirm connect "
    "consider consolidate convert copy correct cover create deduplicate define delay delete deny "
    "deprecate derive detect determine disable distinguish do don't drop ease edit eliminate emit "
    "enable encode encrypt enforce ensure escape evaluate examine exclude execute expand expire "
    "explain expose extend extract fail fetch fix flag flush forbid format freeze gate generate "
    "give grant guarantee handle harden hash hide hoist identify ignore implement import improve "
    "include increase inject inline insert inspect install instrument integrate introduce "
    "invalidate investigate invoke isolate keep launch leave let list load lower make mark "
    "measure memoize merge migrate minimise minimize mock modify monitor move narrow normalise "
    "normalize notify obtain offload omit open optimise optimize override paginate parse pass "
    "patch perform persist pick pin populate prefer prefetch prepare preserve prevent print "
    "prohibit promote propagate protect prove provide prune publish pull push put quote raise read "
    "rebuild recompute reconcile record recreate redact reduce refactor refuse regenerate register "
    "reject release reload remove rename render reorder repair repeat replace reproduce require "
    "reset resolve restore restrict restructure retain retire retry reuse revert review revoke "
    "rewrite roll rotate round run sanitise sanitize save scan schedule scope seed select send "
    "separate serialise serialize serve share shorten show shut sign simplify simulate skip split "
    "stage standardise standardize start stop store stream strip supply surface suspend swap "
    "switch synchronise synchronize tag take tell terminate throttle throw tie tighten time toggle "
    "trigger trim truncate try tune turn unify uninstall unlock update upgrade upload validate "
    "verify version wait warn watch whitelist widen wire wrap write "
    # German
    "füge ergänze prüfe überprüfe entferne lösche setze verwende nutze schreibe erstelle ersetze "
    "ändere vermeide sperre teste dokumentiere protokolliere begrenze verschiebe benenne führe "
    "validiere leere zeige melde speichere verschlüssele behebe messe miss lies starte "
    "baue lege stelle aktiviere deaktiviere "
    # French
    "ajoute ajouter ajoutez supprime supprimer supprimez vérifie vérifier vérifiez "
    "utilise utiliser "
    "utilisez remplace remplacer remplacez crée créer créez écris écrire écrivez documente "
    "documenter limite limiter limitez évite éviter évitez déplace déplacer renomme renommer teste "
    "tester testez valide valider validez journalise journaliser corrige corriger exécute exécuter "
    "mesure mesurer chiffre chiffrer "
    # Spanish
    "añade añadir agrega agregar elimina eliminar verifica verificar comprueba comprobar usa usar "
    "utiliza utilizar reemplaza reemplazar crea crear escribe escribir documenta documentar limita "
    "limitar evita evitar mueve mover renombra renombrar prueba probar valida validar registra "
    "registrar muestra mostrar guarda guardar corrige corregir ejecuta ejecutar mide "
    "medir cifra cifrar "
    # Portuguese, Italian
    "adicione adicionar remova remover verifique verificar substitua substituir crie criar escreva "
    "escrever documente limite evite mova renomeie teste valide corrija execute meça "
    "aggiungi aggiungere rimuovi rimuovere sostituisci sostituire scrivi scrivere documenta "
    "sposta rinomina controlla correggi esegui misura"
)
"""Verbs that begin a request."""

AMBIGUOUS = word_set(
    "access batch block buffer cache cap check contact control count debug default design display "
    "document drain estimate experiment export feature filter force fork group guard index lease "
    "limit link lock log map match monitor name note order page plan poll probe process profile "
    "query queue rank rate reference report request return sample scale search set sort stub "
    "support target test trace track transform use value view walk"
)
"""Words that are as often nouns: what follows decides."""

OBJECTS = word_set(
    "the a an all each every any this that these those it its them both only whether which how "
    "where what why who ` one two three your our against for into in with on again up"
)
"""What follows a verb rather than a noun."""

STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do not exist|isn['’]t|aren['’]t|exists?|seems?|looks?|"
    r"remains?|ist|sind|wird|werden|est|sont|es|está|son|é|são|è|sono)\b",
    re.IGNORECASE,
)
"""A verb that tells how things are."""

LABELS = word_set(
    "action actions fix todo recommendation recommended recommend remedy mitigation "
    "proposal change "
    "suggestion suggested do task next-step maßnahme empfehlung correction recommandation acción "
    "recomendación corrección ação recomendação azione raccomandazione"
) | {"next step", "suggested fix", "proposed fix", "proposed change", "follow-up", "action item"}
"""What stands before a request: "Fix: …"."""

MODALS = re.compile(
    r"\b(?:should|must|ought to|needs? to|needs? (?:a|an|its|the|more|some|one)\b|ha(?:s|ve) to|"
    r"(?:we|i|i'd|we'd) (?:would )?(?:recommend|suggest|propose)|(?:is|are) recommended|"
    r"belongs? in|"
    r"soll(?:te|ten|en)?|muss|müssen|braucht|brauchen|doit|doivent|devrait|devraient|il faut|"
    r"debe|deben|debería|deberían|hay que|deve|devem|deveria|é preciso|devono|dovrebbe|bisogna)\b"
    r"|应该|必须|需要|すべき|する必要",
    re.IGNORECASE,
)
"""Verbs that ask for work without an imperative."""

ENDS_AS_REQUEST = re.compile(
    r"\b(?:hinzufügen|entfernen|ergänzen|prüfen|ersetzen|verwenden|einführen|schreiben|testen|"
    r"löschen|setzen|ändern|absichern|verschieben|begrenzen|dokumentieren)$"
    r"|^(?:请)?(?:添加|增加|删除|检查|使用|替换|创建|编写|修复|移除|更新|避免)|(?:してください|する)$",
    re.IGNORECASE,
)

OPENERS = re.compile(
    r"(?:please|kindly|first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|finally|lastly|also|"
    r"additionally|instead|immediately|now|afterwards|after that|just|simply|always|so|and|"
    r"at minimum|ideally|bitte|zuerst|dann|danach|schließlich|s['’]il vous plaît|d['’]abord|"
    r"ensuite|puis|enfin|por favor|primero|luego|después|finalmente|poi|infine)\b[,:]?\s+",
    re.IGNORECASE,
)

SEQUENCE = re.compile(
    r"(?:\(?\d{1,3}[.)]\s+)?(?:then|afterwards|after that|after this|once (?:this|that|it)|finally|"
    r"lastly|when (?:this|that) is done|dann|danach|anschließend|ensuite|puis|enfin|luego|después|"
    r"depois|em seguida|poi|dopo|infine)\b",
    re.IGNORECASE,
)

CANNOT_TELL = re.compile(
    r"\b(?:cannot|can ?not|can['’]t|could ?n['’]t|could not|unable to|impossible to|not "
    r"possible to|"
    r"not able to)\s+(?:be\s+)?(?:tell|told|determin\w+|say|said|conclude|concluded|judged?|"
    r"establish(?:ed)?|assess(?:ed)?|answer(?:ed)?|know|known|verified from|confirmed from|"
    r"verify from|confirm from)\b"
    r"|\b(?:insufficient|not enough|too little)\s+(?:\w+\s+)?(?:evidence|information|"
    r"context|data)\b"
    r"|\bevidence (?:is|was) (?:insufficient|not sufficient|missing)\b"
    r"|\bnot (?:visible|shown|included|present|contained) in (?:the|any of the) "
    r"(?:attached|provided|given)\b"
    r"|\b(?:nicht (?:feststellbar|erkennbar|zu erkennen|zu beurteilen)|lässt sich nicht (?:\w+ )?"
    r"(?:sagen|beurteilen|feststellen|bestimmen)|(?:belege|informationen) reichen nicht)"
    r"|\b(?:impossible de (?:dire|déterminer|savoir|conclure)|ne peut pas être déterminé\w*|"
    r"preuves? insuffisantes?)"
    r"|\b(?:no se puede (?:determinar|saber|decir|concluir)|evidencia insuficiente|"
    r"não é possível (?:determinar|dizer|saber)|non è possibile (?:determinare|dire|stabilire))"
    r"|无法(?:判断|确定|得知)|判断でき(?:ない|ません)",
    re.IGNORECASE,
)

NO_ACTION = re.compile(
    r"\bno (?:further |additional |code |immediate )*(?:actions?|changes?|work|fix(?:es)?|"
    r"follow-?ups?|steps?|remediation)(?: is| are)? (?:required|needed|necessary|to take)\b"
    r"|\bno action\b|\bnothing (?:needs )?to (?:do|change|fix|be (?:done|changed))\b"
    r"|\bnothing needs\b"
    r"|\b(?:kein handlungsbedarf|nichts zu (?:tun|ändern)|keine (?:änderung(?:en)?|maßnahmen?) "
    r"(?:nötig|erforderlich|notwendig))"
    r"|\baucune (?:action|modification|mesure)\b|\brien à (?:faire|changer)\b"
    r"|\bno se requieren? (?:ninguna )?(?:acción|cambios?|acciones)\b|\bninguna acción\b"
    r"|\bnada que hacer\b|\bnenhuma ação\b|\bnada a fazer\b|\bnessuna azione\b|\bniente da fare\b"
    r"|无需(?:操作|更改|修改)|不需要(?:任何)?(?:操作|更改|修改)|対応不要",
    re.IGNORECASE,
)

NOTHING = re.compile(
    r"none(?: \w+)?|n/?a|nothing(?: (?:is )?(?:missing|needed|required|else))?|not applicable|"
    r"no(?:ne)? (?:missing|further|additional|more) \w+(?: (?:is|are)? ?(?:needed|"
    r"required|missing))?|"
    r"(?:the )?(?:attached )?evidence is (?:sufficient|complete|enough)|sufficient|"
    r"no missing (?:evidence|files?|inputs?)|no (?:experiment|risks?)(?: (?:is "
    r")?(?:needed|required|"
    r"necessary|known|found))?|"
    r"keine?s?|nichts|entfällt|aucun\w*|rien|néant|ningun[oa]|nada|nenhum\w*|nessun[oa]|niente|"
    r"无|没有|なし|特になし|-+|—",
    re.IGNORECASE,
)


_CODE = re.compile(r"`[^`]*`")
_LABEL = re.compile(
    r"(?:[-–—•*]\s*)?(?P<label>[^\W\d_][\w /’'-]{0,30}?)\s*(?:\(\S{0,20}\))?\s*[:：—–]\s"
)
_NUMBERED = re.compile(r"(?:step\s+)?\(?\d{1,3}[.):]\s+|p\d\s*[:—–-]\s*", re.IGNORECASE)
_PLACED = re.compile(
    r"(?:in|at|on|for|inside|within|dans|en|nel|nella|em)\s+(?:the\s+)?(?:file\s+)?`[^`]*`"
    r"[^,:;`]{0,40}[,:]\s*",
    re.IGNORECASE,
)
_LEADING_PLACE = re.compile(
    r"(?:`[^`]*`|[\w./-]{1,120}\.\w{1,10}(?::\d+(?:[-–]\d+)?)?)\s*[:：—–]\s+"
)
_SUBORDINATE = re.compile(
    r"(?:if|when|to|after|before|while|once|until|as|for|by|during|because|since|wenn|um|nach|vor|"
    r"si|quand|pour|avant|après|cuando|para|antes|después|se|quando|prima|dopo)\b[^,;]{2,120},\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|`|\d+")
_NEGATED = re.compile(r"(?:do not|don['’]t|never|stop|avoid|ne|não|non)\s", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:never|always|can|cannot|will|may|might|only)\b")
_EDGE = " \t*_-–—•>.:"


@lru_cache(maxsize=20_000)
def is_action(sentence: str) -> bool:
    """It asks somebody to do something: an imperative, or a "should"."""
    text = sentence.strip(_EDGE)
    if not text or text.endswith("?") or says_no_action(text):
        return False
    if _labelled(text) or MODALS.search(_CODE.sub("`", text)):
        return True
    bare = _without_openers(text)
    return any(_is_imperative(form) for form in (bare, _SUBORDINATE.sub("", bare, count=1)))


def says_no_action(sentence: str) -> bool:
    """It says that there is nothing to do."""
    return NO_ACTION.search(sentence) is not None


def cannot_tell(sentence: str) -> bool:
    """It says that the evidence does not answer the question."""
    return CANNOT_TELL.search(sentence) is not None


def says_nothing(text: str) -> bool:
    """It only fills a section: "None", "n/a"."""
    bare = text.strip(_EDGE + "()")
    return not bare or NOTHING.fullmatch(bare) is not None


def follows_another(sentence: str) -> bool:
    """It begins as the next of several steps: "Then …", "Afterwards …"."""
    return SEQUENCE.match(sentence.strip(_EDGE)) is not None


def _labelled(text: str) -> bool:
    label = _LABEL.match(text)
    return label is not None and label["label"].lower().strip() in LABELS


def _without_openers(text: str) -> str:
    """A sentence without numbering, label, "please" and the place it speaks of."""
    before = ""
    while before != text:
        before = text
        text = _NUMBERED.sub("", text, count=1) if _NUMBERED.match(text) else text
        opener = OPENERS.match(text)
        text = text[opener.end() :] if opener is not None else text
        placed = _PLACED.match(text) or _LEADING_PLACE.match(text)
        text = text[placed.end() :] if placed is not None else text
        label = _LABEL.match(text)
        # `Cache: add a lock` names its subject first.
        text = text[label.end() :] if label is not None else text
    return text


def _is_imperative(text: str) -> bool:
    if _NEGATED.match(text) and not STATES.search(_CODE.sub("`", text)):
        return True
    tokens = [token.lower() for token in _WORD.findall(_CODE.sub("`", text))[:14]]
    if not tokens:
        return False
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else ""
    if first in AMBIGUOUS:
        rest = " ".join(tokens[1:])
        return second in OBJECTS or not (STATES.search(rest) or _TELLS.search(rest))
    return first in IMPERATIVES or ENDS_AS_REQUEST.search(text.rstrip(" .!。")) is not None
