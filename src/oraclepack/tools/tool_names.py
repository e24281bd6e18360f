"""The names of the tools that oraclepack knows, and what their parsers refuse."""

from enum import StrEnum

ORACLE = "oracle"


TOOLS = (ORACLE, "codex", "gemini", "task-master")


SPELLINGS = {tool: tool for tool in TOOLS} | {"tm": "task-master"}
"""How a tool may be called on the command line, and the name we know it by."""


class FlagFault(StrEnum):
    """What the tool's own parser would refuse."""

    UNKNOWN = "unknown"
    NO_VALUE = "no value"
    BAD_CHOICE = "bad choice"


TM_COMPLEXITY = "tm-complexity.json"
