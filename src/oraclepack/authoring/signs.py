"""The traits a source text can show, and the signs by which each is known.

A trait has a few literal words and some patterns. The words are looked for first, which is
fast; the patterns run only on the lines where one of them stands. Texts are only searched,
never executed. A named group of a pattern gives a name for the question.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Trait(StrEnum):
    """Something a file can show, and what people call it when there are several."""

    ROUTE = "routes"
    COMMAND = "commands"
    MODEL = "data shapes"
    CLIENT = "calls to other systems"
    CHECK = "checks"
    CONSTRAINT = "constraints"
    CACHE = "cache uses"
    STATE = "pieces of shared state"
    JOB = "background tasks"
    SCHEDULE = "schedules"
    LOG = "log calls"
    METRIC = "metrics and traces"
    ACCESS = "access checks"
    SECRET = "uses of secrets"  # noqa: S105 - what people call it
    MIGRATION = "schema changes"
    VERSION = "version marks"
    SCREEN = "screens and forms"
    MESSAGE = "messages to people"
    HANDLER = "error handlers"
    GUARD = "timeouts, retries and clean-ups"
    FLAG = "feature flags"
    VARIABLE = "environment variables and options"
    SYMBOL = "public names"


@dataclass(frozen=True, slots=True)
class Sign:
    """How one trait is known."""

    words: tuple[str, ...]
    """A line without any of them does not show the trait."""
    pattern: re.Pattern[str]
    lines: int = 1
    """How many lines a find may take: a decorator stands above what it decorates."""


def _sign(words: str, *patterns: str, lines: int = 1) -> Sign:
    return Sign(tuple(words.split()), re.compile("|".join(patterns), re.MULTILINE), lines)


SIGNS: Mapping[Trait, Sign] = {
    Trait.ROUTE: _sign(
        "get( post( put( delete( patch( route path( Handle Mapping rpc Router method",
        r"\.(?:get|post|put|delete|patch|route|api_route)\(\s*[\"'](?P<n0>/[^\"'\s]{0,60})",
        r"\b(?:re_)?path\(\s*r?[\"'](?P<n1>[^\"'\s]{1,60})[\"']\s*,",
        r"\.?\bHandle(?:Func)?\(\s*\"(?P<n2>[^\"]{1,60})\"",
        r"@(?:Get|Post|Put|Delete|Patch|Request)(?:Mapping)?\(\s*[\"'](?P<n3>[^\"'\s]{1,60})",
        r"\bRoute::\w+\(\s*[\"'](?P<n4>[^\"'\s]{1,60})",
        r"^\s*rpc\s+(?P<n5>\w+)\s*\(",
        r"^export\s+(?:async\s+)?function\s+(?P<n6>GET|POST|PUT|DELETE|PATCH)\b",
        r"^\s*(?:get|post|put|delete|resources?)\s+[\"':](?P<n7>[\w/:]{1,60})[\"']?",
    ),
    Trait.COMMAND: _sign(
        "command( Command( Command{ add_parser( ArgumentParser( @click argh clap",
        r"@\w*\.?command\(\s*(?:name=)?[\"'](?P<n0>[\w:-]+)",
        r"\badd_parser\(\s*[\"'](?P<n1>[\w:-]+)",
        r"\bUse:\s*\"(?P<n2>[\w:-]+)",
        r"\.command\(\s*[\"'](?P<n3>[\w:-]+)",
        r"@command\(\s*[\"'](?P<n4>[\w:-]+)",
        r"@\w*\.?command\(\s*\)?\s*$",
        r"\bArgumentParser\(",
        r"class\s+Command\(BaseCommand\)",
    ),
    Trait.MODEL: _sign(
        "class struct interface type message object( input model record",
        r"^\s*class\s+(?P<n0>\w+)\([^)\n]*"
        r"(?:Model|Struct|TypedDict|NamedTuple|Schema|Serializer|Base)\b[^)\n]*\)",
        r"@(?:\w+\.)?dataclass[^\n]*\n(?:@[^\n]*\n){0,3}\s*class\s+(?P<n1>\w+)",
        r"^type\s+(?P<n2>[A-Z]\w*)\s+struct\b",
        r"^export\s+(?:declare\s+)?(?:interface|type)\s+(?P<n3>[A-Z]\w*)",
        r"\b(?P<n4>\w+)\s*=\s*z\.object\(",
        r"^\s*message\s+(?P<n5>\w+)\s*\{",
        r"^\s*(?:type|input)\s+(?P<n6>[A-Z]\w*)\s*(?:@\w+[^\n]*)?\{",
        r"^\s*model\s+(?P<n7>[A-Z]\w*)\s*\{",
        r"\bpub\s+struct\s+(?P<n8>\w+)",
        r"\brecord\s+(?P<n9>[A-Z]\w*)\s*\(",
        lines=4,
    ),
    Trait.CLIENT: _sign(
        "http fetch( axios requests. urlopen subprocess exec. connect Dial boto3 redis smtplib",
        r"\b(?:requests|httpx|aiohttp|session|client)\.(?:get|post|put|delete|patch|request)\(",
        r"\bhttp\.(?:Get|Post|NewRequest\w*)\(|\b(?:fetch|urlopen)\(|\baxios\b[.(]",
        r"\bsubprocess\.(?:run|Popen|check_\w+)\(|\bexec\.Command\w*\(",
        r"\b(?P<n0>boto3|redis|kafka|psycopg2?|sqlalchemy|pymongo|smtplib|stripe|grpc)\.\w+\(",
        r"\bsql\.Open\(\s*\"(?P<n1>\w+)|\bnet\.Dial\w*\(|\bcreateClient\(",
    ),
    Trait.CHECK: _sign(
        "assert raise valid invariant panic( Error( throw require( ensure",
        r"^\s*assert\b|^\s*raise\s+(?P<n0>\w*(?:Value|Type|Validation|Integrity|Assertion)\w*Error)",
        r"\bdef\s+(?P<n1>(?:_?validate|clean|check|ensure)_\w+)",
        r"\bfunc\s+(?:\([^)]*\)\s*)?(?P<n2>(?:[vV]alidate|[cC]heck|[eE]nsure)\w*)",
        r"\b(?:function|const)\s+(?P<n3>(?:validate|check|ensure|assert|invariant)\w*)",
        r"\bthrow\s+new\s+(?P<n4>\w*(?:Validation|Range|Type|Argument|State)\w*)",
        r"\bpanic\(|\b(?:debug_)?assert(?:_eq|_ne)?!\(|\.(?:refine|min|max|nonempty)\(",
    ),
    Trait.CONSTRAINT: _sign(
        "unique UNIQUE NOT CHECK Constraint atomic Lock Mutex frozen enum Enum readonly BEGIN",
        r"\bunique(?:_together|=True|Index)?\b|\bUNIQUE\b|\bNOT NULL\b|\bCHECK\s*\(",
        r"\b(?P<n0>\w*Constraint)\(",
        r"\btransaction\.atomic|\.transaction\(|\bBEGIN\b|\bBeginTx\(",
        r"\b(?:R?Lock|Mutex|RWMutex|Semaphore)\b|\bflock\b|\bfrozen=True|\breadonly\s+\w+\s*:",
        r"\bclass\s+(?P<n1>\w+)\([^)\n]*(?:Enum|TextChoices)\)|\benum\s+(?P<n2>[A-Z]\w*)",
    ),
    Trait.CACHE: _sign(
        "cache Cache redis memo Memo localStorage revalidate ttl TTL",
        r"@(?:functools\.)?(?:lru_)?cache\b[^\n]*\n(?:@[^\n]*\n){0,2}\s*(?:async\s+)?def\s+(?P<n0>\w+)",
        r"\bcache\.(?:get|set|delete|add|get_or_set|clear|put|has)\(",
        r"\b(?P<n1>\w*[cC]ache\w*)\s*(?::[^=\n]{1,40})?:?=[^=]",
        r"\b(?:useMemo|useCallback|memoize|revalidate(?:Path|Tag)?|useQuery)\(",
        r"\b(?:localStorage|sessionStorage)\.\w+|\b(?:ttl|TTL|max_age|maxAge)\b",
        lines=4,
    ),
    Trait.STATE: _sign(
        "global session useS useR createS createC configureStore writable( defineStore( "
        "{} [] dict() set() defaultdict( var sync. atomic. let static OnceCell LazyLock",
        r"^\s*global\s+(?P<n0>\w+)",
        r"\brequest\.session\b|\bsession\[|\buse(?:State|Reducer|Store)\b[<(]",
        r"\b(?:createStore|configureStore|createSlice|createContext|writable|defineStore)\(",
        r"^(?P<n1>_?[a-z]\w*)\s*(?::[^=\n]{1,60})?=\s*(?:\{\}|\[\]|dict\(\)|set\(\)|defaultdict\()",
        r"^var\s+(?P<n2>\w+)\b|\bsync\.(?:Map|Once|Pool)\b|\batomic\.\w+",
        r"^(?:export\s+)?let\s+(?P<n3>\w+)",
        r"\bstatic\s+mut\s+(?P<n4>\w+)|\bOnceCell|\bLazyLock",
    ),
    Trait.JOB: _sign(
        "task Task worker Worker queue Queue go Thread thread perform enqueue delay( spawn Job",
        r"@(?:\w+\.)?(?:shared_task|task|job|actor|background)\b[^\n]*\n\s*(?:async\s+)?def\s+(?P<n0>\w+)",
        r"\.(?:delay|apply_async|enqueue|perform_later|perform_async)\(",
        r"\bgo\s+(?:func\b|(?P<n1>[\w.]+)\()",
        r"\b(?:BackgroundTasks|ThreadPoolExecutor|ProcessPoolExecutor|create_task|spawn)\(",
        r"\bThread\(\s*target=(?P<n2>[\w.]+)",
        r"\bnew\s+(?P<n3>Worker|Queue|BullQueue)\(",
        r"\bclass\s+(?P<n4>\w*(?:Worker|Job|Consumer))\b",
        lines=4,
    ),
    Trait.SCHEDULE: _sign(
        "cron Cron schedule Schedule Interval Ticker every",
        r"\bcron(?:tab)?\b[^\n]{0,40}",
        r"\b(?:beat_schedule|CELERY_BEAT_SCHEDULE|setInterval|node-cron)\b",
        r"\btime\.NewTicker\(|\btime\.Tick\(|@Scheduled\b|\bevery\(|\bschedule\.\w+\(",
        r"^\s*schedule:\s*$",
    ),
    Trait.LOG: _sign(
        "log Log console. slog print(f",
        r"\b(?:logger|logging|log|LOG|LOGGER|_log|slog|zap|klog|winston|pino)"
        r"\.(?:debug|info|warn|warning|error|exception|critical|fatal|Debug|Info|Warn|Error"
        r"|Print|Printf|Println|Fatal|Fatalf)\w*\(",
        r"\bconsole\.(?:log|warn|error|info|debug)\(",
        r"\bgetLogger\(\s*[\"']?(?P<n0>[\w.]*)|\b(?:info|warn|error|debug|trace)!\(",
    ),
    Trait.METRIC: _sign(
        "prometheus metric Metric Counter Histogram Gauge tracer opentelemetry sentry "
        "statsd health",
        r"\b(?:Counter|Histogram|Gauge|Summary)\(\s*[\"'](?P<n0>[\w.:-]+)",
        r"\bNew(?:Counter|Histogram|Gauge)\w*\(|\bmetrics?\.\w+\(|\bstatsd\.\w+",
        r"\b(?:start_as_current_span|startSpan|StartSpan|tracer\.\w+)\(\s*[\"']?(?P<n1>[\w.:-]*)",
        r"\bsentry_sdk|\bSentry\.\w+|\bopentelemetry\b|[\"'/](?P<n2>healthz?|readyz|livez)\b",
    ),
    Trait.ACCESS: _sign(
        "auth Auth permission Permission role Role login jwt JWT token guard Guard isAdmin can(",
        r"@(?P<n0>login_required|permission_required|requires_auth|user_passes_test|roles_required)",
        r"\bpermission_classes\b|\bhas_perm\w*\(|\bis_(?:authenticated|staff|superuser)\b",
        r"@(?:PreAuthorize|RolesAllowed|UseGuards|Secured)\b|\bauthorize!?\s*[(:]",
        r"\b(?:def|func|function|const)\s+(?:\([^)]*\)\s*)?"
        r"(?P<n1>\w*(?:[aA]uth|[pP]ermission|[rR]equireRole|[iI]sAdmin)\w*)",
        r"\bjwt\.\w+\(|\bgetServerSession\(|\bDepends\(\s*(?P<n2>\w*(?:user|auth)\w*)",
    ),
    Trait.SECRET: _sign(
        "KEY TOKEN SECRET PASSWORD password secret token crypt chmod 0o600 hmac redact",
        r"\b(?P<n0>[A-Z][A-Z0-9_]*(?:_KEY|_TOKEN|_SECRET|PASSWORD))\b",
        r"\b(?:bcrypt|argon2|scrypt|hmac|secrets|crypto)\.\w+\(|\b(?:make|check)_password\(",
        r"\bchmod\(|\b0o?600\b|\b(?P<n1>\w*[rR]edact\w*)\(",
    ),
    Trait.MIGRATION: _sign(
        "migration Migration TABLE add_column create_table AddField CreateModel upgrade(",
        r"\bmigrations\.(?P<n0>\w+)\(",
        r"\bop\.(?P<n1>(?:add|drop|alter|create|rename)_\w+)\(",
        r"\b(?i:create|alter|drop)\s+(?i:table|index)\s+(?i:if\s+(?:not\s+)?exists\s+)?"
        r"[\"`]?(?P<n2>[\w.]+)",
        r"^\s*(?:create_table|add_column|remove_column|add_index)\s+:(?P<n3>\w+)",
        r"\bschema\.(?:createTable|alterTable|dropTable)\w*\(\s*[\"'](?P<n4>\w+)",
    ),
    Trait.VERSION: _sign(
        "version VERSION Version deprecat Deprecat compat legacy Legacy",
        r"\b(?P<n0>\w*(?:SCHEMA|FORMAT|API|PROTOCOL)_VERSION)\b",
        r"\b(?P<n1>(?:schema|format|api|protocol)_?[vV]ersion)\b",
        r"\b[dD]eprecat(?:ed|ion)\b|\b(?:backwards?[- ]compat\w*|[lL]egacy)\b",
        r"[\"'/]v(?P<n2>[1-9])/",
    ),
    Trait.SCREEN: _sign(
        "<form <input <button render( render_template( export const class extends block",
        r"<form\b[^>]*?(?:action|id|name)=[\"'](?P<n0>[\w/.:{}-]+)|<form\b|<(?:button|input)\b",
        r"\brender\(\s*request\s*,\s*[\"'](?P<n1>[\w/.-]+)|\brender_template\(\s*[\"'](?P<n2>[\w/.-]+)",
        r"^export\s+(?:default\s+)?(?:async\s+)?function\s+(?P<n3>[A-Z]\w*)",
        r"^(?:export\s+)?const\s+(?P<n4>[A-Z][a-z]\w*)\s*(?::[^=\n]{1,60})?=\s*(?:\(|async|memo|forwardRef)",
        r"\bclass\s+(?P<n5>\w+)\([^)\n]*(?:Screen|View|Widget|Form)\)",
        r"\{%\s*(?:extends|block)\s+[\"']?(?P<n6>[\w/.-]+)",
    ),
    Trait.MESSAGE: _sign(
        "print( echo( help= Println( messages. toast stderr write( gettext alert( Usage:",
        r"^\s*print\(|\b(?:click|typer)\.(?:echo|secho|prompt|confirm)\(",
        r"\bhelp=(?:f|r)?[\"']|\bfmt\.(?:Print|Fprint)\w*\(|\bmessages\.(?:error|success|info)\(",
        r"\b(?:toast|alert|notify)(?:\.\w+)?\(|\bsys\.std(?:err|out)\.write\(|\bgettext\w*\(",
        r"\bt\(\s*[\"'](?P<n0>[\w.-]+)[\"']\s*[,)]|\b(?:puts|println!|eprintln!)\b",
    ),
    Trait.HANDLER: _sign(
        "except catch err rescue recover( Result< onError",
        r"^\s*except\s+\(?(?P<n0>[\w.]+)|^\s*except\s*:",
        r"\bcatch\s*(?:\(\s*(?:final\s+)?(?P<n1>[A-Z]\w*)?|\{)",
        r"\bif\s+err\s*!=\s*nil\b|\brecover\(\)|\berrors\.(?:Is|As)\([^,\n]*,\s*&?(?P<n2>[\w.]+)",
        r"^\s*rescue\b\s*(?P<n3>[A-Z]\w*)?|\.catch\(|\bonError\b|\?;\s*$",
    ),
    Trait.GUARD: _sign(
        "timeout Timeout retry Retry retries backoff finally: finally defer rollback fsync signal.",
        r"\b(?P<n0>\w*(?:[tT]imeout|TIMEOUT)\w*)\s*[=:(]",
        r"\b(?P<n1>\w*(?:[rR]etr(?:y|ies)|RETR(?:Y|IES)|[bB]ackoff)\w*)\s*[=:(]",
        r"^\s*finally\b|\bdefer\s+[\w.]+\(|\.rollback\(|\bfsync\(|\bsignal\.\w+|\bWithTimeout\(",
    ),
    Trait.FLAG: _sign(
        "flag FLAG Flag feature Feature FEATURE toggle Toggle enabled ENABLE rollout experiment",
        r"\b(?:flags?|features?|waffle|unleash|launchdarkly|ldclient)"
        r"\.(?:is_?[eE]nabled|enabled|variation|flag_is_active|isActive|Enabled|IsEnabled)"
        r"\(\s*(?:\w+,\s*)?[\"']?(?P<n0>[\w.:-]*)",
        r"\b(?:flag_is_active|useFeatureFlag|useFlag|feature_enabled|isFeatureEnabled|is_enabled)"
        r"\(\s*(?:\w+,\s*)?[\"']?(?P<n1>[\w.:-]*)",
        r"\b(?P<n2>(?:FEATURE|FF|ENABLE|EXPERIMENT)_[A-Z0-9_]+|[A-Z0-9_]+_ENABLED)\b",
        r"\b(?P<n3>(?:feature|rollout)_?[fF]lags?)\b\s*[=:]|\bcfg\(feature\s*=\s*\"(?P<n4>\w+)",
    ),
    Trait.VARIABLE: _sign(
        "environ getenv Getenv process.env import.meta.env ENV[ add_argument option( "
        "Flag( env:: Setting(",
        r"\bos\.(?:environ(?:\.get)?|getenv)[\[(]\s*[\"'](?P<n0>\w+)",
        r"\bprocess\.env\.(?P<n1>\w+)|\bimport\.meta\.env\.(?P<n2>\w+)|\bENV\[[\"'](?P<n3>\w+)",
        r"\b(?:os\.Getenv|os\.LookupEnv|System\.getenv|env::var)\(\s*\"(?P<n4>\w+)",
        r"\b(?:add_argument|option)\(\s*[\"'](?P<n5>--[\w-]+)|\bflag\.\w+\(\s*\"(?P<n6>[\w-]+)",
        r"\bSetting\(\s*[\"'](?P<n7>[\w.]+)|\benv(?:\.\w+)?\(\s*[\"'](?P<n8>\w+)[\"']",
    ),
}
