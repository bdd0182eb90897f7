"""Names and labels of one installation's objects, unique among the installations of a namespace.

The chart and `karmadactl init` use the usual names. The operator's instances have names of their own, by the rule of
Karmada's operator: `<instance>-<suffix>`, or `<instance>-karmada-<suffix>` where the instance's name lacks that word.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karmada.api.labels import APP_INSTANCE, APP_MANAGED_BY, APP_NAME
from karmada.machinery.transport import JSONObject

_REFERENCES = frozenset({"secretName", "serviceAccountName", "serviceName"})
_LABELS = frozenset({"labels", "matchLabels", "selector"})


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one installation; without an instance they are the usual ones."""

    instance: str = ""

    def of(self, usual: str) -> str:
        """The name of an object that is usually called so."""
        return f"{self.prefix}-{usual.removeprefix('karmada-')}" if self.instance else usual

    @property
    def prefix(self) -> str:
        """What all names begin with."""
        return self.instance if "karmada" in self.instance else f"{self.instance}-karmada"


USUAL = Names()


def renamed(tree: JSONObject, names: Names, manager: str) -> JSONObject:
    """An object with the usual name as that of an instance: its name, the names it refers to, and whom it selects."""
    made: JSONObject = _walked(tree, names)
    for container in _containers(made):
        host = re.compile(rf"(?<![\w-])([a-z0-9-]+)(?=\.{re.escape(tree['metadata']['namespace'])}\.svc)")
        container["command"] = [host.sub(lambda found: _host(found[1], names), word) for word in container["command"]]
    about = made["metadata"]
    about["name"] = names.of(about["name"])
    about["labels"] = (about.get("labels") or {}) | {APP_INSTANCE: names.instance, APP_MANAGED_BY: manager}
    return made


def _walked(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_walked(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, below in value.items():
        if key in _REFERENCES and isinstance(below, str):
            made[key] = names.of(below)
        elif key in _LABELS and isinstance(below, dict) and (program := _program(below)):
            made[key] = {k: v for k, v in below.items() if k != "app"} | {
                APP_NAME: program,
                APP_INSTANCE: names.instance,
            }
        else:
            made[key] = _walked(below, names)
    return made


def _containers(tree: JSONObject) -> list[JSONObject]:
    template = (tree.get("spec") or {}).get("template") or {}
    return [one for one in (template.get("spec") or {}).get("containers") or () if "command" in one]


def _host(usual: str, names: Names) -> str:
    """The first part of a Service's host name; the API server's own Service belongs to no installation."""
    return usual if usual == "kubernetes" else names.of(usual)


def _program(labels: Mapping[str, Any]) -> str:
    """The program that labels name, if they are a map of labels that does."""
    named = labels.get(APP_NAME) or labels.get("app")
    return named if isinstance(named, str) else ""
