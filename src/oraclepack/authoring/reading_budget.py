"""Which files of a very large repository are parsed.

Parsing and everything that follows cost about a second per megabyte of source, so there is a
budget. All files are searched for their imports, which is cheap; then the files that the user
asked about, that are imported most and changed most are parsed, until the budget is spent.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from math import log2

from oraclepack.authoring.file_roles import stem_of
from oraclepack.authoring.git_repository import StoredText

MOST_PARSED = 10_000_000
"""Characters of source that are parsed in one command."""
_IMPORT = re.compile(
    r"^[ \t]*(?:import|from|use|using|require|require_relative|include|#[ \t]*include|export"
    r"|(?:const|let|var)[^=\n]{1,80}=[ \t]*require)\b[^\n]{1,200}",
    re.MULTILINE,
)
_WORD = re.compile(r"\w{3,}")


def files_to_parse(
    texts: Mapping[str, StoredText],
    commits_of: Mapping[str, int],
    is_asked_for: Callable[[str, str], bool],
    budget: int = MOST_PARSED,
) -> Collection[str]:
    """The paths of `texts` to parse: all where the budget allows it.

    `is_asked_for` says of a path and its text whether the user wants to know about it.
    """
    if sum(text.length for text in texts.values()) <= budget:
        return texts.keys()
    mentions: Counter[str] = Counter()
    for text in texts.values():
        lines = (match[0] for match in _IMPORT.finditer(text.read()))
        mentions.update({word for line in lines for word in _WORD.findall(line)})
    # A name that many files have is shared by all of them.
    carriers = Counter(stem_of(path) for path in texts)

    def worth(path: str) -> tuple[bool, float, str]:
        stem = stem_of(path)
        imports = mentions[stem] / carriers[stem]
        score = log2(1 + imports) + 2 * log2(1 + commits_of.get(path, 0))
        return not is_asked_for(path, texts[path].read()), -round(score, 6), path

    chosen: set[str] = set()
    left = budget
    for path in sorted(texts, key=worth):
        if texts[path].length <= left:
            chosen.add(path)
            left -= texts[path].length
    return chosen
