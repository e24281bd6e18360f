"""The settings of notifications: who is notified about the end of a run, and how."""

from oraclepack.settings.declaration import OWN, OWN_NOT_A_FLAG, Setting
from oraclepack.settings.project_rules import USER_ONLY
from oraclepack.settings.value_kinds import Names, Text, Texts

NOTIFY = Setting[tuple[str, ...]](
    "notify.channels",
    Names(),
    (),
    "Notify about this run by desktop, command, webhook, apprise.",
    "--notify",
    sources=OWN,
    project=USER_ONLY,
)
NOTIFY_EVENTS = Setting[tuple[str, ...]](
    "notify.events",
    Names(),
    ("finished", "failed", "needs_decision", "budget_reached"),
    "What to notify about.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
NOTIFY_COMMAND = Setting[tuple[str, ...]](
    "notify.command",
    Texts(),
    (),
    "A program and its arguments; it reads the notification as JSON on stdin.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
NOTIFY_WEBHOOK = Setting(
    "notify.webhook",
    Text(),
    "",
    "A URL to which the notification is posted as JSON.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
NOTIFY_APPRISE = Setting[tuple[str, ...]](
    "notify.apprise",
    Texts(),
    (),
    "URLs of apprise, for every other service.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
