"""The twenty questions, two for each category: what makes a file their subject, and their words.

In the words, `{path}` is the reference, `{shown}` what was found in it ("9 routes: GET, …"),
`{rest}` where else it shows, `{project}` what the repository calls itself and `{scope}` how much
of it was searched.
"""

from dataclasses import dataclass

from oraclepack.authoring.signs import Trait


@dataclass(frozen=True, slots=True)
class CatalogueQuestion:
    """One question of every generated pack."""

    key: str
    """Its name in file names and as QuestionId; it never changes its meaning."""
    category: str
    traits: tuple[Trait, ...]
    """What a file shows to be its reference, the most telling first."""
    ask: str
    nothing: str
    """What is asked when no file shows any of the traits."""
    why: str
    look_for: str
    """What to attach then."""
    anywhere: bool = False
    """Every program has something of it: any code file may stand in, the most central first."""


QUESTIONS: tuple[CatalogueQuestion, ...] = (
    CatalogueQuestion(
        "contracts-surface",
        "contracts/interfaces",
        (Trait.ROUTE, Trait.COMMAND),
        "{path} offers {shown} to the outside of {project}{rest}. What does each accept and return"
        " exactly, and which change to it would break a caller without any test failing?",
        "Through which interface is {project} used by others ({scope}), and which file declares"
        " what that interface accepts and returns?",
        "Callers outside the repository cannot be changed together with it.",
        "the router, the command table or the public package file",
        anywhere=True,
    ),
    CatalogueQuestion(
        "contracts-shapes",
        "contracts/interfaces",
        (Trait.MODEL, Trait.CLIENT),
        "{path} defines {shown}{rest}. Which fields cross a process or storage boundary, who reads"
        " and who writes each of them, and where do the two sides disagree about optional,"
        " missing or unknown values?",
        "Which data shapes does {project} exchange with files, databases or other programs"
        " ({scope}), and where is each of them written down?",
        "Two sides that read the same bytes differently fail late and far away.",
        "the models, schemas or serialisers",
        anywhere=True,
    ),
    CatalogueQuestion(
        "invariants-rules",
        "invariants",
        (Trait.CHECK,),
        "{path} enforces rules by {shown}{rest}. State each rule in one sentence, say which inputs"
        " reach the code after it without passing the check, and name the rule that is assumed"
        " but enforced nowhere.",
        "Which rules must always hold in {project} ({scope}), and where should each be enforced?",
        "A rule that is only assumed is broken by the next change.",
        "the module that validates input or holds the domain rules",
        anywhere=True,
    ),
    CatalogueQuestion(
        "invariants-consistency",
        "invariants",
        (Trait.CONSTRAINT,),
        "{path} relies on {shown}{rest} to keep its data consistent. Which two operations, run at"
        " the same time or interrupted halfway, leave it in a state that no single operation"
        " could produce?",
        "What keeps the data of {project} consistent when two operations overlap or one stops"
        " halfway ({scope})?",
        "Half-done changes are found by users, weeks later.",
        "the storage layer: transactions, locks, unique keys",
        anywhere=True,
    ),
    CatalogueQuestion(
        "caching-staleness",
        "caching/state",
        (Trait.CACHE,),
        "{path} keeps results in {shown}{rest}. For each: what is the key, what makes an entry"
        " wrong, who removes it then, and how long can a reader of {project} see the old value?",
        "Does {project} keep results to avoid computing or fetching them again ({scope}), and if"
        " nowhere, which repeated work would profit first?",
        "A stale value looks exactly like a correct one.",
        "whatever wraps slow reads: clients, queries, expensive pure functions",
    ),
    CatalogueQuestion(
        "state-lifetime",
        "caching/state",
        (Trait.STATE,),
        "{path} holds {shown}{rest}. Who creates, changes and ends each piece, what happens to it"
        " at start, at the end and after a crash, and which of them is shared by two callers that"
        " do not know of each other?",
        "Which data of {project} lives longer than one call ({scope}), and who may change it?",
        "Shared state without an owner makes behaviour depend on history.",
        "module-level variables, sessions, stores, singletons",
        anywhere=True,
    ),
    CatalogueQuestion(
        "jobs-delivery",
        "background jobs",
        (Trait.JOB,),
        "{path} starts {shown}{rest}. For each: what starts it, what does it do when it runs"
        " twice, who notices when it never runs, and what is lost when its process is killed in"
        " the middle?",
        "Does {project} do any work after it has answered its caller ({scope}), and if so, what"
        " waits for that work at shutdown?",
        "Work that nobody waits for fails without a witness.",
        "workers, queue consumers, threads, task definitions",
    ),
    CatalogueQuestion(
        "jobs-timing",
        "background jobs",
        (Trait.SCHEDULE,),
        "{path} runs on a timer: {shown}{rest}. What happens when one round takes longer than the"
        " interval, when the clock jumps, and when two machines carry the same schedule?",
        "Is anything in or around {project} run on a schedule ({scope}): cron, CI, a timer; and"
        " where is that written down?",
        "Overlapping rounds are rare in tests and certain in production.",
        "crontabs, CI workflows with a schedule, timers in code",
    ),
    CatalogueQuestion(
        "observability-logs",
        "observability",
        (Trait.LOG,),
        "{path} writes {shown}{rest}. Follow one failing request or run through it: which branch"
        " leaves no line behind, which line lacks the identifier that would connect it to the"
        " others, and which one could print a secret?",
        "{project} has no log calls that could be found ({scope}). From what would an operator"
        " learn which input made it fail?",
        "What was not written down cannot be found out afterwards.",
        "the entry point and the place where errors are turned into exit codes or responses",
    ),
    CatalogueQuestion(
        "observability-signals",
        "observability",
        (Trait.METRIC,),
        "{path} reports {shown}{rest}. Which of these would an alert be built on, which label can"
        " take unboundedly many values, and which failure of {project} moves none of them?",
        "Which number would tell that {project} is getting slower or failing more often ({scope}),"
        " and where should it be measured?",
        "An outage without a signal is reported by users.",
        "metrics, traces, health checks, the main loop or request pipeline",
    ),
    CatalogueQuestion(
        "permissions-access",
        "permissions",
        (Trait.ACCESS,),
        "{path} decides about access by {shown}{rest}. List every path to the protected operations"
        " with the check that guards it, and name the operation that is reachable with the least"
        " rights and the most effect.",
        "Who may do what in {project} ({scope}), and where is that decided? If nowhere, which"
        " operation would do the most harm in the wrong hands?",
        "One forgotten check opens what all the others close.",
        "middleware, guards, decorators, policy files",
    ),
    CatalogueQuestion(
        "permissions-secrets",
        "permissions",
        (Trait.SECRET,),
        "{path} handles {shown}{rest}. Where does each value enter the process, where is it kept,"
        " who else can read that place, and on which path could it reach a log, an error message"
        " or another host?",
        "Does {project} ever hold a password, key or token ({scope}), and through which places"
        " does it pass?",
        "A leaked secret cannot be called back.",
        "configuration loading, clients of paid services, whatever sets file modes",
    ),
    CatalogueQuestion(
        "migrations-safety",
        "migrations",
        (Trait.MIGRATION,),
        "{path} changes a schema by {shown}{rest}. Can it run while the old code still serves,"
        " what does it lock and for how long on a large table, and how is it taken back after"
        " data was written in the new form?",
        "How does a change of stored data in {project} reach existing installations ({scope}),"
        " and what would happen to data written by the previous release?",
        "A schema change is the one deployment that cannot simply be rolled back.",
        "migration files, SQL schemas, code that reads data of older releases",
    ),
    CatalogueQuestion(
        "migrations-versions",
        "migrations",
        (Trait.VERSION,),
        "{path} carries {shown}{rest}. Which older forms are still accepted, where is each told"
        " from the others, which of them does no test read any more, and what does an older"
        " release of {project} do with the newest form?",
        "By what does {project} recognise data or callers of an older release ({scope})?",
        "Compatibility that is not tested ends unnoticed.",
        "readers of files and messages, version constants, changelogs",
    ),
    CatalogueQuestion(
        "ux-journey",
        "UX flows",
        (Trait.SCREEN,),
        "{path} shows {shown}{rest}. Walk through it as a first-time user: at which point is work"
        " lost by going back, reloading or a slow answer, and what is shown while nothing has"
        " arrived yet?",
        "Which steps does a person take from the first contact with {project} to the first useful"
        " result ({scope}), and where do they stop?",
        "People leave at the step that nobody on the team ever sees.",
        "pages, components, templates, or the command that people call first",
    ),
    CatalogueQuestion(
        "ux-messages",
        "UX flows",
        (Trait.MESSAGE,),
        "{path} speaks to people by {shown}{rest}. Take the three most likely mistakes of a user:"
        " what exactly is printed or displayed for each, does it say what to do next, and what"
        " does it leave behind?",
        "What does a person see when {project} cannot do what was asked ({scope})?",
        "The message is the only help that is there at the moment of the mistake.",
        "the entry point, help texts, error pages",
        anywhere=True,
    ),
    CatalogueQuestion(
        "failures-handling",
        "failure modes",
        (Trait.HANDLER,),
        "{path} has {shown}{rest}. For each: which failures does it really catch, what state has"
        " been changed by then, and which of them hides the cause from whoever must mend it?",
        "What can go wrong inside {project} that no code expects ({scope}), and what would be left"
        " half done?",
        "A handler that catches too much turns a bug into wrong results.",
        "the code with the most branches and the fewest tests",
        anywhere=True,
    ),
    CatalogueQuestion(
        "failures-outside",
        "failure modes",
        (Trait.GUARD, Trait.CLIENT),
        "{path} depends on what it does not control: {shown}{rest}. What happens to a caller of"
        " {project} when the other side is slow, answers half, answers twice or refuses, and which"
        " wait has no limit?",
        "On which other systems, files or programs does {project} depend while it runs ({scope}),"
        " and which of them may hang for ever?",
        "Other people's outages are the failures that surely come.",
        "clients, subprocess calls, file access, retry and timeout settings",
        anywhere=True,
    ),
    CatalogueQuestion(
        "flags-switches",
        "feature flags",
        (Trait.FLAG,),
        "{path} asks for {shown}{rest}. For each switch: what is its value everywhere today, what"
        " breaks if it flips while a request is under way, and which branch could be deleted now?",
        "Can a change of behaviour in {project} be switched off without a new release ({scope}),"
        " and which risky path would deserve such a switch first?",
        "Every switch that stays doubles what has to be tested.",
        "settings, option parsing, conditional imports or routes",
    ),
    CatalogueQuestion(
        "flags-configuration",
        "feature flags",
        (Trait.VARIABLE,),
        "{path} reads {shown}{rest}. For each: its default, what a wrong or empty value does,"
        " where that is noticed, and which two settings contradict each other without a complaint?",
        "By what can the behaviour of {project} be changed from outside ({scope}), and what is the"
        " default of each such setting?",
        "A configuration that is accepted and ignored costs days.",
        "configuration files, environment handling, option definitions",
    ),
)
