"""Moving files, and taking it back."""

import json
import os
import shutil
import subprocess

from tidy.config import state_path
from tidy.rules import Action, first_match


def move_all(folder, rules, dry_run=False, force=False, keep=False, limit=0):
    """Move every file of a folder by its rule; what was moved is remembered."""
    moved = []
    for name in sorted(os.listdir(folder)):
        rule = first_match(rules, name)
        if rule is None:
            continue
        if limit and len(moved) >= limit:
            break
        target = os.path.join(folder, rule.target, name)
        if os.path.exists(target) and not force:
            continue
        if not dry_run:
            move_one(os.path.join(folder, name), target, rule.action, keep)
        moved.append((name, target))
    if moved and not dry_run:
        remember(moved)
    return moved


def move_one(source, target, action, keep):
    """Move, copy or delete one file."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if action is Action.COPY or keep:
        shutil.copyfile(source, target)
    elif action is Action.MOVE:
        shutil.copyfile(source, target)
        os.remove(source)
    subprocess.run(["touch", target])


def remember(moved):
    """Write down what was moved."""
    os.makedirs(os.path.dirname(state_path()), exist_ok=True)
    with open(state_path(), "w", encoding="utf-8") as out:
        json.dump(moved, out)


def undo_last():
    """Move everything back."""
    try:
        with open(state_path(), encoding="utf-8") as stream:
            moved = json.load(stream)
    except OSError:
        return False
    for name, target in moved:
        if os.path.exists(target):
            os.rename(target, name)
    os.remove(state_path())
    return True
