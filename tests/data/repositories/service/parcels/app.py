"""Routes of the service."""

import logging
import os

from framework import App, HTTPException

from parcels.access import current_user, login_required
from parcels.carriers import ask_carrier, best_offer
from parcels.store import Store
from parcels.tracking import Status, next_status

logger = logging.getLogger("parcels")
app = App()
store = Store(os.environ.get("PARCELS_DATABASE", "parcels.db"))


@app.get("/parcels/{number}")
@login_required
def show(number):
    """One parcel."""
    found = store.find(number)
    if found is None:
        raise HTTPException(404, "there is no such parcel")
    return found


@app.post("/parcels")
@login_required
def create(body):
    """A new parcel."""
    if "weight" not in body:
        raise HTTPException(400, "the weight is missing")
    if body["weight"] > int(os.environ.get("PARCELS_MAX_WEIGHT", "30000")):
        raise HTTPException(400, "the parcel is too heavy")
    offer = best_offer(body["weight"], body.get("country", "DE"))
    store.insert(body["number"], body["weight"], offer)
    ask_carrier(offer["carrier"], body["number"])
    logger.info("parcel %s created for %s", body["number"], current_user())
    return {"number": body["number"]}


@app.post("/parcels/{number}/status")
def update(number, body):
    """What the carrier reports."""
    found = store.find(number)
    status = next_status(found["status"], body["event"])
    store.set_status(number, status)
    if status is Status.LOST:
        logger.error("parcel %s is lost", number)
    return {"status": status.value}


@app.get("/health")
def health():
    """Whether the service is up."""
    return {"ok": True}


def main():
    """Serve until stopped."""
    port = int(os.environ.get("PARCELS_PORT", "8000"))
    try:
        app.run(port=port)
    except KeyboardInterrupt:
        logger.info("stopped")
