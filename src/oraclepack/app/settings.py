"""Gathers every layer of settings and resolves them once per command."""

from collections.abc import Mapping

from oraclepack.adapters import config
from oraclepack.core.setting import Source
from oraclepack.core.settings import (
    COLOR,
    CWD,
    SECRET_NAMES,
    Given,
    Layer,
    Settings,
    flatten,
    from_variables,
    resolve,
)


def load_settings(
    flags: Mapping[str, Given], pack_path: str | None = None, *, reads_config: bool = True
) -> Settings:
    """The settings of one command: flags, variables and, as a rule, the config files."""
    variables = config.own_variables()
    given, warnings = from_variables(variables)
    if variables.get(config.NO_COLOR) and COLOR.name not in given:
        given[COLOR.name] = Given("never", config.NO_COLOR)
    own = [Layer(Source.FLAG, flags), Layer(Source.ENVIRONMENT, given)]
    resolved = resolve(own)
    if not reads_config:
        return Settings(resolved.values, resolved.origins, warnings)
    # Commands that only describe the program start without these.
    from oraclepack.system.environment import project_root  # noqa: PLC0415
    from oraclepack.system.path_jail import refuse_own_links_out  # noqa: PLC0415

    place = project_root(pack_path, str(resolved.values.get(CWD.name, "")))
    refuse_own_links_out(place)
    root = str(place)
    found, more = _files(root)
    resolved = resolve([*own, *found])
    settings = Settings(resolved.values, resolved.origins, warnings + more, root, resolved.ignored)
    names = settings[SECRET_NAMES]
    if names:
        # Whatever cleans a text knows the environment, in the processes of the steps too.
        config.hand_on(SECRET_NAMES.variable, ",".join(names))
    return settings


def _files(root: str) -> tuple[list[Layer], tuple[str, ...]]:
    from oraclepack.adapters import config_files  # noqa: PLC0415 - as above

    layers: list[Layer] = []
    warnings: tuple[str, ...] = ()
    user = config_files.user_table(root)
    if user is not None:
        layers.append(Layer(Source.USER, flatten(user[1], str(user[0]))))
    tables = config_files.project_tables(root)
    if tables:
        path, table = tables[0]
        layers.append(Layer(Source.PROJECT, flatten(table, path.name)))
    if len(tables) > 1:
        warnings += (f"{tables[0][0].name} hides [tool.oraclepack] of {tables[1][0].name}",)
    given, unknown = from_variables(config_files.dotenv(root), ".env")
    layers.append(Layer(Source.DOTENV, given))
    return layers, warnings + unknown
