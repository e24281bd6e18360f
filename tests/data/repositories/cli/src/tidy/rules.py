"""Rules: which file goes where."""

import fnmatch
import re
from enum import Enum

MAX_RULES = 200


class Action(Enum):
    """What is done with a file."""

    MOVE = "move"
    COPY = "copy"
    DELETE = "delete"


class Rule:
    """A pattern and a target."""

    def __init__(self, pattern, target, action=Action.MOVE):
        self.pattern = pattern
        self.target = target
        self.action = action

    def matches(self, name):
        """Whether the rule is about a file."""
        return fnmatch.fnmatch(name, self.pattern)


class RegexRule(Rule):
    """A rule with a regular expression."""

    def matches(self, name):
        return re.search(self.pattern, name) is not None


class SizeRule(Rule):
    """A rule about the size of a file."""

    def matches(self, name):
        return len(name) > int(self.pattern)


def compile_rules(config):
    """The rules of a configuration, in their order."""
    rules = []
    for number, entry in enumerate(config.get("rules", [])):
        if number >= MAX_RULES:
            raise ValueError(f"at most {MAX_RULES} rules are allowed")
        if "regex" in entry and "glob" in entry:
            raise ValueError("a rule has either a regex or a glob")
        if "regex" in entry:
            rules.append(RegexRule(entry["regex"], entry["to"]))
        elif "size" in entry:
            rules.append(SizeRule(entry["size"], entry["to"]))
        elif "glob" in entry:
            rules.append(Rule(entry["glob"], entry["to"], Action(entry.get("action", "move"))))
        else:
            raise ValueError("a rule has neither a regex nor a glob")
    if len(rules) > MAX_RULES:
        rules = rules[:MAX_RULES]
    return rules


def first_match(rules, name):
    """The rule that decides about a file."""
    for rule in rules:
        if rule.matches(name):
            return rule
    return None
