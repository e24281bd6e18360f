"""The words that decide how statements are compared: data, in several languages."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())


SMALL = word_set(
    # English: articles, pronouns, auxiliaries, prepositions
    "a an the this that these those it its they them their there here he she we you i our your my "
    "is are was were be been being am do does did done has have had having will would shall should "
    "can could may might must ought need needs needed of on in at to from by for with into onto "
    "over under between among about as than then so also too very just only even both each every "
    "all any some such other another more most much many few own same per via and or but nor if "
    "when while because since whereas whether which who whom whose what where why how once until "
    "unless though although however therefore see e.g i.e etc currently today now already still "
    "again rather quite up out off down away back first next finally please get gets got let lets "
    "let's so-called around across through during against behind upon toward towards "
    "onto anywhere anything everything someone something us "
    # German
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass daß ob "
    "ist sind war waren wird werden wurde wurden sein hat haben im in am an auf aus bei mit nach "
    "von vom zu zum zur für über unter um es er sie wir man sich auch noch schon nur sehr dann "
    "so als wie diese dieser dieses sollte sollten muss müssen kann können braucht "
    # French
    "ne n n'est n'a le la les l un une des du de d et ou mais si quand car que qu qui "
    "dont où est sont était "
    "être a ont au aux dans sur sous avec pour par en ce cette ces il elle on se s y doit devrait "
    "faut peut "
    # Spanish, Portuguese, Italian
    "el los las lo una unos unas y o pero si cuando porque que es son era ser ha han al del con "
    "para por se su sus debe debería puede em os as um uma e ou mas quando é são do da dos "
    "das na nos nas com deve il gli i uno ed ma di che sono della delle degli nel nella deve "
    "dovrebbe"
)
"""Words that carry no content."""

LIGHT = word_set(
    "add adds added use uses used using make makes made making put puts set sets create creates "
    "created introduce introduces include includes included implement implements ensure ensures "
    "provide provides write wrap wraps keep keeps kept apply applies turn turns become becomes "
    "leave leaves left have give gives run runs running call calls calling go goes happen happens "
    "guard guards guarded protect protects protected place placed perform "
    "performs take takes live lives turn change changes want wants "
    "füge ergänze setze verwende nutze mache schreibe hinzu hinzufügen einfügen "
    "ajoute ajouter ajoutez utilise utiliser mets mettre fais faire crée créer "
    "añade añadir agrega agregar usa usar pon poner haz hacer crea crear escribe escribir "
    "adicione adicionar use usar crie criar aggiungi aggiungere usa usare crea creare"
)
"""Verbs that only carry another word: "add a lock" and "use a lock" say the same."""

NEGATES_CLAUSE = word_set(
    "not never cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't "
    "shouldn't mustn't couldn't hasn't haven't hadn't needn't neither missing lacks lack lacking "
    "absent lost loses lose stop stops avoid avoids refrain hardly nobody nothing nowhere "
    "nicht nie niemals fehlt fehlen fehlend vermeide "
    "pas jamais évite manque "
    "nunca jamás tampoco evita falta não nem non mai manca "
    "不 没 未 无 沒 無"
)
"""Words that deny the whole clause they are in."""

NEGATES_REST = word_set(
    "no without none kein keine keinen keinem keiner ohne sans aucun aucune sin ningún ninguna "
    "sem nenhum nenhuma senza nessun nessuna"
)
"""Words that deny what follows them in the clause. Spanish "no" is among them, and fits."""

REMOVES = word_set(
    "remove removes removed removing delete deletes deleted deleting drop drops dropped dropping "
    "eliminate eliminates erase purge clean cleans cleaned cleanup strip strips discard discards "
    "entferne entfernen lösche löschen supprime supprimer retire retirer elimina eliminar remova "
    "remover rimuovi rimuovere"
)
"""Verbs that deny their object: to remove a flag is not to keep it."""

PHRASES = (
    ("instead of", "without"),
    ("rather than", "without"),
    ("in place of", "without"),
    ("get rid of", "remove"),
    ("gets rid of", "remove"),
    ("fails to", "never"),
    ("failed to", "never"),
    ("fail to", "never"),
    ("no longer", "never"),
    ("at least", "at-least"),
    ("at most", "limit"),
    ("up to", "limit"),
    ("is on", "enabled"),
    ("is off", "disabled"),
    ("are on", "enabled"),
    ("are off", "disabled"),
    ("turn on", "enable"),
    ("turn off", "disable"),
    ("switch on", "enable"),
    ("switch off", "disable"),
    ("left behind", "kept"),
    ("non ", "not "),
)
"""Phrases that stand for one word."""

OPPOSITES = (
    ("enable", "disable"),
    ("always", "never-ever"),
    ("before", "after"),
    ("inside", "outside"),
    ("within", "beyond"),
    ("require", "optional"),
    ("mandatory", "optional"),
    ("allow", "forbid"),
    ("permit", "deny"),
    ("accept", "reject"),
    ("accept", "refuse"),
    ("increase", "decrease"),
    ("raise", "lower"),
    ("grow", "shrink"),
    ("enlarge", "reduce"),
    ("public", "private"),
    ("global", "local"),
    ("shared", "local"),
    ("lazy", "eager"),
    ("merge", "separate"),
    ("merge", "split"),
    ("inline", "extract"),
    ("succeed", "fail"),
    ("release", "hold"),
    ("open", "close"),
    ("start", "end"),
    ("ascending", "descending"),
    ("propagate", "swallow"),
    ("ignore", "reject"),
    ("static", "dynamic"),
    ("strong", "weak"),
    ("strict", "lenient"),
    ("fresh", "stale"),
    ("fast", "slow"),
    ("true", "false"),
    ("centralise", "decentralise"),
    ("encode", "decode"),
    ("encrypt", "decrypt"),
    ("aktiviert", "deaktiviert"),
    ("activé", "désactivé"),
    ("activado", "desactivado"),
)
"""Pairs that deny each other; the second one counts as the first, denied."""

SAME = (
    ("limit", "cap restrict maximum max"),
    ("validate", "verify check sanitise sanitize"),
    ("remove", "drop delete"),
    ("unused", "dead obsolete"),
    ("retry", "retries retried retrying"),
    ("test", "tests testing"),
    ("document", "describe explain"),
    ("save", "store persist"),
    ("reject", "refuse deny"),
    ("show", "display"),
    ("message", "msg"),
    ("error", "errors"),
    ("configuration", "config"),
    ("database", "db"),
    ("parameter", "param argument arg"),
    ("split", "extract"),
    ("escape", "html-escape"),
    ("paginate", "pagination page paging"),
    ("idempotent", "idempotency idempotence"),
    ("synchronous", "synchronously sync"),
    ("asynchronous", "asynchronously async"),
    ("lazy", "lazily"),
    ("every", "all each any"),
)
"""Words that say the same; the first one stands for the others."""

DENYING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "non-", "dis", "a", "de")
"""A word with one of these before it denies the word without."""
NOT_DENIED = word_set("validate invalidate formation information index dex put input")
"""Words that only look like such a pair."""

NUMBERS = (
    {
        word: number
        for number, word in enumerate(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
        )
    }
    | {"eleven": 11, "twelve": 12}
    | {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60}
)
NUMBERS |= {"hundred": 100, "thousand": 1000, "once": 1, "twice": 2}

CLAUSE_ENDS = word_set(
    "when if because since while whereas so which who but until unless where although though "
    "whenever before after as-soon-as wenn weil während aber sobald bevor nachdem quand lorsque "
    "parce mais cuando porque pero mientras quando perché"
)
"""Words that begin a new clause; what is denied before them is not denied after."""

REASONS = word_set("because since so weil damit da car puisque porque pues pois perché poiché")
"""Words that begin a reason: what is asked for is before them."""
