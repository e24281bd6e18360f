"""Exchange rates from a service."""

import os
import threading

import requests

from ledger.money import Money

_rates = {}
_SERVICE = os.environ.get("LEDGER_RATES_SERVICE", "https://rates.example.org")
_DIGITS = int(os.environ.get("LEDGER_RATES_DIGITS", "6"))


def fetch_rate(source, target):
    """The rate of a pair, asked of the service once."""
    key = f"{source}/{target}"
    if key not in _rates:
        token = os.environ["LEDGER_RATES_TOKEN"]
        answer = requests.get(f"{_SERVICE}/{key}", headers={"Authorization": token})
        answer.raise_for_status()
        _rates[key] = answer.json()["rate"]
    return _rates[key]


def convert(amount, target):
    """An amount in another currency."""
    if amount.currency == target:
        return amount
    return Money(round(amount.units * fetch_rate(amount.currency, target)), target)


def convert_all(amounts, target):
    """Several amounts; those without a rate are left out."""
    found = []
    for amount in amounts:
        try:
            found.append(convert(amount, target))
        except requests.RequestException:
            continue
    return found


def refresh_in_background(pairs):
    """Ask for all pairs again without waiting for the answers."""
    _rates.clear()
    worker = threading.Thread(target=_refresh, args=(pairs,), daemon=True)
    worker.start()
    return worker


def _refresh(pairs):
    for source, target in pairs:
        requests.get(f"{_SERVICE}/{source}/{target}", headers={"Authorization": os.environ["LEDGER_RATES_TOKEN"]})
