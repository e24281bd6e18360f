"""Offers and orders of carriers."""

import functools
import logging
import time
import urllib.request

from parcels.store import Store

logger = logging.getLogger("parcels.carriers")
CARRIERS = ("north", "south", "express")
MAX_TRIES = 3


@functools.lru_cache(maxsize=None)
def price_list(carrier):
    """The prices of a carrier, as its file says."""
    with open(f"prices/{carrier}.txt", encoding="utf-8") as lines:
        return dict(line.split() for line in lines)


def best_offer(weight, country):
    """The cheapest carrier for a parcel."""
    offers = []
    for carrier in CARRIERS:
        prices = price_list(carrier)
        if country in prices:
            offers.append({"carrier": carrier, "price": int(prices[country]) * weight})
    if not offers:
        return None
    return min(offers, key=lambda offer: offer["price"])


def ask_carrier(carrier, number):
    """Order the transport; tried again when the carrier does not answer."""
    tries = 0
    while tries < MAX_TRIES:
        try:
            answer = urllib.request.urlopen(f"https://{carrier}.example.org/order/{number}")
            return answer.read()
        except OSError:
            tries += 1
            logger.warning("carrier %s did not answer", carrier)
            time.sleep(2**tries)
    if tries >= MAX_TRIES:
        logger.error("carrier %s gave up", carrier)
    return None


def sync_all(path):
    """Ask every carrier about every parcel that is on its way."""
    store = Store(path)
    for parcel in store.under_way():
        urllib.request.urlopen(f"https://{parcel['carrier']}.example.org/{parcel['number']}")
