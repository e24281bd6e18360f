"""What `accept` tells."""

import msgspec

from oraclepack.answers.verification import Accepted, Failed


class AcceptedStep(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs of a step that were taken as they are, and how the step stands now."""

    step_id: str
    run_id: str
    outputs: tuple[Accepted, ...]
    status: str
    """`accepted` when the step is done with it; else how it stands until the next `run`."""
    failures: tuple[Failed, ...] = ()
    """Other outputs of the step that are missing, or still miss their contracts."""
