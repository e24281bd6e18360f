from parcels.tracking import Status, next_status


def test_scan():
    assert next_status(Status.NEW, "scan") is Status.PICKED
