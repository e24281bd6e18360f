"""The engines by name. Adding one is adding a row, a choice of the setting `engine`, and tests."""

from collections.abc import Mapping

from oraclepack.engines.batch import BatchEngine
from oraclepack.engines.direct import DirectEngine
from oraclepack.engines.engine import Engine
from oraclepack.engines.oracle import OracleEngine
from oraclepack.engines.rehearsal import RehearsalEngine
from oraclepack.settings.call_settings import BATCH, DIRECT, REHEARSAL
from oraclepack.tools.tool_names import ORACLE

ENGINES: Mapping[str, Engine] = {
    ORACLE: OracleEngine(),
    DIRECT: DirectEngine(),
    BATCH: BatchEngine(),
    REHEARSAL: RehearsalEngine(),
}
