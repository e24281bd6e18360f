"""Six repositories of different kinds, built with git from trees in `tests/data/repositories`.

Each has a history of several commits with fixed dates: the tree is the last one, and each entry
of `HISTORY` says what its commit replaced.
"""

import os
import shutil
import subprocess
from pathlib import Path

TREES = Path(__file__).parent.parent / "data" / "repositories"
KINDS = ("library", "service", "cli", "monorepo", "documents", "empty")

HISTORY: dict[str, list[tuple[str, str, str, str]]] = {
    "library": [
        (
            "Fix rounding of the rest in split",
            "ledger/money.py",
            "        share, rest = divmod(self.units, parts)\n",
            "        share, rest = self.units // parts, 0\n",
        ),
        (
            "Fix a crash of parse_money on an empty text",
            "ledger/money.py",
            "    if not text.strip():\n        return None\n",
            "",
        ),
        (
            "Fix the sign of negative amounts",
            "ledger/money.py",
            '    sign = "-" if amount.units < 0 else ""\n',
            '    sign = ""\n',
        ),
        (
            "Read lines of the first release",
            "ledger/codec.py",
            "    if int(version) == 1:\n        return _legacy_entry(rest)\n",
            "",
        ),
        (
            "Fix a wrong balance after a broken line",
            "ledger/storage.py",
            "        except Exception:\n            continue\n",
            "        except KeyError:\n            continue\n",
        ),
    ],
    "service": [
        (
            "Fix parcels that were lost twice",
            "parcels/tracking.py",
            '    if event == "search" and status is Status.MOVING:\n',
            '    if event == "search":\n',
        ),
        (
            "Fix the return of parcels under way",
            "parcels/tracking.py",
            '    if event == "return" and status in (Status.NEW, Status.PICKED):\n',
            '    if event == "return":\n',
        ),
        (
            "Fix a wrong status after a hold",
            "parcels/tracking.py",
            '    if event == "hold":\n        return status\n',
            "",
        ),
        (
            "Refuse parcels that are too heavy",
            "parcels/app.py",
            '        raise HTTPException(400, "the parcel is too heavy")\n',
            '        raise HTTPException(400, "too heavy")\n',
        ),
    ],
    "cli": [
        (
            "Fix a crash on rules without a pattern",
            "src/tidy/rules.py",
            '            raise ValueError("a rule has neither a regex nor a glob")\n',
            "            pass\n",
        ),
        (
            "Remember what was moved",
            "src/tidy/move.py",
            "    if moved and not dry_run:\n        remember(moved)\n",
            "",
        ),
    ],
    "monorepo": [
        (
            "Write the file of orders under a new name first",
            "services/intake/internal/store/store.go",
            '\tif err := os.WriteFile(s.path+".new", data, 0o600); err != nil {\n',
            "\tif err := os.WriteFile(s.path, data, 0o600); err != nil {\n",
        ),
        (
            "Fix orders that were sent twice",
            "web/src/client.ts",
            "  if (known) {\n    return State.Sent;\n  }\n",
            "",
        ),
    ],
    "documents": [
        (
            "Limit the length of lines",
            "spec/format.md",
            "A sender MUST NOT write lines longer than 4096 bytes.\n",
            "",
        ),
    ],
    "empty": [],
}


def build(kind: str, root: Path) -> Path:
    """The repository of a kind, at a new place."""
    root.mkdir(parents=True)
    _git(root, 0, "init", "-q", "-b", "main")
    if kind == "empty":
        return root
    shutil.copytree(TREES / kind, root, dirs_exist_ok=True)
    history = HISTORY[kind]
    for _, path, after, before in reversed(history):
        _replace(root / path, after, before)
    _commit(root, 0, "Begin")
    for number, (subject, path, after, before) in enumerate(history, 1):
        _replace(root / path, before, after, anchor=TREES / kind / path)
        _commit(root, number, subject)
    return root


def _replace(path: Path, old: str, new: str, anchor: Path | None = None) -> None:
    text = path.read_text(encoding="utf-8")
    if old:
        assert text.count(old) == 1, (path, old)
        path.write_text(text.replace(old, new), encoding="utf-8")
        return
    # The commit added lines: they go to where the final text has them.
    assert anchor is not None
    whole = anchor.read_text(encoding="utf-8")
    following = whole[whole.index(new) + len(new) :].split("\n")[0] + "\n"
    preceding = whole[: whole.index(new)].split("\n")[-2] + "\n"
    pair = preceding + following
    assert text.count(pair) == 1, (path, pair)
    path.write_text(text.replace(pair, preceding + new + following), encoding="utf-8")


def _commit(root: Path, day: int, subject: str) -> None:
    _git(root, day, "add", "-A", "-f")
    _git(root, day, "commit", "-q", "-m", subject)


def _git(root: Path, day: int, *words: str) -> None:
    """Git with a fixed author and day: the same files give the same commit."""
    when = f"2026-03-{4 + day:02}T10:00:00+00:00"
    people = ("AUTHOR", "COMMITTER")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": "A" for who in people},
        **{f"GIT_{who}_EMAIL": "a@example.org" for who in people},
        **{f"GIT_{who}_DATE": when for who in people},
    }
    subprocess.run(["git", *words], cwd=root, env=env, check=True, capture_output=True)


def repository(root: Path, *commits: dict[str, str | bytes]) -> Path:
    """A repository with these commits, each a few files; without any it is empty."""
    root.mkdir(parents=True)
    _git(root, 0, "init", "-q", "-b", "main")
    for number, files in enumerate(commits):
        write(root, files)
        _commit(root, number, f"change {number}")
    return root


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def commit(root: Path, files: dict[str, str | bytes], subject: str, day: int = 9) -> None:
    write(root, files)
    _commit(root, day, subject)
