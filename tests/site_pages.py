"""Hooks of mkdocs (`make site`): the pages at the top of the repository belong to the site too.

The README is the first page. Links between pages are those of the repository, so that they work
there; on the site they lead to the same pages.
"""

import re
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

ROOT = Path(__file__).parents[1]
ON_SITE = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "RELIABILITY.md": "RELIABILITY.md",
}
"""Where pages are on the site that are not at the same place below docs/."""
_LINK = re.compile(r"(\]\()([^)#\s:]+)(?=[)#])")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside docs/; its README gets another name."""
    from mkdocs.structure.files import File  # installed by `make site` alone

    for path, name in ON_SITE.items():
        if path.startswith("docs/"):
            files.remove(files.get_file_from_path(path.removeprefix("docs/")))
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let the links of a page lead to where their targets are on the site."""
    name = page.file.src_uri
    return site_links(
        markdown, {new: old for old, new in ON_SITE.items()}.get(name, f"docs/{name}")
    )


def site_links(text: str, page: str) -> str:
    """The text of a page of the repository, with links as they are on the site."""
    here = dirname(_on_site(page))

    def moved(link: re.Match[str]) -> str:
        target = normpath(f"{dirname(page)}/{link[2]}".lstrip("/"))
        return link[1] + relpath(_on_site(target), here or ".")

    return _LINK.sub(moved, text)


def _on_site(path: str) -> str:
    return ON_SITE.get(path, path.removeprefix("docs/"))
