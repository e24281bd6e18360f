"""Everything that is fuzzed."""

from tests.fuzz import answering, calling, configuring, keeping, reading
from tests.fuzz.target import Target

TARGETS: tuple[Target, ...] = (
    *reading.TARGETS,
    *answering.TARGETS,
    *calling.TARGETS,
    *keeping.TARGETS,
    *configuring.TARGETS,
)
