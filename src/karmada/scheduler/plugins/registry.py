"""Which plugins are in force: the built-in ones and those other packages offer, switched by `--plugins`."""

from collections.abc import Iterable
from importlib.metadata import entry_points

from karmada.scheduler.core.framework import BUILT_IN, Framework, framework_of
from karmada.scheduler.plugins.base import Filter, Score

GROUP = "karmada.scheduler.plugins"
"""Entry points of this group name a class (or a function) without arguments that makes a plugin."""


class PluginError(ValueError):
    """A plugin that is unknown or cannot be used."""


def choose(switches: str, extra: Iterable[Filter | Score] = ()) -> Framework:
    """The framework of the plugins that a value such as `*,-ClusterAffinity` leaves."""
    known = [*BUILT_IN, *extra]
    names = [plugin.name for plugin in known]
    items = [item.strip() for item in switches.split(",") if item.strip()]
    for item in items:
        if item != "*" and item.removeprefix("-") not in names:
            raise PluginError(f"--plugins: there is no plugin {item.removeprefix('-')!r}; known: {', '.join(names)}")
    return framework_of(plugin for plugin in known if _enabled(plugin.name, items))


def installed() -> list[Filter | Score]:
    """The plugins other packages offer."""
    found: list[Filter | Score] = []
    for entry in entry_points(group=GROUP):
        try:
            plugin = entry.load()()
        except Exception as error:
            raise PluginError(f"plugin {entry.name} ({entry.value}) cannot be loaded: {error}") from error
        if not isinstance(plugin, Filter | Score):
            raise PluginError(f"plugin {entry.name} ({entry.value}) has neither reject nor score")
        found.append(plugin)
    return found


def _enabled(name: str, items: list[str]) -> bool:
    if name in items:
        return True
    return f"-{name}" not in items and "*" in items
