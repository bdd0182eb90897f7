"""The chart rendered without Helm, for `karmadactl init` and the plain manifests: same values, same objects.

Templates keep to what this renderer knows: Go's own actions and the functions `quote`, `replace` and `toJson`. A value
that a template names and nobody gave is an error here, so a misspelt one cannot go unnoticed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import yaml

from karmada.api.go_template import TemplateError, compile
from karmada.install.values_schema import values_schema, violations

CHART = files("karmada.install") / "chart"
NAMESPACE = "karmada-system"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ChartError(ValueError):
    """Values that the chart cannot be rendered with."""


def default_values(*overlays: str) -> dict[str, Any]:
    """The chart's values, with files of the chart such as `values-ha.yaml` laid over them."""
    merged: dict[str, Any] = {}
    for name in ("values.yaml", *overlays):
        merged = merge(merged, yaml.load((CHART / name).read_text(), _LOADER))
    return merged


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Values with others laid over them, as Helm does: maps are merged, null removes, everything else is replaced."""
    made = dict(base)
    for key, value in over.items():
        mine = made.get(key)
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return made


def needed(values: Mapping[str, Any], *path: str) -> Any:
    """The value at a path; `ChartError` where null removed it."""
    found: Any = values
    for length, key in enumerate(path, 1):
        if key not in found:
            name = ".".join(path[:length])
            raise ChartError(f"{name}: null removes a value that is needed here: leave {name} out for its default")
        found = found[key]
    return found


def check(values: Any) -> None:
    """Refuse values that Helm would refuse: the chart has no such value, or it means nothing."""
    found = next(violations(values, values_schema(default_values())), "")
    if found:
        raise ChartError(found)


def render(values: Mapping[str, Any], namespace: str = NAMESPACE, release: str = "karmada") -> list[dict[str, Any]]:
    """The objects for the host cluster, in the order of the chart's files."""
    check(values)
    data = {"Values": dict(values), "Release": {"Name": release, "Namespace": namespace}}
    objects: list[dict[str, Any]] = []
    for name in template_names():
        text = (CHART / "templates" / name).read_text()
        try:
            rendered = compile(text).render(data, allow_missing=False, functions=_FUNCTIONS)
        except TemplateError as error:
            raise ChartError(f"{name}: {error}") from error
        objects += [document for document in yaml.load_all(rendered, _LOADER) if document]
    return objects


def template_names() -> Sequence[str]:
    """The names of the chart's templates."""
    return sorted(entry.name for entry in (CHART / "templates").iterdir() if entry.name.endswith(".yaml"))


def _quote(value: object) -> str:
    return json.dumps(str(value))


def _replace(old: str, new: str, text: object) -> str:
    return str(text).replace(old, new)


def _to_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


_FUNCTIONS: dict[str, Callable[..., str]] = {"quote": _quote, "replace": _replace, "toJson": _to_json}
