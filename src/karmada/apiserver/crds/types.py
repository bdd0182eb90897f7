"""The resource types that a CustomResourceDefinition defines: one per served version."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from karmada.apiserver import selectable
from karmada.apiserver.crds import objects
from karmada.apiserver.resources import Column, ResourceType, ScalePaths, Strategy, Subresource
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.model import MISSING, Schema
from karmada.apiserver.schema.openapi import from_openapi, no_references

JSONObject = dict[str, Any]

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_READ_WRITE = ("get", "patch", "update")
_AGE = Column(
    "Age",
    "date",
    "",
    "When the object was created, by the server's clock in RFC 3339 form; null in lists.",
    0,
    ".metadata.creationTimestamp",
)
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def resource_types_of(crd: JSONObject) -> list[ResourceType]:
    """The served versions of a valid CRD, with its accepted names where it has them; the storage version need not
    be among them."""
    spec = crd["spec"]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    return [_type(spec, version, storage) for version in spec["versions"] if version.get("served")]


def custom_schema(source: JSONObject) -> Schema:
    """The tree of an openAPIV3Schema at the root of an object: type and metadata fields are always known."""
    schema = from_openapi(source, no_references)
    _complete(schema)
    return schema


def _complete(schema: Schema) -> None:
    """Add the fields that every object, and every embedded one, has."""
    own = schema.properties or {}
    schema.properties = {
        **own,
        "apiVersion": Schema(type="string"),
        "kind": Schema(type="string"),
        "metadata": definition(_OBJECT_META),
    }
    for child in own.values():
        complete_embedded(child)
    if schema.items is not None:
        complete_embedded(schema.items)
    if schema.additional is not None:
        complete_embedded(schema.additional)


def complete_embedded(schema: Schema) -> None:
    """Add what embedded objects have wherever there are such."""
    if schema.embedded:
        _complete(schema)
        return
    for child in (schema.properties or {}).values():
        complete_embedded(child)
    if schema.items is not None:
        complete_embedded(schema.items)
    if schema.additional is not None:
        complete_embedded(schema.additional)


def _type(spec: JSONObject, version: JSONObject, storage: str) -> ResourceType:
    names = spec["names"]
    kind = names["kind"]
    group = spec["group"]
    namespaced = spec.get("scope") == "Namespaced"
    schema = custom_schema((version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"})
    declared = version.get("subresources") or {}
    has_status = "status" in declared
    scale = declared.get("scale")
    subresources = []
    if has_status:
        subresources.append(Subresource("status", _READ_WRITE, kind))
    if scale is not None:
        subresources.append(Subresource("scale", _READ_WRITE, "Scale", "autoscaling", "v1"))
    return ResourceType(
        group=group,
        version=version["name"],
        plural=names["plural"],
        kind=kind,
        namespaced=namespaced,
        schema=schema,
        singular=names.get("singular") or kind.lower(),
        list_kind=names.get("listKind") or kind + "List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        subresources=tuple(subresources),
        strategy=_strategy(schema, version, namespaced, has_status, _scale_paths(scale)),
        columns=_columns(version),
        storage_version=storage,
        custom=True,
        has_status=has_status,
        scale=_scale_paths(scale),
        deprecation=_deprecation(spec, version),
    )


def _strategy(
    schema: Schema, version: JSONObject, namespaced: bool, has_status: bool, scale: ScalePaths | None
) -> Strategy:
    paths = (field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ())
    return Strategy(
        prepare_create=_new_status(schema) if has_status else objects.keep,
        validate=partial(objects.validate, schema, namespaced, scale),
        validate_status=partial(objects.validate_status, schema, namespaced, scale),
        unconditional_update=False,
        selectable=selectable.fields(*paths),
    )


def _new_status(schema: Schema) -> Callable[[JSONObject], None]:
    """What becomes of the status of a new object where the status is a subresource."""
    status = (schema.properties or {}).get("status")
    if status is None or status.default is MISSING:
        return objects.drop_status
    return partial(objects.default_status, schema)


def _columns(version: JSONObject) -> tuple[Column, ...]:
    columns = version.get("additionalPrinterColumns")
    if not columns:
        return (_AGE,)
    return tuple(
        Column(
            column["name"],
            column["type"],
            column.get("format") or "",
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
            column.get("priority") or 0,
            column["jsonPath"],
        )
        for column in columns
    )


def _scale_paths(scale: JSONObject | None) -> ScalePaths | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath") or ""
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], selector)


def _deprecation(spec: JSONObject, version: JSONObject) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = spec["group"], spec["names"]["kind"]
    newer = [
        other["name"]
        for other in spec["versions"]
        if other.get("served")
        and not other.get("deprecated")
        and version_order(other["name"]) < version_order(version["name"])
    ]
    text = f"{group}/{version['name']} {kind} is deprecated"
    return f"{text}; use {group}/{min(newer, key=version_order)} {kind}" if newer else text


def version_order(name: str) -> tuple[int, int, int, str]:
    """Sort key of API versions, most stable and newest first: v2, v1, v1beta2, v1alpha1, then other names."""
    match = re.fullmatch(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?", name)
    if match is None:
        return (3, 0, 0, name)
    stability = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stability, -int(match[1]), -int(match[3] or 0), "")
