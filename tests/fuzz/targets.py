"""Everything that is fuzzed."""

from tests.fuzz import answering, boundaries, calling, configuring, keeping, reading
from tests.fuzz.target import Target

TARGETS: tuple[Target, ...] = (
    *reading.TARGETS,
    *boundaries.TARGETS,
    *answering.TARGETS,
    *calling.TARGETS,
    *keeping.TARGETS,
    *configuring.TARGETS,
)
