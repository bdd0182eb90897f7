"""Discovery documents as plain objects, made from the served resource types.

Groups come in the order of their first type, versions with the preferred one first. `others` are groups that another
server serves, given as items of the aggregated form.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from karmada.apiserver.crds.types import version_order
from karmada.apiserver.resources import ANY, ResourceType, Subresource

JSONObject = dict[str, Any]
AGGREGATED_VERSIONS = ("v2", "v2beta1")


def aggregated_media_type(version: str) -> str:
    """Content type of the aggregated form."""
    return f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def by_version(types: Iterable[ResourceType]) -> dict[str, dict[str, list[ResourceType]]]:
    """Types by group and version in the order of discovery."""
    groups: dict[str, dict[str, list[ResourceType]]] = {}
    for type_ in types:
        groups.setdefault(type_.group, {}).setdefault(type_.version, []).append(type_)
    for group, versions in groups.items():
        if any(type_.custom for found in versions.values() for type_ in found):
            groups[group] = dict(sorted(versions.items(), key=lambda item: version_order(item[0])))
    return groups


def core_versions(address: str = "") -> JSONObject:
    """/api"""
    server = {"clientCIDR": "0.0.0.0/0", **({"serverAddress": address} if address else {})}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [server]}


def group_list(types: Iterable[ResourceType], others: Sequence[JSONObject] = ()) -> JSONObject:
    """/apis"""
    groups = [_group(name, list(versions)) for name, versions in by_version(types).items() if name]
    groups += [_other_group(item) for item in others]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(name: str, types: Iterable[ResourceType], others: Sequence[JSONObject] = ()) -> JSONObject | None:
    """/apis/<group>"""
    versions = by_version(types).get(name) if name else None
    if versions is not None:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(versions))}
    for item in others:
        if item["metadata"]["name"] == name:
            return {"kind": "APIGroup", "apiVersion": "v1", **_other_group(item)}
    return None


def _group(name: str, versions: list[str]) -> JSONObject:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _other_group(item: JSONObject) -> JSONObject:
    return _group(item["metadata"]["name"], [version["version"] for version in item["versions"]])


def resource_list(group: str, version: str, types: Iterable[ResourceType]) -> JSONObject | None:
    """/api/<version> and /apis/<group>/<version>"""
    found = [type_ for type_ in types if type_.group == group and type_.version == version]
    if not found:
        return None
    resources = [entry for type_ in found if type_.plural != ANY for entry in _entries(type_)]
    name = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {}), "groupVersion": name}
    return {**head, "resources": resources}


def _entries(type_: ResourceType) -> list[JSONObject]:
    entry: JSONObject = {
        "name": type_.plural,
        "singularName": type_.singular,
        "namespaced": type_.namespaced,
        "kind": type_.kind,
        "verbs": list(type_.verbs),
    }
    if type_.short_names:
        entry["shortNames"] = list(type_.short_names)
    if type_.categories:
        entry["categories"] = list(type_.categories)
    if "watch" in type_.verbs:
        entry["storageVersionHash"] = _storage_hash(type_)
    return [entry, *(_subentry(type_, sub) for sub in type_.subresources)]


def _subentry(type_: ResourceType, sub: Subresource) -> JSONObject:
    entry: JSONObject = {"name": f"{type_.plural}/{sub.name}", "singularName": "", "namespaced": type_.namespaced}
    if sub.group:
        entry["group"] = sub.group
    if sub.version:
        entry["version"] = sub.version
    return {**entry, "kind": sub.kind, "verbs": list(sub.verbs)}


def _storage_hash(type_: ResourceType) -> str:
    """Shows clients whether the stored form changed: equal hashes, equal storage version."""
    stored = f"{type_.stored_as[0]}/{type_.storage_version or type_.version}/{type_.kind}"
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


def aggregated(
    types: Iterable[ResourceType], core: bool, version: str = "v2", others: Sequence[JSONObject] = ()
) -> JSONObject:
    """/api (core) or /apis in the aggregated form."""
    items: list[JSONObject] = []
    for name, versions in by_version(types).items():
        if (name == "") == core:
            listed = [
                {
                    "version": v,
                    "resources": [_resource(type_) for type_ in found if type_.plural != ANY],
                    "freshness": "Current",
                }
                for v, found in versions.items()
            ]
            items.append({"metadata": {"name": name} if name else {}, "versions": listed})
    if not core:
        items += others
    api_version = f"apidiscovery.k8s.io/{version}"
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _resource(type_: ResourceType) -> JSONObject:
    entry: JSONObject = {
        "resource": type_.plural,
        "responseKind": {"group": "", "version": "", "kind": type_.kind},
        "scope": "Namespaced" if type_.namespaced else "Cluster",
        "singularResource": type_.singular,
        "verbs": list(type_.verbs),
    }
    if type_.short_names:
        entry["shortNames"] = list(type_.short_names)
    if type_.categories:
        entry["categories"] = list(type_.categories)
    if type_.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": list(sub.verbs),
            }
            for sub in type_.subresources
        ]
    return entry
