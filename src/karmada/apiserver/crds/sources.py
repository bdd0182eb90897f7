"""Schemas of custom kinds as their authors wrote them, descriptions included, read from the stored definitions.

Trees in memory leave descriptions out; only the documents that people read need them.
"""

from typing import Any

import orjson

from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.openapi import to_openapi
from karmada.apiserver.watchcache import Kind, WatchCache

JSONObject = dict[str, Any]
_DEFINITIONS: Kind = ("apiextensions.k8s.io", "customresourcedefinitions")


def schema_source(store: WatchCache, type_: ResourceType) -> JSONObject:
    """The openAPIV3Schema of a type; where no definition is stored, its own description or the keywords of its tree."""
    item = store.get(_DEFINITIONS, "", f"{type_.plural}.{type_.group}") if type_.custom else None
    if item is not None:
        for version in orjson.loads(item.body)["spec"]["versions"]:
            if version["name"] == type_.version:
                found: JSONObject = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
                return found
    return type_.described() if type_.described is not None else to_openapi(type_.schema)
