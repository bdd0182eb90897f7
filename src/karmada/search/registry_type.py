"""ResourceRegistry as an API server serves it: schema from the types; any selection is accepted, conditions report its
state."""

import dataclasses
from functools import partial

from karmada.api.crd.definition import definition
from karmada.api.crd.schema import root_schema
from karmada.api.kinds import BY_TYPE
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.printing import cells
from karmada.apiserver.resources import ALL_VERBS, Column, FieldError, JSONObject, ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.search.names import GROUP, PROXYING, SEARCH, VERSION

_CONNECT = ("create", "delete", "get", "patch", "update")
_COLUMNS = (
    Column("Name", "string", "name", "Name of the registry."),
    Column("Ready", "string", "", "Whether everything it selects is cached."),
    Column("Age", "date", "", "How long the registry has existed."),
    Column("Message", "string", "", "What is cached, or why not.", 1),
)


def registry_type() -> ResourceType:
    """The served type of registries."""
    kind, _ = BY_TYPE[ResourceRegistry]
    (custom,) = resource_types_of(definition(kind))
    described = partial(root_schema, ResourceRegistry)
    judge = custom.strategy.validate

    def validate(registry: JSONObject, old: JSONObject | None) -> list[FieldError]:
        """A registry that lacks something selects nothing, which its condition says."""
        return [error for error in judge(registry, old) if error.reason != "FieldValueRequired"]

    strategy = dataclasses.replace(custom.strategy, validate=validate)
    return dataclasses.replace(
        custom, verbs=ALL_VERBS, strategy=strategy, columns=_COLUMNS, row=_row, described=described
    )


def served_types() -> list[ResourceType]:
    """Registries, and `search` and `proxying`, which are paths rather than objects."""
    schema = Schema("object", preserve_unknown=True)
    proxying, search = (
        ResourceType(
            GROUP, VERSION, plural, kind, False, schema, singular=plural, verbs=verbs, has_status=False, open=True
        )
        for plural, kind, verbs in ((PROXYING, "Proxying", _CONNECT), (SEARCH, "Search", ("get",)))
    )
    return [proxying, registry_type(), search]


def _row(registry: JSONObject, now: float) -> list[object]:
    ready = cells.condition(registry, "Ready") or {}
    return [
        cells.name_of(registry),
        ready.get("status", "Unknown"),
        cells.age(registry, now),
        ready.get("message", ""),
    ]
